//! What follows from a beat: whether the scene is over and, if it is not, what happens in the world and what
//! the moderator has to say to whom.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    judgement::{ArcState, Judgement},
    notes::Directed,
    pace::Pace,
    player::Player,
    settings::{Edition, Settings, WorldEvents},
    stock,
    vocabulary::reason,
};
use crate::{chance::Chance, id::AgentId, reason::Reason, text::cut::cut_after};

/// The progress from which the characters are told to wrap up, in percent.
const NEAR_THE_END: u8 = 80;

/// What the draws of a scene are for; part of their place.
const STOCK_EVENT: u64 = 4;

/// A direction that the transcript does not show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SceneNote")]
pub struct Note {
    /// `None` when it is for everybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    pub text: Arc<str>,
    pub kind: NoteKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SceneNoteKind")]
pub enum NoteKind {
    /// To the initial speaker.
    Opening,
    WrapUp,
    Closing,
    /// The scene does not move.
    Stall,
    /// The character strays from its personality.
    Drift,
    Direction,
    /// The character leaves no room for the others.
    Alone,
    /// A person directs.
    Director,
}

impl NoteKind {
    pub fn as_str(self) -> &'static str {
        match self {
            NoteKind::Opening => "opening",
            NoteKind::WrapUp => "wrap up",
            NoteKind::Closing => "closing",
            NoteKind::Stall => "stall",
            NoteKind::Drift => "drift",
            NoteKind::Direction => "direction",
            NoteKind::Alone => "alone",
            NoteKind::Director => "director",
        }
    }
}

impl Note {
    fn everybody(kind: NoteKind, text: impl Into<Arc<str>>) -> Note {
        Note { to: None, text: text.into(), kind }
    }

    pub(super) fn to(agent: &AgentId, kind: NoteKind, text: impl Into<Arc<str>>) -> Note {
        Note { to: Some(agent.clone()), text: text.into(), kind }
    }

    pub(super) fn is_for(&self, agent: &AgentId) -> bool {
        self.to.as_ref().is_none_or(|to| to == agent)
    }
}

/// Whether a text names somebody.
fn names(text: &str, name: &str) -> bool {
    cut_after(text, name).is_some()
}

/// A beat that is over, with everything that decides what follows.
#[derive(Debug)]
pub(super) struct Outlook<'a> {
    pub(super) settings: &'a Settings,
    pub(super) seed: u64,
    pub(super) beat: u32,
    pub(super) max_beats: u32,
    /// The pace with this beat counted.
    pub(super) pace: &'a Pace,
    pub(super) is_silent: bool,
    /// How far each character has come, with this judgement.
    pub(super) arcs: &'a [Option<ArcState>],
    /// Whether words that were heard fulfil every part of the goal.
    pub(super) is_goal_shown: bool,
    pub(super) directed: &'a Directed,
    /// In the order of the arcs.
    pub(super) players: &'a [Player],
    pub(super) judgement: Option<&'a Judgement>,
}

impl Outlook<'_> {
    /// Why the scene is over, and whether it came to its goal.
    pub(super) fn conclusion(&self) -> Option<(Reason, bool)> {
        // Nothing is over before everybody could say a word.
        let is_opening = self.beat == 0 && self.settings.initial_speaker.is_some();
        if let Some(judgement) = self.judgement.filter(|_| !is_opening) {
            let is_near = judgement.progress >= NEAR_THE_END;
            let all_resolved = self.arcs.iter().all(|arc| *arc == Some(ArcState::Resolved));
            // Who takes a goal for reached that nothing shows, takes the scene for over on no better grounds.
            let is_overstated = judgement.goal_reached && !self.is_goal_shown;
            if judgement.goal_reached && self.is_goal_shown {
                return Some((reason::GOAL_ACHIEVED, true));
            } else if !is_overstated && (judgement.natural_end || (is_near && all_resolved)) {
                return Some((reason::NATURAL_END, false));
            }
        }
        if self.pace.is_unreachable() {
            Some((Reason::FAILED, false))
        } else if self.pace.is_stalled() {
            Some((reason::STALLED, false))
        } else if self.beat + 1 >= self.max_beats {
            Some((reason::MAX_BEATS_EXCEEDED, false))
        } else {
            None
        }
    }

    /// What happens in the world before the next beat.
    pub(super) fn world_events(&self) -> Vec<Arc<str>> {
        let next = self.beat + 1;
        match &self.settings.events {
            WorldEvents::Off | WorldEvents::At(_) => self.settings.events.scheduled(next).collect(),
            WorldEvents::Auto => {
                let push = self.pace.needs_a_push();
                let wish = self.judgement.and_then(|judgement| judgement.event.clone());
                let is_off_track = self.judgement.is_some_and(|judgement| !judgement.on_track);
                let is_time = push || ((self.is_silent || is_off_track) && self.pace.has_room_for_event(next));
                let stock = || self.stock_event(next).into();
                let event = if push { Some(wish.unwrap_or_else(stock)) } else { wish };
                event.filter(|_| is_time).into_iter().collect()
            }
        }
    }

    fn stock_event(&self, beat: u32) -> &'static str {
        let events = stock::events(self.settings.language.as_deref());
        Chance::new(self.seed, &[STOCK_EVENT, beat.into()]).pick(events).unwrap_or(events[0])
    }

    /// Who is told to close the scene, or to come to an end. Each of it is said once, and to whom it concerns.
    fn towards_the_end(&self, judgement: &Judgement) -> Vec<Note> {
        let closing = judgement.closing.as_ref().map(|closing| {
            let action = closing.trim_end_matches('.');
            format!("Please close the scene by this final action: {action}.")
        });
        let is_near = judgement.progress >= NEAR_THE_END;
        let wrap_up = "Scene is nearing natural conclusion. Begin wrapping up.";
        if self.settings.edition == Edition::First {
            let closing = closing.map(|text| Note::everybody(NoteKind::Closing, text));
            let wrap_up = is_near.then(|| Note::everybody(NoteKind::WrapUp, wrap_up));
            return closing.or(wrap_up).into_iter().collect();
        }
        if let Some(text) = closing.filter(|text| !self.directed.has_said(NoteKind::Closing, text)) {
            let named = self
                .players
                .iter()
                .filter(|player| names(judgement.closing.as_deref().unwrap_or_default(), &player.name));
            return self.to(&named.map(|player| &player.id).collect::<Vec<_>>(), NoteKind::Closing, &text);
        }
        let is_open = |(player, arc): &(&Player, &Option<ArcState>)| {
            **arc != Some(ArcState::Resolved) && !self.directed.knows_of_the_end(&player.id)
        };
        let open: Vec<&AgentId> =
            self.players.iter().zip(self.arcs).filter(is_open).map(|(player, _)| &player.id).collect();
        match is_near && !open.is_empty() {
            true => self.to(&open, NoteKind::WrapUp, wrap_up),
            false => Vec::new(),
        }
    }

    /// A note to these; to everybody as one.
    fn to(&self, who: &[&AgentId], kind: NoteKind, text: &str) -> Vec<Note> {
        match who.is_empty() || who.len() == self.players.len() {
            true => vec![Note::everybody(kind, text)],
            false => who.iter().map(|agent| Note::to(agent, kind, text)).collect(),
        }
    }

    /// What the characters are told for the next beat.
    pub(super) fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if let Some(judgement) = self.judgement {
            notes.extend(self.towards_the_end(judgement));
            for on in &judgement.characters {
                if let Some(drift) = &on.drift {
                    let text = format!("You stray from your character: {drift} Stay true to who you are.");
                    notes.push(Note::to(&on.character, NoteKind::Drift, text));
                }
                if let Some(note) = &on.note {
                    notes.push(Note::to(&on.character, NoteKind::Direction, note.clone()));
                }
            }
        }
        if self.pace.needs_a_push() {
            let text = match self.is_silent {
                true => "Someone should respond to move scene forward.",
                false => "The scene is going in circles. Say or do something new that moves it forward.",
            };
            notes.push(Note::everybody(NoteKind::Stall, text));
        }
        if let Some(agent) = self.pace.speaks_alone() {
            let text = "You have spoken in every beat while the others were silent. Leave them room to answer.";
            notes.push(Note::to(agent, NoteKind::Alone, text));
        }
        notes
    }
}
