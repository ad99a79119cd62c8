//! The names that a scene brings along.

use crate::format::Vocabulary;

pub mod purpose {
    use crate::id::Purpose;

    /// Play one's character in a beat.
    pub const ACT: Purpose = Purpose::new("act").waited_for();
    /// Judge a beat, as the moderator.
    pub const JUDGE: Purpose = Purpose::new("judge").waited_for();
    /// Put down what one's character remembers of the scene.
    pub const REMEMBER: Purpose = Purpose::new("remember");
}

pub mod kind {
    use crate::line::{LineForm, LineKind};

    /// What a character says.
    pub const SPEAK: LineKind = LineKind::new("speak", LineForm::Words).spoken();
    /// What a character says into another's words.
    pub const INTERRUPT: LineKind = LineKind::new("interrupt", LineForm::Words).spoken();
    /// What a character does without a word.
    pub const REACT: LineKind = LineKind::new("react", LineForm::Act);
    /// What happens in the world.
    pub const EVENT: LineKind = LineKind::new("event", LineForm::Aside("EVENT"));
    /// What the engine has to say.
    pub const SYSTEM: LineKind = LineKind::new("system", LineForm::Aside("SYSTEM"));
}

pub mod reason {
    use crate::reason::{Ending, Reason};

    /// The scene came to what it was played for.
    pub const GOAL_ACHIEVED: Reason = Reason::new("goal_achieved", Ending::Complete);
    /// The scene came to an end of its own.
    pub const NATURAL_END: Reason = Reason::new("natural_end", Ending::Complete);
    /// The beats are used up.
    pub const MAX_BEATS_EXCEEDED: Reason = Reason::new("max_beats_exceeded", Ending::UsedUp);
    /// Nobody speaks any more, or they go in circles.
    pub const STALLED: Reason = Reason::new("stalled", Ending::Complete);
}

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    purposes: &[purpose::ACT, purpose::JUDGE, purpose::REMEMBER],
    kinds: &[kind::SPEAK, kind::INTERRUPT, kind::REACT, kind::EVENT, kind::SYSTEM],
    reasons: &[reason::GOAL_ACHIEVED, reason::NATURAL_END, reason::MAX_BEATS_EXCEEDED, reason::STALLED],
};
