//! One character with what it has heard and said: its thread, its place in the beat, its mood.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{
    grammar::grammar,
    settings::{AgentMode, Settings},
    told::{recent, told},
};
use crate::{
    ask::{Request, Role, Thread},
    id::AgentId,
    line::{Line, Speaker},
    mood::Mood,
    setup::{Agent, BadSetup},
    stage::Stage,
};

/// Output tokens of a character that names no limit of its own: a line, not a speech.
const MAX_OUTPUT_TOKENS: u32 = 400;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Player {
    pub(super) id: AgentId,
    pub(super) name: Arc<str>,
    /// The fixed head of its requests.
    head: Arc<str>,
    /// The form of its replies.
    grammar: Arc<str>,
    thread: Thread,
    /// How many lines of the transcript its thread covers.
    heard: usize,
    /// The feelings that it was last told.
    felt: Option<String>,
    pub(super) standing: Standing,
    pub(super) mood: Mood,
    /// Whether it is to put down what it remembers.
    pub(super) owes_memory: bool,
}

/// Where a character stands in the beat.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// It has no place in this beat.
    Out,
    /// It is to answer; `covers` is how much of the transcript the prompt tells.
    Open {
        prompt: Arc<str>,
        covers: usize,
        feelings: Option<String>,
    },
    Spoke,
    Silent,
    Failed,
}

/// What a beat tells every character, besides the lines.
#[derive(Debug)]
pub(super) struct Update<'a> {
    pub(super) beat: u32,
    pub(super) settings: &'a Settings,
    pub(super) notes: Vec<Arc<str>>,
    pub(super) feelings: Option<String>,
}

impl Player {
    pub(super) fn new(agent: &Agent, settings: &Settings, stage: &Stage) -> Result<Player, BadSetup> {
        let name: Arc<str> = settings.name_of(&agent.name).into();
        let others: Vec<String> = stage
            .cast()
            .agents()
            .iter()
            .filter(|other| other.name != agent.name)
            .map(|other| settings.name_of(&other.name).to_owned())
            .collect();
        let memories = settings.memories.get(&agent.name);
        let variables = context! {
            name => &name,
            others => &others,
            persona => &agent.persona,
            prompt => &settings.prompt,
            goal => &settings.goal,
            setting => &settings.setting,
            language => &settings.language,
            memories => memories,
        };
        let head = stage.templates().try_render("scene_system.j2", &variables)?.into();
        Ok(Player {
            id: agent.name.clone(),
            name,
            head,
            grammar: grammar(&others),
            thread: Thread::default(),
            heard: 0,
            felt: None,
            standing: Standing::Out,
            mood: Mood::default(),
            owes_memory: false,
        })
    }

    pub(super) fn has_mood(&self) -> bool {
        self.mood != Mood::default()
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.standing, Standing::Open { .. })
    }

    /// Gives it a place in the beat that begins.
    pub(super) fn open(&mut self, stage: &Stage, update: &Update<'_>) {
        let prompt = stage.templates().render("scene_update.j2", &self.variables(stage, update));
        let (covers, feelings) = (stage.transcript().lines().len(), update.feelings.clone());
        self.standing = Standing::Open { prompt, covers, feelings };
    }

    pub(super) fn variables(&self, stage: &Stage, update: &Update<'_>) -> Value {
        let settings = update.settings;
        let lines = stage.transcript().lines();
        let last = lines.iter().rev().find(|line| !self.said(line)).map(|line| told(line, settings));
        context! {
            name => &self.name,
            beat => update.beat,
            lines => self.news(lines, settings),
            last_event => last,
            feelings => update.feelings.as_ref().filter(|feelings| self.felt.as_ref() != Some(feelings)),
            notes => &update.notes,
            is_fresh => settings.agent_mode == AgentMode::Fresh,
        }
    }

    /// What it is told of the transcript. In its own thread it has its own lines already.
    fn news(&self, lines: &[Line], settings: &Settings) -> Vec<String> {
        match settings.agent_mode {
            AgentMode::Thread => {
                lines[self.heard..].iter().filter(|line| !self.said(line)).map(|line| told(line, settings)).collect()
            }
            AgentMode::Fresh => recent(lines, settings),
        }
    }

    fn said(&self, line: &Line) -> bool {
        matches!(&line.speaker, Speaker::Agent(agent) if *agent == self.id)
    }

    /// What it was told and what it answered, as it came, is the past of its next request.
    pub(super) fn remember(&mut self, answer: &Arc<str>, mode: AgentMode) {
        if let (Standing::Open { prompt, covers, feelings }, AgentMode::Thread) = (&self.standing, mode) {
            self.thread.push(Role::User, prompt.clone());
            self.thread.push(Role::Assistant, answer.clone());
            self.heard = *covers;
            // What its thread says already is said again only when it changes.
            self.felt.clone_from(feelings);
        }
    }

    pub(super) fn request(&self, agent: &Agent) -> Request {
        let prompt = match &self.standing {
            Standing::Open { prompt, .. } => prompt.clone(),
            Standing::Out | Standing::Spoke | Standing::Silent | Standing::Failed => "".into(),
        };
        Request { grammar: Some(self.grammar.clone()), ..self.ask_with(agent, prompt) }
    }

    /// The request for what it remembers, when all is over.
    pub(super) fn memory_request(&self, stage: &Stage, settings: &Settings, agent: &Agent) -> Request {
        let lines = self.news(stage.transcript().lines(), settings);
        let variables = context! { name => &self.name, scene => &settings.name, lines => lines };
        self.ask_with(agent, stage.templates().render("scene_memory.j2", &variables))
    }

    fn ask_with(&self, agent: &Agent, prompt: Arc<str>) -> Request {
        let mut sampling = agent.sampling.clone();
        sampling.max_output_tokens.get_or_insert(MAX_OUTPUT_TOKENS);
        Request {
            model: agent.model.clone(),
            system: self.head.clone(),
            thread: self.thread.clone(),
            prompt,
            shape: None,
            grammar: None,
            sampling,
        }
    }
}
