//! Which lines are still being said.
//!
//! An interruption comes after the line that it cuts, mostly in the next beat. A line is being said for as long as
//! somebody can come into it. Whoever watches is shown no more of it than is heard in any case
//! ([`Line::beginning`](crate::line::Line::beginning)), and all that was heard of it when it is settled.

use super::{
    Scene,
    act::can_be_cut,
    player::{Player, Standing},
};
use crate::{Conversation, id::LineId, line::Line, stage::Stage};

/// Who looks at a scene while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    Audience,
    /// Plays a character. Whose turn it is sees every line whole, since they may answer it or come into it. What they
    /// have seen they have seen, and what people said themselves is known to them.
    Player,
}

/// The lines that are still being said, in their order; none in a session of another format.
pub fn being_said(conversation: &Conversation, watcher: Watcher) -> Vec<LineId> {
    let Some(scene) = conversation.rules::<Scene>() else { return Vec::new() };
    let stage = conversation.stage();
    let is_hidden = |(at, line): &(usize, &Line)| match watcher {
        Watcher::Audience => true,
        Watcher::Player => *at >= scene.seen && !scene.is_a_person_s(stage, line),
    };
    scene.being_said(stage).filter(is_hidden).map(|(_, line)| line.id).collect()
}

impl Scene {
    fn being_said<'a>(&self, stage: &'a Stage) -> impl Iterator<Item = (usize, &'a Line)> {
        let [before, now] = self.begins;
        let from = before.max(self.settled);
        let has_next = self.beat + 1 < self.max_beats;
        let lines = stage.transcript().lines().iter().enumerate().skip(from);
        // In this beat whoever has not answered yet, in the next one anybody.
        let may_come_in = move |player: &Player, line: &Line| {
            let answers = player.is_open() || player.standing == Standing::Speaking;
            (answers || comes_in(player, stage)) && !player.said(line)
        };
        let is_open = move |(at, line): &(usize, &Line)| {
            let in_next = has_next && *at >= now;
            can_be_cut(line) && (in_next || self.players.iter().any(|player| may_come_in(player, line)))
        };
        lines.filter(is_open)
    }

    pub(super) fn is_turn_of_a_person(&self, stage: &Stage) -> bool {
        self.over.is_none() && self.players.iter().any(|player| player.is_due() && self.is_person(stage, player))
    }

    fn is_a_person_s(&self, stage: &Stage, line: &Line) -> bool {
        self.players.iter().any(|player| player.said(line) && self.is_person(stage, player))
    }
}

/// Whether its interruption is the newest record: what it cuts is told by the next.
fn comes_in(player: &Player, stage: &Stage) -> bool {
    let newest = stage.transcript().lines().last().filter(|line| line.seq == stage.head());
    newest.is_some_and(|line| line.delivery.interrupts_after.is_some() && player.said(line))
}
