//! `polylogue sessions`: the recorded conversations.

mod delete;
mod direct;
mod export;
mod fork;
mod list;
mod memory;
mod prune;
mod replay;
mod show;

use std::process::ExitCode;

use polylogue_core::{
    id::{LineId, Seq, SessionId},
    money::Money,
    setup::{Agent, Cast, Change, Limits, Recast},
};

use self::show::Behind;
use crate::{
    agents,
    args::{self, Common, Sessions},
    config::Config,
    engine::{self, Engine},
    failure::Failure,
    follow::follow,
    format::{self, interview},
    speech,
    view::View,
};

pub(crate) async fn run(common: &Common, args: Sessions) -> Result<ExitCode, Failure> {
    let mut config = Config::read(common.config.as_deref())?;
    if let Sessions::Resume { change, .. } | Sessions::Fork { change, .. } = &args {
        config.scene.out = change.out.clone().unwrap_or(config.scene.out);
    }
    let engine = Engine::open(common, &config).await?;
    match args {
        Sessions::List { limit } => list::run(common, &engine, limit).await,
        Sessions::Show { id, ask: Some(line), .. } => {
            show::request(common, &engine, engine.find(&id).await?, Behind::Line(LineId(line))).await
        }
        Sessions::Show { id, at: Some(seq), .. } => {
            show::request(common, &engine, engine.find(&id).await?, Behind::Record(Seq(seq))).await
        }
        Sessions::Show { id, .. } => show::session(common, &engine, engine.find(&id).await?).await,
        Sessions::Why { id, line, question } => {
            interview::run(common, &config, &engine, &id, LineId(line), question.as_deref()).await
        }
        Sessions::Memory { character, story, forget } => {
            memory::run(common, &engine, &character, story.as_deref(), forget).await
        }
        Sessions::Replay { id, beat: Some(beat), .. } => {
            replay::step(common, &engine, engine.find(&id).await?, beat).await
        }
        Sessions::Replay { id, step: true, .. } => replay::steps(common, &engine, engine.find(&id).await?).await,
        Sessions::Replay { id, speed, .. } => {
            replay::run(common, &config, &engine, engine.find(&id).await?, speed).await
        }
        Sessions::Resume { id, change } => {
            let id = engine.find(&id).await?;
            let seen = engine.head(id).await?;
            let change = to_change(common, &config, &engine, id, &change).await?;
            let mut view = view(common, &config, &engine, id).await?;
            pull_voice(&config, &change).await;
            engine.hub.resume(id, change).await?;
            follow(&engine, id, seen, view.as_mut()).await
        }
        Sessions::Fork { id, at, otherwise, change } => {
            let id = engine.find(&id).await?;
            let change = to_change(common, &config, &engine, id, &change).await?;
            let change = fork::otherwise(change, otherwise)?;
            let new_id = engine::new_session_id()?;
            let mut view = view(common, &config, &engine, id).await?;
            pull_voice(&config, &change).await;
            engine.hub.fork(id, Seq(at), new_id, change).await?;
            follow(&engine, new_id, Seq::START, view.as_mut()).await
        }
        Sessions::Direct { id, note, to, event } => {
            let id = engine.find(&id).await?;
            let note = fork::note_to(note, to)?;
            direct::run(common, &engine, id, note, event.as_deref()).await
        }
        Sessions::Delete { ids, older_than, yes } => {
            let which = match older_than {
                Some(age) => delete::older_than(&engine, age).await?,
                None => delete::named(&engine, &ids).await?,
            };
            delete::run(common, &engine, which, yes).await
        }
        Sessions::Prune { older_than, dry_run } => {
            prune::run(common, &engine, older_than.or(config.retention.age()?), dry_run).await
        }
        Sessions::Export { id, form, out } => export::run(&engine, engine.find(&id).await?, form, out).await,
    }
}

/// The view of a session that was recorded.
async fn view(common: &Common, config: &Config, engine: &Engine, id: SessionId) -> Result<Box<dyn View>, Failure> {
    let conversation = engine.hub.conversation(id).await?;
    Ok(format::view(common, &conversation.stage().setup().format, config))
}

/// A session that is to speak from here on needs a voice.
async fn pull_voice(config: &Config, change: &Change) {
    if change.speech == Some(true) {
        speech::pull_if_wanted(config).await;
    }
}

/// What the flags of `resume` and `fork` change in this session.
async fn to_change(
    common: &Common,
    config: &Config,
    engine: &Engine,
    id: SessionId,
    args: &args::Change,
) -> Result<Change, Failure> {
    let conversation = engine.hub.conversation(id).await?;
    let stage = conversation.stage();
    let now = *stage.limits();
    let limits = Limits {
        max_usd: args.max_usd.map_or(now.max_usd, Money::from_usd),
        max_tokens: args.max_tokens.unwrap_or(now.max_tokens),
        max_seconds: args.max_seconds.unwrap_or(now.max_seconds),
        ..now
    };
    // Whoever sets a limit in dollars wants it to hold.
    let needs_prices = args.max_usd.is_some() && !config.limits.allow_unpriced;
    if let Some(agent) = stage.cast().everyone().find(|agent| agent.price.is_none())
        && needs_prices
        && common.model.is_none()
    {
        return Err(agents::unpriced(&agent.model));
    }
    let mut recast = Vec::new();
    if let Some(text) = &common.model {
        // `NAME=MODEL` is for one of them.
        let of_one = text.split_once('=').map(|(name, model)| (name.trim(), model.trim()));
        let (model, price) = agents::model(of_one.map_or(text.as_str(), |(_, model)| model), engine)?;
        if price.is_none() && (needs_prices || config.limits.needs_prices()) {
            return Err(agents::unpriced(&model));
        }
        // What people play stays theirs, unless their part is named.
        let is_meant = |agent: &&Agent| match of_one {
            Some((one, _)) => one.eq_ignore_ascii_case(agent.name.as_str()),
            None => agent.model.person().is_none(),
        };
        let meant = stage.cast().everyone().filter(is_meant);
        recast.extend(meant.map(|agent| Recast {
            agent: agent.name.clone(),
            model: model.clone(),
            price,
            is_small: engine.models.is_small(&model),
        }));
        if let (Some((name, _)), true) = (of_one, recast.is_empty()) {
            return Err(nobody(name, stage.cast()));
        }
    }
    Ok(Change {
        limits: (limits != now).then_some(limits),
        max_rounds: args.max_rounds,
        recast,
        speech: common.speech_wish(),
        ..Change::default()
    })
}

/// Nobody of that name takes part.
fn nobody(name: &str, cast: &Cast) -> Failure {
    let names: Vec<&str> = cast.everyone().map(|agent| agent.name.as_str()).collect();
    Failure::request(format!("`{name}` does not take part: there are {}", names.join(", ")))
}
