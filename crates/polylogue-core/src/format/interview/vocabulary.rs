//! The names that an interview brings along.

use crate::format::Vocabulary;

pub mod purpose {
    use crate::id::Purpose;

    /// Say why, out of the conversation.
    pub const EXPLAIN: Purpose = Purpose::new("explain");
}

pub(super) const VOCABULARY: Vocabulary = Vocabulary { purposes: &[purpose::EXPLAIN], kinds: &[], reasons: &[] };
