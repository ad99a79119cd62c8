//! `polylogue chorus`: a message, and three turns of up to six voices.

use std::process::ExitCode;

use polylogue_core::{id::Seq, setup::FormatSetup};

use crate::{
    args::{Chorus, Common},
    chorus::{self, Wish},
    config::Config,
    engine::Engine,
    failure::Failure,
    follow::follow,
    speech, view,
};

pub(crate) async fn run(common: &Common, args: Chorus) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let engine = Engine::open(common, &config)?;
    if let Some(session) = &args.session {
        return go_on(common, &config, &engine, session, &args).await;
    }
    let wish = Wish { message: args.message, slots: args.slot, seed: None, speech: None };
    let setup = chorus::setup(wish, common, &config, &engine)?;
    if setup.speech {
        speech::pull_if_wanted(&config).await;
    }
    let id = engine.hub.start(setup).await?;
    follow(&engine, id, Seq::START, view::chorus(common).as_mut()).await
}

/// A later message in a session that was recorded: the threads go on.
async fn go_on(
    common: &Common,
    config: &Config,
    engine: &Engine,
    session: &str,
    args: &Chorus,
) -> Result<ExitCode, Failure> {
    let id = engine.find(session).await?;
    let conversation = engine.hub.conversation(id).await?;
    let setup = conversation.stage().setup();
    if !matches!(setup.format, FormatSetup::Chorus(_)) {
        return Err(Failure::request(format!("session {id} is not a chorus")));
    }
    if !args.slot.is_empty() {
        return Err(Failure::request("a session that goes on keeps its slots: leave --slot out"));
    }
    if setup.speech {
        speech::pull_if_wanted(config).await;
    }
    let person = setup.cast.people().first().cloned();
    let person = person.ok_or_else(|| Failure::request("nobody can speak to this session"))?;
    let before = engine.hub.reopen(id, person, args.message.trim().into()).await?;
    follow(engine, id, before, view::chorus(common).as_mut()).await
}
