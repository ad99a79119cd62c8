//! One slot with what it has said and heard: its thread, its place in the turn, the comments on it.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{
    Decision,
    settings::{Settings, Slot, SlotId, VoiceProfile},
    turn::Turn,
};
use crate::{
    ask::{Request, Role, Thread},
    event::{Event, FailureKind},
    id::{AgentId, AskId},
    line::{Delivery, Speaker},
    reply::Shape,
    setup::{Agent, BadSetup},
    stage::Stage,
};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seat {
    pub(super) slot: SlotId,
    /// The agent as the caller named it.
    pub(super) agent_id: AgentId,
    /// The agent as the cast names it.
    pub(super) name: AgentId,
    /// The voice profiles that it may choose from.
    pub(super) voices: Arc<[Arc<str>]>,
    /// The fixed head of its requests.
    head: Arc<str>,
    thread: Thread,
    pub(super) standing: Standing,
    pub(super) response: Option<Arc<str>>,
    pub(super) comment: Option<Comment>,
    pub(super) received: Vec<Comment>,
    /// Whether a turn of this message failed.
    has_failed: bool,
}

/// Where a slot stands in the turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// It has no place in this turn.
    Out,
    /// It is to answer.
    Open {
        prompt: Arc<str>,
        shape: Arc<Shape>,
        is_again: bool,
    },
    Done,
    Failed,
}

/// What a slot says about another's response.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comment {
    pub(super) from: SlotId,
    pub(super) from_agent: AgentId,
    pub(super) target: SlotId,
    pub(super) text: Arc<str>,
}

impl Comment {
    pub(super) fn value(&self) -> Value {
        context! { fromSlotId => self.from.0, fromAgentId => self.from_agent.as_str(), comment => &self.text }
    }
}

impl Seat {
    pub(super) fn new(slot: &Slot, settings: &Settings, stage: &Stage) -> Result<Seat, BadSetup> {
        let name = slot.slot_id.agent();
        let agent = stage.cast().agent(&name);
        let persona = agent.and_then(|agent| agent.persona.clone());
        let voices: Arc<[Arc<str>]> = match agent.and_then(|agent| agent.voice.clone()) {
            Some(own) => [own].into(),
            None => settings.voices.iter().map(|voice| voice.name.clone()).collect(),
        };
        let variables = context! {
            slot_id => slot.slot_id.0,
            agent_id => slot.agent_id.as_str(),
            persona => persona,
            voice_profiles_table => table(&settings.voices, &voices),
        };
        let head = stage.templates().try_render("chorus_system.j2", &variables)?.into();
        Ok(Seat {
            slot: slot.slot_id,
            agent_id: slot.agent_id.clone(),
            name,
            voices,
            head,
            thread: Thread::default(),
            standing: Standing::Out,
            response: None,
            comment: None,
            received: Vec::new(),
            has_failed: false,
        })
    }

    /// What a turn's template is filled with.
    pub(super) fn variables(
        &self,
        message: &Arc<str>,
        voices: &[VoiceProfile],
        peers: &[Value],
        received: &[Value],
    ) -> Value {
        context! {
            slot_id => self.slot.0,
            agent_id => self.agent_id.as_str(),
            user_message => message,
            peer_responses => peers,
            received_comments => received,
            voice_profiles_table => table(voices, &self.voices),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.standing, Standing::Open { .. })
    }

    pub(super) fn is_asked_again(&self) -> bool {
        matches!(self.standing, Standing::Open { is_again: true, .. })
    }

    /// Whether it takes part in the next turn, as far as it lies with the slot.
    pub(super) fn can_go_on(&self) -> bool {
        self.response.is_some() && !self.has_failed
    }

    pub(super) fn open(&mut self, prompt: Arc<str>, shape: Shape) {
        self.standing = Standing::Open { prompt, shape: Arc::new(shape), is_again: false };
    }

    pub(super) fn ask_again(&mut self, again: Arc<str>) {
        if let Standing::Open { prompt, is_again, .. } = &mut self.standing {
            *prompt = again;
            *is_again = true;
        }
    }

    /// A new message: the thread stays, everything else begins anew.
    pub(super) fn clear(&mut self) {
        self.response = None;
        self.comment = None;
        self.received.clear();
        self.has_failed = false;
    }

    /// What it was told and what it answered, as it came, is the past of its next request.
    pub(super) fn remember(&mut self, answer: &Arc<str>) {
        if let Standing::Open { prompt, .. } = &self.standing {
            self.thread.push(Role::User, prompt.clone());
            self.thread.push(Role::Assistant, answer.clone());
        }
    }

    pub(super) fn say(&mut self, turn: Turn, text: &Arc<str>, target: Option<SlotId>) {
        self.standing = Standing::Done;
        match (turn, target) {
            (Turn::Respond, _) => {
                self.response = Some(text.clone());
                self.has_failed = false;
            }
            (Turn::Comment, Some(target)) => {
                let (from, from_agent) = (self.slot, self.agent_id.clone());
                self.comment = Some(Comment { from, from_agent, target, text: text.clone() });
            }
            (Turn::Comment, None) | (Turn::Reply, _) => {}
        }
    }

    pub(super) fn fail(&mut self) {
        self.standing = Standing::Failed;
        self.has_failed = true;
    }

    pub(super) fn shape(&self) -> Option<&Arc<Shape>> {
        match &self.standing {
            Standing::Open { shape, .. } => Some(shape),
            Standing::Out | Standing::Done | Standing::Failed => None,
        }
    }

    pub(super) fn request(&self, agent: &Agent) -> Request {
        let prompt = match &self.standing {
            Standing::Open { prompt, .. } => prompt.clone(),
            Standing::Out | Standing::Done | Standing::Failed => "".into(),
        };
        Request {
            model: agent.model.clone(),
            system: self.head.clone(),
            thread: self.thread.clone(),
            prompt,
            shape: self.shape().cloned(),
            grammar: None,
            sampling: agent.sampling.clone(),
        }
    }

    pub(super) fn line(&self, ask: &AskId, turn: Turn, text: String, voice: Arc<str>, to: Option<SlotId>) -> Event {
        Event::LineSpoken {
            speaker: Speaker::Agent(self.name.clone()),
            kind: turn.kind(),
            text: text.into(),
            ask: Some(ask.clone()),
            to: to.map(SlotId::agent),
            voice: Some(voice),
            delivery: Delivery::default(),
        }
    }

    pub(super) fn failure(&self, ask: &AskId, kind: Option<FailureKind>, message: String) -> Event {
        Event::Chorus(Decision::SlotFailed { turn: ask.turn, slot: self.slot, kind, message })
    }
}

/// The voices that a slot may choose, a line for each.
fn table(all: &[VoiceProfile], own: &[Arc<str>]) -> String {
    let described = |name: &Arc<str>| {
        let profile = all.iter().find(|voice| voice.name == *name);
        profile.map_or_else(|| format!("- {name}"), |voice| format!("- {name}: {}", voice.description))
    };
    own.iter().map(described).collect::<Vec<_>>().join("\n")
}
