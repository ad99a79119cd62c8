//! What the moderator thinks of a beat: the form that it is asked for, and what its answer comes to.
//!
//! Only three things have to be said; everything else is said when there is something to say.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    evidence::{Evidence, MAX_PARTS},
    settings::{Edition, Settings},
};
use crate::{
    id::AgentId,
    setup::Cast,
    text::reply::{Field, Shape},
};

/// One judgement. Fractions are kept as whole hundredths, so that a journal reads back exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The parts of the goal, named once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Arc<str>>,
    /// Words that were heard, and the part of the goal that they fulfil.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// What the moderator quoted and nobody was heard to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<Evidence>,
    /// How far the scene is on its way to the goal, in percent.
    pub progress: u8,
    pub goal_reached: bool,
    pub natural_end: bool,
    pub on_track: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub characters: Vec<OnCharacter>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Shift>,
    /// Something that could happen in the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Arc<str>>,
    /// What would close the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<Arc<str>>,
}

impl Judgement {
    /// In one line, for people.
    pub fn in_words(&self, settings: &Settings) -> String {
        let name = |agent: &AgentId| settings.name_of(agent).to_owned();
        let mut parts = vec![format!("progress {}%", self.progress)];
        let numbered = self.parts.iter().zip(1..).map(|(part, number)| format!("part {number} is: {part}"));
        parts.extend(numbered);
        let words = |evidence: &Evidence, what: &str| format!("part {} {what} \"{}\"", evidence.part, evidence.quote);
        parts.extend(self.evidence.iter().map(|evidence| words(evidence, "is shown by")));
        parts.extend(self.refuted.iter().map(|evidence| words(evidence, "is not shown: nobody was heard to say")));
        for (holds, words) in
            [(self.goal_reached, "goal reached"), (self.natural_end, "natural end"), (!self.on_track, "off track")]
        {
            parts.extend(holds.then(|| words.to_owned()));
        }
        for on in &self.characters {
            let followed = on.followed.map(|followed| if followed { "followed" } else { "did not follow" });
            parts.extend(followed.map(|followed| format!("{} {followed} the last note", name(&on.character))));
            parts.extend(on.arc.map(|arc| format!("{} is {}", name(&on.character), arc.as_str())));
        }
        for Shift { between: [one, other], change } in &self.relations {
            parts.push(format!("{} and {} {change:+}", name(one), name(other)));
        }
        parts.extend(self.event.as_ref().map(|event| format!("wishes for: {event}")));
        parts.extend(self.closing.as_ref().map(|closing| format!("could close with: {closing}")));
        parts.join("; ")
    }
}

/// What the moderator has to say about one character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnCharacter {
    pub character: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arc: Option<ArcState>,
    /// A direction for this character alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Arc<str>>,
    /// How it strays from its own personality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Arc<str>>,
    /// Whether the last note to it was followed, where the moderator says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<bool>,
}

/// How far a character has come with what it wants in this scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArcState {
    Open,
    Moving,
    Resolved,
}

impl ArcState {
    const ALL: [(&str, ArcState); 3] =
        [("open", ArcState::Open), ("moving", ArcState::Moving), ("resolved", ArcState::Resolved)];

    pub fn as_str(self) -> &'static str {
        match self {
            ArcState::Open => "open",
            ArcState::Moving => "moving",
            ArcState::Resolved => "resolved",
        }
    }
}

/// How a beat changed what is between two characters, from -100 to 100.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shift {
    pub between: [AgentId; 2],
    pub change: i8,
}

/// The most that is taken of a text in a judgement.
const MAX_CHARS: usize = 400;

/// The form of a judgement among these characters.
pub(super) fn shape(settings: &Settings, cast: &Cast) -> Shape {
    let names: Vec<String> = cast.agents().iter().map(|agent| settings.name_of(&agent.name).to_owned()).collect();
    let who = || Shape::Choice(names.clone());
    let text = || Shape::Text { max_chars: Some(MAX_CHARS) };
    let arcs = ArcState::ALL.iter().map(|(word, _)| (*word).to_owned()).collect();
    let is_first = settings.edition == Edition::First;
    // Models write in this order: what it rests on comes before what is made of it.
    let evidence = || {
        let numbers = (1..=MAX_PARTS as u32).collect();
        let of_part = vec![Field::required("part", Shape::Number(numbers)), Field::required("line", text())];
        vec![
            Field::optional("parts", Shape::List(Box::new(text()), MAX_PARTS)),
            Field::optional("evidence", Shape::List(Box::new(Shape::Object(of_part)), 2 * MAX_PARTS)),
        ]
    };
    let on_character = [
        Some(Field::required("name", who())),
        (!is_first).then(|| Field::optional("followed", Shape::Bool)),
        Some(Field::optional("arc", Shape::Choice(arcs))),
        Some(Field::optional("note", text())),
        Some(Field::optional("drift", text())),
    ];
    let on_character = on_character.into_iter().flatten().collect();
    let judged = vec![
        Field::required("progress", Shape::Fraction(0.0, 1.0)),
        Field::required("goalReached", Shape::Bool),
        Field::required("naturalEnd", Shape::Bool),
        Field::optional("onTrack", Shape::Bool),
        Field::optional("characters", Shape::List(Box::new(Shape::Object(on_character)), names.len())),
        Field::optional(
            "relationships",
            Shape::List(
                Box::new(Shape::Object(vec![
                    Field::required("from", who()),
                    Field::required("to", who()),
                    Field::required("change", Shape::Fraction(-1.0, 1.0)),
                ])),
                names.len() * (names.len() - 1) / 2,
            ),
        ),
        Field::optional("event", text()),
        Field::optional("closing", text()),
    ];
    Shape::Object(if is_first { judged } else { [evidence(), judged].concat() })
}

/// A value of that form as a judgement.
pub(super) fn from_value(value: &Value, settings: &Settings, cast: &Cast) -> Judgement {
    let agent = |name: &str| {
        let mut agents = cast.agents().iter().map(|agent| &agent.name);
        agents.find(|agent| settings.name_of(agent) == name).cloned()
    };
    let flag = |name: &str| value[name].as_bool();
    let hundredths = |value: &Value| (value.as_f64().unwrap_or_default() * 100.0).round();
    let items = |name: &str| value[name].as_array().into_iter().flatten();
    let characters = items("characters").filter_map(|item| {
        let arc = item["arc"].as_str().and_then(|word| ArcState::ALL.iter().find(|(known, _)| *known == word));
        Some(OnCharacter {
            character: agent(item["name"].as_str()?)?,
            arc: arc.map(|(_, arc)| *arc),
            note: words(&item["note"]),
            drift: words(&item["drift"]),
            followed: item["followed"].as_bool(),
        })
    });
    let relations = items("relationships").filter_map(|item| {
        let mut between = [agent(item["from"].as_str()?)?, agent(item["to"].as_str()?)?];
        between.sort();
        let change = hundredths(&item["change"]) as i8;
        (between[0] != between[1] && change != 0).then_some(Shift { between, change })
    });
    let parts = items("parts").filter_map(words).take(MAX_PARTS).collect();
    let quoted = items("evidence").filter_map(|item| {
        Some(Evidence {
            part: item["part"].as_u64().and_then(|part| u8::try_from(part).ok())?,
            quote: words(&item["line"])?,
        })
    });
    Judgement {
        parts,
        // What of it was heard, the scene knows.
        evidence: quoted.collect(),
        refuted: Vec::new(),
        progress: hundredths(&value["progress"]) as u8,
        goal_reached: flag("goalReached").unwrap_or(false),
        natural_end: flag("naturalEnd").unwrap_or(false),
        on_track: flag("onTrack").unwrap_or(true),
        characters: characters.collect(),
        relations: relations.collect(),
        event: words(&value["event"]),
        closing: words(&value["closing"]),
    }
}

/// A text that says something. Models that may not leave a field out write that there is nothing.
fn words(value: &Value) -> Option<Arc<str>> {
    const NOTHING: [&str; 7] = ["none", "null", "n/a", "nothing", "no", "-", "no event"];
    let text = value.as_str()?.split_whitespace().collect::<Vec<_>>().join(" ");
    let bare = text.trim_end_matches('.').to_lowercase();
    (text.chars().any(char::is_alphanumeric) && !NOTHING.contains(&bare.as_str())).then(|| text.into())
}
