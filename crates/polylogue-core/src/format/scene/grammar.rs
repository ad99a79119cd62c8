//! The reply form of a character as a grammar, for models that decode by one.

use std::sync::Arc;

/// The forms of a reply that is addressed to some of these.
pub(super) fn grammar(others: &[String], bids: bool) -> Arc<str> {
    let (before, bid) = if bids { ("BID ", "BID: /[0-9]!? /\n") } else { ("", "") };
    let quoted = |name: &String| serde_json::Value::from(name.as_str()).to_string();
    let names: Vec<String> = others.iter().map(quoted).collect();
    format!(
        r#"start: {before}(speech | silence | reaction)
{bid}speech: "[" lead "TONE: " TONE act? "] \"" WORDS "\""
lead: ("TO: " name ", ")? | "INTERRUPT after \"" PHRASE "\", "
silence: "[SILENT" act? "]"
reaction: "[REACT, TONE: " TONE act "]"
act: ", *" ACT "*"
name: {}
TONE: /[a-z][a-z ]{{1,20}}[a-z]/
ACT: /[A-Za-z][^\[\]*"\\\n]{{2,60}}/
PHRASE: /[A-Za-z][^\[\]"\\\n]{{2,40}}/
WORDS: /[^\[\]"\\\n ][^\[\]"\\\n]{{1,240}}/
"#,
        names.join(" | ")
    )
    .into()
}
