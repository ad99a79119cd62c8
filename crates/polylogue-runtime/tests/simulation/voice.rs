//! A speech engine that takes its time, fails and breaks.

use std::{panic::resume_unwind, sync::Arc};

use async_trait::async_trait;
use polylogue_core::line::Clip;
use polylogue_runtime::port::{Speech, Voice, VoiceError};
use tokio::time::sleep;

use crate::process::Process;

pub(crate) struct Speaker(pub(crate) Arc<Process>);

#[async_trait]
impl Voice for Speaker {
    async fn speak(&self, speech: &Speech) -> Result<Clip, VoiceError> {
        let world = &self.0.world;
        self.0.pass().await;
        sleep(world.chance.millis(0..2_000)).await;
        self.0.pass().await;
        let faults = world.faults();
        if world.chance.happens(faults.voice_panics) {
            resume_unwind(Box::new("told to"));
        }
        if world.chance.happens(faults.voice_fails) {
            return Err(VoiceError::Failed("told to".to_owned()));
        }
        let path = format!("{}/{}.wav", speech.session, speech.mark);
        Ok(Clip { path, duration_ms: world.chance.number(100..3_000), ..Clip::default() })
    }
}
