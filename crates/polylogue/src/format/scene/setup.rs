//! A scene as its author hands it over: a scene file and characters in Markdown, made into a setup.
//!
//! Everything that is wrong with the file is said at once, and before any model is called. What a scene may be,
//! the core says; here is only how it is written down.

use std::path::Path;

use polylogue_core::{Setup, format::scene::Settings, id::AgentId, setup::FormatSetup, text::language::Language};
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
    opened::Opened,
};

/// A scene that somebody wants to be played.
pub(crate) struct Wish<'a> {
    /// The scene file.
    pub(crate) file: Value,
    pub(crate) origin: Origin<'a>,
    pub(crate) characters: &'a dyn Characters,
}

/// Where a scene file comes from.
#[derive(Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// It lies in this folder.
    Folder(&'a Path),
    /// Somebody sent it, who may name these models.
    Request(&'a Opened),
}

pub(crate) fn setup(wish: Wish<'_>, common: &Common, config: &Config, engine: &Engine) -> Result<Setup, Failure> {
    let (fields, mut problems) = fields::read(&wish.file);
    // Where nobody knows who plays, nobody can say whether they are too few.
    let anybody = ["one", "other"].map(|name| name.parse().expect("a good name"));
    let load = |name: &AgentId| match wish.characters.load(name) {
        // A person knows who they are.
        Err(missing) if missing.is_missing && fields.people.contains_key(name) => {
            Ok(Character::unwritten(name.clone()))
        }
        loaded => loaded,
    };
    let found: Vec<_> = fields.characters.iter().map(load).collect();
    let ids: Vec<AgentId> = fields.characters.iter().zip(&found).map(|(name, found)| id_of(name, found)).collect();
    let names = found.iter().flatten().map(|character| (character.id.clone(), character.name.as_str().into()));
    let settings = fields.settings(&ids, names.collect());
    problems.extend(settings.problems(if fields.knows_characters { &ids } else { &anybody }));
    let (characters, missing) = parted(found);
    let settings = speaking(settings, &characters);
    if !problems.is_empty() {
        problems.extend(missing.iter().map(|missing| missing.advice.clone()));
        return Err(invalid(problems, wish.file));
    } else if !missing.is_empty() {
        return Err(not_loaded(&missing));
    }
    let house = parts::House { common, config, engine, origin: wish.origin };
    // As their files are called.
    let people = fields.characters.iter().zip(&characters);
    let people = people.filter_map(|(name, character)| {
        let who = fields.people.get(name)?.clone();
        Some((character.id.clone(), who))
    });
    let people = people.collect();
    let cast = match house.cast(&characters, &people, fields.moderator.as_ref()) {
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
        tenant: None,
    })
}

/// The settings with the language by its code: the one that the file names, else the one that is found in the scene.
fn speaking(settings: Settings, characters: &[Character]) -> Settings {
    let language = match settings.language.as_deref().map(str::trim).filter(|written| !written.is_empty()) {
        Some(written) => Some(Language::called(written).map_or(written, |language| language.code())),
        None => {
            let personas = characters.iter().filter_map(|character| character.persona.as_deref());
            settings.found_language(personas).map(|language| language.code())
        }
    };
    Settings { language: language.map(Into::into), ..settings }
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
