//! What a turn costs in memory, early and late in a long session: a scene of three characters and a discussion of
//! four. The model answers at once, so what is counted is the engine.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use polylogue_core::{
    Reason, Setup,
    format::{
        discussion::{self, Participant, Role, Who},
        scene::{AgentMode, purpose, reason},
    },
    id::PersonId,
    money::Price,
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{Call, CallError, Model, NoVoice, Reply, SystemClock},
};
use serde_json::{Value, json};

use super::{case::rounded, scene};
use crate::{engine, failure::Failure};

struct AtOnce;

#[async_trait]
impl Model for AtOnce {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let id = &call.ask.id;
        let text = match id.purpose {
            purpose::ACT => scene::line(id.agent.as_str(), id.turn),
            purpose::JUDGE => scene::JUDGED.to_owned(),
            _ => format!("I have thought about it, and this is what {} thinks in round {}.", id.agent, id.turn),
        };
        Ok(Reply { text: text.into(), ..Reply::default() })
    }
}

fn hub() -> Hub {
    let store = Arc::new(MemoryJournal::default());
    Hub::new(Ports::new(Arc::new(AtOnce), Arc::new(NoVoice), store, Arc::new(SystemClock)), HubSettings::default())
}

fn told(name: String, turns: u32, began: Instant) -> Value {
    let ms = began.elapsed().as_secs_f64() * 1e3;
    json!({"case": name, "store": "memory", "turns": turns, "msPerTurn": rounded(ms / f64::from(turns))})
}

/// A scene of three characters: a beat is four turns, the moderator's being one.
pub(super) async fn run_scene(name: String, turns: u32) -> Result<Value, Failure> {
    let (hub, began) = (hub(), Instant::now());
    let setup = scene::setup(turns / 4, 3, AgentMode::Thread, &"instant/model".parse()?)?;
    let limits = Limits { max_tokens: u64::MAX, max_seconds: 86_400, ..Limits::default() };
    let id = hub.start(Setup { limits, ..setup }).await?;
    hub.wait(id).await?;
    let told = told(name, turns, began);
    match hub.conversation(id).await?.stage().ended() {
        Some(reason::MAX_BEATS_EXCEEDED) => Ok(told),
        _ => Err(Failure::internal("the scene of the bench did not run to its end")),
    }
}

/// A discussion of three agents and a person, who speaks first in every round.
pub(super) async fn run_discussion(name: String, turns: u32) -> Result<Value, Failure> {
    let (hub, person) = (hub(), "ada".parse::<PersonId>().expect("a good name"));
    let agents = ["max", "lea", "sue"].map(|name| Agent {
        name: name.parse().expect("a good name"),
        model: "instant/model".parse().expect("a good name"),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small: false,
    });
    let seat = |agent: &Agent| Participant { role: Role::Specialist, who: Who::Agent(agent.name.clone()) };
    let first = Participant { role: Role::User, who: Who::Person(person.clone()) };
    let participants = [first].into_iter().chain(agents.iter().map(seat)).collect();
    let (title, max_rounds) = ("The roof".into(), turns / 4);
    let settings = discussion::Settings {
        title,
        topic: None,
        participants,
        max_rounds,
        key: None,
        closing: discussion::Closing::Open,
    };
    let setup = Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::new(settings),
        cast: Cast::new(agents.to_vec(), vec![person.clone()])?,
        limits: Limits { max_tokens: u64::MAX, max_seconds: 86_400, ..Limits::default() },
        seed: 1,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    };
    let began = Instant::now();
    let id = hub.start(setup).await?;
    for _ in 0..max_rounds {
        hub.wait(id).await?;
        hub.say(id, person.clone(), "And what do you think of that?".into()).await?;
    }
    hub.wait(id).await?;
    let told = told(name, turns, began);
    match hub.conversation(id).await?.stage().ended() {
        Some(Reason::COMPLETED) => Ok(told),
        _ => Err(Failure::internal("the discussion of the bench did not run to its end")),
    }
}
