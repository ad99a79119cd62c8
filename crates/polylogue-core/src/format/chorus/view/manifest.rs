//! `session.json`: every line of a chorus, what it is about and its clip, for playback systems.

use std::{collections::BTreeSet, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Conversation, Reason, Record,
    event::Event,
    format::chorus::{Decision, Phase, Settings, Slot, SlotId, kind},
    id::{AgentId, Seq, SessionId},
    line::{ClipState, Line, LineKind, Speaker},
};

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub session_id: SessionId,
    /// What the person said, message by message.
    pub messages: Vec<Arc<str>>,
    pub seed: u64,
    pub slots: Vec<Slot>,
    pub reason: Option<Reason>,
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    #[schemars(extend("format" = "date-time"))]
    pub ended_at: Option<String>,
    pub lines: Vec<ManifestLine>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestLine {
    pub seq: Seq,
    /// Which of the person's messages it follows, counted from 1.
    pub message: u32,
    pub turn_index: u32,
    pub kind: LineKind,
    pub slot_id: SlotId,
    pub agent_id: AgentId,
    pub text: Arc<str>,
    pub voice_profile: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_slot_id: Option<SlotId>,
    /// Of a comment: whether it was passed on to its target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarded: Option<bool>,
    /// `null` when the line has no clip.
    pub audio_path: Option<String>,
    pub duration_ms: Option<u64>,
}

impl Manifest {
    /// The manifest of a chorus; `None` for a session of another format or no session at all.
    pub fn of(records: &[Record]) -> Option<Manifest> {
        let conversation = Conversation::replay(records).ok()?;
        let stage = conversation.stage();
        let setup = stage.setup();
        let settings = setup.format.settings::<Settings>()?;
        let forwarded = forwarded(records);
        let lines = stage.transcript().lines();
        Some(Manifest {
            session_id: setup.id,
            messages: lines.iter().filter(|line| line.kind == LineKind::USER).map(|line| line.text.clone()).collect(),
            seed: setup.seed,
            slots: settings.slots.clone(),
            reason: stage.ended(),
            started_at: stage.started_at().to_string(),
            ended_at: stage.ended().map(|_| stage.last_at().to_string()),
            lines: lines.iter().filter_map(|line| ManifestLine::of(line, &settings.slots, &forwarded)).collect(),
        })
    }

    /// Where it lies, relative to the artifacts folder.
    pub fn path(session: SessionId) -> String {
        format!("tts/sessions/{session}/session.json")
    }
}

impl ManifestLine {
    fn of(line: &Line, slots: &[Slot], forwarded: &BTreeSet<(u32, SlotId)>) -> Option<ManifestLine> {
        let Speaker::Agent(name) = &line.speaker else { return None };
        let ask = line.ask.as_ref()?;
        let slot = slots.iter().find(|slot| slot.slot_id.agent() == *name)?;
        let target = line.to.as_ref().and_then(|to| slots.iter().find(|slot| slot.slot_id.agent() == *to));
        let message = Phase::message_of(ask.turn);
        let (audio_path, duration_ms) = match &line.clip {
            ClipState::Made(clip) => (Some(clip.path.clone()), Some(clip.duration_ms)),
            ClipState::Unspoken | ClipState::Wanted | ClipState::Failed => (None, None),
        };
        Some(ManifestLine {
            seq: line.seq,
            message,
            turn_index: Phase::at(ask.turn).index(),
            kind: line.kind,
            slot_id: slot.slot_id,
            agent_id: slot.agent_id.clone(),
            text: line.text.clone(),
            voice_profile: line.voice.clone(),
            target_slot_id: target.map(|slot| slot.slot_id),
            forwarded: (line.kind == kind::COMMENT).then(|| forwarded.contains(&(message, slot.slot_id))),
            audio_path,
            duration_ms,
        })
    }
}

/// The messages and slots whose comments were passed on.
fn forwarded(records: &[Record]) -> BTreeSet<(u32, SlotId)> {
    let (mut message, mut passed_on) = (1, BTreeSet::new());
    for record in records {
        match &record.event {
            Event::HumanSpoke { .. } => message += 1,
            event => {
                if let Some(Decision::Routed { forwarded, .. }) = event.decided() {
                    passed_on.extend(forwarded.iter().map(|slot| (message, *slot)));
                }
            }
        }
    }
    passed_on
}
