//! What a character's reply comes to: a line, silence, and the cut that an interruption makes.

use std::sync::Arc;

use super::{
    Decision, Scene,
    bracket::{self, Action, ActionKind},
    mood::tones,
    player::Player,
    vocabulary::kind,
};
use crate::{
    event::Event,
    id::{AgentId, AskId},
    line::{Delivery, Line, LineKind, Speaker},
    stage::Stage,
    text::cut::{cut_after, first_word},
};

impl Scene {
    /// What a character's reply comes to.
    pub(super) fn acted(&self, stage: &Stage, ask: &AskId, text: &str) -> Vec<Event> {
        let Some(player) = self.player(&ask.agent) else { return Vec::new() };
        let (action, problems) = self.read(player, text);
        self.did(stage, ask, action, problems)
    }

    /// What follows from what a character did.
    pub(super) fn did(
        &self,
        stage: &Stage,
        ask: &AskId,
        action: Action,
        problems: Vec<bracket::Problem>,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        if !problems.is_empty() {
            events.push(Event::decision(Decision::Salvaged { ask: ask.clone(), problems }));
        }
        let kind = match action.kind {
            ActionKind::Silent => {
                let nonverbal = action.nonverbal;
                events.push(Event::decision(Decision::StayedSilent { ask: ask.clone(), nonverbal }));
                return events;
            }
            ActionKind::Speak => kind::SPEAK,
            ActionKind::Interrupt => kind::INTERRUPT,
            ActionKind::React => kind::REACT,
        };
        let cut = action.after.as_deref().and_then(|phrase| self.interrupted(stage, &ask.agent, phrase));
        events.push(self.line(ask, kind, action));
        events.extend(cut);
        events
    }

    /// A character's reply as what it does.
    pub(super) fn read(&self, player: &Player, text: &str) -> (Action, Vec<bracket::Problem>) {
        let others: Vec<&str> =
            self.players.iter().filter(|other| other.id != player.id).map(|other| &*other.name).collect();
        bracket::read(text, &player.name, &others)
    }

    fn line(&self, ask: &AskId, kind: LineKind, action: Action) -> Event {
        let to = action.to.as_deref().and_then(|name| {
            let named = |player: &&Player| *player.name == *name;
            self.players.iter().find(named).map(|player| player.id.clone())
        });
        // What is done without a word is what there is to read.
        let text = match kind {
            kind::REACT => action.nonverbal.join("; ").into(),
            _ => action.text,
        };
        // Moods and voices are told by English words, whatever language it plays in.
        let tone = action.tone.map(|tone| {
            let english = tones::in_english(&tone, self.settings.language.as_deref());
            english.map_or(tone, Arc::from)
        });
        Event::LineSpoken {
            speaker: Speaker::Agent(ask.agent.clone()),
            kind,
            text,
            ask: Some(ask.clone()),
            to,
            voice: None,
            delivery: Delivery { tone, nonverbal: action.nonverbal, interrupts_after: action.after },
        }
    }

    /// The cut that an interruption makes: in the newest line of another, of this beat or the one before, that
    /// has the phrase and goes on after it. Without such a line nothing is cut, and the words stand for themselves.
    fn interrupted(&self, stage: &Stage, by: &AgentId, phrase: &str) -> Option<Event> {
        let heard = &stage.transcript().lines()[self.begins[0]..];
        let is_cut = |line: &&Line| {
            let is_anothers = line.speaker != Speaker::Agent(by.clone());
            let goes_on = || {
                let rest = cut_after(&line.text, phrase).map(|end| &line.text[end..]);
                rest.is_some_and(|rest| rest.chars().any(char::is_alphanumeric))
            };
            can_be_cut(line) && is_anothers && goes_on()
        };
        let line = heard.iter().rev().find(is_cut)?;
        Some(Event::LineCut { line: line.id, after: phrase.into(), by: by.clone() })
    }
}

/// Whether somebody who has the chance can come into a line: it is spoken, whole, and longer than a word.
pub(super) fn can_be_cut(line: &Line) -> bool {
    let is_spoken = matches!(line.kind, kind::SPEAK | kind::INTERRUPT);
    is_spoken && line.cut_after.is_none() && first_word(&line.text).is_some()
}
