//! A person directs: a note to one character or to all, and what happens in the world.
//!
//! Who has not been asked in this beat yet hears a note now, everybody else in the next beat: what a character was
//! asked stays as it was sent. What happens in the world is in the transcript at once, and the characters hear of it
//! with their next update.

use std::sync::Arc;

use super::{Decision, Note, NoteKind, Scene, by_moderator, purpose, vocabulary::kind};
use crate::{
    Conversation,
    event::Event,
    format::{self, Place},
    setup,
    stage::Stage,
    step::Rejected,
};

/// How often a person may direct within one beat.
pub(super) const MAX_DIRECTIONS: usize = 16;

impl Decision {
    /// A person's direction, to be proposed to a scene.
    pub fn directed(note: Option<setup::Note>, event: Option<&str>) -> format::Decision {
        let note = note.map(|setup::Note { to, text }| Note { to, text: text.trim().into(), kind: NoteKind::Director });
        format::Decision::new(Decision::Directed { note, event: event.map(|event| event.trim().into()) })
    }
}

impl Scene {
    /// What follows from a direction.
    pub(super) fn directed(
        &self,
        stage: &Stage,
        note: Option<&Note>,
        event: Option<&Arc<str>>,
    ) -> Result<Vec<Event>, Rejected> {
        if let Some(reason) = stage.ended().or(self.over) {
            return Err(Rejected::Ended(reason));
        }
        if note.is_none() && event.is_none() {
            return Err(Rejected::EmptyMessage);
        }
        for text in note.map(|note| &note.text).into_iter().chain(event) {
            Conversation::must_be_words(text, setup::Note::MAX_CHARS)?;
        }
        if let Some(Note { to, text, .. }) = note {
            setup::Note { to: to.clone(), text: text.clone() }.check(stage.cast())?;
        }
        if self.directions >= MAX_DIRECTIONS {
            return Err(Rejected::TooManyDirections(MAX_DIRECTIONS));
        }
        let directed = Event::decision(Decision::Directed { note: note.cloned(), event: event.cloned() });
        let happens = event.map(|event| by_moderator(kind::EVENT, event.clone(), None));
        Ok([directed].into_iter().chain(happens).collect())
    }

    /// Folds a direction.
    pub(super) fn direct(&mut self, stage: &Stage, note: Option<&Note>) {
        self.directions += 1;
        let (Some(note), turn) = (note, self.beat) else { return };
        for player in self.players.iter_mut().filter(|player| note.is_for(&player.id)) {
            let place = Place { purpose: purpose::ACT, turn, agent: player.id.clone() };
            let is_asked = stage.is_open(&stage.ask_at(place));
            player.direct(&note.text, is_asked);
        }
    }
}
