//! Collaboration: one agent at a time; the speaker hands over; it ends with `final`, with no handoff, or when
//! the rounds are used up. A single call is the smallest one: an agent answers a person, and may hand over once.

mod envelope;
mod room;
mod settings;
mod vocabulary;
mod window;

use std::{collections::BTreeMap, sync::Arc};

use minijinja::context;
use serde::{Deserialize, Serialize};

use self::{envelope::Envelope, window::Window};
pub use self::{
    room::{Recent, RoomEvent, RoomEventKind, RoomRound, RoomSession, RoomStream},
    settings::{Mode, Settings},
    vocabulary::{purpose, reason},
    window::Quote,
};
use super::{Decided, Format, Happened, Place, Reaction, Recorded, Remark, Rules, Vocabulary, Wants};
use crate::{
    ask::{Request, Thread},
    event::{Event, Record},
    id::{AgentId, AskId, PersonId},
    line::{Delivery, LineKind, Speaker},
    prompt::Templates,
    reason::{Ending, Reason},
    setup::{Agent, BadSetup},
    stage::{Stage, Words},
    step::Rejected,
    text::{
        identity::own_line,
        reply::{self, Repair, Shape},
    },
    thread::Kept,
};

/// What only a collaboration decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Decision {
    /// The next round is another agent's, with this task.
    HandedOver { to: AgentId, task: Arc<str> },
    /// The speaker's reply was the last.
    Concluded {
        #[serde(deserialize_with = "Reason::known")]
        reason: Reason,
        /// Why a reply could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
}

impl Decided for Decision {
    fn remark(&self) -> Option<Remark> {
        match self {
            Decision::Concluded { problem: Some(problem), .. } => {
                Some(Remark::warning(format!("a reply could not be read and is shown as it came: {problem}")))
            }
            Decision::Concluded { problem: None, .. } | Decision::HandedOver { .. } => None,
        }
    }
}

impl Recorded for Decision {
    const FORMAT: &'static str = Settings::NAME;
}

impl Format for Settings {
    const NAME: &'static str = "collaboration";
    const VOCABULARY: Vocabulary = vocabulary::VOCABULARY;
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[
        ("call_system.j2", include_str!("templates/call_system.j2")),
        ("call_turn.j2", include_str!("templates/call_turn.j2")),
        ("collaboration_system.j2", include_str!("templates/collaboration_system.j2")),
        ("collaboration_turn.j2", include_str!("templates/collaboration_turn.j2")),
    ];

    type Decision = Decision;
    type Rules = Collaboration;

    fn rules(&self, stage: &mut Stage, started: &Record) -> Collaboration {
        stage.open_with(started, &self.goal);
        Collaboration::new(self, stage)
    }
}

/// The state of a collaboration.
#[derive(Clone, Debug, PartialEq)]
pub struct Collaboration {
    goal: Arc<str>,
    speaker: AgentId,
    round: u32,
    max_rounds: u32,
    mode: Mode,
    concluded: Option<Reason>,
    background: Window,
    window: Window,
    /// The fixed head of each agent's requests.
    heads: BTreeMap<AgentId, Kept>,
    envelope: Arc<Shape>,
}

impl Collaboration {
    fn new(settings: &Settings, stage: &Stage) -> Self {
        let agents = stage.cast().agents().iter();
        let names: Vec<String> = agents.clone().map(|agent| agent.name.to_string()).collect();
        Collaboration {
            goal: settings.goal.clone(),
            speaker: settings.speaker.clone(),
            round: 1,
            max_rounds: settings.max_rounds,
            mode: settings.mode,
            concluded: None,
            background: Window::of(&settings.background),
            window: Window::default(),
            heads: agents.map(|agent| (agent.name.clone(), Kept::default())).collect(),
            envelope: Arc::new(envelope::shape(&names)),
        }
    }

    /// What the fixed head of an agent's requests is filled with.
    fn head(&self, stage: &Stage, agent: &Agent) -> minijinja::Value {
        let others = stage.cast().agents().iter().filter(|other| other.name != agent.name);
        let others: Vec<String> = others.map(|other| other.name.to_string()).collect();
        context! {
            name => agent.name.as_str(),
            others,
            persona => agent.persona.as_ref(),
            schema => self.envelope.schema().to_string(),
        }
    }

    fn variables(&self, templates: &Templates) -> minijinja::Value {
        // The built-in templates are content with lines.
        let parts = |window: &Window| templates.are_replaced().then(|| window.parts());
        context! {
            goal => &self.goal,
            background => parts(&self.background),
            background_lines => self.background.lines(),
            transcript => parts(&self.window),
            transcript_lines => self.window.lines(),
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
            kind: LineKind::MESSAGE,
            text,
            ask: Some(ask.clone()),
            to: None,
            voice: None,
            delivery: Delivery::default(),
        }
    }

    fn answered(&self, stage: &Stage, ask: &AskId, text: &str) -> Reaction {
        let reading = reply::read(text, &self.envelope);
        let mut repairs = reading.repairs;
        let concluded = |reason, problem| Decision::Concluded { reason, problem };
        let (message, decision) = match reading.value.map(Envelope::from) {
            Ok(Envelope { message, is_final: true, .. }) => (message, concluded(reason::FINAL, None)),
            Ok(Envelope { message, handoff: Some(handoff), .. }) => {
                (message, Decision::HandedOver { to: handoff.to, task: handoff.task.into() })
            }
            Ok(Envelope { message, handoff: None, .. }) => (message, concluded(reason::NO_HANDOFF, None)),
            Err(problem) => (text.to_owned(), concluded(reason::MALFORMED_REPLY, Some(problem.to_string()))),
        };
        let mut events = Vec::with_capacity(2);
        if !message.trim().is_empty() {
            events.push(self.line(stage, ask, &message, &mut repairs));
        }
        events.push(Event::decision(decision));
        Reaction { repairs, events }
    }
}

impl Rules for Collaboration {
    fn wants(&self, _: &Stage) -> Wants {
        if let Some(reason) = self.concluded {
            Wants::End(reason)
        } else if self.round > self.max_rounds {
            Wants::End(Reason::CAP_REACHED)
        } else {
            Wants::Asks(vec![Place { purpose: purpose::CONTRIBUTE, turn: self.round, agent: self.speaker.clone() }])
        }
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        let (templates, mode) = (stage.templates(), self.mode);
        Request {
            model: agent.model.clone(),
            system: self.heads[&ask.agent].get(|| templates.render(mode.system_template(), &self.head(stage, agent))),
            thread: Thread::default(),
            prompt: templates.render(mode.turn_template(), &self.variables(templates)),
            shape: Some(self.envelope.clone()),
            grammar: None,
            sampling: agent.sampling.clone(),
        }
    }

    fn try_templates(&self, stage: &Stage) -> Result<(), BadSetup> {
        for agent in stage.cast().agents() {
            stage.templates().try_render(self.mode.system_template(), &self.head(stage, agent))?;
        }
        // With something in every list, so that what is wrong inside a loop is found too.
        let mut example = self.clone();
        for window in [&mut example.background, &mut example.window] {
            window.push("name".into(), Some("to".into()), &"text".into());
        }
        let templates = stage.templates();
        templates.try_render(self.mode.turn_template(), &example.variables(templates)).map(|_| ())
    }

    fn on(&self, stage: &Stage, happened: Happened<'_>) -> Result<Reaction, Rejected> {
        match happened {
            Happened::Answered { ask, text } => Ok(self.answered(stage, ask, text)),
            Happened::Failed { .. } => {
                let decision = Decision::Concluded { reason: Reason::FAILED, problem: None };
                Ok(Reaction::events(vec![Event::decision(decision)]))
            }
            Happened::Heard { .. } | Happened::Clipped { .. } => Ok(Reaction::default()),
            Happened::Proposed(_) => Err(Rejected::NotForOthers),
        }
    }

    /// A person may put in a word at any time; the next speaker reads it.
    fn may_speak(&self, _: &Stage, _: &PersonId) -> Result<(), Rejected> {
        Ok(())
    }

    fn bound(&self) -> Option<u32> {
        Some(self.max_rounds)
    }

    fn most(&self) -> Option<u32> {
        Some(Settings::MAX_ROUNDS)
    }

    fn counter(&self, ask: &AskId) -> String {
        format!("round {} of {}", ask.turn, self.max_rounds)
    }

    fn notice(&self, stage: &Stage, reason: Reason) -> Option<Arc<str>> {
        let (round, rounds, speaker) = (self.round.min(self.max_rounds), self.max_rounds, &self.speaker);
        let noun = self.mode.noun();
        // A person who asks one agent sees that it has answered.
        let is_answered = matches!(reason.ending(), Ending::Complete | Ending::UsedUp);
        if self.mode == Mode::Single && is_answered {
            return None;
        }
        let why = match reason {
            Reason::CANCELLED => return Some(format!("{noun} canceled by user.").into()),
            reason::FINAL => format!("{speaker} finished it in round {round} of {rounds}"),
            reason::NO_HANDOFF => format!("{speaker} handed over to nobody in round {round} of {rounds}"),
            Reason::CAP_REACHED => format!("all {rounds} rounds are used"),
            reason::MALFORMED_REPLY => format!("the reply of {speaker} could not be read and is shown as it came"),
            Reason::FAILED => format!("{speaker} could not be reached"),
            limit => stage.limit_in_words(limit).unwrap_or_else(|| limit.to_string()),
        };
        Some(format!("{noun} ended: {why}.").into())
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        match &record.event {
            Event::LineSpoken { speaker, text, .. } => self.window.push(speaker.shared_name(), None, text),
            Event::HumanSpoke { who, text, .. } => self.window.push(who.shared(), None, text),
            Event::Decided(decision) => match decision.open() {
                Some(Decision::HandedOver { to, task }) => {
                    let words = Words::of(Speaker::Router, LineKind::ROUTER, task.clone());
                    stage.say(record, Words { to: Some(to.clone()), ..words });
                    self.window.push(Speaker::Router.shared_name(), Some(to.shared()), task);
                    self.speaker = to.clone();
                    self.round += 1;
                }
                Some(Decision::Concluded { reason, .. }) => self.concluded = Some(*reason),
                None => {}
            },
            Event::Resumed { change, .. } | Event::Forked { change, .. } => {
                // A failed call is made again; every other conclusion stands.
                self.concluded = self.concluded.filter(|reason| *reason != Reason::FAILED);
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
            | Event::Ended { .. } => {}
        }
    }
}
