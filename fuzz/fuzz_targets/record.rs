#![no_main]

#[path = "../../crates/polylogue-core/tests/it/fuzzed/record.rs"]
mod held;

libfuzzer_sys::fuzz_target!(|text: &str| held::check(text));
