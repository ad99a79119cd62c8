//! Collaboration: one agent at a time; the speaker hands over; it ends with `final`, with no handoff, or when
//! the rounds are used up. A single call is the smallest one: an agent answers a person, and may hand over once.

mod envelope;
mod finished;
mod room;
mod settings;
mod small;
mod vocabulary;
mod window;

use std::{collections::BTreeMap, sync::Arc};

use minijinja::context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    envelope::{Envelope, Handoff},
    window::Window,
};
pub use self::{
    finished::Finished,
    room::{Recent, RoomEvent, RoomEventKind, RoomRound, RoomSession, RoomStream},
    settings::{Mode, Settings},
    vocabulary::{purpose, reason},
    window::Quote,
};
use super::{Decided, Format, Happened, Hearing, Place, Reaction, Recorded, Remark, Rules, Vocabulary, Wants};
use crate::{
    ask::{Request, Thread},
    event::{Event, Record},
    id::{AgentId, AskId, PersonId},
    line::{Delivery, Line, LineKind, Speaker},
    prompt::Templates,
    reason::{Ending, Reason},
    setup::{Agent, BadSetup, Note},
    stage::{Stage, Words},
    step::Rejected,
    text::reply::{Problem, Shape},
    thread::Kept,
};

/// What only a collaboration decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[schemars(rename = "CollaborationDecided")]
pub enum Decision {
    /// The next round is another agent's, with this task.
    HandedOver { to: AgentId, task: Arc<str> },
    /// A reply broke off at the output limit, and is asked for once more with a higher one.
    Reasked { ask: AskId, problem: String },
    /// The speaker's reply was the last.
    Concluded {
        #[serde(deserialize_with = "Reason::known")]
        reason: Reason,
        /// What was wrong with the reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
}

impl Decided for Decision {
    fn ask(&self) -> Option<&AskId> {
        match self {
            Decision::Reasked { ask, .. } => Some(ask),
            Decision::HandedOver { .. } | Decision::Concluded { .. } => None,
        }
    }

    fn remark(&self) -> Option<Remark> {
        match self {
            Decision::Reasked { ask, problem } => {
                Some(Remark::info(format!("a reply is asked for again, with more room: {ask}: {problem}")))
            }
            Decision::Concluded { reason: reason::MALFORMED_REPLY, problem: Some(problem) } => {
                Some(Remark::warning(format!("a reply could not be read and is shown as it came: {problem}")))
            }
            Decision::Concluded { problem: Some(problem), .. } => {
                Some(Remark::warning(format!("nobody is handed over to: {problem}")))
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
        ("small/call_system.j2", include_str!("templates/small/call_system.j2")),
        ("small/call_turn.j2", include_str!("templates/small/call_turn.j2")),
        ("small/collaboration_system.j2", include_str!("templates/small/collaboration_system.j2")),
        ("small/collaboration_turn.j2", include_str!("templates/small/collaboration_turn.j2")),
        ("small/is_done.j2", include_str!("templates/small/is_done.j2")),
        ("small/task.j2", include_str!("templates/small/task.j2")),
        ("small/who_is_next.j2", include_str!("templates/small/who_is_next.j2")),
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
    delivers: bool,
    concluded: Option<Reason>,
    /// A reply that broke off at the output limit, while it is asked for again.
    broken_off: Option<(AskId, Arc<str>)>,
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
            delivers: settings.delivers,
            concluded: None,
            broken_off: None,
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
            delivers => self.delivers,
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
            delivers => self.delivers,
        }
    }

    /// The text as the agent's line.
    fn line(&self, ask: &AskId, text: &str) -> Event {
        Event::LineSpoken {
            speaker: Speaker::Agent(ask.agent.clone()),
            kind: LineKind::MESSAGE,
            text: text.trim().into(),
            ask: Some(ask.clone()),
            to: None,
            voice: None,
            delivery: Delivery::default(),
        }
    }

    fn answered(&self, stage: &Stage, ask: &AskId, text: &str, is_full: bool) -> Reaction {
        let reading = envelope::read(text, &self.envelope);
        if is_full && reading.is_broken_off() && !stage.has_more_room(ask) {
            let problem = Problem::BrokenOff.to_string();
            return Reaction::events(vec![Event::decision(Decision::Reasked { ask: ask.clone(), problem })]);
        }
        self.taken(stage, ask, text, reading)
    }

    /// What a reply comes to, good or bad.
    fn taken(&self, stage: &Stage, ask: &AskId, text: &str, reading: envelope::Reading) -> Reaction {
        let envelope::Reading { envelope, ignored, mut repairs } = reading;
        let problem = ignored.map(|problem| problem.to_string());
        let (message, decision) = match &envelope {
            Ok(Envelope { message, handoff, is_final }) => {
                let decision = match handoff {
                    _ if *is_final => Decision::Concluded { reason: reason::FINAL, problem: None },
                    Some(Handoff { to, task }) => Decision::HandedOver { to: to.clone(), task: task.as_str().into() },
                    None => Decision::Concluded { reason: reason::NO_HANDOFF, problem },
                };
                (envelope::message(message, ask.agent.as_str(), &names(stage), &mut repairs), decision)
            }
            Err(problem) => {
                let problem = Some(problem.to_string());
                (text, Decision::Concluded { reason: reason::MALFORMED_REPLY, problem })
            }
        };
        let mut events = Vec::with_capacity(2);
        if !message.trim().is_empty() {
            events.push(self.line(ask, message));
        }
        events.push(Event::decision(decision));
        Reaction { repairs, events }
    }

    fn failed(&self, stage: &Stage) -> Vec<Event> {
        match &self.broken_off {
            // It was to be mended and cannot be: what there is of it is better than nothing.
            Some((ask, text)) => self.taken(stage, ask, text, envelope::read(text, &self.envelope)).events,
            None => vec![Event::decision(Decision::Concluded { reason: Reason::FAILED, problem: None })],
        }
    }
}

/// Everybody who can speak.
fn names(stage: &Stage) -> Vec<&str> {
    let cast = stage.cast();
    let agents = cast.agents().iter().map(|agent| agent.name.as_str());
    agents.chain(cast.people().iter().map(PersonId::as_str)).chain(["router"]).collect()
}

impl Rules for Collaboration {
    fn wants(&self, _: &Stage) -> Wants {
        if let Some(reason) = self.concluded {
            Wants::End(reason)
        } else if self.round > self.max_rounds {
            Wants::End(Reason::CAP_REACHED)
        } else {
            Wants::asks(vec![Place { purpose: purpose::CONTRIBUTE, turn: self.round, agent: self.speaker.clone() }])
        }
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        if agent.is_small {
            return self.small_request(stage, agent);
        }
        let (templates, mode) = (stage.templates(), self.mode);
        Request {
            model: agent.model.clone(),
            system: self.heads[&ask.agent].get(|| templates.render(mode.system_template(), &self.head(stage, agent))),
            thread: Thread::default(),
            prompt: templates.render(mode.turn_template(), &self.variables(templates)),
            shape: Some(self.envelope.clone()),
            grammar: None,
            plan: None,
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
        example.try_small(templates, stage)?;
        templates.try_render(self.mode.turn_template(), &example.variables(templates)).map(|_| ())
    }

    fn on(&self, stage: &Stage, happened: Happened<'_>) -> Result<Reaction, Rejected> {
        match happened {
            Happened::Answered { ask, text, is_full } => Ok(self.answered(stage, ask, text, is_full)),
            Happened::Failed { .. } => Ok(Reaction::events(self.failed(stage))),
            Happened::Heard { .. } | Happened::Clipped { .. } => Ok(Reaction::default()),
            Happened::Absent { who } => Err(Rejected::NotPassedOver(who.clone())),
            Happened::Proposed(_) => Err(Rejected::NotForOthers),
        }
    }

    /// A person may put in a word at any time; the next speaker reads it.
    fn hearing(&self, stage: &Stage, ask: &AskId) -> Option<Hearing> {
        Some(envelope::hearing(ask.agent.as_str(), &names(stage)))
    }

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

    fn reworded(&self, _: &Line, reply: &str, words: &str) -> String {
        match envelope::read(reply, &self.envelope).envelope {
            Ok(envelope) => Envelope { message: words.to_owned(), ..envelope }.to_string(),
            // It was shown as it came.
            Err(_) => words.to_owned(),
        }
    }

    /// The router says it, for all to read.
    fn noted(&self, _: &Stage, note: &Note) -> Result<Vec<Event>, Rejected> {
        Ok(vec![Event::LineSpoken {
            speaker: Speaker::Router,
            kind: LineKind::ROUTER,
            text: note.text.trim().into(),
            ask: None,
            to: note.to.clone(),
            voice: None,
            delivery: Delivery::default(),
        }])
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        match &record.event {
            Event::Answered { ask, text, is_full, .. } => {
                self.broken_off = is_full.then(|| (ask.clone(), text.clone()));
            }
            Event::LineSpoken { speaker, text, to, .. } => {
                self.window.push(speaker.shared_name(), to.as_ref().map(AgentId::shared), text);
            }
            Event::HumanSpoke { who, text, .. } => self.window.push(who.shared(), None, text),
            Event::Decided(decision) => match decision.open() {
                Some(Decision::HandedOver { to, task }) => {
                    let words = Words::of(Speaker::Router, LineKind::ROUTER, task.clone());
                    stage.say(record, Words { to: Some(to.clone()), ..words });
                    self.window.push(Speaker::Router.shared_name(), Some(to.shared()), task);
                    self.speaker = to.clone();
                    self.round += 1;
                    self.broken_off = None;
                }
                Some(Decision::Reasked { ask, .. }) => stage.spend_attempt(ask),
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
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::LineCut { .. }
            | Event::Ended { .. } => {}
        }
    }
}
