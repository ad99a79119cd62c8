//! The names that a chorus brings along.

use crate::format::Vocabulary;

pub mod purpose {
    use crate::id::Purpose;

    /// Answer the person, in the first turn.
    pub const RESPOND: Purpose = Purpose::new("respond").waited_for();
    /// Comment on one of the others, in the second.
    pub const COMMENT: Purpose = Purpose::new("comment").waited_for();
    /// Reply to the comments, in the third.
    pub const REPLY: Purpose = Purpose::new("reply").waited_for();
}

pub mod kind {
    use crate::line::{LineForm, LineKind};

    /// What a slot answers the person.
    pub const RESPONSE: LineKind = LineKind::new("response", LineForm::Words).spoken();
    /// What a slot says about another's response.
    pub const COMMENT: LineKind = LineKind::new("comment", LineForm::Words).spoken();
    /// What a slot says to the comments on its own.
    pub const REPLY: LineKind = LineKind::new("reply", LineForm::Words).spoken();
}

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    purposes: &[purpose::RESPOND, purpose::COMMENT, purpose::REPLY],
    kinds: &[kind::RESPONSE, kind::COMMENT, kind::REPLY],
    reasons: &[],
};
