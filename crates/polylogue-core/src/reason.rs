//! Why a session ended.

use serde::{Deserialize, Deserializer, de};

use crate::{
    format,
    name::{Name, open_name},
};

/// Why a session ended, with what can be done about it. The reasons here can end a session of any format; a
/// format has reasons of its own besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason {
    name: Name,
    ending: Ending,
}

/// What kind of end a reason is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    /// The conversation came to its own end.
    Complete,
    /// Its rounds or beats are used up. More of them let it go on.
    UsedUp,
    /// A limit was reached. A higher one lets it go on.
    Limit,
    /// It was broken off. It can go on as it is.
    BrokenOff,
    /// It could not be brought to an end, and going on would change nothing.
    GivenUp,
    /// A newer version wrote it, and this one does not know what it means.
    Unknown,
}

impl Reason {
    /// Everyone has had their turns.
    pub const COMPLETED: Reason = Reason::new("completed", Ending::Complete);
    /// The rounds are used up.
    pub const CAP_REACHED: Reason = Reason::new("cap_reached", Ending::UsedUp);
    /// Somebody pressed stop.
    pub const CANCELLED: Reason = Reason::new("cancelled", Ending::BrokenOff);
    /// A call that the session cannot do without failed for good.
    pub const FAILED: Reason = Reason::new("failed", Ending::BrokenOff);
    pub const LIMIT_USD: Reason = Reason::new("limit_usd", Ending::Limit);
    pub const LIMIT_TOKENS: Reason = Reason::new("limit_tokens", Ending::Limit);
    pub const LIMIT_SECONDS: Reason = Reason::new("limit_seconds", Ending::Limit);

    pub(crate) const SHARED: [Reason; 7] = [
        Reason::COMPLETED,
        Reason::CAP_REACHED,
        Reason::CANCELLED,
        Reason::FAILED,
        Reason::LIMIT_USD,
        Reason::LIMIT_TOKENS,
        Reason::LIMIT_SECONDS,
    ];

    pub const fn new(name: &'static str, ending: Ending) -> Reason {
        Reason { name: Name::new(name), ending }
    }

    /// The reason that is recorded under this name.
    pub(crate) fn named(name: Name) -> Reason {
        let known = Reason::SHARED.into_iter().chain(format::reasons()).find(|reason| reason.name == name);
        known.unwrap_or(Reason { name, ending: Ending::Unknown })
    }

    pub fn ending(self) -> Ending {
        self.ending
    }

    /// Whether what was wanted did not come about: neither the conversation's own end nor a bound that was set.
    pub fn is_failure(self) -> bool {
        matches!(self.ending, Ending::BrokenOff | Ending::GivenUp)
    }

    /// Whether this version knows it.
    pub(crate) fn is_known(self) -> bool {
        self.ending != Ending::Unknown
    }

    /// Reads a reason that a decision rests on: one that is not known makes the decision unknown.
    pub(crate) fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reason, D::Error> {
        let reason = Reason::deserialize(deserializer)?;
        let unknown = || de::Error::custom(format_args!("the reason `{reason}` is unknown here"));
        Some(reason).filter(|reason| reason.is_known()).ok_or_else(unknown)
    }
}

open_name!(Reason, Reason::SHARED.into_iter().chain(format::reasons()));
