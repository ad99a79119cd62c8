//! `polylogue sessions why`: asks the agent who said a line why, out of the session and with its own thread as it was.
//! The session that it is about stays as it was recorded; the answer is a session of its own.

use std::process::ExitCode;

use async_trait::async_trait;
use polylogue_core::{
    Conversation, Setup,
    format::{Format as _, interview::Settings},
    id::{LineId, PersonId, Seq},
    line::Speaker,
    projection::request_behind,
    setup::{Cast, FormatSetup},
};
use polylogue_runtime::Opened;
use polylogue_server::{Refusal, Request, format::interview::InterviewRequest};

use super::Format;
use crate::{
    agents,
    args::Common,
    config::Config,
    engine::{self, Engine},
    failure::Failure,
    follow::follow,
    format,
    house::{ThisHouse, refusal},
};

pub(crate) async fn run(
    common: &Common,
    config: &Config,
    engine: &Engine,
    id: &str,
    line: LineId,
    question: Option<&str>,
) -> Result<ExitCode, Failure> {
    let id = engine.find(id).await?;
    let opened = engine.hub.open(id).await?;
    let setup = setup(common, config, engine, &opened, line, question)?;
    let mut view = format::view(common, &setup.format, config);
    let id = engine.hub.start(setup).await?;
    follow(engine, id, Seq::START, view.as_mut()).await
}

/// What the process knows of an interview.
pub(super) struct Interview;

#[async_trait]
impl Format for Interview {
    fn name(&self) -> &'static str {
        Settings::NAME
    }

    fn is_conversation(&self) -> bool {
        false
    }

    fn next(&self, conversation: &Conversation) -> Vec<String> {
        vec![format!("sessions show {}", &conversation.stage().setup().id.to_string()[..8])]
    }

    async fn setup(&self, request: Request, house: &ThisHouse) -> Result<Setup, Refusal> {
        let request: InterviewRequest =
            request.open().ok_or_else(|| Refusal::internal("a request of another format"))?;
        let opened = house.engine.hub.open(request.about).await?;
        let line = opened.conversation.stage().transcript().lines().iter().find(|line| line.seq == request.seq);
        let line = line.ok_or_else(|| Refusal::request(format!("nobody said anything at record {}", request.seq)))?;
        setup(&house.common, &house.config, &house.engine, &opened, line.id, request.question.as_deref())
            .map_err(refusal)
    }
}

fn setup(
    common: &Common,
    config: &Config,
    engine: &Engine,
    opened: &Opened,
    line: LineId,
    question: Option<&str>,
) -> Result<Setup, Failure> {
    let Opened { records, conversation } = opened;
    let (id, question) = (conversation.stage().setup().id, question.unwrap_or(Settings::DEFAULT_QUESTION));
    let insight = request_behind(records, line).map_err(|error| Failure::request(error.to_string()))?;
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
        tenant: None,
    })
}
