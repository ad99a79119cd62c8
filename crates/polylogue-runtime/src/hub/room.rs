//! What the hub knows of rooms: who listens, what goes on, what was said lately.

use polylogue_core::{
    Timestamp,
    format::collaboration::{Quote, Recent, RoomEvent, RoomSession, RoomStream},
    id::SessionId,
    projection::Status,
    room::{RoomId, RoomPlace},
};

use super::{Hub, HubError};
use crate::{
    port::Search,
    room::{RoomReader, RoomSubscription},
};

/// Records of a room that are looked through at a time, from its end back.
const STEP: u64 = 64;

/// Sessions of a room that are listed at most.
const MAX_SESSIONS: usize = 1_000;

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

    /// The sessions that answer in a room now, here or in another process, the oldest first. One whose process is gone
    /// is among them: another goes on with it in a moment.
    pub async fn sessions_in(&self, room: &RoomId) -> Result<Vec<RoomSession>, HubError> {
        let mut sessions = Vec::new();
        for status in [Status::Running, Status::Left] {
            let search =
                Search { room: Some(room.clone()), status: Some(status), limit: MAX_SESSIONS, ..Search::default() };
            let found = self.inner.ports.journal.search(&search).await?;
            for summary in found.iter().filter(|summary| !summary.is_left_alone()) {
                sessions.extend(self.room_session(summary.id).await?);
            }
        }
        sessions.sort_by_key(|(at, session)| (*at, session.session_id));
        // It may have been left between the two looks.
        sessions.dedup_by_key(|(_, session)| session.session_id);
        Ok(sessions.into_iter().map(|(_, session)| session).collect())
    }

    /// A session as its room sees it, and when it began; nothing when it is over or gone by now.
    async fn room_session(&self, id: SessionId) -> Result<Option<(Timestamp, RoomSession)>, HubError> {
        let records = match self.records(id).await {
            Err(HubError::NoSuchSession(_)) => return Ok(None),
            records => records?,
        };
        let Some((mut stream, _)) = RoomStream::begin(&records[0]) else { return Ok(None) };
        for record in &records[1..] {
            stream.on(record);
        }
        let session = stream.session().clone();
        Ok((!session.is_over).then_some((records[0].at, session)))
    }
}
