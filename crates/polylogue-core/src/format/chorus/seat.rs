//! One slot with what it has said and heard: its thread, its place in the turn, the comments on it.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{
    Decision, answer,
    phase::Phase,
    settings::{Settings, Slot, SlotId, VoiceProfile},
};
use crate::{
    ask::{Request, Text},
    event::{Event, FailureKind},
    id::{AgentId, AskId},
    line::{Delivery, Speaker},
    prompt::Templates,
    setup::Agent,
    stage::Stage,
    text::reply::Shape,
    thread::{Kept, Past, Told},
};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seat {
    pub(super) slot: SlotId,
    /// The agent as the caller named it.
    pub(super) agent_id: AgentId,
    /// The agent as the cast names it.
    pub(super) name: AgentId,
    /// What the others call it, where it has a name.
    pub(super) called: Option<Arc<str>>,
    /// The voice profiles that it may choose from.
    pub(super) voices: Arc<[Arc<str>]>,
    /// The fixed head of its requests.
    head: Kept,
    past: Past<Telling>,
    pub(super) standing: Standing,
    pub(super) response: Option<Arc<str>>,
    pub(super) comment: Option<Comment>,
    pub(super) received: Vec<Comment>,
    /// The last message before this one, and what it answered: what a small model knows of the past.
    pub(super) earlier: Option<(Arc<str>, Arc<str>)>,
}

/// Where a slot stands in the turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// It has no place in this turn.
    Out,
    /// It is to answer.
    Open {
        told: Told<Telling>,
        phase: Phase,
        /// The slots that a comment may be on.
        targets: Vec<SlotId>,
        is_again: bool,
    },
    Done,
    Failed,
}

/// What a slot is told, before it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Telling {
    Turn(News),
    /// Its last reply could not be used.
    Again {
        problem: Arc<str>,
        /// What it was to answer.
        news: Box<News>,
    },
}

impl Telling {
    fn news(&self) -> &News {
        match self {
            Telling::Turn(news) => news,
            Telling::Again { news, .. } => news,
        }
    }
}

/// What a turn's prompt is made from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct News {
    pub(super) phase: Phase,
    pub(super) message: Arc<str>,
    /// In the order in which they are shown.
    pub(super) peers: Vec<Peer>,
    pub(super) received: Vec<Comment>,
}

/// What another slot answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Peer {
    pub(super) slot: SlotId,
    pub(super) agent_id: AgentId,
    pub(super) called: Option<Arc<str>>,
    pub(super) text: Arc<str>,
}

/// What a slot says about another's response.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comment {
    pub(super) from: SlotId,
    pub(super) from_agent: AgentId,
    pub(super) called: Option<Arc<str>>,
    pub(super) target: SlotId,
    pub(super) text: Arc<str>,
}

impl Seat {
    pub(super) fn new(slot: &Slot, settings: &Settings, stage: &Stage) -> Seat {
        let name = slot.slot_id.agent();
        let own = stage.cast().agent(&name).and_then(|agent| agent.voice.clone());
        let voices: Arc<[Arc<str>]> = match own {
            Some(own) => [own].into(),
            None => settings.voices.iter().map(|voice| voice.name.clone()).collect(),
        };
        Seat {
            slot: slot.slot_id,
            agent_id: slot.agent_id.clone(),
            name,
            called: slot.name.clone(),
            voices,
            head: Kept::default(),
            past: Past::default(),
            standing: Standing::Out,
            response: None,
            comment: None,
            received: Vec::new(),
            earlier: None,
        }
    }

    /// What the fixed head of its requests is filled with.
    pub(super) fn head(&self, all: &[VoiceProfile], agent: &Agent, seats: &[Seat]) -> Value {
        let others = seats.iter().filter(|seat| seat.slot != self.slot);
        let called = |seat: &Seat| seat.called.as_deref().map_or_else(|| format!("slot {}", seat.slot), str::to_owned);
        context! {
            slot_id => self.slot.0,
            agent_id => self.agent_id.as_str(),
            name => &self.called,
            others => others.map(called).collect::<Vec<String>>(),
            persona => agent.persona.as_ref(),
            voice_profiles_table => table(all, &self.voices),
        }
    }

    /// What a turn's template is filled with.
    pub(super) fn variables(&self, all: &[VoiceProfile], news: &News) -> Value {
        let peer = |peer: &Peer| {
            let (slot, agent) = (peer.slot.0, peer.agent_id.as_str());
            context! { slotId => slot, agentId => agent, name => &peer.called, text => &peer.text }
        };
        let comment = |comment: &Comment| {
            let (slot, agent) = (comment.from.0, comment.from_agent.as_str());
            let name = &comment.called;
            context! { fromSlotId => slot, fromAgentId => agent, fromName => name, comment => &comment.text }
        };
        context! {
            slot_id => self.slot.0,
            agent_id => self.agent_id.as_str(),
            name => &self.called,
            user_message => &news.message,
            peer_responses => news.peers.iter().map(peer).collect::<Vec<_>>(),
            received_comments => news.received.iter().map(comment).collect::<Vec<_>>(),
            voice_profiles_table => table(all, &self.voices),
        }
    }

    fn write(&self, templates: &Templates, all: &[VoiceProfile], telling: &Telling) -> Text {
        match telling {
            Telling::Turn(news) => templates.render(news.phase.template(), &self.variables(all, news)),
            Telling::Again { problem, .. } => templates.render("chorus_again.j2", &context! { problem => problem }),
        }
    }

    /// What it answered, as the others are shown it.
    pub(super) fn as_peer(&self) -> Option<Peer> {
        let text = self.response.clone()?;
        Some(Peer { slot: self.slot, agent_id: self.agent_id.clone(), called: self.called.clone(), text })
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.standing, Standing::Open { .. })
    }

    pub(super) fn is_asked_again(&self) -> bool {
        matches!(self.standing, Standing::Open { is_again: true, .. })
    }

    pub(super) fn open(&mut self, news: News, targets: Vec<SlotId>) {
        let phase = news.phase;
        self.standing = Standing::Open { told: Told::new(Telling::Turn(news)), phase, targets, is_again: false };
    }

    pub(super) fn ask_again(&mut self, problem: &str) {
        if let Standing::Open { told, is_again, .. } = &mut self.standing {
            let news = Box::new(told.what.news().clone());
            *told = Told::new(Telling::Again { problem: problem.into(), news });
            *is_again = true;
        }
    }

    /// A new message after this one: the thread stays, everything else begins anew.
    pub(super) fn clear(&mut self, message: &Arc<str>) {
        self.earlier = self.response.take().map(|said| (message.clone(), said));
        self.comment = None;
        self.received.clear();
    }

    /// What it was told and what it answered, as it came, is the past of its next request.
    pub(super) fn remember(&mut self, answer: &Arc<str>) {
        if let Standing::Open { told, .. } = &self.standing {
            self.past.push(told.clone(), answer.clone());
        }
    }

    pub(super) fn say(&mut self, phase: Phase, text: &Arc<str>, target: Option<SlotId>) {
        self.standing = Standing::Done;
        match (phase, target) {
            (Phase::Respond, _) => self.response = Some(text.clone()),
            (Phase::Comment, Some(target)) => {
                let (from, from_agent, called) = (self.slot, self.agent_id.clone(), self.called.clone());
                self.comment = Some(Comment { from, from_agent, called, target, text: text.clone() });
            }
            (Phase::Comment, None) | (Phase::Reply, _) => {}
        }
    }

    pub(super) fn fail(&mut self) {
        self.standing = Standing::Failed;
    }

    /// The form of the reply that is asked for.
    pub(super) fn shape(&self) -> Option<Shape> {
        match &self.standing {
            Standing::Open { phase: Phase::Comment, targets, .. } => Some(answer::comment(&self.voices, targets)),
            Standing::Open { .. } => Some(answer::spoken(&self.voices)),
            Standing::Out | Standing::Done | Standing::Failed => None,
        }
    }

    pub(super) fn request(&self, stage: &Stage, all: &[VoiceProfile], agent: &Agent, seats: &[Seat]) -> Request {
        if let Standing::Open { told, .. } = &self.standing
            && agent.is_small
        {
            return self.small_request(stage, all, agent, told.what.news());
        }
        let templates = stage.templates();
        let write = |telling: &Telling| self.write(templates, all, telling);
        let prompt = match &self.standing {
            Standing::Open { told, .. } => told.text(write),
            Standing::Out | Standing::Done | Standing::Failed => Text::default(),
        };
        Request {
            model: agent.model.clone(),
            system: self.head.get(|| templates.render("chorus_system.j2", &self.head(all, agent, seats))),
            thread: self.past.thread(write),
            prompt,
            shape: self.shape().map(Arc::new),
            grammar: None,
            plan: None,
            sampling: agent.sampling.clone(),
        }
    }

    pub(super) fn line(&self, ask: &AskId, phase: Phase, text: String, voice: Arc<str>, to: Option<SlotId>) -> Event {
        Event::LineSpoken {
            speaker: Speaker::Agent(self.name.clone()),
            kind: phase.kind(),
            text: text.into(),
            ask: Some(ask.clone()),
            to: to.map(SlotId::agent),
            voice: Some(voice),
            delivery: Delivery::default(),
        }
    }

    pub(super) fn failure(&self, ask: &AskId, kind: Option<FailureKind>, message: String) -> Event {
        Event::decision(Decision::SlotFailed { turn: ask.turn, slot: self.slot, kind, message })
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
