//! The moderator's side: its thread, what it is asked after each beat, and who stands in for it.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{
    judge::is_circling,
    judgement,
    settings::{AgentMode, Settings},
    small,
    told::{Onstage, Span},
};
use crate::{
    ask::{Request, Text},
    id::{AgentId, Seq},
    setup::{Agent, Cast},
    stage::Stage,
    text::reply::Shape,
    thread::{Kept, Past, Told},
};

/// Judgements in a row that may fail before another takes over.
pub(super) const PATIENCE: u32 = 3;

const MAX_OUTPUT_TOKENS: u32 = 800;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Director {
    /// Who is asked: the moderator, or the one who stands in for it.
    pub(super) who: AgentId,
    head: Kept,
    past: Past<Asked>,
    heard: usize,
    heard_at: Seq,
    pub(super) shape: Arc<Shape>,
    /// Why the last reply could not be used, if it is asked for again.
    again: Option<Arc<str>>,
    /// The feelings that it was last told.
    felt: Option<Arc<str>>,
    pub(super) failures_in_row: u32,
    /// What it is told now.
    prompt: Kept,
    /// What it is being asked, and the feelings with it. What happens meanwhile it hears the next time.
    sent: Option<(Asked, Option<Arc<str>>)>,
}

/// What the moderator is asked, before it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    Beat { report: Report, span: Span },
    Again { problem: Arc<str> },
}

/// What the moderator is told besides the lines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report {
    pub(super) beat: u32,
    pub(super) max_beats: u32,
    /// The first line of the beat.
    pub(super) begins: usize,
    pub(super) silent: Vec<Arc<str>>,
    pub(super) failed: Vec<Arc<str>>,
    /// Who wanted to speak, and had to wait.
    pub(super) waited: Vec<Arc<str>>,
    pub(super) stuck: u32,
    /// What there is to say of the parts of the goal, and of the notes that it gave.
    pub(super) goal: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) feelings: Option<Arc<str>>,
}

impl Director {
    pub(super) fn new(settings: &Settings, cast: &Cast) -> Director {
        Director {
            who: cast.crew()[0].name.clone(),
            head: Kept::default(),
            past: Past::default(),
            heard: 0,
            heard_at: Seq::START,
            shape: Arc::new(judgement::shape(settings, cast)),
            again: None,
            felt: None,
            failures_in_row: 0,
            prompt: Kept::default(),
            sent: None,
        }
    }

    /// What the fixed head of its requests is filled with.
    pub(super) fn head(&self, stage: &Stage, settings: &Settings) -> Value {
        let characters = stage.cast().agents().iter();
        let characters = characters.map(|agent| {
            let brief = settings.briefs.get(&agent.name);
            context! { name => settings.name_of(&agent.name), persona => &agent.persona, brief }
        });
        context! {
            characters => characters.collect::<Vec<Value>>(),
            prompt => settings.context(),
            goal => &settings.goal,
            is_goal_known => settings.goal_known,
            style => &settings.style,
            setting => &settings.setting,
            language => settings.spoken_language(),
            schema => self.shape.schema().to_string(),
        }
    }

    /// What it is asked as things stand.
    fn asked(&self, stage: &Stage, mut report: Report) -> Asked {
        if let Some(problem) = &self.again {
            return Asked::Again { problem: problem.clone() };
        }
        report.feelings = report.feelings.filter(|feelings| self.felt.as_ref() != Some(feelings));
        let lines = [self.heard, stage.transcript().lines().len()];
        Asked::Beat { report, span: Span { after: self.heard_at, as_of: stage.head(), lines } }
    }

    pub(super) fn variables(&self, onstage: Onstage<'_>, report: &Report, span: Span) -> Value {
        let lines = &onstage.stage.transcript().lines()[..span.lines[1]];
        context! {
            beat => report.beat,
            max_beats => report.max_beats,
            lines => onstage.told(span, None),
            silent => &report.silent,
            failed => &report.failed,
            waited => &report.waited,
            stuck => report.stuck,
            goal => &report.goal,
            notes => &report.notes,
            is_circling => is_circling(lines, report.begins),
            feelings => &report.feelings,
        }
    }

    fn write(&self, onstage: Onstage<'_>, asked: &Asked) -> Text {
        let templates = onstage.stage.templates();
        match asked {
            Asked::Again { problem } => templates.render("scene_again.j2", &context! { problem => problem }),
            Asked::Beat { report, span } => {
                templates.render("scene_moderator_beat.j2", &self.variables(onstage, report, *span))
            }
        }
    }

    pub(super) fn request(&self, onstage: Onstage<'_>, report: Report, agent: &Agent) -> Request {
        let Onstage { stage, settings, .. } = onstage;
        if agent.is_small {
            let (as_of, until) = match &self.sent {
                Some((Asked::Beat { span, .. }, _)) => (span.as_of, span.lines[1]),
                Some((Asked::Again { .. }, _)) | None => (stage.head(), stage.transcript().lines().len()),
            };
            return small::judge(onstage, agent, (as_of, until), &report);
        }
        let mut sampling = agent.sampling.clone();
        sampling.max_output_tokens.get_or_insert(MAX_OUTPUT_TOKENS);
        let head = || settings.edition.render(stage, "scene_moderator_system.j2", &self.head(stage, settings));
        Request {
            model: agent.model.clone(),
            system: self.head.get(head),
            thread: self.past.thread(|asked| self.write(onstage, asked)),
            prompt: self.prompt.get(|| match &self.sent {
                Some((asked, _)) => self.write(onstage, asked),
                None => self.write(onstage, &self.asked(stage, report)),
            }),
            shape: Some(self.shape.clone()),
            grammar: None,
            plan: None,
            sampling,
        }
    }

    /// A reply that is asked for again must be seen, or the model could not mend it.
    pub(super) fn remember(&mut self, stage: &Stage, report: Report, answer: &Arc<str>) {
        let (asked, feelings) = self.sent.take().unwrap_or_else(|| {
            let feelings = report.feelings.clone();
            (self.asked(stage, report), feelings)
        });
        if let Asked::Beat { span, .. } = &asked {
            (self.heard, self.heard_at) = (span.lines[1], span.as_of);
        }
        self.past.push(Told::with(asked, std::mem::take(&mut self.prompt)), answer.clone());
        self.felt = feelings;
    }

    /// Nobody answers what it was asked: it is asked anew, as things stand then.
    pub(super) fn unsent(&mut self) {
        self.sent = None;
    }

    /// It is asked as things stand.
    pub(super) fn sent(&mut self, stage: &Stage, report: Report) {
        let feelings = report.feelings.clone();
        self.sent = Some((self.asked(stage, report), feelings));
    }

    /// Something has happened that it would be told.
    pub(super) fn look_again(&mut self) {
        self.prompt.clear();
    }

    pub(super) fn is_asked_again(&self) -> bool {
        self.again.is_some()
    }

    pub(super) fn ask_again(&mut self, problem: &str) {
        self.again = Some(problem.into());
    }

    pub(super) fn judged(&mut self, mode: AgentMode) {
        self.again = None;
        self.failures_in_row = 0;
        self.forget(mode);
    }

    /// Nothing came of it. The thread stays as it was sent.
    pub(super) fn failed(&mut self, stands_in: Option<&AgentId>, mode: AgentMode) {
        self.again = None;
        self.sent = None;
        self.failures_in_row += 1;
        if let Some(other) = stands_in {
            self.who = other.clone();
            self.failures_in_row = 0;
        }
        self.forget(mode);
    }

    /// Asked anew each beat, it keeps no thread from one to the next.
    fn forget(&mut self, mode: AgentMode) {
        if mode == AgentMode::Fresh {
            self.past = Past::default();
            self.felt = None;
        }
    }

    /// Who would take over after one more failure.
    pub(super) fn stand_in(&self, cast: &Cast) -> Option<AgentId> {
        if self.failures_in_row + 1 < PATIENCE {
            return None;
        }
        let crew = cast.crew().iter().map(|agent| &agent.name);
        crew.skip_while(|name| **name != self.who).nth(1).cloned()
    }
}
