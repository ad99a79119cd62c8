//! One character with what it has heard and said: its thread, its place in the beat, its mood.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{
    floor::Held,
    grammar::grammar,
    judge::spoken,
    mood::Mood,
    settings::{AgentMode, Edition, Floor, Settings},
    small,
    told::{NOW, Onstage, Span, is_by},
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
    /// How many lines of the transcript its thread covers, and as of which record.
    heard: usize,
    heard_at: Seq,
    /// The feelings that it was last told.
    felt: Option<Arc<str>>,
    pub(super) standing: Standing,
    /// What a person directs it to, for the next beat.
    noted: Vec<Arc<str>>,
    /// Its reply, while it waits for the floor.
    pub(super) held: Option<Held>,
    /// In how many beats it wanted to speak and had to wait, since it last spoke.
    pub(super) waited: u32,
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
    /// A person has had their turn. What their words come to is in the records that follow.
    Speaking,
    Spoke,
    Silent,
    /// It wanted to speak, and others did.
    Waited,
    Failed,
}

/// What a character is told in a beat, before it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct News {
    pub(super) beat: u32,
    pub(super) span: Span,
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
            heard_at: Seq::START,
            felt: None,
            standing: Standing::Out,
            noted: Vec::new(),
            held: None,
            waited: 0,
            mood: settings.feelings.mood_of(&agent.name),
            owes_memory: false,
        }
    }

    /// What the fixed head of its requests is filled with.
    pub(super) fn head(&self, stage: &Stage, settings: &Settings, agent: &Agent) -> Value {
        let cast = stage.cast().agents().iter().map(|agent| settings.name_of(&agent.name).to_owned());
        context! {
            name => &self.name,
            cast => cast.collect::<Vec<_>>(),
            others => self.others(stage, settings),
            persona => &agent.persona,
            brief => settings.briefs.get(&agent.name),
            prompt => settings.context_of_characters(),
            goal => settings.goal_of_characters(),
            setting => &settings.setting,
            language => settings.spoken_language(),
            style => &settings.style,
            bids => settings.floor == Floor::Bids,
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

    /// Whether its turn has come and it has not answered yet.
    pub(super) fn is_due(&self) -> bool {
        self.is_open() && self.held.is_none()
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
        self.held = None;
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
        let span =
            Span { after: self.heard_at, as_of: stage.head(), lines: [self.heard, stage.transcript().lines().len()] };
        News { beat, span, notes, feelings: feelings.filter(|feelings| self.felt.as_ref() != Some(feelings)) }
    }

    pub(super) fn variables(&self, onstage: Onstage<'_>, news: &News) -> Value {
        let lines = &onstage.stage.transcript().lines()[..news.span.lines[1]];
        let last = lines.iter().rev().find(|line| !is_by(line, &self.id));
        context! {
            name => &self.name,
            beat => news.beat,
            lines => onstage.told(news.span, Some(&self.id)),
            last_event => last.map(|line| onstage.line(line, news.span.as_of)),
            just_spoken => self.just_spoken(onstage.settings, lines, news.beat),
            feelings => &news.feelings,
            notes => &news.notes,
            is_fresh => onstage.settings.agent_mode == AgentMode::Fresh,
        }
    }

    /// Who spoke in the beat before, each once, as it calls them.
    fn just_spoken(&self, settings: &Settings, lines: &[Line], beat: u32) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let is_last = |line: &&Line| line.ask.as_ref().is_some_and(|ask| ask.turn + 1 == beat);
        for line in lines.iter().filter(is_last).filter(|line| spoken(line)) {
            let name = match &line.speaker {
                _ if settings.edition == Edition::First => continue,
                Speaker::Agent(agent) if *agent == self.id => "you",
                Speaker::Agent(agent) => settings.name_of(agent),
                speaker => speaker.name(),
            };
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    pub(super) fn said(&self, line: &Line) -> bool {
        is_by(line, &self.id)
    }

    /// What it was told and what it answered, as it came, is the past of its next request.
    pub(super) fn remember(&mut self, answer: &Arc<str>, mode: AgentMode) {
        if let (Standing::Open { told, feelings }, AgentMode::Thread) = (&self.standing, mode) {
            (self.heard, self.heard_at) = (told.what.span.lines[1], told.what.span.as_of);
            // What its thread says already is said again only when it changes.
            self.felt.clone_from(feelings);
            self.past.push(told.clone(), answer.clone());
        }
    }

    /// It had to wait. What it was told it will be told again, its notes included: its thread has nothing of this beat.
    pub(super) fn waits(&mut self) {
        if let Standing::Open { told, .. } = std::mem::replace(&mut self.standing, Standing::Waited) {
            self.noted.splice(0..0, told.what.notes);
        }
        (self.held, self.waited) = (None, self.waited + 1);
    }

    pub(super) fn request(&self, onstage: Onstage<'_>, agent: &Agent) -> Request {
        if let Standing::Open { told: Told { what: News { span, notes, .. }, .. }, feelings } = &self.standing
            && agent.is_small
        {
            let own = small::Own { notes, feelings: feelings.as_ref(), as_of: span.as_of, until: span.lines[1] };
            return small::act(self, onstage, agent, &own);
        }
        let prompt = match &self.standing {
            Standing::Open { told, .. } => told.text(|news| self.write(onstage, news)),
            Standing::Out
            | Standing::Speaking
            | Standing::Spoke
            | Standing::Silent
            | Standing::Waited
            | Standing::Failed => Text::default(),
        };
        let bids = onstage.settings.floor == Floor::Bids;
        let grammar = Some(grammar(&self.others(onstage.stage, onstage.settings), bids));
        Request { grammar, ..self.ask_with(onstage, agent, prompt) }
    }

    /// The request for what it remembers, when all is over.
    pub(super) fn memory_request(&self, onstage: Onstage<'_>, agent: &Agent) -> Request {
        if agent.is_small {
            return small::remember(self, onstage, agent);
        }
        let lines = [self.heard, onstage.stage.transcript().lines().len()];
        let lines = onstage.told(Span { after: self.heard_at, as_of: NOW, lines }, Some(&self.id));
        let language = onstage.settings.spoken_language();
        let variables = context! { name => &self.name, scene => &onstage.settings.name, lines => lines, language };
        self.ask_with(onstage, agent, onstage.stage.templates().render("scene_memory.j2", &variables))
    }

    fn write(&self, onstage: Onstage<'_>, news: &News) -> Text {
        onstage.stage.templates().render("scene_update.j2", &self.variables(onstage, news))
    }

    fn ask_with(&self, onstage: Onstage<'_>, agent: &Agent, prompt: Text) -> Request {
        let Onstage { stage, settings, .. } = onstage;
        let mut sampling = agent.sampling.clone();
        sampling.max_output_tokens.get_or_insert(MAX_OUTPUT_TOKENS);
        let head = || settings.edition.render(stage, "scene_system.j2", &self.head(stage, settings, agent));
        Request {
            model: agent.model.clone(),
            system: self.head.get(head),
            thread: self.past.thread(|news| self.write(onstage, news)),
            prompt,
            shape: None,
            grammar: None,
            plan: None,
            sampling,
        }
    }
}
