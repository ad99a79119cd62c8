//! Why a session ended.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// An agent said that the work is complete.
    Final,
    /// An agent handed over to nobody.
    NoHandoff,
    /// The rounds are used up.
    CapReached,
    /// A reply could not be understood; it was shown as it came.
    MalformedReply,
    /// Everyone has had their turns.
    Completed,
    /// The scene came to what it was played for.
    GoalAchieved,
    /// The scene came to an end of its own.
    NaturalEnd,
    /// The beats are used up.
    MaxBeatsExceeded,
    /// Nobody speaks any more, or they go in circles.
    Stalled,
    /// Somebody pressed stop.
    Cancelled,
    /// A call that the session cannot do without failed for good.
    Failed,
    LimitUsd,
    LimitTokens,
    LimitSeconds,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Final => "final",
            Reason::NoHandoff => "no_handoff",
            Reason::CapReached => "cap_reached",
            Reason::MalformedReply => "malformed_reply",
            Reason::Completed => "completed",
            Reason::GoalAchieved => "goal_achieved",
            Reason::NaturalEnd => "natural_end",
            Reason::MaxBeatsExceeded => "max_beats_exceeded",
            Reason::Stalled => "stalled",
            Reason::Cancelled => "cancelled",
            Reason::Failed => "failed",
            Reason::LimitUsd => "limit_usd",
            Reason::LimitTokens => "limit_tokens",
            Reason::LimitSeconds => "limit_seconds",
        }
    }
}

/// What kind of end a reason is: what can be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The conversation came to its own end.
    Complete,
    /// Its rounds or beats are used up: more of them let it go on.
    UsedUp,
    /// A limit was reached: a higher one lets it go on.
    Limit,
    /// It was broken off, and can go on as it is.
    BrokenOff,
}

impl Reason {
    pub fn ending(self) -> Ending {
        match self {
            Reason::Final
            | Reason::NoHandoff
            | Reason::MalformedReply
            | Reason::Completed
            | Reason::GoalAchieved
            | Reason::NaturalEnd
            | Reason::Stalled => Ending::Complete,
            Reason::CapReached | Reason::MaxBeatsExceeded => Ending::UsedUp,
            Reason::LimitUsd | Reason::LimitTokens | Reason::LimitSeconds => Ending::Limit,
            Reason::Cancelled | Reason::Failed => Ending::BrokenOff,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
