//! The stream of a chorus as Open Sound Control: who sits where, in which turn. `slot.audio` of the stream is
//! `/polylogue/slot/audio` here.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Record,
    format::chorus::{ChorusEvent, ChorusStream, SlotId, SlotTurn},
    id::{Seq, SessionId},
};
use polylogue_runtime::{Listener, port::Journal};

use crate::osc::{Message, Sender};

/// Tells a playback system what was recorded of a chorus.
pub(super) struct Osc {
    journal: Arc<dyn Journal>,
    sender: Sender,
    /// The sessions under way; `None` for those that are no chorus.
    streams: Mutex<HashMap<SessionId, Option<ChorusStream>>>,
}

impl Osc {
    pub(super) fn new(journal: Arc<dyn Journal>, sender: Sender) -> Osc {
        Osc { journal, sender, streams: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Option<ChorusStream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An event as a message. The record has what the stream leaves out.
    fn message(&self, event: &ChorusEvent, record: &Record) -> Message {
        let message = Message::to(&event.name().replace('.', "/"));
        match event {
            ChorusEvent::TurnStart { session_id, turn_index } => {
                message.text(&session_id.to_string()).number(*turn_index)
            }
            ChorusEvent::SlotStart(slot) => of_slot(message, slot),
            ChorusEvent::Spoken { slot, text, voice_profile } => {
                of_slot(message, slot).number(0).text(text).text(voice_profile.as_deref().unwrap_or_default())
            }
            ChorusEvent::Commented { slot, target_slot_id, comment, voice_profile } => {
                let target = target_slot_id.map_or(0, SlotId::number);
                of_slot(message, slot).number(target).text(comment).text(voice_profile.as_deref().unwrap_or_default())
            }
            ChorusEvent::SlotAudio { slot, voice_profile, .. } => {
                let message = of_slot(message, slot).text(voice_profile.as_deref().unwrap_or_default());
                match &record.event {
                    Event::ClipMade { clip, .. } => message.clip(clip, &self.sender.folder),
                    _ => message,
                }
            }
            ChorusEvent::SlotError { slot, error } => of_slot(message, slot).text(&error.r#type).text(&error.message),
            ChorusEvent::TurnDone { session_id, turn_index, slot_count } => {
                message.text(&session_id.to_string()).number(*turn_index).number(*slot_count)
            }
            ChorusEvent::TurnAudio { session_id, turn_index, clip_count } => {
                message.text(&session_id.to_string()).number(*turn_index).number(*clip_count)
            }
            ChorusEvent::Done { completed_slots, session_id, turns, reason } => {
                let message = message.text(&session_id.to_string()).number(*completed_slots).number(*turns);
                message.text(reason.as_ref().map_or("completed", |reason| reason.as_str()))
            }
        }
    }
}

/// Where in a chorus it is: session, turn, what is said there, slot, agent.
fn of_slot(message: Message, slot: &SlotTurn) -> Message {
    let message = message.text(&slot.session_id.to_string()).number(slot.turn_index).text(slot.kind.as_str());
    message.number(slot.slot_id.number()).text(slot.agent_id.as_str())
}

fn tell(stream: &mut Option<ChorusStream>, record: &Record) -> Option<ChorusEvent> {
    match stream {
        Some(stream) => stream.on(record),
        None => {
            let (begun, first) = ChorusStream::begin(record).ok()?;
            *stream = Some(begun);
            Some(first)
        }
    }
}

#[async_trait]
impl Listener for Osc {
    async fn heard(&self, session: SessionId, records: &[Arc<Record>]) {
        let Some(first) = records.first() else { return };
        self.sender.fetch(records).await;
        let is_known = self.lock().contains_key(&session);
        // A session that goes on has a past that its events are told from.
        let past = match is_known || first.seq == Seq::START.next() {
            true => Vec::new(),
            false => self.journal.read_all(session).await.unwrap_or_default(),
        };
        let mut streams = self.lock();
        let stream = streams.entry(session).or_insert(None);
        for record in past.iter().take_while(|record| record.seq < first.seq) {
            tell(stream, record);
        }
        for record in records {
            if let Some(event) = tell(stream, record) {
                self.sender.send(&self.message(&event, record));
            }
        }
        if records.iter().any(|record| matches!(record.event, Event::Ended { .. })) {
            streams.remove(&session);
        }
    }
}
