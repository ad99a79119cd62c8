//! How the scene moves: how long nobody has spoken, or they go in circles, or nobody can be reached, and who
//! speaks alone.

use crate::id::AgentId;

/// Beats in a row without movement that are a stall.
pub(super) const STALL: u32 = 3;
/// Beats in a row in which nobody could be reached that end a scene.
const UNREACHABLE: u32 = 3;
/// Beats in a row in which one speaks alone before it is told.
const ALONE: u32 = 3;
/// Beats between two events that the moderator wishes for.
const BETWEEN_EVENTS: u32 = 2;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pace {
    /// Beats in a row without a line, or with nothing but repetition.
    stuck: u32,
    /// Whether something was done about a stall, and nothing has moved since.
    intervened: bool,
    unreachable: u32,
    alone: Option<(AgentId, u32)>,
    last_event: Option<u32>,
}

/// What there was in a beat.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeatFacts<'a> {
    pub(super) spoke: &'a [AgentId],
    /// Whether everybody who was asked failed.
    pub(super) all_failed: bool,
    pub(super) is_circling: bool,
}

impl Pace {
    pub(super) fn count(&mut self, beat: BeatFacts<'_>) {
        let is_stuck = beat.spoke.is_empty() || beat.is_circling;
        self.stuck = if is_stuck { self.stuck + 1 } else { 0 };
        self.intervened &= is_stuck;
        self.unreachable = if beat.all_failed { self.unreachable + 1 } else { 0 };
        self.alone = match (beat.spoke, self.alone.take()) {
            ([only], Some((before, beats))) if before == *only => Some((before, beats + 1)),
            ([only], _) => Some((only.clone(), 1)),
            _ => None,
        };
    }

    pub(super) fn intervene(&mut self) {
        self.stuck = 0;
        self.intervened = true;
    }

    pub(super) fn reach_again(&mut self) {
        self.unreachable = 0;
    }

    pub(super) fn event_in(&mut self, beat: u32) {
        self.last_event = Some(beat);
    }

    /// Whether something has to be done.
    pub(super) fn needs_a_push(&self) -> bool {
        self.stuck >= STALL && !self.intervened
    }

    /// Whether what was done did not help.
    pub(super) fn is_stalled(&self) -> bool {
        self.stuck >= STALL && self.intervened
    }

    pub(super) fn stuck(&self) -> u32 {
        self.stuck
    }

    pub(super) fn is_unreachable(&self) -> bool {
        self.unreachable >= UNREACHABLE
    }

    /// Who has spoken alone for so long that it should be told. It is told once in so many beats.
    pub(super) fn speaks_alone(&self) -> Option<&AgentId> {
        self.alone.as_ref().filter(|(_, beats)| beats % ALONE == 0).map(|(agent, _)| agent)
    }

    pub(super) fn has_room_for_event(&self, beat: u32) -> bool {
        self.last_event.is_none_or(|last| beat >= last + BETWEEN_EVENTS)
    }
}
