//! `polylogue collaborate`: agents hand a task back and forth, within bounds.

use std::process::ExitCode;

use polylogue_core::id::Seq;

use crate::{
    args::{Collaborate, Common},
    collaboration::{self, Wish},
    config::Config,
    engine::Engine,
    failure::Failure,
    follow::follow,
    speech, view,
};

pub(crate) async fn run(common: &Common, args: Collaborate) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let engine = Engine::open(common, &config)?;
    let Collaborate { goal, between, start: speaker, max_rounds } = args;
    let wish = Wish { goal, between, speaker, max_rounds, ..Wish::default() };
    let setup = collaboration::setup(wish, common, &config, &engine)?;
    if setup.speech {
        speech::pull_if_wanted(&config).await;
    }
    let id = engine.hub.start(setup).await?;
    follow(&engine, id, Seq::START, view::new(common).as_mut()).await
}
