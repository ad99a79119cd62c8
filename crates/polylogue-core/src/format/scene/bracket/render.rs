//! The canonical form, written and taken back exactly.
//!
//! Order: `INTERRUPT after "…"`, `SILENT`, `REACT` or, where nothing else is to be said, `SPEAK`; then `TO`, `TONE`,
//! and the acts. A backslash stands before what would otherwise end its part, and nowhere else.

use std::{fmt, str::FromStr, sync::Arc};

use super::{Action, ActionKind};

/// The text is not an action in its canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not in the form [TO: name, TONE: emotion, *act*] \"words\"")]
pub struct NotCanonical;

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.bracket())?;
        if self.kind.is_verbal() {
            write!(f, " \"{}\"", escaped(&self.text, &['"']))?;
        }
        Ok(())
    }
}

impl Action {
    /// The bracket alone, without the words.
    pub fn bracket(&self) -> String {
        let mut items = Vec::new();
        match self.kind {
            ActionKind::Speak if self.to.is_none() && self.tone.is_none() && self.nonverbal.is_empty() => {
                items.push("SPEAK".to_owned());
            }
            ActionKind::Speak => {}
            ActionKind::Interrupt => items.push(match &self.after {
                Some(phrase) => format!("INTERRUPT after \"{}\"", escaped(phrase, &['"'])),
                None => "INTERRUPT".to_owned(),
            }),
            ActionKind::Silent => items.push("SILENT".to_owned()),
            ActionKind::React => items.push("REACT".to_owned()),
        }
        items.extend(self.to.iter().map(|to| format!("TO: {}", escaped(to, &[',', ']']))));
        items.extend(self.tone.iter().map(|tone| format!("TONE: {}", escaped(tone, &[']']))));
        items.extend(self.nonverbal.iter().map(|act| format!("*{}*", escaped(act, &['*']))));
        format!("[{}]", items.join(", "))
    }
}

impl FromStr for Action {
    type Err = NotCanonical;

    fn from_str(text: &str) -> Result<Action, NotCanonical> {
        canonical(text).ok_or(NotCanonical)
    }
}

fn canonical(text: &str) -> Option<Action> {
    let mut rest = text.strip_prefix('[')?;
    let mut action = Action { kind: ActionKind::Speak, ..Action::silent() };
    let mut is_first = true;
    if let Some(after) = rest.strip_prefix("INTERRUPT") {
        action.kind = ActionKind::Interrupt;
        rest = after;
        if let Some(quoted) = rest.strip_prefix(" after \"") {
            let (phrase, beyond) = until(quoted, |rest| rest.starts_with('"'))?;
            action.after = Some(Arc::from(phrase));
            rest = &beyond[1..];
        }
        is_first = false;
    } else {
        for (word, kind) in [("SILENT", ActionKind::Silent), ("REACT", ActionKind::React), ("SPEAK", ActionKind::Speak)]
        {
            if let Some(after) = rest.strip_prefix(word) {
                (action.kind, rest, is_first) = (kind, after, false);
                break;
            }
        }
    }
    // A part that follows another begins after a comma.
    let mut part = |rest: &mut &str, mark: &str| {
        let found = if is_first { Some(*rest) } else { rest.strip_prefix(", ") }.and_then(|at| at.strip_prefix(mark));
        if let Some(after) = found {
            (*rest, is_first) = (after, false);
        }
        found.is_some()
    };
    if part(&mut rest, "TO: ") {
        let (to, beyond) = until(rest, |rest| rest.starts_with([',', ']']))?;
        (action.to, rest) = (Some(Arc::from(to)), beyond);
    }
    if part(&mut rest, "TONE: ") {
        let (tone, beyond) = until(rest, |rest| rest.starts_with(']') || rest.starts_with(", *"))?;
        (action.tone, rest) = (Some(Arc::from(tone)), beyond);
    }
    while part(&mut rest, "*") {
        let (act, beyond) = until(rest, |rest| rest.starts_with('*'))?;
        action.nonverbal.push(Arc::from(act));
        rest = &beyond[1..];
    }
    rest = rest.strip_prefix(']')?;
    if action.kind.is_verbal() {
        let (words, beyond) = until(rest.strip_prefix(" \"")?, |rest| rest.starts_with('"'))?;
        (action.text, rest) = (Arc::from(words), &beyond[1..]);
    }
    rest.is_empty().then_some(action)
}

/// The text with a backslash before each of `marks`, and before each backslash.
fn escaped(text: &str, marks: &[char]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for c in text.chars() {
        if c == '\\' || marks.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// What stands before the place that `ends`, without its backslashes, and the rest from that place on.
fn until(text: &str, ends: impl Fn(&str) -> bool) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut rest = text;
    loop {
        if ends(rest) {
            return Some((out, rest));
        }
        let mut chars = rest.chars();
        match chars.next()? {
            '\\' => out.push(chars.next()?),
            c => out.push(c),
        }
        rest = chars.as_str();
    }
}
