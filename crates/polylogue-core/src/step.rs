//! What the core wants done, what happened, and what it will not take.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    ask::Ask,
    event::{CallFailure, Drafts, Origin},
    format::Decision,
    id::{AskId, LineId, PersonId, Seq},
    ledger::Usage,
    line::Clip,
    reason::Reason,
    setup::{BadSetup, Change},
    time::Timestamp,
};

/// What is to be done next, in the imperative.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly every step is an ask, and few are held at a time")]
pub enum Step {
    /// Send this request.
    Ask(Ask),
    /// Make the clip of this line.
    Speak(LineId),
    /// Wait until this person has spoken, or their time is up.
    AwaitHuman(Awaited),
    /// Make the clip of what the narrator reads of this record.
    Narrate(Seq),
    /// Record the end.
    End(Reason),
}

/// A person who is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    pub who: PersonId,
    /// When it goes on without them; `None` where it waits however long they take.
    pub until: Option<Timestamp>,
}

impl Awaited {
    /// One who may take as long as they like.
    pub fn patiently(who: PersonId) -> Awaited {
        Awaited { who, until: None }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Answered {
        ask: AskId,
        answer: Answer,
    },
    AskFailed {
        ask: AskId,
        failure: CallFailure,
        usage: Usage,
        retries: u32,
    },
    ClipMade {
        line: LineId,
        clip: Clip,
    },
    ClipFailed {
        line: LineId,
        error: String,
    },
    Narrated {
        of: Seq,
        clip: Clip,
    },
    NotNarrated {
        of: Seq,
        error: String,
    },
    HumanSaid {
        who: PersonId,
        text: Arc<str>,
        origin: Origin,
    },
    /// A person who is waited for does not speak: their time is up, or nobody is there any more.
    Absent(Awaited),
    /// A person speaks to a session that is over, which goes on with this change.
    Reopened {
        who: PersonId,
        text: Arc<str>,
        change: Change,
    },
    /// Somebody outside wants the format to decide this.
    Proposed {
        decision: Decision,
    },
    /// Everything under way was dropped, and what had arrived by then.
    Halted {
        why: Halt,
        cut: Vec<Cut>,
    },
    ResumePressed {
        change: Change,
    },
}

/// A model's reply, after the runtime's retries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub text: Arc<str>,
    /// Of the try that brought it; `None` when the provider does not say.
    pub usage: Option<Usage>,
    /// Of the tries before it that came to nothing.
    pub wasted: Usage,
    pub retries: u32,
    /// Whether it broke off because the output limit was reached.
    pub is_full: bool,
    /// Which of several drafts it is.
    pub drafts: Option<Drafts>,
}

/// Why everything was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    StopPressed,
    TimeIsUp,
    /// What all sessions together may cost in a day is spent.
    DayIsSpent,
}

/// A call that was dropped while under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub ask: AskId,
    pub partial: Arc<str>,
    /// What the provider had reported by then.
    pub usage: Option<Usage>,
}

/// An input that changes nothing, and why. It can be sent to the process that the input came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Rejected {
    #[error("the session has ended ({0})")]
    Ended(Reason),
    #[error("nobody asked for that: {0}")]
    NotAsked(AskId),
    #[error("line {0} waits for no clip")]
    NoSuchClip(LineId),
    #[error("record {0} waits for no narrator")]
    NotToNarrate(Seq),
    #[error("`{0}` does not take part")]
    NotInCast(PersonId),
    #[error("it is not `{0}`'s turn: wait until the others have spoken")]
    NotYourTurn(PersonId),
    #[error("`{0}` is not waited for")]
    NotAwaited(PersonId),
    #[error("this format waits for `{0}`, however long it takes")]
    NotPassedOver(PersonId),
    #[error("the session is paused: resume it first")]
    Paused,
    #[error("somebody has spoken already: who takes part stays as it is")]
    Begun,
    #[error("that cannot be decided from outside in this format")]
    NotForOthers,
    #[error("the agents of this format are told nothing between their turns: leave the note out")]
    NoNotes,
    #[error("{0} directions wait to be heard already, which is the limit: try again in a moment")]
    TooManyDirections(usize),
    #[error("the key was used with other words: a new message needs a new key")]
    KeyUsed,
    #[error(transparent)]
    BadSetup(#[from] BadSetup),
    #[error("the message is empty")]
    EmptyMessage,
    #[error("the message is too long: {0} characters, at most {1} are taken")]
    TooLong(usize, usize),
    #[error("the session is complete ({0}): fork it to go on from an earlier place")]
    Complete(Reason),
    #[error(
        "the session was recorded by a newer Polylogue ({0} cannot be read here): it can be shown, and going on with it needs that version"
    )]
    Unread(String),
    #[error("the session ended at its limit ({0}): resume it with a higher one")]
    StillAtLimit(Reason),
}
