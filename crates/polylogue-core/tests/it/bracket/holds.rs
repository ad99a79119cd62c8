//! What holds for every reply of a scene's character. The property test and the fuzz target share this file.

use polylogue_core::bracket::{Action, MAX_TEXT, read};

const OTHERS: [&str; 3] = ["Bob", "Charlie Brown", "Dr. [X], \"Jr\""];

pub(super) fn check(reply: &str) {
    let (action, _) = read(reply, "Alice", &OTHERS);
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
        assert!(is_wordless(reply, &action), "{rendered} of {reply:?}");
    }
}

/// Whether a reply has no words but those of its form: keywords, keys, and the values that the action has.
fn is_wordless(reply: &str, action: &Action) -> bool {
    // What is thought is no word of a character's, and what is beyond the bound is not read.
    let reply = reply.rsplit("</think>").next().unwrap_or_default();
    let reply: String = reply.chars().take(4_000).collect::<String>().to_lowercase();
    let says_so = ["silen", "react", "interrupt"].iter().any(|word| reply.contains(word));
    let values = [action.to.as_deref(), action.tone.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let known = words(&format!("{values} {}", OTHERS.join(" ")).to_lowercase());
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
