//! What was said: lines with their speakers, in order.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    format,
    id::{AgentId, AskId, LineId, PersonId, Seq},
    money::Money,
    name::{Name, open_name},
    text::cut::{cut_after, first_word},
    time::Timestamp,
};

/// Who speaks a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    Agent(AgentId),
    Person(PersonId),
    /// The conversation itself, where it directs the agents.
    Router,
    /// The one who directs the characters. The moderator also speaks for their world.
    Moderator,
}

impl Speaker {
    pub fn name(&self) -> &str {
        match self {
            Speaker::Agent(agent) => agent.as_str(),
            Speaker::Person(person) => person.as_str(),
            Speaker::Router => "router",
            Speaker::Moderator => "moderator",
        }
    }
}

impl Speaker {
    pub(crate) fn shared_name(&self) -> Arc<str> {
        match self {
            Speaker::Agent(agent) => agent.shared(),
            Speaker::Person(person) => person.shared(),
            Speaker::Router | Speaker::Moderator => self.name().into(),
        }
    }
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a line is in its format, with what shared code needs to know of it. The kinds here can be in a session of
/// any format; a format has kinds of its own besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineKind {
    name: Name,
    form: LineForm,
    is_spoken: bool,
    is_known: bool,
}

/// How a line reads among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LineForm {
    /// The speaker's words.
    Words,
    /// What the speaker does without a word.
    Act,
    /// What the conversation itself tells its participants.
    Direction,
    /// What stands between the lines, under this heading.
    Aside(&'static str),
}

impl LineKind {
    /// A person's words.
    pub const USER: LineKind = LineKind::new("user", LineForm::Words);
    /// An agent's contribution.
    pub const MESSAGE: LineKind = LineKind::new("message", LineForm::Words).spoken();
    /// The router's instruction or notice.
    pub const ROUTER: LineKind = LineKind::new("router", LineForm::Direction);

    pub(crate) const SHARED: [LineKind; 3] = [LineKind::USER, LineKind::MESSAGE, LineKind::ROUTER];

    pub const fn new(name: &'static str, form: LineForm) -> LineKind {
        LineKind { name: Name::new(name), form, is_spoken: false, is_known: true }
    }

    /// The same, where the line becomes a clip when the session has speech.
    pub const fn spoken(self) -> LineKind {
        LineKind { is_spoken: true, ..self }
    }

    /// The kind that is recorded under this name.
    pub(crate) fn named(name: Name) -> LineKind {
        let known = LineKind::SHARED.into_iter().chain(format::kinds()).find(|kind| kind.name == name);
        known.unwrap_or(LineKind { name, form: LineForm::Words, is_spoken: false, is_known: false })
    }

    /// Whether the line becomes a clip when the session has speech.
    pub fn is_spoken(self) -> bool {
        self.is_spoken
    }

    pub fn form(self) -> LineForm {
        self.form
    }

    /// Whether this version knows it.
    pub(crate) fn is_known(self) -> bool {
        self.is_known
    }
}

open_name!(LineKind, LineKind::SHARED.into_iter().chain(format::kinds()));

/// How a line is delivered, where the format says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Delivery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tone: Option<Arc<str>>,
    /// What the speaker does meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nonverbal: Vec<Arc<str>>,
    /// Another's words after which the speaker comes in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupts_after: Option<Arc<str>>,
}

impl Delivery {
    pub(crate) fn is_plain(&self) -> bool {
        *self == Delivery::default()
    }
}

/// What was said, with its speaker.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub id: LineId,
    pub seq: Seq,
    pub at: Timestamp,
    pub speaker: Speaker,
    pub kind: LineKind,
    /// Whom it is addressed to, where the format says so.
    pub to: Option<AgentId>,
    pub text: Arc<str>,
    /// The request that it answers.
    pub ask: Option<AskId>,
    /// The voice profile that the speaker chose for this line.
    pub voice: Option<Arc<str>>,
    pub delivery: Delivery,
    /// The words of this line after which somebody else came in; `text` is the whole of it all the same.
    pub cut_after: Option<Arc<str>>,
    /// The record that cut it. A prompt that was written before still has the whole line.
    pub cut_at: Option<Seq>,
    pub cut_by: Option<AgentId>,
    pub clip: ClipState,
}

impl Line {
    /// The words that were heard of it as of a record: a line that somebody came into ends there with a dash.
    pub fn heard(&self, as_of: Seq) -> Arc<str> {
        let cut = self.cut_after.as_deref().filter(|_| self.cut_at <= Some(as_of));
        match cut.and_then(|phrase| cut_after(&self.text, phrase)) {
            Some(end) => format!("{}—", self.text[..end].trim_end_matches(|c: char| !c.is_alphanumeric())).into(),
            None => self.text.clone(),
        }
    }

    /// What is heard of it whoever comes in: its first word, and the sign that it goes on.
    pub fn beginning(&self) -> Arc<str> {
        match first_word(&self.text) {
            Some(end) => format!("{} …", &self.text[..end]).into(),
            None => self.text.clone(),
        }
    }
}

/// The audio of one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Clip {
    /// Relative to the artifacts folder, with forward slashes.
    pub path: String,
    pub duration_ms: u64,
    /// How loud it is as a whole, in LUFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loudness_lufs: Option<f32>,
    /// The voice profile that it was spoken with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<Arc<str>>,
    /// The speech engine that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Arc<str>>,
    /// What the engine bills for it. One that runs here bills nothing, and neither does a clip that was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billed: Option<SpeechBill>,
}

/// What a clip costs at an engine that bills by character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpeechBill {
    pub characters: u64,
    /// `None` when nobody knows the price.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "usd")]
    pub cost: Option<Money>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ClipState {
    /// The line is not spoken aloud.
    Unspoken,
    /// To be made.
    Wanted,
    Made(Clip),
    Failed,
}

/// The lines of a session in order, and the marks on them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    lines: Vec<Line>,
}

impl Transcript {
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub fn get(&self, id: LineId) -> Option<&Line> {
        self.lines.get((id.0 as usize).checked_sub(1)?)
    }

    pub(crate) fn next_id(&self) -> LineId {
        LineId(self.lines.len() as u32 + 1)
    }

    pub(crate) fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    pub(crate) fn cut(&mut self, id: LineId, after: &Arc<str>, by: &AgentId, at: Seq) {
        if let Some(line) = self.get_mut(id) {
            line.cut_by = Some(by.clone());
            line.cut_after = Some(after.clone());
            line.cut_at = Some(at);
        }
    }

    fn get_mut(&mut self, id: LineId) -> Option<&mut Line> {
        self.lines.get_mut((id.0 as usize).checked_sub(1)?)
    }

    pub(crate) fn set_clip(&mut self, id: LineId, state: ClipState) {
        if let Some(line) = self.get_mut(id) {
            line.clip = state;
        }
    }
}
