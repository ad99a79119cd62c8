//! One character with what it has heard and said: its thread, its place in the beat, its mood.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{
    grammar::grammar,
    mood::Mood,
    settings::{AgentMode, Settings},
    small,
    told::{NOW, recent, told},
};
use crate::{
    ask::{Request, Text},
    id::{AgentId, Seq},
    line::{Line, Speaker},
    setup::Agent,
    stage::Stage,
    thread::{Kept, Past, Told},
};

/// Output tokens of a character that names no limit of its own: a line, not a speech.
const MAX_OUTPUT_TOKENS: u32 = 400;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Player {
    pub(super) id: AgentId,
    pub(super) name: Arc<str>,
    /// The fixed head of its requests.
    head: Kept,
    past: Past<News>,
    /// How many lines of the transcript its thread covers.
    heard: usize,
    /// The feelings that it was last told.
    felt: Option<Arc<str>>,
    pub(super) standing: Standing,
    /// What a person directs it to, for the next beat.
    noted: Vec<Arc<str>>,
    pub(super) mood: Mood,
    /// Whether it is to put down what it remembers.
    pub(super) owes_memory: bool,
}

/// Where a character stands in the beat.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// It has no place in this beat.
    Out,
    /// It is to answer.
    Open {
        told: Told<News>,
        /// How it feels, and the others seem to.
        feelings: Option<Arc<str>>,
    },
    Spoke,
    Silent,
    Failed,
}

/// What a character is told in a beat, before it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct News {
    pub(super) beat: u32,
    /// The record as of which the lines are told: what was cut later was still heard whole.
    pub(super) as_of: Seq,
    /// The lines of the transcript, from and to.
    pub(super) lines: [usize; 2],
    pub(super) notes: Vec<Arc<str>>,
    /// Only where they have changed since it was last told.
    pub(super) feelings: Option<Arc<str>>,
}

impl Player {
    pub(super) fn new(agent: &Agent, settings: &Settings) -> Player {
        Player {
            id: agent.name.clone(),
            name: settings.name_of(&agent.name).into(),
            head: Kept::default(),
            past: Past::default(),
            heard: 0,
            felt: None,
            standing: Standing::Out,
            noted: Vec::new(),
            mood: settings.feelings.mood_of(&agent.name),
            owes_memory: false,
        }
    }

    /// What the fixed head of its requests is filled with.
    pub(super) fn head(&self, stage: &Stage, settings: &Settings, agent: &Agent) -> Value {
        context! {
            name => &self.name,
            others => self.others(stage, settings),
            persona => &agent.persona,
            prompt => &settings.prompt,
            goal => &settings.goal,
            setting => &settings.setting,
            language => settings.spoken_language(),
            memories => settings.memories.get(&agent.name),
        }
    }

    pub(super) fn others(&self, stage: &Stage, settings: &Settings) -> Vec<String> {
        let others = stage.cast().agents().iter().filter(|other| other.name != self.id);
        others.map(|other| settings.name_of(&other.name).to_owned()).collect()
    }

    pub(super) fn has_mood(&self) -> bool {
        self.mood != Mood::default()
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.standing, Standing::Open { .. })
    }

    /// Gives it a place in the beat that begins.
    pub(super) fn open(&mut self, stage: &Stage, beat: u32, mut notes: Vec<Arc<str>>, feelings: Option<Arc<str>>) {
        // A beat that begins again begins with what it was told to begin with.
        if let Standing::Open { told, .. } = &self.standing
            && told.what.beat == beat
        {
            notes.extend(told.what.notes.iter().cloned());
        }
        notes.append(&mut self.noted);
        let told = Told::new(self.news(stage, beat, notes, feelings.clone()));
        self.standing = Standing::Open { told, feelings };
    }

    /// A person directs it: in this beat if it has not been asked yet, else in the next.
    pub(super) fn direct(&mut self, note: &Arc<str>, is_asked: bool) {
        match &mut self.standing {
            Standing::Open { told, .. } if !is_asked => {
                let mut news = told.what.clone();
                news.notes.push(note.clone());
                *told = Told::new(news);
            }
            _ => self.noted.push(note.clone()),
        }
    }

    pub(super) fn news(&self, stage: &Stage, beat: u32, notes: Vec<Arc<str>>, feelings: Option<Arc<str>>) -> News {
        let (as_of, lines) = (stage.head(), [self.heard, stage.transcript().lines().len()]);
        News { beat, as_of, lines, notes, feelings: feelings.filter(|feelings| self.felt.as_ref() != Some(feelings)) }
    }

    pub(super) fn variables(&self, stage: &Stage, settings: &Settings, news: &News) -> Value {
        let [from, until] = news.lines;
        let lines = &stage.transcript().lines()[..until];
        let last = lines.iter().rev().find(|line| !self.said(line)).map(|line| told(line, settings, news.as_of));
        context! {
            name => &self.name,
            beat => news.beat,
            lines => self.told(lines, from, settings, news.as_of),
            last_event => last,
            feelings => &news.feelings,
            notes => &news.notes,
            is_fresh => settings.agent_mode == AgentMode::Fresh,
        }
    }

    /// What it is told of the transcript. In its own thread it has its own lines already.
    fn told(&self, lines: &[Line], from: usize, settings: &Settings, as_of: Seq) -> Vec<String> {
        match settings.agent_mode {
            AgentMode::Thread => {
                let others = lines[from..].iter().filter(|line| !self.said(line));
                others.map(|line| told(line, settings, as_of)).collect()
            }
            AgentMode::Fresh => recent(lines, settings, as_of),
        }
    }

    pub(super) fn said(&self, line: &Line) -> bool {
        matches!(&line.speaker, Speaker::Agent(agent) if *agent == self.id)
    }

    /// What it was told and what it answered, as it came, is the past of its next request.
    pub(super) fn remember(&mut self, answer: &Arc<str>, mode: AgentMode) {
        if let (Standing::Open { told, feelings }, AgentMode::Thread) = (&self.standing, mode) {
            self.heard = told.what.lines[1];
            // What its thread says already is said again only when it changes.
            self.felt.clone_from(feelings);
            self.past.push(told.clone(), answer.clone());
        }
    }

    pub(super) fn request(&self, stage: &Stage, settings: &Settings, agent: &Agent) -> Request {
        if let Standing::Open { told: Told { what: News { as_of, lines, notes, .. }, .. }, feelings } = &self.standing
            && agent.is_small
        {
            let own = small::Own { notes, feelings: feelings.as_ref(), as_of: *as_of, until: lines[1] };
            return small::act(self, stage, settings, agent, &own);
        }
        let prompt = match &self.standing {
            Standing::Open { told, .. } => told.text(|news| self.write(stage, settings, news)),
            Standing::Out | Standing::Spoke | Standing::Silent | Standing::Failed => Text::default(),
        };
        let grammar = Some(grammar(&self.others(stage, settings)));
        Request { grammar, ..self.ask_with(stage, settings, agent, prompt) }
    }

    /// The request for what it remembers, when all is over.
    pub(super) fn memory_request(&self, stage: &Stage, settings: &Settings, agent: &Agent) -> Request {
        if agent.is_small {
            return small::remember(self, stage, settings, agent);
        }
        let lines = self.told(stage.transcript().lines(), self.heard, settings, NOW);
        let language = settings.spoken_language();
        let variables = context! { name => &self.name, scene => &settings.name, lines => lines, language };
        self.ask_with(stage, settings, agent, stage.templates().render("scene_memory.j2", &variables))
    }

    fn write(&self, stage: &Stage, settings: &Settings, news: &News) -> Text {
        stage.templates().render("scene_update.j2", &self.variables(stage, settings, news))
    }

    fn ask_with(&self, stage: &Stage, settings: &Settings, agent: &Agent, prompt: Text) -> Request {
        let mut sampling = agent.sampling.clone();
        sampling.max_output_tokens.get_or_insert(MAX_OUTPUT_TOKENS);
        let head = || stage.templates().render("scene_system.j2", &self.head(stage, settings, agent));
        Request {
            model: agent.model.clone(),
            system: self.head.get(head),
            thread: self.past.thread(|news| self.write(stage, settings, news)),
            prompt,
            shape: None,
            grammar: None,
            plan: None,
            sampling,
        }
    }
}
