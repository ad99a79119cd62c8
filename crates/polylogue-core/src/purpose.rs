//! What an ask is for. Every format has purposes of its own.

use crate::{
    format,
    name::{Name, open_name},
};

/// What an ask is for, with what shared code needs to know of it. A format gives each of its purposes one prompt
/// and one form of reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Purpose {
    name: Name,
    is_waited_for: bool,
    is_known: bool,
}

impl Purpose {
    /// Not an ask: what speech costs has its place in the ledger under this name.
    pub const SPEECH: Purpose = Purpose::new("speech");

    pub const fn new(name: &'static str) -> Purpose {
        Purpose { name: Name::new(name), is_waited_for: false, is_known: true }
    }

    /// The same, where others wait for the answer.
    pub const fn waited_for(self) -> Purpose {
        Purpose { is_waited_for: true, ..self }
    }

    /// The purpose that is recorded under this name.
    pub(crate) fn named(name: Name) -> Purpose {
        let known = format::purposes().find(|purpose| purpose.name == name);
        known.unwrap_or(Purpose { name, is_waited_for: false, is_known: false })
    }

    /// Whether others wait for the answer. Then one deadline holds for all tries together, so that a slow model holds
    /// nobody up for longer.
    pub fn is_waited_for(self) -> bool {
        self.is_waited_for
    }

    /// Whether this version knows it.
    pub(crate) fn is_known(self) -> bool {
        self.is_known
    }
}

open_name!(Purpose, format::purposes());
