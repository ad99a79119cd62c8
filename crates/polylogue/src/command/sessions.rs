//! `polylogue sessions`: the recorded conversations.

mod list;
mod replay;
mod show;

use std::{path::Path, process::ExitCode};

use polylogue_core::{
    id::{LineId, Seq, SessionId},
    money::Money,
    projection::{self, Outcome},
    setup::{Change, Limits, Recast},
};

use crate::{
    agents,
    args::{self, Common, Form, Sessions},
    config::Config,
    engine::{self, Engine},
    failure::Failure,
    follow::follow,
    output, view,
};

pub(crate) async fn run(common: &Common, args: Sessions) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let engine = Engine::open(common, &config)?;
    match args {
        Sessions::List { limit } => list::run(common, &engine, limit).await,
        Sessions::Show { id, ask: None } => show::session(common, &engine, engine.find(&id).await?).await,
        Sessions::Show { id, ask: Some(line) } => {
            show::request(common, &engine, engine.find(&id).await?, LineId(line)).await
        }
        Sessions::Replay { id, speed } => replay::run(common, &engine, engine.find(&id).await?, speed).await,
        Sessions::Resume { id, change } => {
            let id = engine.find(&id).await?;
            let seen = engine.head(id).await?;
            let change = to_change(common, &engine, id, &change).await?;
            engine.hub.resume(id, change).await?;
            follow(&engine, id, seen, view::new(common).as_mut()).await
        }
        Sessions::Fork { id, at, change } => {
            let id = engine.find(&id).await?;
            let change = to_change(common, &engine, id, &change).await?;
            let new_id = engine::new_session_id()?;
            engine.hub.fork(id, Seq(at), new_id, change).await?;
            follow(&engine, new_id, Seq::START, view::new(common).as_mut()).await
        }
        Sessions::Export { id, form, out } => export(&engine, engine.find(&id).await?, form, out.as_deref()).await,
    }
}

/// What the flags of `resume` and `fork` change in this session.
async fn to_change(common: &Common, engine: &Engine, id: SessionId, args: &args::Change) -> Result<Change, Failure> {
    let conversation = engine.hub.conversation(id).await?;
    let stage = conversation.stage();
    let now = *stage.limits();
    let limits = Limits {
        max_usd: args.max_usd.map_or(now.max_usd, Money::from_usd),
        max_tokens: args.max_tokens.unwrap_or(now.max_tokens),
        max_seconds: args.max_seconds.unwrap_or(now.max_seconds),
        ..now
    };
    let mut recast = Vec::new();
    if let Some(text) = &common.model {
        let (model, price) = agents::model(text, engine)?;
        recast.extend(stage.cast().agents().iter().map(|agent| Recast {
            agent: agent.name.clone(),
            model: model.clone(),
            price,
        }));
    }
    Ok(Change { limits: (limits != now).then_some(limits), max_rounds: args.max_rounds, recast })
}

async fn export(engine: &Engine, id: SessionId, form: Form, out: Option<&Path>) -> Result<ExitCode, Failure> {
    let conversation = engine.hub.conversation(id).await?;
    let text = match form {
        Form::Txt => projection::plain_text(&conversation),
        Form::Md => projection::markdown(&conversation),
        Form::Json => {
            let json = serde_json::to_string_pretty(&Outcome::of(&conversation));
            format!("{}\n", json.expect("a result has string keys"))
        }
    };
    match out {
        None => output::text(text),
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::request(format!("{} cannot be written: {}", path.display(), error.kind())))?,
    }
    Ok(ExitCode::SUCCESS)
}
