//! The names that a discussion brings along.

use crate::format::Vocabulary;

pub mod purpose {
    use crate::id::Purpose;

    /// Take one's turn.
    pub const DISCUSS: Purpose = Purpose::new("discuss");
    /// State what was decided, when the rounds are over.
    pub const DECIDE: Purpose = Purpose::new("decide");
}

pub mod kind {
    use crate::line::{LineForm, LineKind};

    /// The decision that a discussion closes with.
    pub const DECISION: LineKind = LineKind::new("decision", LineForm::Words).spoken();
}

pub(super) const VOCABULARY: Vocabulary =
    Vocabulary { purposes: &[purpose::DISCUSS, purpose::DECIDE], kinds: &[kind::DECISION], reasons: &[] };
