//! Whether what was printed is what a page shows: the same words in the same order, whatever the numbers, ids and
//! the breaks of lines are. A `…` on a line of its own stands for whatever is left out.

use serde_json::Value;

/// Fails with the part of the page that was not printed.
pub(super) fn must_show(shown: &str, printed: &str) {
    let printed_words = words(printed);
    let mut rest = printed_words.as_slice();
    for part in shown.split("\n…\n").map(|part| part.trim_start_matches("…\n")) {
        let part = words(part);
        if part.is_empty() {
            continue;
        }
        let found = rest.windows(part.len()).position(|window| window == part);
        let Some(at) = found else { panic!("`{}` was not printed, or not in this place:\n{printed}", part.join(" ")) };
        rest = &rest[at + part.len()..];
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(masked).collect()
}

/// A word without what differs from run to run.
fn masked(word: &str) -> String {
    let is_id = word.len() == 8 && word.chars().all(|c| c.is_ascii_hexdigit());
    if is_id || word.chars().any(|c| c.is_ascii_digit()) { "#".to_owned() } else { word.to_owned() }
}

/// Whether a value has everything that a page shows of it: the same members, of the same kinds.
pub(super) fn has_shape(shown: &Value, real: &Value) -> bool {
    match (shown, real) {
        (Value::Object(shown), Value::Object(real)) => {
            shown.iter().all(|(name, shown)| real.get(name).is_some_and(|real| has_shape(shown, real)))
        }
        (Value::Array(shown), Value::Array(real)) => {
            shown.iter().all(|shown| real.iter().any(|real| has_shape(shown, real)))
        }
        (Value::Null, _) => true,
        (shown, real) => std::mem::discriminant(shown) == std::mem::discriminant(real),
    }
}

#[test]
fn words_are_compared_and_numbers_are_not() {
    let printed =
        "gpt, claude: a model\nsession 8e0f0a11\n\nclaude:\n  In a\n  valley. \n\nended: final · 1,204 tokens";
    must_show("…\nclaude:\n  In a valley.\n…\nended: final · 9 tokens\n", printed);
    for wrong in ["claude: In a well.", "ended:\n…\nclaude:", "In a ended:"] {
        assert!(std::panic::catch_unwind(|| must_show(wrong, printed)).is_err(), "{wrong}");
    }
}
