//! Six slots with a model that takes a fixed time and a voice that takes none: what the engine itself adds.

use std::time::Duration;

use async_trait::async_trait;
use polylogue_core::{
    Setup,
    format::chorus::{Settings, Slot, SlotId, VoiceProfile},
    id::Purpose,
    line::Clip,
    money::Price,
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
};
use polylogue_runtime::port::{Call, CallError, Model, Reply, Speech, Voice, VoiceError};
use tokio::time::sleep;

use crate::{engine, failure::Failure};

/// Thinks for so long, then comments on the next slot.
#[derive(Debug)]
pub(super) struct Steady(pub(super) Duration);

#[async_trait]
impl Model for Steady {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        sleep(self.0).await;
        let slot: u8 = call.ask.id.agent.as_str().trim_start_matches("slot-").parse().unwrap_or(1);
        let text = match call.ask.id.purpose {
            Purpose::Comment => {
                let target = slot % SlotId::MAX + 1;
                format!(r#"{{"targetSlotId": {target}, "comment": "Well said.", "voice_profile": "plain"}}"#)
            }
            Purpose::Respond | Purpose::Reply | Purpose::Contribute => {
                r#"{"text": "A reply of moderate length.", "voice_profile": "plain"}"#.to_owned()
            }
        };
        Ok(Reply { text: text.into(), usage: None })
    }
}

#[async_trait]
impl Voice for Steady {
    async fn speak(&self, speech: &Speech) -> Result<Clip, VoiceError> {
        Ok(Clip { path: speech.place.join("/"), duration_ms: 1, ..Clip::default() })
    }
}

pub(super) fn six_slots() -> Result<Setup, Failure> {
    let ids = (1..=SlotId::MAX).map(SlotId::try_from).collect::<Result<Vec<_>, _>>()?;
    let agents = ids.iter().map(|id| Agent {
        name: id.agent(),
        model: "steady/model".parse().expect("a good name"),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
    });
    let cast = Cast::new(agents.collect(), vec!["you".parse().expect("a good name")])?;
    let agent_id = "steady".parse::<polylogue_core::id::AgentId>().expect("a good name");
    let slots = ids.into_iter().map(|slot_id| Slot { slot_id, agent_id: agent_id.clone() }).collect();
    let voices = vec![VoiceProfile { name: "plain".into(), description: "as it is".into() }];
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::Chorus(Settings { message: "go".into(), slots, voices }),
        cast,
        limits: Limits::default(),
        seed: 1,
        speech: true,
        templates: Default::default(),
    })
}
