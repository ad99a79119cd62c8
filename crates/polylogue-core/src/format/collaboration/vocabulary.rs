//! The names that a collaboration brings along.

use crate::format::Vocabulary;

pub mod purpose {
    use crate::id::Purpose;

    /// Take one's turn.
    pub const CONTRIBUTE: Purpose = Purpose::new("contribute");
}

pub mod reason {
    use crate::reason::{Ending, Reason};

    /// An agent said that the work is complete.
    pub const FINAL: Reason = Reason::new("final", Ending::Complete);
    /// An agent handed over to nobody.
    pub const NO_HANDOFF: Reason = Reason::new("no_handoff", Ending::Complete);
    /// A reply could not be understood; it was shown as it came.
    pub const MALFORMED_REPLY: Reason = Reason::new("malformed_reply", Ending::Complete);
}

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    purposes: &[purpose::CONTRIBUTE],
    kinds: &[],
    reasons: &[reason::FINAL, reason::NO_HANDOFF, reason::MALFORMED_REPLY],
};
