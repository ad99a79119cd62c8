//! What the hub knows of rooms: who listens, what goes on, what was said lately.

use polylogue_core::{
    format::collaboration::{Quote, Recent, RoomEvent, RoomSession, RoomStream},
    room::{RoomId, RoomPlace},
};

use super::{Hub, HubError};
use crate::room::{RoomReader, RoomSubscription};

/// Records of a room that are looked through at a time, from its end back.
const STEP: u64 = 64;

/// How far back anybody looks for what was said lately.
const MAX_LOOK: u64 = 1_024;

impl Hub {
    /// Every event of a room after the one with this number: what is recorded, then what happens.
    pub fn listen(&self, room: RoomId, heard: u64) -> RoomSubscription {
        RoomSubscription::new(&self.inner.ports, &self.inner.bells, &self.inner.channels, room, heard)
    }

    /// The number after which exactly so many events of the room follow, as it stands; 0 when it has no more.
    pub async fn before_last(&self, room: &RoomId, events: usize) -> Result<u64, HubError> {
        let ports = &self.inner.ports;
        let head = ports.rooms.room_head(room).await?.0;
        if events == 0 {
            return Ok(RoomEvent::last_number(RoomPlace(head)));
        }
        let mut look = STEP;
        loop {
            let start = head.saturating_sub(look);
            let mut reader = RoomReader::new(ports, room.clone(), RoomPlace(start));
            let mut numbers = Vec::new();
            while let Some(page) = reader.page().await? {
                numbers.extend(page.into_iter().map(|(number, _)| number));
            }
            if let Some(before) = numbers.len().checked_sub(events + 1) {
                return Ok(numbers[before]);
            }
            if start == 0 {
                return Ok(0);
            }
            look *= 4;
        }
    }

    /// What was said in a room lately, oldest first, without what is still going on.
    pub async fn recently_said(&self, room: &RoomId) -> Result<Vec<Quote>, HubError> {
        let ports = &self.inner.ports;
        let head = ports.rooms.room_head(room).await?.0;
        let mut recent = Recent::default();
        let mut before = head;
        while before > head.saturating_sub(MAX_LOOK) {
            let start = before.saturating_sub(STEP);
            let records = ports.rooms.read_room(room, RoomPlace(start), (before - start) as usize).await?;
            // Where a session was deleted, so many records reach beyond what was looked through before.
            let records = records.iter().filter(|entry| entry.place.0 <= before);
            if !records.rev().all(|entry| recent.add(entry.session, &entry.record)) {
                break;
            }
            before = start;
        }
        Ok(recent.said())
    }

    /// The sessions that answer in a room now, the oldest first.
    pub async fn sessions_in(&self, room: &RoomId) -> Result<Vec<RoomSession>, HubError> {
        let ids = self.inner.claims.in_room(room);
        let mut sessions = Vec::with_capacity(ids.len());
        for id in ids {
            let records = self.records(id).await?;
            let Some((mut stream, _)) = RoomStream::begin(&records[0]) else { continue };
            for record in &records[1..] {
                stream.on(record);
            }
            // It may have ended since.
            if !stream.session().is_over {
                sessions.push((records[0].at, stream.session().clone()));
            }
        }
        sessions.sort_by_key(|(at, session)| (*at, session.session_id));
        Ok(sessions.into_iter().map(|(_, session)| session).collect())
    }
}
