//! What is recorded. The journal of a session is a list of these and nothing else is ever stored.
//!
//! Decisions are events of their own, so that an old journal means the same to a newer parser. An event that
//! was once written is never changed in meaning: a change raises [`VERSION`], and old forms stay readable.

use std::{borrow::Cow, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use crate::{
    ask::Digest,
    format::{self, Decision, Recorded, Remark},
    id::{AgentId, AskId, LineId, PersonId, Seq, SessionId},
    ledger::Usage,
    line::{Clip, Delivery, LineKind, Speaker},
    reason::Reason,
    setup::{Change, Setup},
    text::reply::Repair,
    time::Timestamp,
};

/// The version of the journal that this code writes. It reads this one and all before it.
pub const VERSION: u32 = 1;

/// Something that happened or was decided, in the past tense.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Event {
    /// The first event of every journal.
    Started {
        version: u32,
        setup: Arc<Setup>,
    },
    /// What stands before is a copy of the first `at` events of another session.
    Forked {
        version: u32,
        from: SessionId,
        /// Beside the time of its record it goes by another name.
        #[schemars(rename = "fromSeq")]
        at: Seq,
        change: Change,
    },
    /// The session goes on after a stop, a limit, a failure or the end of its process.
    Resumed {
        version: u32,
        change: Change,
        /// The asks that were under way when the process before this one ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lost: Vec<Lost>,
    },

    /// A request is about to be sent.
    Asked {
        ask: AskId,
        digest: Digest,
        estimate: Usage,
    },
    /// The model replied; `text` is its reply as it came.
    Answered {
        ask: AskId,
        text: Arc<str>,
        usage: Usage,
        #[serde(default, skip_serializing_if = "none")]
        retries: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        repairs: Vec<Repair>,
        /// Whether it broke off because the output limit was reached.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_full: bool,
        /// Whether a person wrote it in the place of the model's reply, which stands in the session that this one is
        /// a fork of.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_edited: bool,
        /// Where the words were drawn several times at once: which of the drafts they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drafts: Option<Drafts>,
    },
    /// The call failed for good, after its bounded retries.
    AskFailed {
        ask: AskId,
        failure: CallFailure,
        usage: Usage,
        #[serde(default, skip_serializing_if = "none")]
        retries: u32,
    },
    /// The call was dropped while under way; `partial` is what had arrived.
    AskCut {
        ask: AskId,
        partial: Arc<str>,
        usage: Usage,
    },

    LineSpoken {
        speaker: Speaker,
        kind: LineKind,
        text: Arc<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<AskId>,
        /// Whom it is addressed to, where the format says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<AgentId>,
        /// The voice profile that the speaker chose for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        voice: Option<Arc<str>>,
        #[serde(default, skip_serializing_if = "Delivery::is_plain")]
        delivery: Delivery,
    },
    /// Somebody came into a line after these of its words. The line itself is kept whole.
    LineCut {
        line: LineId,
        after: Arc<str>,
        by: AgentId,
    },
    ClipMade {
        line: LineId,
        clip: Clip,
    },
    ClipFailed {
        line: LineId,
        error: String,
    },
    /// The narrator has read what the record `of` tells. It is no line: nobody said it.
    Narrated {
        of: Seq,
        clip: Clip,
    },
    NarrationFailed {
        of: Seq,
        error: String,
    },
    HumanSpoke {
        who: PersonId,
        text: Arc<str>,
        #[serde(default, skip_serializing_if = "Origin::is_unsaid")]
        origin: Origin,
        /// The turn that the words answer, where the person plays a part: what they come to follows. Without it they
        /// are a line of their own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<AskId>,
    },

    /// The last event, unless the session is resumed.
    Ended {
        reason: Reason,
        /// What the conversation itself says about it to the people present.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<Arc<str>>,
    },

    /// What only the session's format decides. Shared code passes it over; [`Event::decided`] opens it.
    #[serde(skip)]
    Decided(Decision),
}

/// Of several drafts of the same words, the one that was kept. The others were read and thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drafts {
    /// Counted from 1.
    pub kept: u8,
    pub of: u8,
}

fn none(n: &u32) -> bool {
    *n == 0
}

impl Event {
    /// The event of a decision of one format.
    pub fn decision(decision: impl Recorded) -> Event {
        Event::Decided(Decision::new(decision))
    }

    /// The decision, where it is one of this format.
    pub fn decided<D: Recorded>(&self) -> Option<&D> {
        match self {
            Event::Decided(decision) => decision.open(),
            _ => None,
        }
    }

    /// Whether this event only says what follows from the one before it. A journal is never cut before such
    /// an event: they were written together.
    pub fn is_consequence(&self) -> bool {
        match self {
            Event::Decided(decision) => decision.is_consequence(),
            Event::LineSpoken { .. } | Event::LineCut { .. } => true,
            Event::Started { .. }
            | Event::Forked { .. }
            | Event::Resumed { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::HumanSpoke { .. }
            | Event::Ended { .. } => false,
        }
    }

    /// The ask that the event is about.
    pub fn ask(&self) -> Option<&AskId> {
        match self {
            Event::Asked { ask, .. }
            | Event::Answered { ask, .. }
            | Event::AskFailed { ask, .. }
            | Event::AskCut { ask, .. } => Some(ask),
            Event::LineSpoken { ask, .. } | Event::HumanSpoke { ask, .. } => ask.as_ref(),
            Event::Decided(decision) => decision.ask(),
            Event::Started { .. }
            | Event::Forked { .. }
            | Event::Resumed { .. }
            | Event::LineCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::Ended { .. } => None,
        }
    }

    /// Whether only people are waited for from here on, where the event says so. What the list of sessions shows as
    /// waiting follows from it.
    pub fn awaits_person(&self) -> Option<Awaits> {
        match self {
            Event::Started { setup, .. } => Some(setup.format.awaits_person(&setup.cast)),
            Event::Decided(decision) => decision.awaits_person(),
            Event::HumanSpoke { ask: Some(_), .. } => Some(Awaits::Nobody),
            _ => None,
        }
    }

    /// Whether something has come of running the session: an answer, a clip, an end, or the word that there is none.
    pub fn is_progress(&self) -> bool {
        match self {
            Event::Answered { .. }
            | Event::AskFailed { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::HumanSpoke { .. }
            | Event::Ended { .. } => true,
            Event::Started { .. }
            | Event::Forked { .. }
            | Event::Resumed { .. }
            | Event::Asked { .. }
            | Event::AskCut { .. }
            | Event::LineSpoken { .. }
            | Event::LineCut { .. }
            | Event::Decided(_) => false,
        }
    }

    /// What the log says of the event.
    pub fn remark(&self) -> Option<Remark> {
        match self {
            Event::AskFailed { ask, failure, .. } => {
                Some(Remark::warning(format!("a call failed: {ask}: {}", failure.message)))
            }
            Event::ClipFailed { line, error } => {
                Some(Remark::warning(format!("the clip of line {line} could not be made: {error}")))
            }
            Event::NarrationFailed { of, error } => {
                Some(Remark::warning(format!("what record {of} tells could not be narrated: {error}")))
            }
            Event::Decided(decision) => decision.remark(),
            _ => None,
        }
    }

    /// What this version cannot read of the event: it was written by a newer one.
    pub fn unread(&self) -> Option<String> {
        let purpose = self.ask().map(|ask| ask.purpose).filter(|purpose| !purpose.is_known());
        let purpose = purpose.map(|purpose| format!("the purpose `{purpose}`"));
        match self {
            Event::Started { setup, .. } => setup.format.unread(),
            Event::Decided(decision) => decision.unread().or(purpose),
            Event::LineSpoken { kind, .. } if !kind.is_known() => Some(format!("the kind of line `{kind}`")),
            Event::Ended { reason, .. } if !reason.is_known() => Some(format!("the reason `{reason}`")),
            _ => purpose,
        }
    }

    pub fn encode(&self) -> String {
        match self {
            Event::Decided(decision) => decision.encode(),
            event => serde_json::to_string(event).expect("events have string keys and finite numbers"),
        }
    }

    pub fn decode(json: &str) -> Result<Event, Unreadable> {
        let head: Head = serde_json::from_str(json).map_err(|error| Unreadable::Damaged(error.to_string()))?;
        if head.decision.is_some() || format::is_known(&head.r#type) {
            return Ok(Event::Decided(Decision::decode(&head.r#type, json)));
        }
        match serde_json::from_str::<Event>(json) {
            Ok(event) => match event.version() {
                Some(version) if version > VERSION => Err(Unreadable::Newer { version }),
                _ => Ok(event),
            },
            Err(_) if head.version > Some(VERSION) => {
                Err(Unreadable::Newer { version: head.version.unwrap_or_default() })
            }
            Err(error) if error.to_string().starts_with("unknown variant") => {
                Err(Unreadable::Unknown(head.r#type.into_owned()))
            }
            Err(error) => Err(Unreadable::Damaged(error.to_string())),
        }
    }

    fn version(&self) -> Option<u32> {
        match self {
            Event::Started { version, .. } | Event::Forked { version, .. } | Event::Resumed { version, .. } => {
                Some(*version)
            }
            _ => None,
        }
    }
}

/// Whether a session waits for nothing but people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaits {
    #[default]
    Nobody,
    /// For so long; without a number however long it takes.
    People { seconds: Option<u32> },
}

impl Awaits {
    /// A person, however long it takes, or nobody.
    pub(crate) fn patiently(is_person: bool) -> Awaits {
        if is_person { Awaits::People { seconds: None } } else { Awaits::Nobody }
    }

    /// When those who are waited for since then are waited for no more.
    pub fn until(self, since: Timestamp) -> Option<Timestamp> {
        match self {
            Awaits::People { seconds: Some(seconds) } => Some(since.plus_ms(u64::from(seconds) * 1_000)),
            Awaits::People { seconds: None } | Awaits::Nobody => None,
        }
    }
}

/// How a person's words came in, as far as the caller said so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Origin {
    /// Words that come again with the same key are the same words, and are heard once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// Who it was, where the place in the order is anybody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<Arc<str>>,
}

impl Origin {
    fn is_unsaid(&self) -> bool {
        *self == Origin::default()
    }
}

/// An ask that was sent and whose answer nobody waited for any more. It is asked again as if it had not been, and is
/// charged at the most that it can have used: nobody knows how far its answer had come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LostAsk")]
pub struct Lost {
    pub ask: AskId,
    pub usage: Usage,
}

/// Why a call came to nothing, as it is recorded and shown. It never carries a key or a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallFailure {
    pub kind: FailureKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    Timeout,
    RateLimited,
    Overloaded,
    Unauthorized,
    Refused,
    ContextTooLong,
    Network,
    /// The provider answered with what is no answer.
    BadResponse,
    /// The provider says that the request is wrong.
    Rejected,
    /// The model cannot be used from here as it is configured.
    Unavailable,
    /// A strict script was asked something else than what was recorded.
    ScriptChanged,
}

/// An event with its place and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub seq: Seq,
    pub at: Timestamp,
    pub event: Event,
}

/// The event's own fields, after its place and time.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Placed<'a, E> {
            seq: Seq,
            at: Timestamp,
            #[serde(flatten)]
            event: &'a E,
        }
        /// A fork's own `at` is a place in the other journal: beside the time it goes by another name.
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Forked<'a> {
            r#type: &'static str,
            version: u32,
            from: SessionId,
            from_seq: Seq,
            change: &'a Change,
        }
        let (seq, at) = (self.seq, self.at);
        match &self.event {
            Event::Forked { version, from, at: from_seq, change } => {
                let (version, from, from_seq) = (*version, *from, *from_seq);
                let event = &Forked { r#type: "forked", version, from, from_seq, change };
                Placed { seq, at, event }.serialize(serializer)
            }
            Event::Decided(event) => Placed { seq, at, event }.serialize(serializer),
            event => Placed { seq, at, event }.serialize(serializer),
        }
    }
}

/// One of the events, told apart by `type`; the decisions of a format have its name there, and their own as `decision`.
impl JsonSchema for Record {
    fn schema_name() -> Cow<'static, str> {
        "Record".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut record = format::placed(Event::json_schema(generator), &[], generator);
        let decisions = format::decision_schemas(generator);
        if let Some(serde_json::Value::Array(variants)) = record.get_mut("oneOf") {
            variants.extend(decisions.into_iter().map(Schema::to_value));
        }
        let description = "A record of a journal: an event with its place and time, told apart by `type`. What only one \
                           format decides has the format's name as its `type` and a `decision`. What a newer version \
                           wrote is passed on as it was recorded: pass over what you do not know.";
        record.insert("description".to_owned(), description.into());
        record
    }
}

/// Why a recorded event cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error(
        "the session was recorded by a newer Polylogue (journal version {version}, this one reads up to {VERSION}): update Polylogue to open it"
    )]
    Newer { version: u32 },
    #[error("the session was recorded by a newer Polylogue (event `{0}` is unknown here): update Polylogue to open it")]
    Unknown(String),
    #[error("the record is damaged: {0}")]
    Damaged(String),
}

/// What every recorded event begins with.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    version: Option<u32>,
    /// Set in the decisions of formats.
    #[serde(borrow)]
    decision: Option<Cow<'a, str>>,
}
