//! What the moderator has had said to the characters, and what became of it: nothing is said twice that is to be said
//! once, and the moderator sees its own notes again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Judgement, Note, NoteKind, settings::Settings};
use crate::id::AgentId;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Directed {
    /// The moderator's last note to each.
    last: BTreeMap<AgentId, Given>,
    /// Who has been told that the scene comes to its end; `None` where all have.
    ending: BTreeSet<Option<AgentId>>,
    /// The final actions that were asked for.
    closings: BTreeSet<Arc<str>>,
}

/// A note that the moderator gave.
#[derive(Clone, Debug, PartialEq)]
struct Given {
    /// The beat that it was given for.
    beat: u32,
    text: Arc<str>,
    /// Whether it was followed, where the moderator has said so.
    followed: Option<bool>,
}

impl Directed {
    /// The moderator has judged a beat.
    pub(super) fn judged(&mut self, judgement: &Judgement, beat: u32) {
        for on in &judgement.characters {
            if let (Some(followed), Some(given)) = (on.followed, self.last.get_mut(&on.character)) {
                given.followed = Some(followed);
            }
            if let Some(text) = on.note.as_ref().or(on.drift.as_ref()) {
                let given = Given { beat: beat + 1, text: text.clone(), followed: None };
                self.last.insert(on.character.clone(), given);
            }
        }
    }

    /// These notes are said.
    pub(super) fn said(&mut self, notes: &[Note]) {
        for note in notes {
            match note.kind {
                NoteKind::WrapUp => drop(self.ending.insert(note.to.clone())),
                NoteKind::Closing => {
                    self.ending.insert(note.to.clone());
                    self.closings.insert(note.text.clone());
                }
                NoteKind::Opening
                | NoteKind::Stall
                | NoteKind::Drift
                | NoteKind::Direction
                | NoteKind::Alone
                | NoteKind::Director => {}
            }
        }
    }

    /// Whether this final action was asked for.
    pub(super) fn has_said(&self, kind: NoteKind, text: &str) -> bool {
        kind == NoteKind::Closing && self.closings.contains(text)
    }

    pub(super) fn knows_of_the_end(&self, who: &AgentId) -> bool {
        self.ending.contains(&None) || self.ending.contains(&Some(who.clone()))
    }

    /// What the moderator is to know of its notes: those for this beat, those that were not followed and, where its
    /// request stands alone, those of which it has not said.
    pub(super) fn notes(&self, settings: &Settings, is_whole: bool, beat: u32) -> Vec<String> {
        let mut notes = Vec::new();
        for (who, Given { beat: given, text, followed }) in &self.last {
            let name = settings.name_of(who);
            match followed {
                None if *given == beat => {
                    notes.push(format!("{name} was told: \"{text}\" Say whether it was followed."))
                }
                None if is_whole => notes.push(format!("{name} was told in beat {given}: \"{text}\"")),
                Some(false) => {
                    notes.push(format!("{name} was told in beat {given}, and has not followed it: \"{text}\""))
                }
                None | Some(true) => {}
            }
        }
        notes
    }
}
