//! The fields of a scene file. Reading them is total: it gives what can be used, and everything that is wrong.

use std::{collections::BTreeMap, fmt::Display, sync::Arc};

use polylogue_core::{
    format::scene::{
        AgentMode, Floor, MAX_PATIENCE_SECONDS, PATIENCE_SECONDS, Scheduled, Settings, TranscriptForm, WorldEvents,
        goal_in,
    },
    id::{AgentId, PersonId},
    setup::{BadSetup, Cast},
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::voices::ANY;

/// The fields as documents write them; `snake_case` is taken too.
const KNOWN: [&str; 22] = [
    "name",
    "prompt",
    "characters",
    "patience",
    "initialSpeaker",
    "maxBeats",
    "goal",
    "goalKnown",
    "briefs",
    "style",
    "floor",
    "transcript",
    "setting",
    "language",
    "agentMode",
    "moderator",
    "events",
    "memory",
    "story",
    "seed",
    "speech",
    "narrator",
];

/// How the character of a person is called whose name is none.
const GUEST: &str = "guest";

/// How much of a value is shown where it is wrong.
const SHOWN_CHARS: usize = 60;

/// What stands for a value that is wrong, so that it is not said to be missing as well.
const UNREADABLE: &str = "?";

#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) name: String,
    pub(super) prompt: String,
    pub(super) characters: Vec<AgentId>,
    /// Whom people play, with the person's name.
    pub(super) people: BTreeMap<AgentId, PersonId>,
    /// For how many seconds people are waited for; without a number, however long it takes.
    pub(super) patience: Option<u32>,
    /// Whether the file says who plays, even if it is nobody.
    pub(super) knows_characters: bool,
    pub(super) initial_speaker: Option<AgentId>,
    pub(super) max_beats: u32,
    pub(super) goal: Option<String>,
    pub(super) goal_known: Option<bool>,
    /// What only one character knows, by the name that the file gives it.
    pub(super) briefs: BTreeMap<AgentId, String>,
    pub(super) style: Option<String>,
    pub(super) floor: Floor,
    pub(super) transcript: TranscriptForm,
    pub(super) setting: Option<String>,
    pub(super) language: Option<String>,
    pub(super) agent_mode: AgentMode,
    pub(super) moderator: Option<Moderator>,
    pub(super) events: WorldEvents,
    pub(super) memory: bool,
    pub(super) story: Option<String>,
    pub(super) seed: Option<u64>,
    pub(super) speech: Option<bool>,
    /// The narrator's voice, where there is one.
    pub(super) narrator: Option<String>,
}

/// Which models moderate: a name, or `{model, fallback}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "RawModerator")]
pub(crate) struct Moderator {
    pub(crate) model: Option<String>,
    /// Who stands in when the first fails again and again.
    pub(crate) fallback: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawModerator {
    Model(String),
    Full(FullModerator),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FullModerator {
    model: Option<String>,
    fallback: Option<String>,
}

impl From<RawModerator> for Moderator {
    fn from(raw: RawModerator) -> Moderator {
        match raw {
            RawModerator::Model(model) => Moderator { model: Some(model), fallback: None },
            RawModerator::Full(FullModerator { model, fallback }) => Moderator { model, fallback },
        }
    }
}

impl Fields {
    /// The settings of a scene between these, who are called so.
    pub(super) fn settings(&self, ids: &[AgentId], names: BTreeMap<AgentId, Arc<str>>) -> Settings {
        let meant = |character: &AgentId| {
            let wanted = character.as_str().to_lowercase();
            let is_it = |name: &str| name.to_lowercase() == wanted;
            let is_called_so = |id: &&AgentId| is_it(id.as_str()) || names.get(*id).is_some_and(|name| is_it(name));
            ids.iter().find(is_called_so).unwrap_or(character).clone()
        };
        let initial_speaker = self.initial_speaker.as_ref().map(meant);
        let briefs = self.briefs.iter().map(|(character, brief)| (meant(character), brief.as_str().into())).collect();
        let text = |text: &Option<String>| text.as_deref().map(Arc::from);
        Settings {
            goal: text(&self.goal),
            goal_known: self.goal_known.unwrap_or(true),
            briefs,
            style: text(&self.style),
            floor: self.floor,
            transcript: self.transcript,
            setting: text(&self.setting),
            language: text(&self.language),
            initial_speaker,
            max_beats: self.max_beats,
            agent_mode: self.agent_mode,
            events: self.events.clone(),
            story: text(&self.story),
            memory: self.memory,
            patience: self.patience,
            names: names.into_iter().filter(|(id, name)| id.as_str() != &**name).collect(),
            narrator: text(&self.narrator),
            ..Settings::new(self.name.as_str(), self.prompt.as_str())
        }
    }
}

/// The fields of a scene file, and everything that is wrong with them.
pub(super) fn read(file: &Value) -> (Fields, Vec<String>) {
    let Value::Object(object) = file else {
        let problem = format!("A scene file is an object with `name`, `prompt` and `characters`, not {}", shown(file));
        // Nothing more can be said about it.
        let unreadable = || UNREADABLE.to_owned();
        let max_beats = Settings::DEFAULT_BEATS;
        return (Fields { name: unreadable(), prompt: unreadable(), max_beats, ..Fields::default() }, vec![problem]);
    };
    let mut reader = Reader { given: BTreeMap::new(), people: BTreeMap::new(), problems: Vec::new() };
    reader.take_up(object);
    let mut fields = Fields {
        name: reader.text("name").unwrap_or(Some(UNREADABLE.to_owned())).unwrap_or_default(),
        prompt: reader.text("prompt").unwrap_or(Some(UNREADABLE.to_owned())).unwrap_or_default(),
        initial_speaker: reader.text("initialSpeaker").unwrap_or_default().and_then(|name| reader.id(&name)),
        max_beats: reader.beats(),
        goal: reader.text("goal").unwrap_or_default(),
        goal_known: reader.switch("goalKnown", "on", "off"),
        briefs: reader.briefs(),
        style: reader.text("style").unwrap_or_default(),
        floor: reader.choice("floor", [("open", Floor::Open), ("bids", Floor::Bids)]),
        transcript: reader.choice("transcript", [("plain", TranscriptForm::Plain), ("full", TranscriptForm::Full)]),
        setting: reader.text("setting").unwrap_or_default(),
        language: reader.text("language").unwrap_or_default(),
        agent_mode: reader.choice("agentMode", [("thread", AgentMode::Thread), ("fresh", AgentMode::Fresh)]),
        moderator: reader.moderator(),
        events: reader.events(),
        story: reader.text("story").unwrap_or_default(),
        seed: reader.number("seed", u64::MAX),
        speech: reader.switch("speech", "on", "off"),
        narrator: reader.narrator(),
        ..Fields::default()
    };
    (fields.characters, fields.knows_characters) = reader.characters();
    fields.patience = reader.patience();
    fields.people = std::mem::take(&mut reader.people);
    fields.goal = fields.goal.or_else(|| goal_in(&fields.prompt));
    let memory = reader.switch("memory", "on", "off");
    fields.memory = memory.unwrap_or(fields.story.is_some());
    if fields.memory && fields.story.is_none() {
        reader.problem("`memory` is on, but no `story` is named that the scene is part of");
    }
    if !fields.knows_characters {
        // Nobody knows whether that one plays.
        fields.initial_speaker = None;
        fields.briefs.clear();
    }
    (fields, reader.problems)
}

/// The known name that was probably meant.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let near = known.map(|known| (distance(known), known)).min()?;
    (near.0 <= 1 + name.chars().count() / 4).then_some(near.1)
}

/// A wrong value has been noted.
struct Wrong;

struct Reader<'a> {
    /// By the names of the documents.
    given: BTreeMap<&'static str, &'a Value>,
    people: BTreeMap<AgentId, PersonId>,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    fn take_up(&mut self, object: &'a Map<String, Value>) {
        for (key, value) in object {
            let bare = |name: &str| name.replace('_', "").to_lowercase();
            let is_snake = key.contains('_') && !key.chars().any(char::is_uppercase);
            let known = KNOWN.iter().find(|known| *known == key || (is_snake && bare(known) == bare(key)));
            match known {
                Some(known) if self.given.insert(known, value).is_some() => {
                    self.problem(format!("`{known}` is given twice, in two spellings"));
                }
                Some(_) => {}
                None => {
                    let hint = match nearest(key, KNOWN.into_iter()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("the fields are {}", KNOWN.join(", ")),
                    };
                    self.problem(format!("Unknown field `{key}`: {hint}"));
                }
            }
        }
    }

    fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    fn get(&self, field: &str) -> Option<&'a Value> {
        self.given.get(field).copied().filter(|value| !value.is_null())
    }

    fn wrong(&mut self, field: &str, value: &Value, write: impl Display) -> Wrong {
        self.problem(format!("`{field}` is {}: write {write}", shown(value)));
        Wrong
    }

    /// A text that says something.
    fn text(&mut self, field: &str) -> Result<Option<String>, Wrong> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            Some(other) => Err(self.wrong(field, other, "a text")),
        }
    }

    fn number(&mut self, field: &str, most: u64) -> Option<u64> {
        let value = self.get(field)?;
        let number = value.as_u64().filter(|number| *number <= most);
        if number.is_none() {
            self.wrong(field, value, "a whole number");
        }
        number
    }

    fn beats(&mut self) -> u32 {
        let beats = self.number("maxBeats", u32::MAX.into());
        beats.and_then(|beats| u32::try_from(beats).ok()).unwrap_or(Settings::DEFAULT_BEATS)
    }

    /// A switch, as a word or as true and false.
    fn switch(&mut self, field: &str, on: &str, off: &str) -> Option<bool> {
        match self.get(field)? {
            Value::Bool(is_on) => Some(*is_on),
            Value::String(word) if word.eq_ignore_ascii_case(on) => Some(true),
            Value::String(word) if word.eq_ignore_ascii_case(off) => Some(false),
            other => {
                self.wrong(field, other, format!("`{on}` or `{off}`"));
                None
            }
        }
    }

    /// Whether there is a narrator, or with which voice.
    fn narrator(&mut self) -> Option<String> {
        let is_switch = |word: &str| ["on", "off"].iter().any(|switch| word.eq_ignore_ascii_case(switch));
        match self.get("narrator")? {
            Value::String(voice) if !voice.trim().is_empty() && !is_switch(voice) => Some(voice.trim().to_owned()),
            Value::String(word) if !is_switch(word) => None,
            Value::Bool(_) | Value::String(_) => {
                self.switch("narrator", "on", "off").filter(|is_on| *is_on).map(|_| ANY.to_owned())
            }
            other => {
                self.wrong("narrator", other, "true, false, or the name of a voice");
                None
            }
        }
    }

    /// One of two words; the first where the file says nothing.
    fn choice<T: Copy>(&mut self, field: &str, [one, other]: [(&str, T); 2]) -> T {
        match self.get(field) {
            None => one.1,
            Some(Value::String(word)) if word == one.0 => one.1,
            Some(Value::String(word)) if word == other.0 => other.1,
            Some(wrong) => {
                self.wrong(field, wrong, format!("`{}` or `{}`", one.0, other.0));
                one.1
            }
        }
    }

    /// What only one character knows, by character.
    fn briefs(&mut self) -> BTreeMap<AgentId, String> {
        let briefs = match self.get("briefs") {
            None => return BTreeMap::new(),
            Some(Value::Object(briefs)) => briefs,
            Some(other) => {
                self.wrong("briefs", other, "a text for each character: {bob: \"You know that she has left.\"}");
                return BTreeMap::new();
            }
        };
        let mut by_character = BTreeMap::new();
        for (name, brief) in briefs {
            let Value::String(text) = brief else {
                self.wrong(&format!("briefs.{name}"), brief, "a text");
                continue;
            };
            if let Some(character) = self.id(name.trim().trim_end_matches(".md"))
                && !text.trim().is_empty()
                && by_character.insert(character, text.trim().to_owned()).is_some()
            {
                self.problem(format!("`briefs` has two for `{name}`"));
            }
        }
        by_character
    }

    fn moderator(&mut self) -> Option<Moderator> {
        let value = self.get("moderator")?;
        let moderator = Moderator::deserialize(value).ok();
        if moderator.is_none() {
            self.wrong("moderator", value, "a model, or {model, fallback}");
        }
        moderator
    }

    fn events(&mut self) -> WorldEvents {
        let events = match self.get("events") {
            None => return WorldEvents::default(),
            Some(Value::Array(events)) => events,
            Some(_) => {
                let is_on = self.switch("events", "auto", "off");
                return if is_on == Some(false) { WorldEvents::Off } else { WorldEvents::Auto };
            }
        };
        let mut scheduled = Vec::new();
        for event in events {
            let fields = event.as_object().filter(|fields| fields.len() == 2);
            let beat = event["beat"].as_u64().and_then(|beat| u32::try_from(beat).ok());
            match (fields, beat, event["text"].as_str()) {
                (Some(_), Some(beat), Some(text)) => scheduled.push(Scheduled { beat, text: text.trim().into() }),
                _ => {
                    self.wrong("events", event, "each as {beat: 3, text: \"The phone rings\"}");
                }
            }
        }
        WorldEvents::At(scheduled)
    }

    /// Who plays, and whether the file says so.
    fn characters(&mut self) -> (Vec<AgentId>, bool) {
        let names = match self.get("characters") {
            Some(Value::Array(names)) => names,
            None => {
                self.problem("Scene characters are required: name 2 to 5 of them");
                return (Vec::new(), false);
            }
            Some(other) => {
                self.wrong("characters", other, "a list of names");
                return (Vec::new(), false);
            }
        };
        let mut ids = Vec::new();
        let mut knows_all = true;
        for name in names {
            let id = match name {
                Value::String(name) => self.character(name),
                Value::Object(fields) => self.part_of_person(fields, name),
                other => {
                    self.wrong("characters", other, "each as a name");
                    None
                }
            };
            knows_all &= id.is_some();
            ids.extend(id);
        }
        if knows_all { (ids, true) } else { (Vec::new(), false) }
    }

    /// A character that a person plays: of the person's own name, or of another.
    fn part_of_person(&mut self, fields: &Map<String, Value>, written: &Value) -> Option<AgentId> {
        let of = |key: &str| fields.get(key).and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
        let is_known = fields.keys().all(|key| ["person", "plays"].contains(&key.as_str()));
        let (Some(name), true) = (of("person"), is_known && fields.len() == 1 + usize::from(of("plays").is_some()))
        else {
            self.wrong("characters", written, "a person as {person: you, plays: bob}");
            return None;
        };
        let who: PersonId = match name.parse() {
            Ok(who) => who,
            Err(problem) => {
                self.problem(format!("{problem}"));
                return None;
            }
        };
        // Nobody on a stage is called `you`.
        let own = if Cast::RESERVED.contains(&name.to_lowercase().as_str()) { GUEST } else { name };
        let id = self.character(of("plays").unwrap_or(own))?;
        if self.people.values().any(|other| *other == who) {
            self.problem(format!("`{who}` plays two characters: a person plays one"));
        }
        self.people.insert(id.clone(), who);
        Some(id)
    }

    /// How long people are waited for.
    fn patience(&mut self) -> Option<u32> {
        let usual = (!self.people.is_empty()).then_some(PATIENCE_SECONDS);
        match self.get("patience") {
            None => usual,
            Some(Value::String(word)) if word.eq_ignore_ascii_case("none") => None,
            Some(value) if value.as_u64() == Some(0) => None,
            Some(value) => {
                let seconds = value.as_u64().and_then(|seconds| u32::try_from(seconds).ok());
                if seconds.is_none_or(|seconds| seconds > MAX_PATIENCE_SECONDS) {
                    self.wrong("patience", value, format!("seconds up to {MAX_PATIENCE_SECONDS}, or none"));
                    return usual;
                }
                seconds
            }
        }
    }

    /// A name that can be a file's in the characters' folder, and a participant's.
    fn character(&mut self, name: &str) -> Option<AgentId> {
        let name = name.trim().trim_end_matches(".md");
        if name.contains(['/', '\\', '\0']) || name.starts_with('.') {
            self.problem(format!("A character cannot be called `{name}`: write the name of its file without .md"));
            return None;
        }
        if Cast::RESERVED.contains(&name.to_lowercase().as_str()) {
            self.problem(BadSetup::Reserved(name.to_owned()).to_string());
            return None;
        }
        self.id(name)
    }

    fn id(&mut self, name: &str) -> Option<AgentId> {
        let id = name.parse::<AgentId>();
        id.map_err(|problem| self.problem(problem.to_string())).ok()
    }
}

/// A value as its author wrote it, in short.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The API describes a scene file without knowing this reader.
    #[test]
    fn a_scene_file_is_described_as_it_is_read() {
        let api = polylogue_server::description();
        let schemas = &api["components"]["schemas"];
        let described = schemas["SceneFile"]["properties"].as_object().expect("a scene file is described");
        // The characters that come along are no part of the file.
        let mut described: Vec<&str> = described.keys().map(String::as_str).filter(|name| *name != "agents").collect();
        let mut known = KNOWN.to_vec();
        described.sort_unstable();
        known.sort_unstable();
        assert_eq!(described, known);

        let schema = json!({"$ref": "#/components/schemas/SceneFile", "components": {"schemas": schemas}});
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let whole =
            json!({"name": "late", "prompt": "Bob is late.", "characters": ["alice", "bob"], "story": "office"});
        for (field, value, is_good) in [
            ("agentMode", json!("thread"), true),
            ("agentMode", json!("fresh"), true),
            ("agentMode", json!("stale"), false),
            ("moderator", json!("openai/gpt-4o"), true),
            ("moderator", json!({"model": "openai/gpt-4o", "fallback": "gpt"}), true),
            ("moderator", json!({"fallback": "gpt"}), true),
            ("moderator", json!(7), false),
            ("events", json!("auto"), true),
            ("events", json!("off"), true),
            ("events", json!(false), true),
            ("events", json!([{"beat": 3, "text": "The phone rings."}]), true),
            ("events", json!([{"beat": 3}]), false),
            ("events", json!("never"), false),
            ("memory", json!("on"), true),
            ("memory", json!(true), true),
            ("memory", json!("maybe"), false),
            ("speech", json!("off"), true),
            ("speech", json!(false), true),
            ("narrator", json!(true), true),
            ("narrator", json!("deep_grave"), true),
            ("narrator", json!(7), false),
            ("seed", json!(7), true),
            ("seed", json!(-7), false),
            ("maxBeats", json!(9), true),
            ("maxBeats", json!("nine"), false),
            ("goal", json!(null), true),
            ("goal", json!(7), false),
            ("goalKnown", json!(true), true),
            ("goalKnown", json!("on"), true),
            ("goalKnown", json!("maybe"), false),
            ("briefs", json!({"bob": "You know that the client has left."}), true),
            ("briefs", json!({"bob": 7}), false),
            ("briefs", json!("You know it."), false),
            ("style", json!("dry"), true),
            ("style", json!(["dry"]), false),
            ("floor", json!("bids"), true),
            ("floor", json!("closed"), false),
            ("transcript", json!("full"), true),
            ("transcript", json!(true), false),
            ("initialSpeaker", json!("bob"), true),
            ("characters", json!("bob"), false),
            ("characters", json!(["alice", {"person": "you"}]), true),
            ("characters", json!(["alice", {"person": "you", "plays": "bob"}]), true),
            ("characters", json!(["alice", {"person": 7}]), false),
            ("characters", json!(["alice", {"plays": "bob"}]), false),
            ("characters", json!(["alice", {"person": "you", "as": "bob"}]), false),
            ("patience", json!(30), true),
            ("patience", json!(0), true),
            ("patience", json!("none"), true),
            ("patience", json!(604_801), false),
            ("patience", json!("long"), false),
            ("end", json!("now"), false),
        ] {
            let mut file = whole.clone();
            file[field] = value;
            let (_, problems) = read(&file);
            assert_eq!(problems.is_empty(), is_good, "{file}: {problems:?}");
            assert_eq!(validator.is_valid(&file), is_good, "{file} is read otherwise than it is described");
        }
    }
}
