//! What a narrator reads: what happens in the world, and what those present do and can be seen to do.
//!
//! It is heard beside the lines and is none of them: nobody said it, no transcript has it and no prompt. It is found
//! by the record that it tells of, and each format says what of its records is told.

use std::sync::Arc;

use crate::{
    id::{AgentId, Seq},
    line::ClipState,
};

/// How the narrator is called where people read it.
pub const NARRATOR: &str = "Narrator";

/// What is read of one record.
#[derive(Clone, Debug, PartialEq)]
pub struct Narration {
    pub seq: Seq,
    pub text: Arc<str>,
    /// The turn that it belongs to, where it belongs to one.
    pub turn: Option<u32>,
    pub clip: ClipState,
}

/// Whom a narrator's clips are charged to in the ledger.
pub(crate) fn account() -> AgentId {
    "narrator".parse().expect("a good name")
}

/// The narrations of a session, in the order of their records.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Narrations(Vec<Narration>);

impl Narrations {
    pub(crate) fn all(&self) -> &[Narration] {
        &self.0
    }

    /// Tells something at a record, after what is told at it already.
    pub(crate) fn tell(&mut self, seq: Seq, turn: Option<u32>, text: &str) {
        match self.0.last_mut().filter(|last| last.seq == seq) {
            Some(last) => last.text = format!("{} {text}", last.text).into(),
            None => self.0.push(Narration { seq, text: text.into(), turn, clip: ClipState::Wanted }),
        }
    }

    pub(crate) fn wanted(&self) -> impl Iterator<Item = Seq> + '_ {
        self.0.iter().filter(|narration| narration.clip == ClipState::Wanted).map(|narration| narration.seq)
    }

    pub(crate) fn get(&self, seq: Seq) -> Option<&Narration> {
        self.0.binary_search_by_key(&seq, |narration| narration.seq).ok().map(|at| &self.0[at])
    }

    pub(crate) fn set(&mut self, seq: Seq, clip: ClipState) {
        if let Ok(at) = self.0.binary_search_by_key(&seq, |narration| narration.seq) {
            self.0[at].clip = clip;
        }
    }
}

/// What somebody is seen to do, as a narrator says it: `closes the door` is `Alice closes the door.`
pub(crate) fn act(name: &str, act: &str) -> Option<String> {
    let act = act.trim().trim_matches(['*', '.', '。', ';', ' ']);
    let first = act.chars().next().filter(|_| act.contains(char::is_alphanumeric))?;
    let is_without_spaces = crate::text::cut::stands_alone(first);
    let named = act.to_lowercase().starts_with(&name.to_lowercase());
    let word = act.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    // What is no sentence about the name is told beside it: `Alice: a long silence.`
    let is_apart = word.ends_with("ing") || matches!(word, "a" | "an" | "the" | "with" | "in" | "no");
    Some(match () {
        () if is_without_spaces && named => format!("{act}。"),
        () if is_without_spaces => format!("{name}、{act}。"),
        () if named || first.is_uppercase() => format!("{act}."),
        () if is_apart => format!("{name}, {act}."),
        () => format!("{name} {act}."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_are_told_of_who_does_them() {
        for (text, told) in [
            ("closes the door behind her", Some("Alice closes the door behind her.")),
            ("*sighs.*", Some("Alice sighs.")),
            ("schließt die Tür", Some("Alice schließt die Tür.")),
            ("looking away", Some("Alice, looking away.")),
            ("a long silence", Some("Alice, a long silence.")),
            ("Alice dials the number", Some("Alice dials the number.")),
            ("The door closes", Some("The door closes.")),
            ("ドアを閉める", Some("Alice、ドアを閉める。")),
            ("…", None),
            ("", None),
        ] {
            assert_eq!(act("Alice", text).as_deref(), told, "{text}");
        }
    }

    #[test]
    fn what_is_told_at_one_record_is_one_narration() {
        let mut narrations = Narrations::default();
        narrations.tell(Seq(1), None, "It rains.");
        narrations.tell(Seq(1), None, "A door opens.");
        narrations.tell(Seq(4), Some(2), "Bob nods.");
        assert_eq!(narrations.wanted().collect::<Vec<_>>(), [Seq(1), Seq(4)]);
        narrations.set(Seq(1), ClipState::Failed);
        narrations.set(Seq(2), ClipState::Failed);
        assert_eq!(narrations.wanted().collect::<Vec<_>>(), [Seq(4)]);
        assert_eq!(narrations.get(Seq(1)).map(|narration| &*narration.text), Some("It rains. A door opens."));
    }
}
