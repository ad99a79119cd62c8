//! The moderator's side: its thread, what it is asked after each beat, and who stands in for it.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{
    judgement,
    settings::{AgentMode, Settings},
    told::{recent, told},
};
use crate::{
    ask::{Request, Role, Thread},
    id::AgentId,
    reply::Shape,
    setup::{Agent, BadSetup, Cast},
    stage::Stage,
};

/// Judgements in a row that may fail before another takes over.
pub(super) const PATIENCE: u32 = 3;

const MAX_OUTPUT_TOKENS: u32 = 800;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Director {
    /// Who is asked: the moderator, or whoever stands in for it.
    pub(super) who: AgentId,
    head: Arc<str>,
    thread: Thread,
    heard: usize,
    pub(super) shape: Arc<Shape>,
    /// Why the last reply could not be used, if it is asked for again.
    again: Option<Arc<str>>,
    /// The feelings that it was last told.
    felt: Option<String>,
    pub(super) failures_in_row: u32,
}

/// What the moderator is told besides the lines.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) beat: u32,
    pub(super) max_beats: u32,
    pub(super) silent: Vec<String>,
    pub(super) failed: Vec<String>,
    pub(super) stuck: u32,
    pub(super) is_circling: bool,
    pub(super) feelings: Option<String>,
}

impl Director {
    pub(super) fn new(settings: &Settings, stage: &Stage) -> Result<Director, BadSetup> {
        let cast = stage.cast();
        let shape = judgement::shape(settings, cast);
        let characters: Vec<Value> = cast
            .agents()
            .iter()
            .map(|agent| context! { name => settings.name_of(&agent.name), persona => &agent.persona })
            .collect();
        let variables = context! {
            characters => characters,
            prompt => &settings.prompt,
            goal => &settings.goal,
            setting => &settings.setting,
            language => &settings.language,
            schema => shape.schema().to_string(),
        };
        let head = stage.templates().try_render("scene_moderator_system.j2", &variables)?.into();
        Ok(Director {
            who: cast.crew()[0].name.clone(),
            head,
            thread: Thread::default(),
            heard: 0,
            shape: Arc::new(shape),
            again: None,
            felt: None,
            failures_in_row: 0,
        })
    }

    pub(super) fn variables(&self, stage: &Stage, settings: &Settings, report: &Report) -> Value {
        let lines = stage.transcript().lines();
        let lines: Vec<String> = match settings.agent_mode {
            AgentMode::Thread => lines[self.heard..].iter().map(|line| told(line, settings)).collect(),
            AgentMode::Fresh => recent(lines, settings),
        };
        context! {
            beat => report.beat,
            max_beats => report.max_beats,
            lines => lines,
            silent => &report.silent,
            failed => &report.failed,
            stuck => report.stuck,
            is_circling => report.is_circling,
            feelings => report.feelings.as_ref().filter(|feelings| self.felt.as_ref() != Some(feelings)),
        }
    }

    fn prompt(&self, stage: &Stage, settings: &Settings, report: &Report) -> Arc<str> {
        match &self.again {
            Some(problem) => stage.templates().render("scene_again.j2", &context! { problem => problem }),
            None => stage.templates().render("scene_moderator_beat.j2", &self.variables(stage, settings, report)),
        }
    }

    pub(super) fn request(&self, stage: &Stage, settings: &Settings, report: &Report, agent: &Agent) -> Request {
        let mut sampling = agent.sampling.clone();
        sampling.max_output_tokens.get_or_insert(MAX_OUTPUT_TOKENS);
        Request {
            model: agent.model.clone(),
            system: self.head.clone(),
            thread: self.thread.clone(),
            prompt: self.prompt(stage, settings, report),
            shape: Some(self.shape.clone()),
            grammar: None,
            sampling,
        }
    }

    pub(super) fn remember(&mut self, stage: &Stage, settings: &Settings, report: &Report, answer: &Arc<str>) {
        // A reply that is asked for again must be seen, or the model could not mend it.
        let prompt = self.prompt(stage, settings, report);
        self.thread.push(Role::User, prompt);
        self.thread.push(Role::Assistant, answer.clone());
        self.heard = stage.transcript().lines().len();
        self.felt.clone_from(&report.feelings);
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
            self.thread = Thread::default();
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
