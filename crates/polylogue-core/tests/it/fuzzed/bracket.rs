//! What holds for every reply of a scene's character.

use polylogue_core::format::scene::bracket::{Action, MAX_TEXT, Problem, read};

const OTHERS: [&str; 3] = ["Bob", "Charlie Brown", "Dr. [X], \"Jr\""];

pub(crate) fn check(reply: &str) {
    let (action, problems) = read(reply, "Alice", &OTHERS);
    // Its rendering reads as itself.
    let rendered = action.to_string();
    assert_eq!(read(&rendered, "Alice", &OTHERS), (action.clone(), Vec::new()), "{rendered} of {reply:?}");
    assert_eq!(rendered.parse::<Action>(), Ok(action.clone()), "{rendered} of {reply:?}");
    // One line, bounded.
    assert!(!rendered.contains(char::is_control), "{rendered:?}");
    assert!(action.text.chars().count() <= MAX_TEXT);
    assert_eq!(action.text.is_empty(), !action.kind.is_verbal(), "{rendered} of {reply:?}");
    // Words are never lost: nothing said and nothing done is what the reply itself says.
    if action.text.is_empty() && action.nonverbal.is_empty() {
        let reported: Vec<&str> = problems.iter().filter_map(left_out).collect();
        let reported = reported.join(" ");
        assert!(is_wordless(reply, &action, &reported), "{rendered} of {reply:?}");
    }
}

/// What is left out because another response counts.
fn left_out(problem: &Problem) -> Option<&str> {
    match problem {
        Problem::SecondResponse { text } | Problem::TextBeforeBracket { text } => Some(text),
        _ => None,
    }
}

/// Whether a reply has no words but those of its form (keywords, keys, the values that the action has) and those
/// that are reported as left out beside it.
fn is_wordless(reply: &str, action: &Action, reported: &str) -> bool {
    // What is thought is no word of a character's, and what is beyond the bound is not read.
    let reply = reply.rsplit("</think>").next().unwrap_or_default();
    let reply: String = reply.chars().take(4_000).collect::<String>().to_lowercase();
    let says_so = ["silen", "react", "interrupt"].iter().any(|word| reply.contains(word));
    let values = [action.to.as_deref(), action.tone.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let known = words(&format!("{values} {} {reported}", OTHERS.join(" ")).to_lowercase());
    says_so || words(&reply).iter().all(|word| KEYS.contains(&word.as_str()) || known.contains(word))
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Words that are no words of a character.
const KEYS: &[&str] = &[
    "to",
    "tone",
    "mood",
    "emotion",
    "all",
    "everyone",
    "alice",
    "think",
    "thinking",
    "reasoning",
    "speak",
    "event",
    "system",
    "scene",
    "json",
    "after",
    "ton",
    "tom",
    "an",
];
