//! `polylogue collaborate`: agents hand a task back and forth, within bounds.

mod result;
mod setup;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{
    Setup,
    format::{
        Format as _,
        collaboration::{Finished, Settings},
    },
    id::Seq,
};
use polylogue_runtime::{
    Listener,
    port::{Artifacts, Journal},
};
use polylogue_server::{Refusal, Request, format::collaboration::CollaborationRequest};
use serde_json::{Value, json};

use self::setup::Wish;
use super::{Format, keepsake::Keepsakes};
use crate::{
    agents,
    args::Common,
    config::Config,
    engine::Engine,
    failure::Failure,
    follow::follow,
    format,
    house::{ThisHouse, refusal},
    speech, words,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the agents are to do, `-` for standard input, or `@FILE`
    goal: String,
    /// Who takes part [default: gpt,claude]
    #[arg(long, value_name = "AGENT,AGENT", value_delimiter = ',')]
    between: Vec<String>,
    /// Who speaks first [default: the first of them]
    #[arg(long, value_name = "AGENT")]
    start: Option<String>,
    /// After how many rounds it ends at the latest [default: 6]
    #[arg(long, value_name = "N")]
    max_rounds: Option<u32>,
    /// Where to write the finished work, beside the result.md among the session's files
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) async fn run(common: &Common, args: Args) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let engine = Engine::open(common, &config).await?;
    engine.look_around(common, &config).await;
    let Args { goal, between, start: speaker, max_rounds, out } = args;
    out.as_deref().map_or(Ok(()), result::can_be_written)?;
    let wish = Wish { goal: words::given(goal)?, between, speaker, max_rounds, ..Wish::default() };
    let setup = setup::setup(wish, common, &config, &engine)?;
    if setup.speech {
        speech::pull_if_wanted(&config).await;
    }
    let mut view = format::view(common, &setup.format, &config);
    let id = engine.hub.start(setup).await?;
    let code = follow(&engine, id, Seq::START, view.as_mut()).await?;
    if let Some(out) = out {
        result::write(&engine.hub.conversation(id).await?, &out)?;
    }
    Ok(code)
}

/// What the process knows of a collaboration.
pub(super) struct Collaboration;

#[async_trait]
impl Format for Collaboration {
    fn name(&self) -> &'static str {
        Settings::NAME
    }

    fn example(&self, house: &ThisHouse) -> Option<Value> {
        let goal = "Write a 2-paragraph fairy tale—Claude drafts, GPT edits, alternate until done (≤4 rounds).";
        Some(json!({ "goal": goal, "between": setup::usual(&house.config) }))
    }

    async fn setup(&self, request: Request, house: &ThisHouse) -> Result<Setup, Refusal> {
        let request = request.open().ok_or_else(|| Refusal::internal("a request of another format"))?;
        let CollaborationRequest { goal, mode, between, speaker, max_rounds, background, room } = request;
        let between = between.unwrap_or_default();
        if let Some(unknown) = between.iter().chain(&speaker).find(|name| !house.knows(name)) {
            let names = agents::names(&house.config).join(", ");
            return Err(Refusal::request(format!("there is no agent `{unknown}`: the agents here are {names}")));
        }
        between.iter().chain(&speaker).try_for_each(|name| house.must_be_open(name))?;
        let wish = Wish { goal, mode, between, speaker, max_rounds, background, room };
        setup::setup(wish, &house.common, &house.config, &house.engine).map_err(refusal)
    }

    fn listeners(
        &self,
        journal: &Arc<dyn Journal>,
        artifacts: &Arc<dyn Artifacts>,
        _: &Config,
    ) -> Result<Vec<Arc<dyn Listener>>, Failure> {
        Ok(vec![Arc::new(Keepsakes::<Finished>::new(journal.clone(), artifacts.clone()))])
    }
}
