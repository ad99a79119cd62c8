//! The reply form of a scene's characters: `[TO: Bob, TONE: angry, *stands up*] "Why?"`.
//!
//! [`read`] is total: whatever a model wrote, it returns an action and what was wrong with the reply. An
//! action's `Display` is the canonical form; `FromStr` takes exactly that form back. What it means for the scene
//! is the format's business.
//!
//! What is decided here, where the form leaves a choice:
//! - The first response of a reply counts. What follows is reported, and so is a reply that goes on as another.
//! - Words after `SILENT` are speech only in quotes; without quotes they tell what is done. After `REACT` they
//!   are speech also without quotes, unless they read like an act.
//! - Nothing that could be a word of the character is dropped as long as there is nothing else: a key that is not
//!   known becomes an act, a reply without any form becomes speech.
//! - A tone is not demanded: an action without one has none.

mod body;
mod cast;
mod draft;
mod header;
mod items;
mod lenient;
mod object;
mod partial;
mod plain;
mod problem;
mod render;
mod scan;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use partial::words_so_far;
pub(super) use plain::read_plain;
pub use problem::Problem;
pub use render::NotCanonical;

/// The longest line of dialogue in characters; a longer one is cut at a word.
pub const MAX_TEXT: usize = 4_000;

/// Bytes of a reply that are looked at. A line is far shorter; the rest is what models write around it.
pub const MAX_BYTES: usize = 32 * 1024;

/// The longest tone, act, or phrase in characters.
pub const MAX_VALUE: usize = 300;

/// How many acts are kept of one reply.
pub const MAX_ACTS: usize = 8;

/// What a character does in a beat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    pub kind: ActionKind,
    /// Who is addressed, by the name in the cast; nobody in particular if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tone: Option<Arc<str>>,
    /// What is done besides, without the asterisks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nonverbal: Vec<Arc<str>>,
    /// The phrase that an interruption comes after. Only an interruption has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Arc<str>>,
    /// What is said, without the quotes, on one line. Empty exactly for `Silent` and `React`.
    pub text: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    Speak,
    Interrupt,
    Silent,
    React,
}

impl ActionKind {
    /// Whether an action of this kind has words.
    pub fn is_verbal(self) -> bool {
        match self {
            ActionKind::Speak | ActionKind::Interrupt => true,
            ActionKind::Silent | ActionKind::React => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            ActionKind::Speak => "speak",
            ActionKind::Interrupt => "interrupt",
            ActionKind::Silent => "silent",
            ActionKind::React => "react",
        }
    }
}

impl Action {
    /// Nothing said and nothing shown.
    pub fn silent() -> Action {
        Action {
            kind: ActionKind::Silent,
            to: None,
            tone: None,
            nonverbal: Vec::new(),
            after: None,
            text: Arc::from(""),
        }
    }

    /// Whether the action has the properties that [`read`] promises of every action: it can be rendered, and
    /// the rendering reads as itself.
    fn is_sound(&self, others: &[&str]) -> bool {
        let is_value = |value: &str| !value.is_empty() && cleaned(value, MAX_VALUE) == value;
        let has_words = !self.text.is_empty();
        has_words == self.kind.is_verbal()
            && (self.after.is_none() || self.kind == ActionKind::Interrupt)
            && self.to.as_deref().is_none_or(|to| others.contains(&to))
            && self.tone.as_deref().is_none_or(|tone| is_value(tone) && header::is_plain_tone(tone))
            && self.after.as_deref().is_none_or(is_value)
            && self.nonverbal.len() <= MAX_ACTS
            && self.nonverbal.iter().all(|act| is_value(act) && !act.contains('*'))
            && cleaned(&self.text, MAX_TEXT) == *self.text
    }
}

/// Reads a character's reply. `others` are the rest of the cast, by the names that the scene shows.
pub fn read(reply: &str, speaker: &str, others: &[&str]) -> (Action, Vec<Problem>) {
    if reply.len() <= MAX_BYTES
        && let Ok(action) = reply.trim().parse::<Action>()
        && action.is_sound(others)
        && action.to_string() == reply.trim()
    {
        return (action, Vec::new());
    }
    let (action, mut problems) = lenient::read(reply, speaker, others);
    debug_assert!(action.is_sound(others), "{action:?} of {reply:?}");
    problems.sort();
    problems.dedup();
    (action, problems)
}

/// A text on one line: blanks and control characters collapse to one space, and it ends at a word within
/// `max_chars`.
fn cleaned(text: &str, max_chars: usize) -> String {
    let mut out = String::new();
    let mut chars = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let length = word.chars().count() + usize::from(!out.is_empty());
        if chars + length > max_chars {
            // A word that is longer than everything that is allowed is cut itself.
            if out.is_empty() {
                out.extend(word.chars().take(max_chars));
            }
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        chars += length;
    }
    out
}

#[cfg(test)]
mod tests;
