//! The names that a discussion brings along.

use crate::format::Vocabulary;

pub mod purpose {
    use crate::id::Purpose;

    /// Take one's turn.
    pub const DISCUSS: Purpose = Purpose::new("discuss");
}

pub(super) const VOCABULARY: Vocabulary = Vocabulary { purposes: &[purpose::DISCUSS], kinds: &[], reasons: &[] };
