//! `polylogue chorus`: a message, and three turns of up to six voices.

mod manifest;
mod osc;
mod setup;
mod view;

use std::{process::ExitCode, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{
    Conversation, Reason, Setup,
    format::{
        Format as _,
        chorus::{Manifest, Settings},
    },
    id::Seq,
    setup::Change,
};
use polylogue_runtime::{
    Listener,
    port::{Artifacts, Journal},
};
use polylogue_server::{
    Refusal, Request,
    format::chorus::{ChorusRequest, SlotRequest},
};
use serde_json::{Value, json};

pub(crate) use self::setup::voices;
use self::{
    osc::Osc,
    setup::{Seat, Wish},
    view::Lanes,
};
use super::{Format, Left, keepsake::Keepsakes};
use crate::{
    args::Common,
    config::Config,
    engine::Engine,
    failure::Failure,
    follow::follow,
    format,
    house::{ThisHouse, refusal},
    speech,
    view::View,
    words,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the voices are to answer, `-` for standard input, or `@FILE`
    message: String,
    /// Who sits where, N from 1 to 6 [default: six seats for the agents that there are]
    #[arg(long, value_name = "N=AGENT", value_parser = slot)]
    slot: Vec<(u8, String)>,
    /// Go on with this session: its id, the beginning of it, or `last`
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

fn slot(text: &str) -> Result<(u8, String), String> {
    let (number, agent) = text.split_once('=').ok_or("write it as N=AGENT, for example 1=gpt")?;
    let number = number.trim().parse().ok().filter(|number| (1..=6).contains(number));
    Ok((number.ok_or("the slots are numbered from 1 to 6")?, agent.trim().to_owned()))
}

pub(crate) async fn run(common: &Common, mut args: Args) -> Result<ExitCode, Failure> {
    args.message = words::given(args.message)?;
    let config = Config::read(common.config.as_deref())?;
    let engine = Engine::open(common, &config).await?;
    if let Some(session) = &args.session {
        return go_on(common, &config, &engine, session, &args).await;
    }
    let slots = args.slot.into_iter().map(|(number, agent)| Seat::of(number, agent)).collect();
    let wish = Wish { message: args.message, slots, seed: None, speech: None };
    engine.look_around(common, &config).await;
    let setup = setup::setup(wish, common, &config, &engine)?;
    if setup.speech {
        speech::pull_if_wanted(&config).await;
    }
    let mut view = format::view(common, &setup.format, &config);
    let id = engine.hub.start(setup).await?;
    follow(&engine, id, Seq::START, view.as_mut()).await
}

/// A later message in a session that was recorded: the threads go on.
async fn go_on(
    common: &Common,
    config: &Config,
    engine: &Engine,
    session: &str,
    args: &Args,
) -> Result<ExitCode, Failure> {
    let id = engine.find(session).await?;
    let conversation = engine.hub.conversation(id).await?;
    let setup = conversation.stage().setup();
    if !setup.format.is::<Settings>() {
        return Err(Failure::request(format!("session {id} is not a chorus")));
    }
    if !args.slot.is_empty() {
        return Err(Failure::request("a session that goes on keeps its slots: leave --slot out"));
    }
    let change = Change { speech: common.speech_wish(), ..Change::default() };
    if change.speech.unwrap_or(setup.speech) {
        speech::pull_if_wanted(config).await;
    }
    let person = setup.cast.people().first().cloned();
    let person = person.ok_or_else(|| Failure::request("nobody can speak to this session"))?;
    let mut view = format::view(common, &setup.format, config);
    let before = engine.hub.reopen(conversation, person, args.message.trim().into(), change).await?;
    follow(engine, id, before, view.as_mut()).await
}

/// What the process knows of a chorus.
pub(super) struct Chorus;

#[async_trait]
impl Format for Chorus {
    fn name(&self) -> &'static str {
        Settings::NAME
    }

    async fn setup(&self, request: Request, house: &ThisHouse) -> Result<Setup, Refusal> {
        let request: ChorusRequest = request.open().ok_or_else(|| Refusal::internal("a request of another format"))?;
        if request.slots.as_ref().is_some_and(Vec::is_empty) {
            return Err(Refusal::request("`slots` is empty: name one to six, or leave it out"));
        }
        let slots = request.slots.unwrap_or_default();
        slots.iter().try_for_each(|slot| house.must_be_open(&slot.agent_id))?;
        let seat = |slot: SlotRequest| Seat {
            number: slot.slot_id,
            agent: slot.agent_id,
            name: slot.name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()),
            persona: slot.persona.filter(|persona| !persona.trim().is_empty()),
            voice: slot.voice.filter(|voice| !voice.trim().is_empty()),
        };
        let slots = slots.into_iter().map(seat).collect();
        let wish = Wish { message: request.message, slots, seed: request.seed, speech: request.speech };
        setup::setup(wish, &house.common, &house.config, &house.engine).map_err(refusal)
    }

    fn example(&self, house: &ThisHouse) -> Option<Value> {
        let seats = setup::default_seats(&house.common, &house.config, &house.engine).unwrap_or_default();
        let slots = seats.iter().map(|seat| json!({ "slotId": seat.number, "agentId": seat.agent }));
        let message = "What is a home, when the people you built it for have gone?";
        Some(json!({ "message": message, "slots": slots.collect::<Vec<_>>() }))
    }

    /// Several speak at once.
    fn view(&self, _: Option<Left>) -> Box<dyn View> {
        Box::new(Lanes::new())
    }

    fn next(&self, conversation: &Conversation) -> Vec<String> {
        let has_completed = conversation.stage().ended() == Some(Reason::COMPLETED);
        has_completed.then(|| "chorus \"…\" --session last".to_owned()).into_iter().collect()
    }

    fn listeners(
        &self,
        journal: &Arc<dyn Journal>,
        artifacts: &Arc<dyn Artifacts>,
        config: &Config,
    ) -> Result<Vec<Arc<dyn Listener>>, Failure> {
        let manifests = Keepsakes::<Manifest>::new(journal.clone(), artifacts.clone());
        let mut listeners: Vec<Arc<dyn Listener>> = vec![Arc::new(manifests)];
        if let Some(sender) = config.osc(artifacts)? {
            listeners.push(Arc::new(Osc::new(journal.clone(), sender)));
        }
        Ok(listeners)
    }
}
