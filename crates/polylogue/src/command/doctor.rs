//! `polylogue doctor`: one line per thing that a session needs: it works, or what to do. It claims only what it has
//! tried; a key that is set and was not used is said to be set.

use std::{collections::BTreeSet, process::ExitCode};

use futures_util::future::join_all;
use polylogue_core::{Templates, setup::ModelRef};
use polylogue_providers::{
    catalogue::{self, Caching, Probe, Structured},
    resolve::BUILT_IN,
    speech::Standing,
};
use serde_json::json;

use crate::{
    agents,
    args::{Common, Doctor},
    artifacts,
    config::Config,
    engine::Engine,
    failure::Failure,
    output, speech,
    view::Style,
};

/// Columns for what a line is about.
const ABOUT: usize = 18;

/// What was looked at, and what was found.
struct Finding {
    about: String,
    state: State,
    said: String,
    /// Whether somebody has asked for it, so that it has to work.
    is_wanted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It was tried.
    Works,
    /// All that it needs is set; whether it works, nobody has tried.
    Set,
    Missing,
}

pub(crate) async fn run(common: &Common, args: Doctor) -> Result<ExitCode, Failure> {
    let mut config = Config::read(common.config.as_deref())?;
    let mut findings = Vec::new();
    // What else there is can be looked at without them.
    if let Err(failure) = artifacts::open(&config.artifacts) {
        findings.push(Finding::failed("artifacts", failure.message()));
        config.artifacts = Default::default();
    }
    match Engine::open(common, &config).await {
        Ok(engine) => {
            engine.look_around(common, &config).await;
            let url = common.store.as_deref().unwrap_or(&config.store.url);
            let said = polylogue_store::without_password(url);
            findings.push(Finding { about: "store".into(), state: State::Works, said, is_wanted: true });
            findings.extend(bucket(&config, &engine).await);
            let providers = looked_at(&engine).await;
            findings.extend(agents_wanted(common, &config, &engine, &providers));
            findings.extend(providers.into_iter().map(|finding| {
                let name = finding.about.strip_prefix("command/").unwrap_or(&finding.about);
                let is_wanted = config.providers.contains_key(name) || config.commands.contains_key(name);
                Finding { is_wanted, ..finding }
            }));
            findings.extend(voices_wanted(&config).await);
            findings.extend(templates(&config));
            if args.live {
                for model in worth_asking(&config, &engine) {
                    findings.push(ask(&model, &engine).await);
                }
            }
        }
        Err(failure) => findings.push(Finding::failed("store", failure.message())),
    }
    let style = Style::of_stdout();
    findings.iter().for_each(|finding| print(finding, common.json, style));
    let is_well = !findings.iter().any(|finding| finding.is_wanted && finding.state == State::Missing);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Finding {
    /// Something that nobody has asked for by name.
    fn of(about: impl Into<String>, state: State, said: impl Into<String>) -> Finding {
        Finding { about: about.into(), state, said: said.into(), is_wanted: false }
    }

    /// Something that somebody has asked for, and that cannot be had.
    fn failed(about: impl Into<String>, said: impl Into<String>) -> Finding {
        Finding { is_wanted: true, ..Finding::of(about, State::Missing, said) }
    }
}

/// The bucket of the artifacts, where there is one: it is written to, read and cleared.
async fn bucket(config: &Config, engine: &Engine) -> Option<Finding> {
    let url = config.artifacts.url.as_deref()?;
    Some(match artifacts::check(&*engine.artifacts).await {
        Ok(()) => Finding { is_wanted: true, ..Finding::of("artifacts", State::Works, url) },
        Err(problem) => Finding::failed("artifacts", format!("{url}: {problem}")),
    })
}

fn print(finding: &Finding, json: bool, style: Style) {
    let Finding { about, state, said, is_wanted } = finding;
    if json {
        let works = match state {
            State::Works => Some(true),
            State::Set => None,
            State::Missing => Some(false),
        };
        return output::json(&json!({"about": about, "works": works, "said": said, "configured": is_wanted}));
    }
    let mark = match (state, is_wanted) {
        (State::Works, _) => "works  ",
        (State::Set, _) => "set    ",
        (State::Missing, false) => "—      ",
        (State::Missing, true) => "FAILS  ",
    };
    output::line(style.row(mark, about, ABOUT, said));
}

/// The providers of models by their names: what works as far as it was tried, or what to do.
pub(crate) async fn providers(engine: &Engine) -> Vec<(String, Result<String, String>)> {
    let findings = looked_at(engine).await.into_iter();
    findings
        .map(|finding| match finding.state {
            State::Works | State::Set => (finding.about, Ok(finding.said)),
            State::Missing => (finding.about, Err(finding.said)),
        })
        .collect()
}

async fn looked_at(engine: &Engine) -> Vec<Finding> {
    let listings = catalogue::list(&engine.models, &engine.prices);
    join_all(listings.iter().map(|listing| look_at(listing, engine))).await
}

/// A server of this machine or its network is knocked at, the rest is looked at from here.
async fn look_at(listing: &catalogue::Listing, engine: &Engine) -> Finding {
    let about = listing.provider.as_str();
    if let Some(missing) = &listing.missing {
        return Finding::of(about, State::Missing, beside_name(about, missing));
    }
    match catalogue::answers(&engine.models, about).await {
        Some(Ok(address)) if about == "ollama" && engine.models.is_ollama_empty() => {
            let said = format!("it runs at {address} without a model to talk to: `ollama pull llama3.2` fetches one");
            return Finding::of(about, State::Missing, said);
        }
        Some(Ok(address)) => {
            let found = engine.models.of_ollama().filter(|found| &*found.provider == about);
            let plays = found.map(|found| format!(", {} plays where no vendor has a key", found.model));
            let said = format!("a server answers at {address}{}", plays.unwrap_or_default());
            return Finding::of(about, State::Works, said);
        }
        Some(Err(address)) => {
            return Finding::of(about, State::Missing, silence(&address));
        }
        None => {}
    }
    match listing.kind {
        "local" => Finding::of(about, State::Works, "the model file is there"),
        "script" => Finding::of(about, State::Works, "replies from a file: script/FILE"),
        "command" => Finding::of(about, State::Set, "a program; --live runs it"),
        _ => Finding::of(about, State::Set, "a key is set; --live asks whether it is good"),
    }
}

/// What is missing, said beside the name of what it is missing for.
pub(crate) fn beside_name(provider: &str, missing: &str) -> String {
    let key = missing.strip_prefix(provider).and_then(|rest| rest.strip_prefix(" needs a key: "));
    key.map_or_else(|| missing.to_owned(), |what_to_do| format!("{what_to_do} to use it"))
}

/// What to do where nobody answers.
pub(crate) fn silence(address: &str) -> String {
    format!("nobody answers at {address}: is it running?")
}

/// The engines of speech by their names, likewise.
pub(crate) async fn voices(config: &Config) -> Vec<(String, Result<String, String>)> {
    let standings = speech::settings(config).standings().await;
    standings.into_iter().map(|standing: Standing| (standing.engine.to_string(), standing.state)).collect()
}

async fn voices_wanted(config: &Config) -> Vec<Finding> {
    let chosen = config.speech.engine.map(|engine| engine.to_string());
    let finding = |(engine, state): (String, Result<String, String>)| {
        let is_wanted = chosen.as_deref() == Some(&engine);
        let about = format!("voice {engine}");
        let finding = match state {
            // An account is not asked here.
            Ok(said) if said.ends_with("set") => Finding::of(about, State::Set, said),
            Ok(said) => Finding::of(about, State::Works, said),
            Err(what_to_do) => Finding::of(about, State::Missing, what_to_do),
        };
        Finding { is_wanted, ..finding }
    };
    voices(config).await.into_iter().map(finding).collect()
}

/// Everybody whom the configuration names: its agents, and who sits, begins and moderates by default.
fn agents_wanted(common: &Common, config: &Config, engine: &Engine, providers: &[Finding]) -> Vec<Finding> {
    let mut names: BTreeSet<&str> = config.agents.keys().map(String::as_str).collect();
    names.extend(config.chorus.slots.iter().flatten().map(String::as_str));
    names.extend(config.collaboration.between.iter().flatten().map(String::as_str));
    names.extend(config.collaboration.start.as_deref());
    let participants = config.discussion.participants.iter().flatten();
    let seats = participants.filter_map(|written| written.split_once('='));
    names.extend(seats.filter(|(role, _)| role.trim() != "user").map(|(_, agent)| agent.trim()));
    let moderator = config.scene.moderator.as_ref();
    let of_scenes = [
        ("scene model", config.scene.model.as_deref()),
        ("moderator", moderator.and_then(|moderator| moderator.model.as_deref())),
        ("moderator fallback", moderator.and_then(|moderator| moderator.fallback.as_deref())),
    ];
    let agents = names.into_iter().map(|name| {
        let model = agents::agent(name, common, config, engine).map(|agent| agent.model);
        (format!("agent {name}"), model)
    });
    let models = of_scenes.into_iter().filter_map(|(about, model)| {
        let model = agents::parse(model?).map(|model| agents::in_folder(model, &config.folder));
        Some((about.to_owned(), model.and_then(|model| engine.check(&model).map(|()| model))))
    });
    agents.chain(models).map(|(about, model)| played(about, model, providers)).collect()
}

/// An agent stands as the provider of its model does.
fn played(about: String, model: Result<ModelRef, Failure>, providers: &[Finding]) -> Finding {
    let model = match model {
        Ok(model) => model,
        Err(failure) => return Finding::failed(about, failure.message()),
    };
    let name = if &*model.provider == "command" { model.to_string() } else { model.provider.to_string() };
    match providers.iter().find(|provider| provider.about == name) {
        Some(provider) if provider.state == State::Missing => {
            Finding::failed(about, format!("{model}: {}", provider.said))
        }
        provider => {
            let state = provider.map_or(State::Set, |provider| provider.state);
            Finding { is_wanted: true, ..Finding::of(about, state, model.to_string()) }
        }
    }
}

/// The templates that the configuration puts in place of the built-in ones.
fn templates(config: &Config) -> Option<Finding> {
    if config.templates.is_empty() {
        return None;
    }
    let read = config.templates().and_then(|own| Ok(Templates::new(&own)?));
    Some(match read {
        Ok(_) => {
            let said = format!("{} of the configuration", config.templates.len());
            Finding { is_wanted: true, ..Finding::of("templates", State::Works, said) }
        }
        Err(failure) => Finding::failed("templates", failure.message()),
    })
}

/// The models that sessions here would use, each once: of the agents, and of the built-in ones that have a key.
fn worth_asking(config: &Config, engine: &Engine) -> Vec<ModelRef> {
    let own = config.agents.iter().filter_map(|(name, table)| agents::model_of(name, table, config, engine).ok());
    let built_in = BUILT_IN.iter().map(|built_in| engine.models.model_of(*built_in));
    let mut models: Vec<ModelRef> = own.chain(built_in).filter(|model| engine.check(model).is_ok()).collect();
    models.retain(|model| &*model.provider != "script");
    models.sort();
    models.dedup();
    models
}

/// Whoever asks with `--live` wants it to work.
async fn ask(model: &ModelRef, engine: &Engine) -> Finding {
    match catalogue::probe(&engine.models, model).await {
        Ok(probe) if probe.structured == Structured::Failed => Finding::failed(model.to_string(), in_words(&probe)),
        Ok(probe) => Finding { is_wanted: true, ..Finding::of(model.to_string(), State::Works, in_words(&probe)) },
        Err(error) => Finding::failed(model.to_string(), error.to_string()),
    }
}

fn in_words(probe: &Probe) -> String {
    let structured = match probe.structured {
        Structured::Exact => "structured replies work",
        Structured::Repaired => "structured replies work after repair",
        Structured::Failed => "structured replies do not work",
    };
    let caching = match probe.caching {
        Caching::Worked { cached_tokens } => format!("caching works ({cached_tokens} tokens)"),
        Caching::NotSeen => "no caching seen".to_owned(),
        Caching::Unknown => "no usage reported".to_owned(),
    };
    format!("answered in {:.1} s, {structured}, {caching}", probe.round_trip.as_secs_f64())
}
