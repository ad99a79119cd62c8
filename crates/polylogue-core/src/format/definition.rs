//! What a format is made of, and how the registry holds it.

use std::{fmt, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    Decision, FormatSetup, Recorded, Rules,
    schema::{DecisionRecord, SetUp},
};
use crate::{
    Conversation,
    event::{Awaits, Record},
    id::AgentId,
    line::LineKind,
    purpose::Purpose,
    reason::Reason,
    setup::{BadSetup, Cast},
    stage::Stage,
};

/// A format, by the settings that a session of it is set up with.
pub trait Format: Described + Serialize + DeserializeOwned + JsonSchema + Clone + PartialEq + 'static {
    /// The name that it is recorded under.
    const NAME: &'static str;
    /// The purposes, kinds of lines and reasons that are its own.
    const VOCABULARY: Vocabulary;
    /// Its built-in prompt templates, by name.
    const TEMPLATES: &'static [(&'static str, &'static str)];
    /// Templates as they were, by other names: sessions that began then are told with them, and nobody replaces them.
    const EARLIER_TEMPLATES: &'static [(&'static str, &'static str)] = &[];

    /// What only this format decides.
    type Decision: Recorded;
    /// Its rules with their state.
    type Rules: Rules + Clone + PartialEq;

    /// The rules at the first record of a journal.
    fn rules(&self, stage: &mut Stage, started: &Record) -> Self::Rules;
}

/// What shared code may ask of a format's settings.
pub trait Described: fmt::Debug + Send + Sync {
    /// What the session is about, in the words of the person who started it.
    fn title(&self) -> &str;

    /// Whether a session can be played with these settings and this cast.
    fn check(&self, cast: &Cast) -> Result<(), BadSetup>;

    /// Whether a session of it can answer in a room.
    fn answers_in_rooms(&self) -> bool {
        false
    }

    /// Whose turn it begins with, where that is a person's.
    fn awaits_person(&self, _cast: &Cast) -> Awaits {
        Awaits::Nobody
    }

    /// The story that the session is part of.
    fn story(&self) -> Option<&str> {
        None
    }

    /// What its participants speak, as whoever set it up calls it.
    fn language(&self) -> Option<&str> {
        None
    }

    /// The voice profile of a narrator, where there is one.
    fn narrator(&self) -> Option<&str> {
        None
    }

    /// Files besides the clips that a session that has ended leaves, relative to the artifacts folder.
    fn artifacts(&self, _conversation: &Conversation) -> Vec<String> {
        Vec::new()
    }

    /// What was made in the session, where that is a text of its own and it is finished.
    fn result(&self, _conversation: &Conversation) -> Option<Arc<str>> {
        None
    }

    /// What came out in the end, by name, where the format works something out.
    fn results(&self, _conversation: &Conversation) -> Map<String, Value> {
        Map::new()
    }

    /// How people who read it call an agent, where that is not its name in the cast.
    fn called(&self, _agent: &AgentId) -> Option<&str> {
        None
    }

    /// What a transcript is headed with, where the usual heading would not be true.
    fn heading(&self, _cast: &Cast) -> Option<String> {
        None
    }

    /// The transcript as plain text, where it has a form of its own.
    fn plain_text(&self, _conversation: &Conversation) -> Option<String> {
        None
    }

    /// The transcript as Markdown, where it has a form of its own.
    fn markdown(&self, _conversation: &Conversation) -> Option<String> {
        None
    }

    /// What this version cannot read of it.
    fn unread(&self) -> Option<String> {
        None
    }
}

/// The names that a format brings along.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary {
    pub purposes: &'static [Purpose],
    pub kinds: &'static [LineKind],
    pub reasons: &'static [Reason],
}

/// A format as the registry holds it: how what was recorded becomes its types again.
pub(crate) struct Definition {
    pub(super) name: &'static str,
    pub(super) vocabulary: Vocabulary,
    pub(super) templates: &'static [(&'static str, &'static str)],
    pub(super) earlier_templates: &'static [(&'static str, &'static str)],
    pub(super) settings: fn(Map<String, Value>) -> serde_json::Result<FormatSetup>,
    pub(super) decision: fn(&str) -> serde_json::Result<Decision>,
    /// What its settings are as a session's setup holds them.
    pub(super) setup_schema: fn(&mut SchemaGenerator) -> Schema,
    /// What its decisions are as records; `None` for a format that decides nothing of its own.
    pub(super) decision_schema: Option<fn(&mut SchemaGenerator) -> Schema>,
}

impl Definition {
    pub(super) const fn of<F: Format>() -> Definition {
        let decides = <F::Decision as Recorded>::FORMAT;
        assert!(decides.is_empty() || is_same(decides, F::NAME), "decisions are recorded under their format's name");
        Definition {
            name: F::NAME,
            vocabulary: F::VOCABULARY,
            templates: F::TEMPLATES,
            earlier_templates: F::EARLIER_TEMPLATES,
            settings: |map| serde_json::from_value::<F>(Value::Object(map)).map(FormatSetup::new),
            decision: |json| serde_json::from_str::<F::Decision>(json).map(Decision::new),
            setup_schema: |generator| generator.subschema_for::<SetUp<F>>(),
            decision_schema: match decides.is_empty() {
                true => None,
                false => Some(|generator| generator.subschema_for::<DecisionRecord<F::Decision>>()),
            },
        }
    }
}

/// Whether two texts are the same, for constants.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
