//! A model that answers at once: three agents, each handing on to the next.

use async_trait::async_trait;
use polylogue_core::{
    Setup,
    format::collaboration::Settings,
    id::SessionId,
    money::Price,
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
};
use polylogue_runtime::port::{Call, CallError, Model, Reply};

use crate::{engine, failure::Failure};

pub(super) const AGENTS: [&str; 3] = ["a0", "a1", "a2"];

#[derive(Debug)]
pub(super) struct Instant;

#[async_trait]
impl Model for Instant {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let turn = call.ask.id.turn;
        let next = AGENTS[turn as usize % AGENTS.len()];
        let message = message(turn);
        let text = format!(r#"{{"message": "{message}", "handoff": {{"to": "{next}", "task": "Go on."}}}}"#);
        Ok(Reply { text: text.into(), ..Reply::default() })
    }
}

/// What is said in a turn: as long as what the peers' scripts say.
pub(super) fn message(turn: u32) -> String {
    format!("hello there, this is a fake reply of moderate length number {turn}")
}

pub(super) fn round_robin(turns: u32) -> Result<Setup, Failure> {
    let agents = AGENTS.iter().map(|name| Agent {
        name: name.parse().expect("a good name"),
        model: "instant/model".parse().expect("a good name"),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small: false,
    });
    let cast = Cast::new(agents.collect(), vec!["you".parse().expect("a good name")])?;
    let speaker = cast.agents()[0].name.clone();
    Ok(Setup {
        id: new_id()?,
        format: FormatSetup::new(Settings::new("go", speaker, turns)),
        cast,
        limits: Limits { max_tokens: u64::MAX, max_seconds: 86_400, ..Limits::default() },
        seed: 1,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    })
}

fn new_id() -> Result<SessionId, Failure> {
    engine::new_session_id()
}
