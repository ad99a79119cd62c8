//! A chorus of six on a model and a voice that take a fixed time each: how much the engine adds to what the
//! three turns must take anyway.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use polylogue_core::{
    Reason, Setup,
    format::chorus::{Settings, Slot, SlotId, purpose},
    line::Clip,
    money::Price,
    setup::{Agent, Cast, FormatSetup, Limits, ModelRef, Sampling},
};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{Call, CallError, Model, Reply, Speech, SystemClock, Voice, VoiceError},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{engine, failure::Failure};

/// Answers after a while; every comment goes to the next slot, so that all six reply.
struct Slow(Duration);

#[async_trait]
impl Model for Slow {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        sleep(self.0).await;
        let id = &call.ask.id;
        let own: u8 = id.agent.as_str().trim_start_matches("slot-").parse().unwrap_or(1);
        let next = own % SlotId::MAX + 1;
        let reply = match id.purpose {
            purpose::COMMENT => json!({"targetSlotId": next, "comment": "Well said.", "voice_profile": "plain"}),
            _ => json!({"text": "A home is a place.", "voice_profile": "plain"}),
        };
        Ok(Reply { text: reply.to_string().into(), ..Reply::default() })
    }
}

/// Speaks for a while.
struct Steady(Duration);

#[async_trait]
impl Voice for Steady {
    async fn speak(&self, _: &Speech) -> Result<Clip, VoiceError> {
        sleep(self.0).await;
        Ok(Clip { path: "clip.wav".to_owned(), duration_ms: 1_000, ..Clip::default() })
    }
}

/// Runs the chorus, and compares with three asks one after the other and the last turn's clips.
pub(super) async fn run(name: String, ask_ms: u64, clip_ms: u64) -> Result<Value, Failure> {
    let (ask, clip) = (Duration::from_millis(ask_ms), Duration::from_millis(clip_ms));
    let (model, voice) = (Arc::new(Slow(ask)), Arc::new(Steady(clip)));
    let ports = Ports::new(model, voice, Arc::new(MemoryJournal::default()), Arc::new(SystemClock));
    let hub = Hub::new(ports, HubSettings::default());
    let began = Instant::now();
    let id = hub.start(six_slots(&"slow/model".parse()?, false)?).await?;
    hub.wait(id).await?;
    let time = began.elapsed();
    let conversation = hub.conversation(id).await?;
    let lines = conversation.stage().transcript().lines().len();
    if conversation.stage().ended() != Some(Reason::COMPLETED) || lines != 19 {
        return Err(Failure::internal("the chorus of the bench did not run to its end"));
    }
    let least = ask * 3 + clip;
    Ok(json!({
        "case": name,
        "askMs": ask_ms,
        "clipMs": clip_ms,
        "lines": lines,
        "ratioToLeastTime": (time.as_secs_f64() / least.as_secs_f64() * 1e3).round() / 1e3,
    }))
}

pub(super) fn six_slots(model: &ModelRef, is_small: bool) -> Result<Setup, Failure> {
    let slots: Vec<SlotId> = (1..=SlotId::MAX).map(SlotId::try_from).collect::<Result<_, _>>()?;
    let agent = |slot: &SlotId| Agent {
        name: slot.agent(),
        model: model.clone(),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small,
    };
    let cast = Cast::new(slots.iter().map(agent).collect(), vec!["you".parse().expect("a good name")])?;
    let slots = slots.iter().map(|slot| Slot { slot_id: *slot, agent_id: slot.agent(), name: None }).collect();
    let profile = polylogue_core::format::chorus::VoiceProfile { name: "plain".into(), description: "plain".into() };
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::new(Settings { message: "What is a home?".into(), slots, voices: vec![profile] }),
        cast,
        limits: Limits::default(),
        seed: 1,
        speech: true,
        templates: Default::default(),
        room: None,
        tenant: None,
    })
}
