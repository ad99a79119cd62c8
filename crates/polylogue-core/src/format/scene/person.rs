//! A person who plays a character: when they are waited for, what their words come to, and what they are shown.
//!
//! A part is a person's when its model is `person/NAME`. In every other respect they are a character like the others,
//! and nobody who plays with them is told. They may speak from the beginning of the beat; their time begins to run
//! when everybody else has had their turn.

use std::sync::Arc;

use super::{
    Decision, Scene, Settings,
    bracket::{self, Action},
    player::{Player, Standing},
    purpose,
};
use crate::{
    Conversation,
    event::Event,
    format::Place,
    id::{AgentId, AskId, PersonId},
    setup::{Cast, Change},
    stage::Stage,
    step::{Awaited, Rejected},
    time::Timestamp,
};

/// How long a person is waited for where the scene does not say.
pub const PATIENCE_SECONDS: u32 = 120;

/// The longest that a scene can say.
pub const MAX_PATIENCE_SECONDS: u32 = 7 * 24 * 3_600;

/// What a person is told of their part before the scene begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub character: AgentId,
    pub name: Arc<str>,
    /// How the other characters are called.
    pub others: Vec<String>,
    pub persona: Option<Arc<str>>,
    /// What they alone know.
    pub brief: Option<Arc<str>>,
    pub memories: Vec<Arc<str>>,
}

/// What a person whose turn it is is told, besides what they have heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cue {
    pub who: PersonId,
    pub character: AgentId,
    pub name: Arc<str>,
    pub beat: u32,
    /// For them alone, or for everybody.
    pub notes: Vec<Arc<str>>,
    pub until: Option<Timestamp>,
}

/// The part that a person plays in a scene.
pub fn part(conversation: &Conversation, who: &PersonId) -> Option<Part> {
    let (stage, scene) = (conversation.stage(), conversation.rules::<Scene>()?);
    let player = scene.player_of(stage, who)?;
    Some(Part {
        character: player.id.clone(),
        name: player.name.clone(),
        others: player.others(stage, &scene.settings),
        persona: stage.cast().agent(&player.id).and_then(|agent| agent.persona.clone()),
        brief: scene.settings.briefs.get(&player.id).cloned(),
        memories: scene.settings.memories.get(&player.id).cloned().unwrap_or_default(),
    })
}

/// What the people of a scene whose turn it is are told.
pub fn cues(conversation: &Conversation) -> Vec<Cue> {
    let stage = conversation.stage();
    let Some(scene) = conversation.rules::<Scene>().filter(|_| stage.ended().is_none()) else { return Vec::new() };
    let until = scene.until(stage);
    let cue = |player: &Player| {
        let Standing::Open { told, .. } = &player.standing else { return None };
        let (who, notes) = (stage.cast().person_of(&player.id)?, told.what.notes.clone());
        Some(Cue { who, character: player.id.clone(), name: player.name.clone(), beat: scene.beat, notes, until })
    };
    scene.players.iter().filter_map(cue).collect()
}

/// Whether everybody who plays the first beat is a person.
pub(super) fn begins_with_people(settings: &Settings, cast: &Cast) -> bool {
    settings.initial_speaker.as_ref().is_some_and(|speaker| cast.person_of(speaker).is_some())
}

impl Scene {
    fn player_of(&self, stage: &Stage, who: &PersonId) -> Option<&Player> {
        self.players.iter().find(|player| stage.cast().person_of(&player.id).as_ref() == Some(who))
    }

    /// Who has not had their turn in this beat: the agents, and the people.
    pub(super) fn open_turns(&self, stage: &Stage) -> (Vec<Place>, Vec<Awaited>) {
        let (mut asks, mut people) = (Vec::new(), Vec::new());
        for player in self.players.iter().filter(|player| player.is_open()) {
            match stage.cast().person_of(&player.id) {
                Some(who) => people.push(Awaited::patiently(who)),
                None => asks.push(self.turn(&player.id)),
            }
        }
        if asks.is_empty() {
            let until = self.until(stage);
            people.iter_mut().for_each(|awaited| awaited.until = until);
        }
        (asks, people)
    }

    fn turn(&self, agent: &AgentId) -> Place {
        Place { purpose: purpose::ACT, turn: self.beat, agent: agent.clone() }
    }

    /// When the beat goes on without the people whose turn it is.
    fn until(&self, stage: &Stage) -> Option<Timestamp> {
        let waits = self.is_waiting(stage);
        self.settings.awaits().until(self.waits_since.filter(|_| waits)?)
    }

    /// Whether the beat waits for nobody but people.
    pub(super) fn is_waiting(&self, stage: &Stage) -> bool {
        let mut open = self.players.iter().filter(|player| player.is_open()).peekable();
        self.over.is_none() && open.peek().is_some() && open.all(|player| self.is_person(stage, player))
    }

    pub(super) fn is_person(&self, stage: &Stage, player: &Player) -> bool {
        stage.cast().person_of(&player.id).is_some()
    }

    /// The turn that a person's words answer.
    pub(super) fn turn_of_person(&self, stage: &Stage, who: &PersonId) -> Option<AskId> {
        let player = self.player_of(stage, who).filter(|player| self.over.is_none() && player.is_open())?;
        Some(stage.ask_at(self.turn(&player.id)))
    }

    /// What a person's words come to.
    pub(super) fn heard(&self, stage: &Stage, who: &PersonId, text: &str) -> Result<Vec<Event>, Rejected> {
        let ask = self.turn_of_person(stage, who).ok_or_else(|| Rejected::NotYourTurn(who.clone()))?;
        Conversation::must_be_words(text, bracket::MAX_TEXT)?;
        let (action, problems) = self.written(&ask.agent, text);
        let mut events = self.did(stage, &ask, action, problems);
        events.extend(self.wait_after(stage, &ask.agent));
        Ok(events)
    }

    /// A person's words as a character's.
    pub(super) fn written(&self, character: &AgentId, text: &str) -> (Action, Vec<bracket::Problem>) {
        let name = self.settings.name_of(character);
        let others = self.players.iter().filter(|other| other.id != *character);
        let others: Vec<&str> = others.map(|other| &*other.name).collect();
        bracket::read_plain(text, name, &others)
    }

    /// What follows when a person who is waited for does not speak.
    pub(super) fn absent(&self, stage: &Stage, who: &PersonId) -> Result<Vec<Event>, Rejected> {
        let ask = self.turn_of_person(stage, who).ok_or_else(|| Rejected::NotAwaited(who.clone()))?;
        let passed_over = Event::decision(Decision::PassedOver { ask: ask.clone() });
        Ok([passed_over].into_iter().chain(self.wait_after(stage, &ask.agent)).collect())
    }

    /// The wait that begins when this character has had its turn, if only people are left then.
    pub(super) fn wait_after(&self, stage: &Stage, character: &AgentId) -> Option<Event> {
        let mut open = self.players.iter().filter(|player| player.is_open() && player.id != *character).peekable();
        open.peek()?;
        let people = open.map(|player| self.is_person(stage, player).then(|| player.id.clone()));
        people.collect::<Option<Vec<AgentId>>>().map(|characters| self.wait_begun(characters))
    }

    /// The wait that begins anew when the scene goes on: while nobody ran it, nobody could be heard.
    pub(super) fn wait_again(&self, stage: &Stage, change: &Change) -> Option<Event> {
        if !self.is_waiting(stage) {
            return None;
        }
        let is_recast = |player: &Player| change.recast.iter().any(|recast| recast.agent == player.id);
        let open = self.players.iter().filter(|player| player.is_open());
        // Whose part a model plays from now on is waited for no more.
        match open.clone().any(is_recast) {
            true => Some(self.wait_begun(Vec::new())),
            false => Some(self.wait_begun(open.map(|player| player.id.clone()).collect())),
        }
    }

    fn wait_begun(&self, characters: Vec<AgentId>) -> Event {
        Event::decision(Decision::WaitBegun { characters, seconds: self.settings.patience })
    }

    /// A person's reply in the form that models answer in: what a model is told that takes the part over.
    pub(super) fn in_form(&self, character: &AgentId, text: &str) -> Arc<str> {
        self.written(character, text).0.to_string().into()
    }
}
