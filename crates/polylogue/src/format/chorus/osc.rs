//! Open Sound Control over UDP: the events of a chorus for playback systems that speak nothing else.
//!
//! `slot.audio` becomes `/polylogue/slot/audio`, and its fields, in the order of the stream, the arguments:
//! numbers as `i`, texts as `s`. A datagram that gets lost is lost: a system that needs all of them reads the stream.

use std::{
    collections::HashMap,
    net::{SocketAddr, UdpSocket},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Record,
    format::chorus::{ChorusEvent, ChorusStream},
    id::{Seq, SessionId},
};
use polylogue_runtime::{Listener, port::Journal};
use serde_json::Value;

/// Tells a playback system what was recorded.
pub(crate) struct Osc {
    journal: Arc<dyn Journal>,
    socket: UdpSocket,
    /// The sessions under way; `None` for those that are no chorus.
    streams: Mutex<HashMap<SessionId, Option<ChorusStream>>>,
}

impl Osc {
    pub(crate) fn new(journal: Arc<dyn Journal>, target: SocketAddr) -> std::io::Result<Osc> {
        let any: SocketAddr = if target.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 16], 0).into() };
        let socket = UdpSocket::bind(any)?;
        socket.connect(target)?;
        // Nobody waits for a datagram.
        socket.set_nonblocking(true)?;
        Ok(Osc { journal, socket, streams: Mutex::default() })
    }

    /// What these records are in the stream of their session.
    async fn events(&self, session: SessionId, records: &[Arc<Record>]) -> Vec<ChorusEvent> {
        let Some(first) = records.first() else { return Vec::new() };
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
        let events = records.iter().filter_map(|record| tell(stream, record)).collect();
        if records.iter().any(|record| matches!(record.event, Event::Ended { .. })) {
            streams.remove(&session);
        }
        events
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Option<ChorusStream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

/// An event as an OSC message.
fn message(event: &ChorusEvent) -> Vec<u8> {
    let mut arguments = Vec::new();
    flatten(&serde_json::to_value(event).unwrap_or_default(), &mut arguments);
    let mut bytes = Vec::new();
    push_text(&mut bytes, &format!("/polylogue/{}", event.name().replace('.', "/")));
    let tags: String = arguments.iter().map(|value| if value.is_number() { 'i' } else { 's' }).collect();
    push_text(&mut bytes, &format!(",{tags}"));
    for value in arguments {
        match value {
            Value::Number(number) => {
                let number = i32::try_from(number.as_i64().unwrap_or_default()).unwrap_or(i32::MAX);
                bytes.extend(number.to_be_bytes());
            }
            Value::String(text) => push_text(&mut bytes, &text),
            other => push_text(&mut bytes, &other.to_string()),
        }
    }
    bytes
}

/// The values in order; those of an object within count as one's own, and nothing is an empty text.
fn flatten(value: &Value, into: &mut Vec<Value>) {
    match value {
        Value::Object(members) => members.values().for_each(|member| flatten(member, into)),
        Value::Null => into.push(Value::String(String::new())),
        other => into.push(other.clone()),
    }
}

/// A text with its end, filled up to a multiple of four bytes.
fn push_text(bytes: &mut Vec<u8>, text: &str) {
    // A zero within would end it early.
    bytes.extend(text.bytes().filter(|byte| *byte != 0));
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[async_trait]
impl Listener for Osc {
    async fn heard(&self, session: SessionId, records: &[Arc<Record>]) {
        for event in self.events(session, records).await {
            if let Err(error) = self.socket.send(&message(&event)) {
                tracing::debug!(%error, "an OSC message was not sent");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_laid_out_in_fours() {
        let session_id = SessionId::from_bytes([0x22; 16]);
        let bytes = message(&ChorusEvent::TurnDone { session_id, turn_index: 2, slot_count: 6 });
        let mut wanted = b"/polylogue/turn/done\0\0\0\0,sii\0\0\0\0".to_vec();
        wanted.extend(b"22222222-2222-2222-2222-222222222222\0\0\0\0");
        wanted.extend([0, 0, 0, 2, 0, 0, 0, 6]);
        assert_eq!(bytes, wanted);
    }
}
