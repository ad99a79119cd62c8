//! Collaboration: one agent at a time; the speaker hands over; it ends with `final`, with no handoff, or when
//! the rounds are used up. A single call is the smallest one: an agent answers a person, and may hand over once.

mod envelope;
mod settings;
mod window;

use std::{collections::BTreeMap, sync::Arc};

use minijinja::context;
use serde::{Deserialize, Serialize};

use self::{envelope::Envelope, window::Window};
pub use self::{
    settings::{Mode, Settings},
    window::Said,
};
use super::{Place, Reaction, Rules, Wants};
use crate::{
    ask::{Request, Thread},
    event::{CallFailure, Event, Record},
    id::{AgentId, AskId, PersonId, Purpose},
    identity::own_line,
    line::{Delivery, LineKind, Speaker},
    reason::Reason,
    reply::{self, Repair, Shape},
    setup::BadSetup,
    stage::Stage,
    step::Rejected,
};

/// What only a collaboration decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Decision {
    /// The next round is another agent's, with this task.
    HandedOver { to: AgentId, task: Arc<str> },
    /// The speaker's reply was the last.
    Concluded {
        reason: Reason,
        /// Why a reply could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
}

/// The state of a collaboration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Collaboration {
    goal: Arc<str>,
    speaker: AgentId,
    round: u32,
    max_rounds: u32,
    mode: Mode,
    concluded: Option<Reason>,
    background: Window,
    window: Window,
    /// The fixed head of each agent's requests.
    heads: BTreeMap<AgentId, Arc<str>>,
    envelope: Arc<Shape>,
}

impl Collaboration {
    pub(crate) fn new(settings: &Settings, stage: &mut Stage, started: &Record) -> Result<Self, BadSetup> {
        let cast = stage.cast();
        let names: Vec<String> = cast.agents().iter().map(|agent| agent.name.to_string()).collect();
        let envelope = envelope::shape(&names);
        let schema = envelope.schema().to_string();
        let mut heads = BTreeMap::new();
        for agent in cast.agents() {
            let name = agent.name.as_str();
            let others: Vec<String> = names.iter().filter(|other| *other != name).cloned().collect();
            let persona = agent.persona.as_ref();
            let variables = context! { name => name, others => others, persona => persona, schema => schema.as_str() };
            let head = stage.templates().try_render(settings.mode.system_template(), &variables)?;
            heads.insert(agent.name.clone(), head.into());
        }
        let collaboration = Collaboration {
            goal: settings.goal.clone(),
            speaker: settings.speaker.clone(),
            round: 1,
            max_rounds: settings.max_rounds,
            mode: settings.mode,
            concluded: None,
            background: Window::of(&settings.background),
            window: Window::default(),
            heads,
            envelope: Arc::new(envelope),
        };
        stage.templates().try_render(settings.mode.turn_template(), &collaboration.variables())?;
        if let Some(person) = stage.cast().people().first().cloned() {
            stage.say(started, Speaker::Person(person), LineKind::User, None, &settings.goal, None);
        }
        Ok(collaboration)
    }

    fn variables(&self) -> minijinja::Value {
        context! {
            goal => &self.goal,
            background => self.background.values(),
            transcript => self.window.values(),
            round => self.round,
            max_rounds => self.max_rounds,
        }
    }

    /// The text as the agent's own line.
    fn line(&self, stage: &Stage, ask: &AskId, text: &str, repairs: &mut Vec<Repair>) -> Event {
        let cast = stage.cast();
        let agents = cast.agents().iter().map(|agent| agent.name.as_str());
        let people = cast.people().iter().map(PersonId::as_str);
        let others: Vec<&str> =
            agents.chain(people).chain(["router"]).filter(|name| *name != ask.agent.as_str()).collect();
        let text = own_line(text, ask.agent.as_str(), &others, repairs).into();
        Event::LineSpoken {
            speaker: Speaker::Agent(ask.agent.clone()),
            kind: LineKind::Message,
            text,
            ask: Some(ask.clone()),
            to: None,
            voice: None,
            delivery: Delivery::default(),
        }
    }
}

impl Rules for Collaboration {
    fn wants(&self, _: &Stage) -> Wants {
        if let Some(reason) = self.concluded {
            Wants::End(reason)
        } else if self.round > self.max_rounds {
            Wants::End(Reason::CapReached)
        } else {
            Wants::Asks(vec![Place { purpose: Purpose::Contribute, turn: self.round, agent: self.speaker.clone() }])
        }
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        Request {
            model: agent.model.clone(),
            system: self.heads[&ask.agent].clone(),
            thread: Thread::default(),
            prompt: stage.templates().render(self.mode.turn_template(), &self.variables()),
            shape: Some(self.envelope.clone()),
            grammar: None,
            sampling: agent.sampling.clone(),
        }
    }

    fn answered(&self, stage: &Stage, ask: &AskId, text: &str) -> Reaction {
        let reading = reply::read(text, &self.envelope);
        let mut repairs = reading.repairs;
        let (said, decision) = match reading.value.map(Envelope::from) {
            Ok(Envelope { message, is_final: true, .. }) => {
                (message, Decision::Concluded { reason: Reason::Final, problem: None })
            }
            Ok(Envelope { message, handoff: Some(handoff), .. }) => {
                (message, Decision::HandedOver { to: handoff.to, task: handoff.task.into() })
            }
            Ok(Envelope { message, handoff: None, .. }) => {
                (message, Decision::Concluded { reason: Reason::NoHandoff, problem: None })
            }
            Err(problem) => {
                let problem = Some(problem.to_string());
                (text.to_owned(), Decision::Concluded { reason: Reason::MalformedReply, problem })
            }
        };
        let mut events = Vec::with_capacity(2);
        if !said.trim().is_empty() {
            events.push(self.line(stage, ask, &said, &mut repairs));
        }
        events.push(Event::Collaboration(decision));
        Reaction { repairs, events }
    }

    fn failed(&self, _: &Stage, _: &AskId, _: &CallFailure) -> Vec<Event> {
        vec![Event::Collaboration(Decision::Concluded { reason: Reason::Failed, problem: None })]
    }

    /// A person may put in a word at any time; the next speaker reads it.
    fn may_speak(&self, _: &Stage, _: &PersonId) -> Result<(), Rejected> {
        Ok(())
    }

    fn bound(&self) -> Option<u32> {
        Some(self.max_rounds)
    }

    fn notice(&self, stage: &Stage, reason: Reason) -> Option<Arc<str>> {
        let (round, rounds, speaker) = (self.round.min(self.max_rounds), self.max_rounds, &self.speaker);
        let (limits, noun) = (stage.limits(), self.mode.noun());
        // Whoever asks one agent sees that it has answered.
        let is_answered = matches!(
            reason,
            Reason::Final | Reason::NoHandoff | Reason::CapReached | Reason::MalformedReply | Reason::Completed
        );
        if self.mode == Mode::Single && is_answered {
            return None;
        }
        let why = match reason {
            Reason::Cancelled => return Some(format!("{noun} canceled by user.").into()),
            Reason::Final => format!("{speaker} finished it in round {round} of {rounds}"),
            Reason::NoHandoff => format!("{speaker} handed over to nobody in round {round} of {rounds}"),
            Reason::CapReached => format!("all {rounds} rounds are used"),
            Reason::MalformedReply => format!("the reply of {speaker} could not be read and is shown as it came"),
            Reason::Completed
            | Reason::GoalAchieved
            | Reason::NaturalEnd
            | Reason::MaxBeatsExceeded
            | Reason::Stalled => "everyone has had their turns".to_owned(),
            Reason::Failed => format!("{speaker} could not be reached"),
            Reason::LimitUsd => format!("the next call could pass the limit of {}", limits.max_usd),
            Reason::LimitTokens => format!("the next call could pass the limit of {} tokens", limits.max_tokens),
            Reason::LimitSeconds => format!("the limit of {} seconds is reached", limits.max_seconds),
        };
        Some(format!("{noun} ended: {why}.").into())
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        match &record.event {
            Event::LineSpoken { speaker, text, .. } => self.window.push(speaker.name(), None, text),
            Event::HumanSpoke { who, text, .. } => self.window.push(who.as_str(), None, text),
            Event::Collaboration(Decision::HandedOver { to, task }) => {
                stage.say(record, Speaker::Router, LineKind::Router, Some(to.clone()), task, None);
                self.window.push("router", Some(to.as_str()), task);
                self.speaker = to.clone();
                self.round += 1;
            }
            Event::Collaboration(Decision::Concluded { reason, .. }) => self.concluded = Some(*reason),
            Event::Resumed { change, .. } | Event::Forked { change, .. } => {
                // A failed call is made again; every other conclusion stands.
                self.concluded = self.concluded.filter(|reason| *reason != Reason::Failed);
                self.max_rounds = change.max_rounds.unwrap_or(self.max_rounds);
            }
            Event::Started { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::LineCut { .. }
            | Event::Chorus(_)
            | Event::Discussion(_)
            | Event::Scene(_)
            | Event::Ended { .. } => {}
        }
    }
}
