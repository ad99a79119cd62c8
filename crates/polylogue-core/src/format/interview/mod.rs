//! Interview: an agent is asked about a line of an earlier session, out of it and with its own thread as it was
//! then. A session of its own, of one ask: what it is about stays as it was recorded.

mod vocabulary;

use std::sync::Arc;

use minijinja::context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::vocabulary::purpose;
use super::{Described, Format, Happened, Hearing, NoDecision, Place, Reaction, Rules, Vocabulary, Wants};
use crate::{
    ask::{Message, Request, Role, Thread},
    event::{Event, Record},
    id::{AgentId, AskId, LineId, PersonId, Seq, SessionId},
    line::{Delivery, Line, LineKind, Speaker},
    projection::Insight,
    reason::Reason,
    setup::{BadSetup, Cast},
    stage::Stage,
    step::Rejected,
    thread::Kept,
};

/// Output tokens of an answer, unless the agent names a limit of its own.
const MAX_OUTPUT_TOKENS: u32 = 600;

/// What an interview is set up with. The agent is the only one of the cast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "InterviewSettings")]
pub struct Settings {
    /// The session that it is about, and the line.
    pub of: SessionId,
    pub line: LineId,
    /// The line itself.
    pub said: Arc<str>,
    /// Whether somebody came in before its end: it is as it was heard.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
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
        thread.push(Message { role: Role::User, text: request.prompt.shared() });
        thread.push(Message { role: Role::Assistant, text: insight.reply.clone() });
        let (said, question) = (line.heard(Seq(u64::MAX)), question.trim().into());
        let is_cut = said != line.text;
        Settings { of, line: line.id, said, is_cut, question, system: request.system.shared(), thread }
    }
}

impl Described for Settings {
    fn title(&self) -> &str {
        &self.question
    }

    fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        let (chars, most) = (self.question.chars().count(), Self::MAX_QUESTION_CHARS);
        if self.question.trim().is_empty() {
            Err(BadSetup::settings("the question is empty: leave it out to ask why"))
        } else if chars > most {
            Err(BadSetup::TooLong(chars, most))
        } else if cast.agents().len() > 1 {
            Err(BadSetup::TooMany)
        } else {
            Ok(())
        }
    }
}

impl Format for Settings {
    const NAME: &'static str = "interview";
    const VOCABULARY: Vocabulary = vocabulary::VOCABULARY;
    const TEMPLATES: &'static [(&'static str, &'static str)] =
        &[("interview.j2", include_str!("templates/interview.j2"))];

    type Decision = NoDecision;
    type Rules = Interview;

    fn rules(&self, stage: &mut Stage, started: &Record) -> Interview {
        stage.open_with(started, &self.question);
        Interview::new(self, stage)
    }
}

/// The state of an interview.
#[derive(Clone, Debug, PartialEq)]
pub struct Interview {
    who: AgentId,
    settings: Settings,
    prompt: Kept,
    over: Option<Reason>,
}

impl Interview {
    fn new(settings: &Settings, stage: &Stage) -> Self {
        let who = stage.cast().agents()[0].name.clone();
        Interview { who, settings: settings.clone(), prompt: Kept::default(), over: None }
    }

    fn variables(&self) -> minijinja::Value {
        context! { said => &self.settings.said, is_cut => self.settings.is_cut, question => &self.settings.question }
    }

    fn thread(&self) -> Thread {
        let mut thread = Thread::default();
        for message in &self.settings.thread {
            thread.push(message.role, message.text.clone().into());
        }
        thread
    }

    fn answered(&self, ask: &AskId, text: &str) -> Reaction {
        let text = text.trim();
        if text.is_empty() {
            return Reaction::default();
        }
        Reaction::events(vec![Event::LineSpoken {
            speaker: Speaker::Agent(ask.agent.clone()),
            kind: LineKind::MESSAGE,
            text: text.into(),
            ask: Some(ask.clone()),
            to: None,
            voice: None,
            delivery: Delivery::default(),
        }])
    }
}

impl Rules for Interview {
    fn wants(&self, _: &Stage) -> Wants {
        match self.over {
            Some(reason) => Wants::End(reason),
            None => Wants::asks(vec![Place { purpose: purpose::EXPLAIN, turn: 1, agent: self.who.clone() }]),
        }
    }

    fn request(&self, stage: &Stage, ask: &AskId) -> Request {
        let agent = stage.cast().agent(&ask.agent).expect("only agents of the cast are asked");
        let mut sampling = agent.sampling.clone();
        sampling.max_output_tokens.get_or_insert(MAX_OUTPUT_TOKENS);
        Request {
            model: agent.model.clone(),
            system: self.settings.system.clone().into(),
            thread: self.thread(),
            prompt: self.prompt.get(|| stage.templates().render("interview.j2", &self.variables())),
            shape: None,
            grammar: None,
            plan: None,
            sampling,
        }
    }

    fn try_templates(&self, stage: &Stage) -> Result<(), BadSetup> {
        stage.templates().try_render("interview.j2", &self.variables()).map(|_| ())
    }

    fn on(&self, _: &Stage, happened: Happened<'_>) -> Result<Reaction, Rejected> {
        match happened {
            Happened::Answered { ask, text, .. } => Ok(self.answered(ask, text)),
            Happened::Failed { .. } | Happened::Heard { .. } | Happened::Clipped { .. } => Ok(Reaction::default()),
            Happened::Absent { who } => Err(Rejected::NotPassedOver(who.clone())),
            Happened::Proposed(_) => Err(Rejected::NotForOthers),
        }
    }

    fn hearing(&self, _: &Stage, _: &AskId) -> Option<Hearing> {
        Some(Hearing::new(|partial| partial.trim().to_owned()))
    }

    fn may_speak(&self, _: &Stage, who: &PersonId) -> Result<(), Rejected> {
        Err(Rejected::NotYourTurn(who.clone()))
    }

    fn counter(&self, _: &AskId) -> String {
        format!("about line {}", self.settings.line)
    }

    fn apply(&mut self, stage: &mut Stage, record: &Record) {
        match &record.event {
            Event::Answered { ask, text, .. } if text.trim().is_empty() => {
                stage.spend_attempt(ask);
                self.over = Some(Reason::FAILED);
            }
            Event::AskFailed { .. } => self.over = Some(Reason::FAILED),
            Event::LineSpoken { .. } => self.over = Some(Reason::COMPLETED),
            Event::Resumed { .. } | Event::Forked { .. } => {
                self.over = self.over.filter(|reason| *reason != Reason::FAILED);
            }
            Event::Started { .. }
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::AskCut { .. }
            | Event::LineCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. }
            | Event::HumanSpoke { .. }
            | Event::Decided(_)
            | Event::Ended { .. } => {}
        }
    }
}
