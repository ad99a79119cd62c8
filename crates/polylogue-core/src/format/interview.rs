//! Interview: an agent is asked about a line of an earlier session, out of it and with its own thread as it was
//! then. A session of its own, of one ask: what it is about stays as it was recorded.

use std::sync::Arc;

use minijinja::context;
use serde::{Deserialize, Serialize};

use super::{Place, Reaction, Rules, Wants};
use crate::{
    ask::{Message, Request, Role, Thread},
    event::{CallFailure, Event, Record},
    id::{AgentId, AskId, LineId, PersonId, Purpose, SessionId},
    line::{Delivery, Line, LineKind, Speaker},
    projection::Insight,
    reason::Reason,
    setup::{BadSetup, Cast},
    stage::Stage,
    step::Rejected,
};

/// Output tokens of an answer, unless the agent names a limit of its own.
const MAX_OUTPUT_TOKENS: u32 = 600;

/// What an interview is set up with. The agent is the only one of the cast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The session that it is about, and the line.
    pub of: SessionId,
    pub line: LineId,
    /// The line itself.
    pub said: Arc<str>,
    pub question: Arc<str>,
    /// The fixed head of the agent's request.
    pub system: Arc<str>,
    /// What it had been told and had said by then, the line's own prompt and reply included.
    pub thread: Vec<Message>,
}

impl Settings {
    pub const DEFAULT_QUESTION: &str = "Why did you say that?";
    pub const MAX_QUESTION_CHARS: usize = 2_000;

    /// An interview about a line, with the request that led to it.
    pub fn about(of: SessionId, line: &Line, insight: &Insight, question: &str) -> Settings {
        let request = &insight.ask.request;
        let mut thread = request.thread.messages().to_vec();
        thread.push(Message { role: Role::User, text: request.prompt.clone() });
        thread.push(Message { role: Role::Assistant, text: insight.reply.clone() });
        let (said, question) = (line.text.clone(), question.trim().into());
        Settings { of, line: line.id, said, question, system: request.system.clone(), thread }
    }

    pub(crate) fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        let (chars, most) = (self.question.chars().count(), Self::MAX_QUESTION_CHARS);
        if self.question.trim().is_empty() {
            Err(BadSetup::EmptyQuestion)
        } else if chars > most {
            Err(BadSetup::TooLong(chars, most))
        } else if cast.agents().len() > 1 {
            Err(BadSetup::TooMany)
        } else {
            Ok(())
        }
    }
}

/// The state of an interview.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Interview {
    who: AgentId,
    system: Arc<str>,
    thread: Thread,
    prompt: Arc<str>,
    over: Option<Reason>,
}

impl Interview {
    pub(crate) fn new(settings: &Settings, stage: &mut Stage, started: &Record) -> Result<Self, BadSetup> {
        let variables = context! { said => &settings.said, question => &settings.question };
        let prompt = stage.templates().try_render("interview.j2", &variables)?.into();
        let mut thread = Thread::default();
        for message in &settings.thread {
            thread.push(message.role, message.text.clone());
        }
        if let Some(person) = stage.cast().people().first().cloned() {
            stage.say(started, Speaker::Person(person), LineKind::User, None, &settings.question, None);
        }
        let who = stage.cast().agents()[0].name.clone();
        Ok(Interview { who, system: settings.system.clone(), thread, prompt, over: None })
    }
}

impl Rules for Interview {
    fn wants(&self, _: &Stage) -> Wants {
        match self.over {
            Some(reason) => Wants::End(reason),
            None => Wants::Asks(vec![Place { purpose: Purpose::Explain, turn: 1, agent: self.who.clone() }]),
        }
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        let mut sampling = agent.sampling.clone();
        sampling.max_output_tokens.get_or_insert(MAX_OUTPUT_TOKENS);
        Request {
            model: agent.model.clone(),
            system: self.system.clone(),
            thread: self.thread.clone(),
            prompt: self.prompt.clone(),
            shape: None,
            grammar: None,
            sampling,
        }
    }

    fn answered(&self, _: &Stage, ask: &AskId, text: &str) -> Reaction {
        let text = text.trim();
        if text.is_empty() {
            return Reaction::default();
        }
        let line = Event::LineSpoken {
            speaker: Speaker::Agent(ask.agent.clone()),
            kind: LineKind::Message,
            text: text.into(),
            ask: Some(ask.clone()),
            to: None,
            voice: None,
            delivery: Delivery::default(),
        };
        Reaction { repairs: Vec::new(), events: vec![line] }
    }

    fn failed(&self, _: &Stage, _: &AskId, _: &CallFailure) -> Vec<Event> {
        Vec::new()
    }

    fn may_speak(&self, _: &Stage, who: &PersonId) -> Result<(), Rejected> {
        Err(Rejected::NotYourTurn(who.clone()))
    }

    fn notice(&self, _: &Stage, _: Reason) -> Option<Arc<str>> {
        None
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        match &record.event {
            Event::Answered { ask, text, .. } if text.trim().is_empty() => {
                stage.spend_attempt(ask);
                self.over = Some(Reason::Failed);
            }
            Event::AskFailed { .. } => self.over = Some(Reason::Failed),
            Event::LineSpoken { .. } => self.over = Some(Reason::Completed),
            Event::Resumed { .. } | Event::Forked { .. } => {
                self.over = self.over.filter(|reason| *reason != Reason::Failed);
            }
            Event::Started { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::AskCut { .. }
            | Event::LineCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::HumanSpoke { .. }
            | Event::Collaboration(_)
            | Event::Chorus(_)
            | Event::Discussion(_)
            | Event::Scene(_)
            | Event::Ended { .. } => {}
        }
    }
}
