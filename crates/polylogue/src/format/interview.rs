//! `polylogue sessions why`: asks the agent who said a line why, out of the session and with its own thread as it was.
//! The session that it is about stays as it was recorded; the answer is a session of its own.

use std::process::ExitCode;

use polylogue_core::{
    Setup,
    format::{Format, interview::Settings},
    id::{LineId, PersonId, Seq, SessionId},
    line::Speaker,
    projection::request_behind,
    setup::{Cast, FormatSetup},
};
use polylogue_runtime::Opened;

use crate::{
    agents,
    args::Common,
    config::Config,
    engine::{self, Engine},
    failure::Failure,
    follow::follow,
    format,
};

/// Sessions that are looked through for the last one that is no interview.
const LOOKED_THROUGH: usize = 100;

pub(crate) async fn run(
    common: &Common,
    config: &Config,
    engine: &Engine,
    id: &str,
    line: LineId,
    question: Option<&str>,
) -> Result<ExitCode, Failure> {
    let id = find(engine, id).await?;
    let setup = setup(common, config, engine, id, line, question.unwrap_or(Settings::DEFAULT_QUESTION)).await?;
    let mut view = format::view(common, &setup.format, config);
    let id = engine.hub.start(setup).await?;
    follow(engine, id, Seq::START, view.as_mut()).await
}

/// After an interview, `last` is still what it was about.
async fn find(engine: &Engine, id: &str) -> Result<SessionId, Failure> {
    if id == "last" {
        let sessions = engine.journal.sessions(LOOKED_THROUGH).await?;
        if let Some(last) = sessions.iter().find(|summary| summary.format != Settings::NAME) {
            return Ok(last.id);
        }
    }
    engine.find(id).await
}

async fn setup(
    common: &Common,
    config: &Config,
    engine: &Engine,
    id: SessionId,
    line: LineId,
    question: &str,
) -> Result<Setup, Failure> {
    let Opened { records, conversation } = engine.hub.open(id).await?;
    let insight = request_behind(&records, line).map_err(|error| Failure::request(error.to_string()))?;
    let (cast, transcript) = (conversation.stage().cast(), conversation.stage().transcript());
    let said = transcript.get(line).filter(|line| line.speaker == Speaker::Agent(insight.ask.id.agent.clone()));
    let said = said.ok_or_else(|| {
        Failure::request(format!("line {line} was said by nobody who can be asked: choose one that an agent said"))
    })?;
    let agent = cast.agent(&insight.ask.id.agent).cloned();
    let mut agent = agent.ok_or_else(|| Failure::internal("the speaker of the line is not in the cast"))?;
    if let Some(model) = &common.model {
        (agent.model, agent.price) = agents::model(model, engine)?;
    } else {
        engine.check(&agent.model).map_err(|failure| failure.and("or name another model with --model"))?;
    }
    let person: PersonId = "you".parse().expect("a good name");
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::new(Settings::about(id, said, &insight, question)),
        cast: Cast::new(vec![agent], vec![person])?,
        limits: config.limits.limits(),
        seed: common.seed.map_or_else(engine::new_seed, Ok)?,
        speech: false,
        templates: config.templates()?,
        room: None,
    })
}
