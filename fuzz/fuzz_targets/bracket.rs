//! Replies of scene characters: whatever the bytes, the reading holds what the property test of the core holds.
#![no_main]

#[path = "../../crates/polylogue-core/tests/it/bracket/holds.rs"]
mod holds;

libfuzzer_sys::fuzz_target!(|reply: &str| holds::check(reply));
