//! What was wrong with a reply, and what was made of it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A way in which a reply was not in the form. Each says what was salvaged or left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "SceneProblem")]
pub enum Problem {
    /// There was nothing in the reply; the character is silent.
    EmptyReply,
    /// The reply was longer than is read, or the line longer than is kept.
    TooLong,
    /// Thinking aloud was left out.
    Thinking,
    /// The reply stood in a code fence.
    Fence,
    /// The reply was an object and not the form.
    Object,
    /// The speaker's own name stood before the reply.
    NamePrefix,
    /// The reply went on as somebody else, and was cut there.
    WentOnAsAnother { text: String },
    /// There was no bracket, or it did not begin.
    NoBracket,
    /// The bracket did not end.
    NoClosingBracket,
    /// What stood before the bracket was left out.
    TextBeforeBracket { text: String },
    /// A second response was left out.
    SecondResponse { text: String },
    /// The words stood without quotes.
    MissingQuotes,
    /// The quotes did not end.
    UnclosedQuotes,
    /// Narration outside of the quotes was taken as an act.
    Narration { text: String },
    /// A key that there is not; its value was taken as an act.
    UnknownKey { key: String },
    /// A word in the bracket without its key.
    NoKey { text: String },
    /// Nobody else in the scene has this name; the line is for all.
    UnknownTarget { name: String },
    /// More than one was addressed; the first counts.
    SeveralTargets { names: String },
    /// Two tones were given: both count.
    SecondTone { tone: String },
    /// Words came with `SILENT` or `REACT`: they count.
    WordsWithSilence,
    /// An interruption without words is a reaction.
    InterruptionWithoutWords,
    /// More acts than are kept, or one longer than is kept.
    ActsCut,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::EmptyReply => f.write_str("The reply was empty."),
            Problem::TooLong => f.write_str("The reply was too long and was cut."),
            Problem::Thinking => f.write_str("Thinking aloud was left out."),
            Problem::Fence => f.write_str("The reply stood in a code fence."),
            Problem::Object => f.write_str("The reply was an object instead of the bracket form."),
            Problem::NamePrefix => f.write_str("The speaker's own name before the reply was left out."),
            Problem::WentOnAsAnother { text } => {
                write!(f, "The reply went on as somebody else, and was cut there: {text}")
            }
            Problem::NoBracket => f.write_str("There was no bracket."),
            Problem::NoClosingBracket => f.write_str("The bracket was not closed."),
            Problem::TextBeforeBracket { text } => write!(f, "Text before the bracket was left out: {text}"),
            Problem::SecondResponse { text } => write!(f, "A second response was left out: {text}"),
            Problem::MissingQuotes => f.write_str("The words were not in quotes."),
            Problem::UnclosedQuotes => f.write_str("The quotes were not closed."),
            Problem::Narration { text } => write!(f, "Narration was taken as an act: {text}"),
            Problem::UnknownKey { key } => write!(f, "The key `{key}` is unknown; its value was taken as an act."),
            Problem::NoKey { text } => write!(f, "Words in the bracket had no key: {text}"),
            Problem::UnknownTarget { name } => write!(f, "Nobody else here is called {name}."),
            Problem::SeveralTargets { names } => write!(f, "Several were addressed, and the first counts: {names}"),
            Problem::SecondTone { tone } => write!(f, "A second tone was added to the first: {tone}"),
            Problem::WordsWithSilence => f.write_str("Words came with SILENT or REACT, and count."),
            Problem::InterruptionWithoutWords => f.write_str("An interruption without words is a reaction."),
            Problem::ActsCut => f.write_str("There were more acts than are kept."),
        }
    }
}

/// How much of what was left out is told.
const MAX_TOLD: usize = 200;

/// What was left out, short and on one line.
pub(super) fn told(text: &str) -> String {
    super::cleaned(text, MAX_TOLD)
}
