//! A scene as its author hands it over: a scene file and characters in Markdown, made into a setup.
//!
//! Everything that is wrong with the file is said at once, and before any model is called. What a scene may be,
//! the core says; here is only how it is written down.

use std::path::Path;

use polylogue_core::{Setup, id::AgentId, setup::FormatSetup};
use polylogue_providers::speech::Profiles;
use serde_json::{Value, json};

use super::{
    character::Character,
    fields, parts,
    source::{Characters, NotLoaded},
    voices,
};
use crate::{
    args::Common,
    config::Config,
    engine::{self, Engine},
    failure::Failure,
};

/// A scene that somebody wants to be played.
pub(crate) struct Wish<'a> {
    /// The scene file.
    pub(crate) file: Value,
    /// Where it lies. What came from elsewhere lies nowhere, and may not name files of this machine.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) characters: &'a dyn Characters,
}

pub(crate) fn setup(wish: Wish<'_>, common: &Common, config: &Config, engine: &Engine) -> Result<Setup, Failure> {
    let (fields, mut problems) = fields::read(&wish.file);
    // Where nobody knows who plays, nobody can say whether they are too few.
    let anybody = ["one", "other"].map(|name| name.parse().expect("a good name"));
    let found: Vec<_> = fields.characters.iter().map(|name| wish.characters.load(name)).collect();
    let ids: Vec<AgentId> = fields.characters.iter().zip(&found).map(|(name, found)| id_of(name, found)).collect();
    let names = found.iter().flatten().map(|character| (character.id.clone(), character.name.as_str().into()));
    let settings = fields.settings(&ids, names.collect());
    problems.extend(settings.problems(if fields.knows_characters { &ids } else { &anybody }));
    let (characters, missing) = parted(found);
    if !problems.is_empty() {
        problems.extend(missing.iter().map(|missing| missing.advice.clone()));
        return Err(invalid(problems, wish.file));
    } else if !missing.is_empty() {
        return Err(not_loaded(&missing));
    }
    let house = parts::House { common, config, engine };
    let cast = match house.cast(&characters, fields.moderator.as_ref(), wish.folder) {
        Ok(cast) => cast,
        Err(problems) => return Err(invalid(problems, wish.file)),
    };
    if let Some(voice) = fields.narrator.as_deref().filter(|voice| *voice != voices::ANY) {
        let known = Profiles::with(config.voices.clone()).get(voice).map(|_| ());
        known.map_err(|problem| Failure::config(format!("`narrator`: {problem}")))?;
    }
    let by_default = fields.speech.unwrap_or(config.scene.speech) || common.speech;
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::new(settings),
        cast,
        limits: config.limits.limits(),
        seed: common.seed.or(fields.seed).map_or_else(engine::new_seed, Ok)?,
        speech: by_default && !common.no_speech,
        templates: config.templates()?,
        room: None,
    })
}

/// The name of a character in the cast: as its file is called, or as the scene calls it if there is none.
fn id_of(name: &AgentId, found: &Result<Character, NotLoaded>) -> AgentId {
    found.as_ref().map_or_else(|_| name.clone(), |character| character.id.clone())
}

fn parted(found: Vec<Result<Character, NotLoaded>>) -> (Vec<Character>, Vec<NotLoaded>) {
    let (mut characters, mut missing) = (Vec::new(), Vec::new());
    for found in found {
        match found {
            Ok(character) => characters.push(character),
            Err(not_loaded) => missing.push(not_loaded),
        }
    }
    (characters, missing)
}

/// One problem is the message; of several, each is named.
fn invalid(problems: Vec<String>, provided: Value) -> Failure {
    let failure = Failure::config(problems.join("; ")).with("provided", provided);
    if problems.len() > 1 { failure.with("problems", problems) } else { failure }
}

fn not_loaded(missing: &[NotLoaded]) -> Failure {
    let quoted: Vec<String> = missing.iter().map(|missing| format!("'{}'", missing.character)).collect();
    let plural = if quoted.len() > 1 { "s" } else { "" };
    let advice: Vec<&str> = missing.iter().map(|missing| missing.advice.as_str()).collect();
    let first = &missing[0];
    let failure = Failure::character(format!("Failed to load character{plural} {}", quoted.join(", ")))
        .with("character", first.character.as_str())
        .with("reason", first.reason.as_str())
        .advising(advice.join(" "));
    let each = |missing: &NotLoaded| json!({"character": missing.character, "reason": missing.reason});
    match missing {
        [_] => failure,
        _ => failure.with("characters", missing.iter().map(each).collect::<Vec<_>>()),
    }
}
