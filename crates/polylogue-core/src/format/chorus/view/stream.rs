//! The stream: a fold that turns records into events one by one.

use std::{collections::BTreeSet, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Conversation, NotAJournal, Reason, Record,
    event::{Event, FailureKind},
    format::chorus::{Decision, Phase, Settings, Slot, SlotId, kind},
    id::{AgentId, AskId, LineId, SessionId},
    line::{Clip, Line, LineKind, Speaker},
};

/// What a listener is told. The fields are those of the source document, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum ChorusEvent {
    #[schemars(title = "TurnStart", extend("x-event" = "turn.start"))]
    TurnStart { session_id: SessionId, turn_index: u32 },
    #[schemars(title = "SlotStart", extend("x-event" = "slot.start"))]
    SlotStart(SlotTurn),
    /// A response or a reply.
    #[schemars(title = "Spoken", extend("x-event" = "slot.done"))]
    Spoken {
        #[serde(flatten)]
        slot: SlotTurn,
        text: Arc<str>,
        voice_profile: Option<Arc<str>>,
    },
    #[schemars(title = "Commented", extend("x-event" = "slot.done"))]
    Commented {
        #[serde(flatten)]
        slot: SlotTurn,
        target_slot_id: Option<SlotId>,
        comment: Arc<str>,
        voice_profile: Option<Arc<str>>,
    },
    #[schemars(title = "SlotAudio", extend("x-event" = "slot.audio"))]
    SlotAudio {
        #[serde(flatten)]
        slot: SlotTurn,
        voice_profile: Option<Arc<str>>,
        #[schemars(extend("const" = "wav"))]
        audio_format: &'static str,
        audio_path: String,
    },
    #[schemars(title = "SlotError", extend("x-event" = "slot.error"))]
    SlotError {
        #[serde(flatten)]
        slot: SlotTurn,
        error: SlotError,
    },
    #[schemars(title = "TurnDone", extend("x-event" = "turn.done"))]
    TurnDone {
        session_id: SessionId,
        turn_index: u32,
        /// Slots that have a text in this turn.
        slot_count: usize,
    },
    #[schemars(title = "TurnAudio", extend("x-event" = "turn.audio"))]
    TurnAudio { session_id: SessionId, turn_index: u32, clip_count: u32 },
    #[schemars(title = "Done", extend("x-event" = "done"))]
    Done {
        /// Slots that failed in no turn.
        completed_slots: usize,
        session_id: SessionId,
        turns: u32,
        /// Why it ended, unless all turns are complete.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
}

/// A slot in one of the turns.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlotTurn {
    pub session_id: SessionId,
    pub turn_index: u32,
    pub kind: LineKind,
    pub slot_id: SlotId,
    pub agent_id: AgentId,
}

/// What went wrong in a slot: a failed call by its kind, `malformed_reply`, or `tts_error`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SlotError {
    pub r#type: String,
    pub message: String,
}

impl ChorusEvent {
    /// The name of the event on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            ChorusEvent::TurnStart { .. } => "turn.start",
            ChorusEvent::SlotStart(_) => "slot.start",
            ChorusEvent::Spoken { .. } | ChorusEvent::Commented { .. } => "slot.done",
            ChorusEvent::SlotAudio { .. } => "slot.audio",
            ChorusEvent::SlotError { .. } => "slot.error",
            ChorusEvent::TurnDone { .. } => "turn.done",
            ChorusEvent::TurnAudio { .. } => "turn.audio",
            ChorusEvent::Done { .. } => "done",
        }
    }
}

/// The fold behind a stream. It is given every record of a session from the first.
#[derive(Debug)]
pub struct ChorusStream {
    conversation: Conversation,
    session: SessionId,
    slots: Vec<Slot>,
    /// Places that were announced: an ask that is sent again is not a second start.
    started: BTreeSet<(u32, SlotId)>,
    /// Places that failed, and turns that ended, since the last message.
    failed: BTreeSet<(u32, SlotId)>,
    turns: BTreeSet<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAChorus {
    #[error("the session is not a chorus")]
    OtherFormat,
    #[error(transparent)]
    NotAJournal(#[from] NotAJournal),
}

impl ChorusStream {
    /// The stream of a session whose journal begins with this record, and the event that it is.
    pub fn begin(first: &Record) -> Result<(ChorusStream, ChorusEvent), NotAChorus> {
        let conversation = Conversation::replay([first])?;
        let setup = conversation.stage().setup();
        let Some(Settings { slots, .. }) = setup.format.settings() else { return Err(NotAChorus::OtherFormat) };
        let stream = ChorusStream {
            session: setup.id,
            slots: slots.clone(),
            started: BTreeSet::new(),
            failed: BTreeSet::new(),
            turns: BTreeSet::new(),
            conversation,
        };
        let first_turn = stream.turn_start(Phase::Respond);
        Ok((stream, first_turn))
    }

    /// The event that the next record is, if it is one.
    pub fn on(&mut self, record: &Record) -> Option<ChorusEvent> {
        self.conversation.apply(record);
        match &record.event {
            Event::HumanSpoke { .. } => {
                self.failed.clear();
                self.turns.clear();
                Some(self.turn_start(Phase::Respond))
            }
            Event::Asked { ask, .. } => {
                let slot = self.slot(&ask.agent)?.slot_id;
                let is_new = self.started.insert((ask.turn, slot));
                is_new.then(|| self.slot_turn(ask.turn, slot)).flatten().map(ChorusEvent::SlotStart)
            }
            Event::LineSpoken { ask, .. } => {
                // A resumed session asks again where nobody could answer.
                if let Some(ask) = ask
                    && let Some(slot) = self.slot(&ask.agent).map(|slot| slot.slot_id)
                {
                    self.failed.remove(&(ask.turn, slot));
                }
                self.spoken(self.conversation.stage().transcript().lines().last()?)
            }
            Event::ClipMade { line, clip } => self.audio(*line, clip),
            Event::ClipFailed { line, error } => {
                let line = self.line(*line)?;
                self.error(line.ask.as_ref()?.turn, self.speaker(line)?, "tts_error".to_owned(), error)
            }
            Event::Decided(decision) => self.decided(decision.open()?),
            Event::Ended { reason, .. } => Some(ChorusEvent::Done {
                completed_slots: self.completed(*reason),
                session_id: self.session,
                turns: self.turns.len() as u32,
                reason: Some(*reason).filter(|reason| *reason != Reason::COMPLETED),
            }),
            Event::Started { .. }
            | Event::Forked { .. }
            | Event::Resumed { .. }
            | Event::Answered { .. }
            | Event::AskFailed { .. }
            | Event::AskCut { .. }
            | Event::LineCut { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. } => None,
        }
    }

    /// Which slot an ask is for, and in which turn.
    pub fn place(&self, ask: &AskId) -> Option<(SlotId, u32)> {
        Some((self.slot(&ask.agent)?.slot_id, Phase::at(ask.turn).index()))
    }

    fn decided(&mut self, decision: &Decision) -> Option<ChorusEvent> {
        match decision {
            Decision::TurnBegun { turn, .. } => Some(self.turn_start(Phase::at(*turn))),
            Decision::TurnEnded { turn, slots } => {
                self.turns.insert(*turn);
                let (session_id, turn_index) = (self.session, Phase::at(*turn).index());
                Some(ChorusEvent::TurnDone { session_id, turn_index, slot_count: slots.len() })
            }
            Decision::TurnVoiced { turn, clips } => {
                let (session_id, turn_index) = (self.session, Phase::at(*turn).index());
                Some(ChorusEvent::TurnAudio { session_id, turn_index, clip_count: *clips })
            }
            Decision::SlotFailed { turn, slot, kind, message } => {
                self.failed.insert((*turn, *slot));
                self.error(*turn, *slot, kind.map_or_else(|| "malformed_reply".to_owned(), name_of), message)
            }
            Decision::Reasked { .. } | Decision::TargetDrawn { .. } | Decision::Routed { .. } => None,
        }
    }

    /// Slots that took every place they had. In a session that was broken off, those that have spoken.
    fn completed(&self, reason: Reason) -> usize {
        let has_spoken = |slot: SlotId| {
            let lines = self.conversation.stage().transcript().lines().iter().rev();
            let of_this_message = lines.take_while(|line| line.kind != LineKind::USER);
            of_this_message.filter(|line| line.kind == kind::RESPONSE).any(|line| self.speaker(line) == Some(slot))
        };
        let has_failed = |slot: SlotId| self.failed.iter().any(|(_, failed)| *failed == slot);
        let slots = self.slots.iter().map(|slot| slot.slot_id).filter(|slot| !has_failed(*slot));
        slots.filter(|slot| reason == Reason::COMPLETED || has_spoken(*slot)).count()
    }

    fn turn_start(&self, turn: Phase) -> ChorusEvent {
        ChorusEvent::TurnStart { session_id: self.session, turn_index: turn.index() }
    }

    fn spoken(&self, line: &Line) -> Option<ChorusEvent> {
        let slot = self.slot_turn(line.ask.as_ref()?.turn, self.speaker(line)?)?;
        let (text, voice_profile) = (line.text.clone(), line.voice.clone());
        Some(match line.kind {
            kind::COMMENT => {
                let target_slot_id = line.to.as_ref().and_then(|to| self.slot(to)).map(|slot| slot.slot_id);
                ChorusEvent::Commented { slot, target_slot_id, comment: text, voice_profile }
            }
            _ => ChorusEvent::Spoken { slot, text, voice_profile },
        })
    }

    fn audio(&self, line: LineId, clip: &Clip) -> Option<ChorusEvent> {
        let line = self.line(line)?;
        Some(ChorusEvent::SlotAudio {
            slot: self.slot_turn(line.ask.as_ref()?.turn, self.speaker(line)?)?,
            voice_profile: line.voice.clone(),
            audio_format: "wav",
            audio_path: clip.path.clone(),
        })
    }

    fn error(&self, turn: u32, slot: SlotId, kind: String, message: &str) -> Option<ChorusEvent> {
        let error = SlotError { r#type: kind, message: message.to_owned() };
        Some(ChorusEvent::SlotError { slot: self.slot_turn(turn, slot)?, error })
    }

    fn line(&self, id: LineId) -> Option<&Line> {
        self.conversation.stage().transcript().get(id)
    }

    fn speaker(&self, line: &Line) -> Option<SlotId> {
        match &line.speaker {
            Speaker::Agent(agent) => self.slot(agent).map(|slot| slot.slot_id),
            Speaker::Person(_) | Speaker::Router | Speaker::Moderator => None,
        }
    }

    fn slot(&self, agent: &AgentId) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.slot_id.agent() == *agent)
    }

    fn slot_turn(&self, turn: u32, slot: SlotId) -> Option<SlotTurn> {
        let agent_id = self.slots.iter().find(|other| other.slot_id == slot)?.agent_id.clone();
        let turn = Phase::at(turn);
        Some(SlotTurn {
            session_id: self.session,
            turn_index: turn.index(),
            kind: turn.kind(),
            slot_id: slot,
            agent_id,
        })
    }
}

/// The kind of a failure as it is recorded.
fn name_of(kind: FailureKind) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(name)) => name,
        _ => unreachable!("kinds are words"),
    }
}
