//! `polylogue doctor`: one line per thing that a session needs: it works, or what to do.

use std::process::ExitCode;

use polylogue_core::setup::ModelRef;
use polylogue_providers::{
    catalogue::{self, Caching, Probe, Structured},
    resolve::BUILT_IN,
    speech::Standing,
};
use serde_json::json;

use crate::{
    agents,
    args::{Common, Doctor},
    config::Config,
    engine::Engine,
    failure::Failure,
    output,
    printable::filled,
    speech,
    view::Style,
};

/// What was looked at, and what was found.
struct Finding {
    about: String,
    works: bool,
    said: String,
}

pub(crate) async fn run(common: &Common, args: Doctor) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let mut findings = Vec::new();
    match Engine::open(common, &config) {
        Ok(engine) => {
            findings.push(found("store", true, common.store.as_deref().unwrap_or(&config.store.url)));
            findings.extend(providers(&engine).into_iter().map(|(about, state)| Finding::of(about, state)));
            findings.extend(own_agents(&config, &engine));
            let voices = voices(&config).await.into_iter();
            findings.extend(voices.map(|(engine, state)| Finding::of(format!("voice {engine}"), state)));
            if args.live {
                for model in worth_asking(&config, &engine) {
                    findings.push(ask(&model, &engine).await);
                }
            }
        }
        Err(failure) => findings.push(found("store", false, failure.message())),
    }
    let style = Style::of_stdout();
    findings.iter().for_each(|finding| print(finding, common.json, style));
    Ok(ExitCode::SUCCESS)
}

impl Finding {
    fn of(about: String, state: Result<String, String>) -> Finding {
        let works = state.is_ok();
        Finding { about, works, said: state.unwrap_or_else(|what_to_do| what_to_do) }
    }
}

fn found(about: &str, works: bool, said: &str) -> Finding {
    Finding { about: about.to_owned(), works, said: said.to_owned() }
}

fn print(finding: &Finding, json: bool, style: Style) {
    let Finding { about, works, said } = finding;
    if json {
        output::json(&json!({"about": about, "works": works, "said": said}));
    } else {
        let mark = if *works { "works" } else { "—    " };
        output::line(format!("{mark}  {} {}", style.bold(&filled(about, 28)), style.dim(said)));
    }
}

/// The providers of models by their names: what works, or what to do.
pub(crate) fn providers(engine: &Engine) -> Vec<(String, Result<String, String>)> {
    let listings = catalogue::list(&engine.models, &engine.prices);
    let standing = |listing: catalogue::Listing| {
        let state = match &listing.missing {
            None if listing.kind == "local" => Ok("the model file is there".to_owned()),
            None => Ok(listing.kind.to_owned()),
            Some(missing) => Err(missing.clone()),
        };
        (listing.provider.to_string(), state)
    };
    listings.into_iter().map(standing).collect()
}

/// The engines of speech, likewise.
pub(crate) async fn voices(config: &Config) -> Vec<(String, Result<String, String>)> {
    let standings = speech::settings(config).standings().await;
    standings.into_iter().map(|standing: Standing| (standing.engine.to_string(), standing.state)).collect()
}

fn own_agents(config: &Config, engine: &Engine) -> Vec<Finding> {
    let check = |(name, table)| {
        let model = agents::model_of(table, config)?;
        engine.check(&model)?;
        Ok::<_, Failure>(found(&format!("agent {name}"), true, &model.to_string()))
    };
    let agents = config.agents.iter();
    agents
        .map(|(name, table)| {
            check((name, table)).unwrap_or_else(|failure| found(&format!("agent {name}"), false, failure.message()))
        })
        .collect()
}

/// The models that sessions here would use, each once: of the agents, and of the built-in ones that have a key.
fn worth_asking(config: &Config, engine: &Engine) -> Vec<ModelRef> {
    let own = config.agents.values().filter_map(|table| agents::model_of(table, config).ok());
    let built_in = BUILT_IN.iter().map(|built_in| engine.models.model_of(*built_in));
    let mut models: Vec<ModelRef> = own.chain(built_in).filter(|model| engine.check(model).is_ok()).collect();
    models.retain(|model| &*model.provider != "script");
    models.sort();
    models.dedup();
    models
}

async fn ask(model: &ModelRef, engine: &Engine) -> Finding {
    match catalogue::probe(&engine.models, model).await {
        Ok(probe) => found(&model.to_string(), probe.structured != Structured::Failed, &in_words(&probe)),
        Err(error) => found(&model.to_string(), false, &error.to_string()),
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
