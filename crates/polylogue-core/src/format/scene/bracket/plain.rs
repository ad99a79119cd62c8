//! What a person writes who plays a character: mostly plain words, sometimes the form, sometimes nothing.

use std::sync::Arc;

use super::{Action, ActionKind, MAX_ACTS, MAX_TEXT, MAX_VALUE, Problem, cleaned, read};

/// What a person writes to say nothing in this beat.
const PASS: &str = "/pass";

/// Reads what a person wrote. Plain words are said as they are; what stands in asterisks before or after them is done;
/// what begins with a bracket is the form that models answer in.
pub(in super::super) fn read_plain(words: &str, speaker: &str, others: &[&str]) -> (Action, Vec<Problem>) {
    let words = words.trim();
    if words.starts_with('[') {
        return read(words, speaker, others);
    }
    (plain(words), Vec::new())
}

fn plain(words: &str) -> Action {
    if words.eq_ignore_ascii_case(PASS) {
        return Action::silent();
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut rest = words;
    while let Some((act, more)) = rest.strip_prefix('*').and_then(|rest| rest.split_once('*')) {
        before.push(act);
        rest = more.trim_start();
    }
    while let Some((more, act)) = rest.strip_suffix('*').and_then(|rest| rest.rsplit_once('*')) {
        after.insert(0, act);
        rest = more.trim_end();
    }
    let acts = before.into_iter().chain(after).map(|act| cleaned(act, MAX_VALUE)).filter(|act| !act.is_empty());
    let nonverbal: Vec<Arc<str>> = acts.take(MAX_ACTS).map(Into::into).collect();
    let text = cleaned(unquoted(rest), MAX_TEXT);
    let kind = match (text.is_empty(), nonverbal.is_empty()) {
        (false, _) => ActionKind::Speak,
        (true, false) => ActionKind::React,
        (true, true) => ActionKind::Silent,
    };
    Action { kind, nonverbal, text: text.into(), ..Action::silent() }
}

/// Words without the quotes around all of them.
fn unquoted(words: &str) -> &str {
    const PAIRS: [(char, char); 4] = [('"', '"'), ('“', '”'), ('„', '“'), ('「', '」')];
    let inner = |(open, close): (char, char)| {
        let inner = words.strip_prefix(open)?.strip_suffix(close)?;
        (!inner.contains([open, close])).then_some(inner)
    };
    PAIRS.into_iter().find_map(inner).unwrap_or(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_writes_as_people_write() {
        for (written, form) in [
            ("I am sorry, Alice.", r#"[SPEAK] "I am sorry, Alice.""#),
            ("Alice: that is what she said.", r#"[SPEAK] "Alice: that is what she said.""#),
            ("\"I am sorry.\"", r#"[SPEAK] "I am sorry.""#),
            ("\"No,\" she said, \"never.\"", r#"[SPEAK] "\"No,\" she said, \"never.\"""#),
            ("*sighs* I know.", r#"[*sighs*] "I know.""#),
            ("I know. *sits down*", r#"[*sits down*] "I know.""#),
            ("*sighs* *sits down*", "[REACT, *sighs*, *sits down*]"),
            ("2 * 3 * 4 is 24", r#"[SPEAK] "2 * 3 * 4 is 24""#),
            ("/pass", "[SILENT]"),
            ("/PASS", "[SILENT]"),
            ("**", "[SILENT]"),
            ("one\n\n two", r#"[SPEAK] "one two""#),
            ("[TO: Alice, TONE: angry] \"Why?\"", r#"[TO: Alice, TONE: angry] "Why?""#),
            ("[INTERRUPT after \"I can\"] No!", r#"[INTERRUPT after "I can"] "No!""#),
            ("[SILENT, *looks away*]", "[SILENT, *looks away*]"),
        ] {
            let (action, _) = read_plain(written, "Bob", &["Alice"]);
            assert_eq!(action.to_string(), form, "{written}");
            assert!(action.is_sound(&["Alice"]), "{written}");
        }
    }
}
