//! The names that a score brings along.

use crate::format::Vocabulary;

pub mod purpose {
    use crate::id::Purpose;

    /// Have one's turn in a phase.
    pub const PLAY: Purpose = Purpose::new("play").waited_for();
    /// Choose who speaks.
    pub const PICK: Purpose = Purpose::new("pick").waited_for();
}

pub mod reason {
    use crate::reason::{Ending, Reason};

    /// So many seats of a role failed a phase that fewer are left than the role has at least.
    pub const TOO_FEW: Reason = Reason::new("too_few", Ending::BrokenOff);
    /// An expression of the score could not be worked out.
    pub const BAD_SCORE: Reason = Reason::new("bad_score", Ending::GivenUp);
}

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    purposes: &[purpose::PLAY, purpose::PICK],
    kinds: &[],
    reasons: &[reason::TOO_FEW, reason::BAD_SCORE],
};
