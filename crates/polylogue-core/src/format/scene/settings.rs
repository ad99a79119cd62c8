//! What a scene is set up with, and everything that is wrong with it, said at once.

use std::{collections::BTreeMap, sync::Arc};

use minijinja::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Feelings, SceneText,
    follow::{Note, NoteKind},
    person::{MAX_PATIENCE_SECONDS, begins_with_people},
};
use crate::{
    Conversation,
    ask::Text,
    event::Awaits,
    format::Described,
    id::AgentId,
    setup::{BadSetup, Cast},
    stage::Stage,
    text::{language::Language, reply::nearest},
};

/// What a scene is set up with. The characters are the agents of the cast, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SceneSettings")]
pub struct Settings {
    /// Recorded as `title`: a format's `name` is its own.
    #[serde(rename = "title")]
    pub name: Arc<str>,
    /// Context and goals, in the author's words.
    pub prompt: Arc<str>,
    /// Where the scene ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Arc<str>>,
    /// Whether the characters are told the goal. The moderator always is.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub goal_known: bool,
    /// What only one character knows, by character.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub briefs: BTreeMap<AgentId, Arc<str>>,
    /// How the characters speak, in the author's words, in the place of what they are told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Arc<str>>,
    /// Who may speak in a beat.
    #[serde(default, skip_serializing_if = "is_default")]
    pub floor: Floor,
    /// What the transcript shows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub transcript: TranscriptForm,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<Arc<str>>,
    /// The voice profile of the narrator who reads what happens and what can be seen, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrator: Option<Arc<str>>,
    /// The language that the characters speak: a code, or in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Arc<str>>,
    /// Who plays the first beat alone; without one, everybody plays it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_speaker: Option<AgentId>,
    #[serde(default = "default_beats")]
    pub max_beats: u32,
    #[serde(default)]
    pub agent_mode: AgentMode,
    #[serde(default)]
    pub events: WorldEvents,
    /// The story that the scene is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<Arc<str>>,
    /// Whether the characters remember: what they bring along from the story's earlier scenes, and what they put
    /// down when this one is over.
    #[serde(default)]
    pub memory: bool,
    /// How the characters are called in the scene, where it is not as in the cast.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<AgentId, Arc<str>>,
    /// For how many seconds a person is waited for when everybody else has had their turn; without a number, however
    /// long they take. Who plays which character, the cast says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<u32>,
    /// What each character remembers of earlier scenes: part of its fixed head.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub memories: BTreeMap<AgentId, Vec<Arc<str>>>,
    /// Which edition of the prompts it is played with.
    #[serde(default, skip_serializing_if = "is_default")]
    pub edition: Edition,
    /// What they feel when the scene begins: what earlier scenes have left.
    #[serde(default, skip_serializing_if = "Feelings::is_empty")]
    pub feelings: Feelings,
}

fn default_beats() -> u32 {
    Settings::DEFAULT_BEATS
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What the participants of a scene are told, and what the moderator is asked for. A journal that names no edition has
/// the first, so that what was sent then can still be shown as it was sent, and the scene goes on as it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SceneEdition")]
pub enum Edition {
    #[default]
    First,
    /// Cuts and silent acts are told, the goal is told once and needs evidence, notes are remembered.
    Second,
    /// Nobody is told a mood of which nothing is left.
    Third,
}

impl Edition {
    pub const NEWEST: Edition = Edition::Third;

    /// Fills a template as this edition has it. What the session brings along in its place comes first.
    pub(super) fn render(self, stage: &Stage, name: &'static str, variables: &Value) -> Text {
        let earlier = match (self, name) {
            (Edition::First, "scene_system.j2") => "first/scene_system.j2",
            (Edition::First, "scene_moderator_system.j2") => "first/scene_moderator_system.j2",
            (Edition::First | Edition::Second | Edition::Third, name) => name,
        };
        let templates = stage.templates();
        templates.render(if templates.replaces(name) { name } else { earlier }, variables)
    }
}

/// Who may speak in a beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SceneFloor")]
pub enum Floor {
    /// Everybody, at the same time.
    #[default]
    Open,
    /// Those who want it most: each reply begins with how much.
    Bids,
}

/// What the transcript of a scene shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SceneTranscriptForm")]
pub enum TranscriptForm {
    /// Lines, reactions and events.
    #[default]
    Plain,
    /// Also what is done by those who stay silent.
    Full,
}

/// What a character sees of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentMode {
    /// All of it, as one thread that grows: prompt caches hit.
    #[default]
    Thread,
    /// The last ten exchanges, anew each beat.
    Fresh,
}

/// Where the world's own events come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorldEvents {
    /// From the moderator, when the scene is off its track or nobody speaks.
    #[default]
    Auto,
    Off,
    /// These, each at the beginning of its beat.
    At(Vec<Scheduled>),
}

impl WorldEvents {
    /// What is to happen at the beginning of this beat, whatever comes before it.
    pub(super) fn scheduled(&self, beat: u32) -> impl Iterator<Item = Arc<str>> + '_ {
        let events = match self {
            WorldEvents::At(events) => events.as_slice(),
            WorldEvents::Auto | WorldEvents::Off => &[],
        };
        events.iter().filter(move |event| event.beat == beat).map(|event| event.text.clone())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scheduled {
    pub beat: u32,
    pub text: Arc<str>,
}

impl Settings {
    pub const DEFAULT_BEATS: u32 = 50;
    pub const MAX_BEATS: u32 = 1_000;
    pub const CHARACTERS: std::ops::RangeInclusive<usize> = 2..=5;
    pub const MAX_TEXT_CHARS: usize = 20_000;
    pub const MAX_NAME_CHARS: usize = 100;
    pub const MAX_EVENTS: usize = 200;

    /// A scene of which nothing more is said.
    pub fn new(name: impl Into<Arc<str>>, prompt: impl Into<Arc<str>>) -> Settings {
        Settings {
            name: name.into(),
            prompt: prompt.into(),
            goal: None,
            goal_known: true,
            briefs: BTreeMap::new(),
            style: None,
            floor: Floor::default(),
            transcript: TranscriptForm::default(),
            setting: None,
            language: None,
            initial_speaker: None,
            max_beats: Settings::DEFAULT_BEATS,
            agent_mode: AgentMode::default(),
            events: WorldEvents::default(),
            story: None,
            memory: false,
            names: BTreeMap::new(),
            memories: BTreeMap::new(),
            edition: Edition::NEWEST,
            patience: None,
            narrator: None,
            feelings: Feelings::default(),
        }
    }

    /// How long people are waited for.
    pub(super) fn awaits(&self) -> Awaits {
        Awaits::People { seconds: self.patience }
    }

    /// How a character is called in the scene.
    pub fn name_of<'a>(&'a self, agent: &'a AgentId) -> &'a str {
        self.names.get(agent).map_or(agent.as_str(), |name| name)
    }

    /// The language that is to be named wherever something is to be said in it: none where that goes without saying.
    pub(super) fn spoken_language(&self) -> Option<&str> {
        let written = self.language.as_deref().filter(|language| !language.trim().is_empty())?;
        (Language::called(written) != Some(Language::ENGLISH)).then(|| Language::in_words(written))
    }

    /// The language that a scene is written in, where it does not say it: that of its prompt, else of its characters.
    pub fn found_language<'a>(&self, personas: impl IntoIterator<Item = &'a str>) -> Option<Language> {
        let told = [Some(&self.prompt), self.goal.as_ref(), self.setting.as_ref()];
        let told: Vec<&str> = told.into_iter().flatten().map(|text| &**text).collect();
        let personas: Vec<&str> = personas.into_iter().collect();
        Language::of(&told.join("\n")).or_else(|| Language::of(&personas.join("\n")))
    }

    /// What the initial speaker is told.
    pub(crate) fn opening(&self) -> Option<Note> {
        let speaker = self.initial_speaker.as_ref()?;
        let text = format!("You are {}. Begin the scene.", self.name_of(speaker));
        Some(Note::to(speaker, NoteKind::Opening, text))
    }

    /// Everything that is wrong with a scene of these characters, in words for its author.
    pub fn problems(&self, characters: &[AgentId]) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |holds: bool, problem: &dyn Fn() -> String| {
            if !holds {
                problems.push(problem());
            }
        };
        check(!self.name.trim().is_empty(), &|| "Scene name is required".to_owned());
        let longest = Self::MAX_NAME_CHARS;
        check(self.name.chars().count() <= longest, &|| format!("Scene name is longer than {longest} characters"));
        check(!self.prompt.trim().is_empty(), &|| "Scene prompt is required".to_owned());
        let texts = [
            ("prompt", Some(&self.prompt)),
            ("goal", self.goal.as_ref()),
            ("setting", self.setting.as_ref()),
            ("style", self.style.as_ref()),
        ];
        let briefs = self.briefs.values().map(|brief| ("brief", Some(brief)));
        for (what, text) in texts.into_iter().chain(briefs) {
            let chars = text.map_or(0, |text| text.chars().count());
            let most = Self::MAX_TEXT_CHARS;
            check(chars <= most, &|| format!("Scene {what} is too long: {chars} characters, at most {most} are taken"));
        }
        let count = characters.len();
        let (least, most) = (Self::CHARACTERS.start(), Self::CHARACTERS.end());
        check(Self::CHARACTERS.contains(&count), &|| format!("A scene has {least} to {most} characters, not {count}"));
        if let Some(speaker) = &self.initial_speaker {
            let names: Vec<&str> = characters.iter().map(AgentId::as_str).collect();
            let plays = names.contains(&speaker.as_str());
            check(plays, &|| format!("Initial speaker `{speaker}` is none of the characters: {}", names.join(", ")));
        }
        for who in self.briefs.keys().filter(|who| !characters.contains(who)) {
            let names: Vec<String> = characters.iter().map(ToString::to_string).collect();
            let meant = nearest(who.as_str(), &names).map(|name| format!("; did you mean `{name}`?"));
            check(false, &|| {
                let meant = meant.clone().unwrap_or_default();
                format!("The brief for `{who}` is for none of the characters: {}{meant}", names.join(", "))
            });
        }
        check(self.goal_known || self.goal.is_some(), &|| {
            "`goalKnown` is false, and there is no goal to keep from the characters: name it as `goal`, or in the \
             prompt as `Scene goal: …`"
                .to_owned()
        });
        let most = Self::MAX_BEATS;
        let beats = self.max_beats;
        check((1..=most).contains(&beats), &|| format!("maxBeats is {beats}: choose from 1 to {most}"));
        if let WorldEvents::At(events) = &self.events {
            let most = Self::MAX_EVENTS;
            check(events.len() <= most, &|| format!("A scene has at most {most} events"));
            for event in events {
                check(!event.text.trim().is_empty(), &|| format!("The event of beat {} is empty", event.beat));
                check(event.beat < beats, &|| {
                    format!(
                        "The event \"{}\" is for beat {}, and there are {beats}: 0 to {}",
                        event.text,
                        event.beat,
                        beats.saturating_sub(1)
                    )
                });
            }
        }
        let mut called: Vec<String> = Vec::new();
        for agent in characters {
            let name = self.name_of(agent).to_lowercase();
            check(!called.contains(&name), &|| format!("Two characters are called {}", self.name_of(agent)));
            called.push(name);
        }
        problems
    }
}

impl Described for Settings {
    fn title(&self) -> &str {
        &self.name
    }

    fn check(&self, cast: &Cast) -> Result<(), BadSetup> {
        let characters: Vec<AgentId> = cast.agents().iter().map(|agent| agent.name.clone()).collect();
        let mut problems = self.problems(&characters);
        if cast.agents().iter().all(|agent| agent.model.person().is_some()) {
            problems.push("A scene needs a character that a model plays".to_owned());
        }
        let (patience, most) = (self.patience.unwrap_or(1), MAX_PATIENCE_SECONDS);
        if !(1..=most).contains(&patience) {
            problems.push(format!("patience is {patience} seconds: choose from 1 to {most}, or none"));
        }
        if cast.crew().is_empty() {
            problems.push("A scene needs a moderator".to_owned());
        }
        if problems.is_empty() { Ok(()) } else { Err(BadSetup::Settings(problems)) }
    }

    fn awaits_person(&self, cast: &Cast) -> Awaits {
        if begins_with_people(self, cast) { self.awaits() } else { Awaits::Nobody }
    }

    fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    fn called(&self, agent: &AgentId) -> Option<&str> {
        self.names.get(agent).map(|name| &**name)
    }

    fn narrator(&self) -> Option<&str> {
        self.narrator.as_deref()
    }

    fn story(&self) -> Option<&str> {
        self.story.as_deref()
    }

    fn plain_text(&self, conversation: &Conversation) -> Option<String> {
        SceneText::of(conversation).map(|scene| scene.to_string())
    }

    fn markdown(&self, conversation: &Conversation) -> Option<String> {
        SceneText::of(conversation).map(|scene| scene.to_markdown())
    }
}
