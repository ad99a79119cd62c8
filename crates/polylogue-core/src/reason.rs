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
            Reason::Cancelled => "cancelled",
            Reason::Failed => "failed",
            Reason::LimitUsd => "limit_usd",
            Reason::LimitTokens => "limit_tokens",
            Reason::LimitSeconds => "limit_seconds",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
