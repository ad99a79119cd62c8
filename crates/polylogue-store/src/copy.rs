//! All that a store keeps, brought into another, whatever either is kept in: journals as they were recorded, the order
//! of rooms, and what was forgotten. Everything else follows from those. Who runs what is not copied.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use polylogue_core::{
    Record,
    id::{AgentId, Seq, SessionId},
    memory::{self, Memory},
    projection::Status,
    room::{RoomId, RoomPlace},
};
use polylogue_runtime::port::{JournalError, NodeId, RoomSummary, Search, Store, Summary};
use tokio::time::Instant;

/// Sessions, rooms and records that are read at a time.
const PAGE: usize = 1_000;

/// How long others leave alone what is being copied, and how often they are told.
const LEASE: Duration = Duration::from_secs(60);
const RENEWAL: Duration = Duration::from_secs(10);

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub sessions: usize,
    pub records: usize,
    /// Sessions that were there already, as they are.
    pub unchanged: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    #[error("{0} sessions are being run: end the processes that run them, then copy")]
    Running(usize),
    #[error("the session {0} is in both stores and went on differently: delete it from one of them")]
    Differs(SessionId),
    #[error("what is copied from: {0}")]
    From(JournalError),
    #[error("what is copied to: {0}")]
    To(JournalError),
}

/// Brings everything from one store into another. What is there already stays, and what was begun goes on: a copy that
/// was broken off can be run again. `told` hears after each session how many are done, and how many there are.
pub async fn copy(
    from: &dyn Store,
    to: &dyn Store,
    told: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<Copied, CopyError> {
    let sessions = list(from).await.map_err(CopyError::From)?;
    let running = sessions.iter().filter(|summary| summary.status() == Status::Running).count();
    if running > 0 {
        return Err(CopyError::Running(running));
    }
    let there = list(to).await.map_err(CopyError::To)?.into_iter().map(|summary| (summary.id, summary.head));
    let there: HashMap<SessionId, Seq> = there.collect();
    let (node, total) = (NodeId::random(), sessions.len());
    let mut copy = Copy {
        from,
        to,
        node,
        said_alive: None,
        were_there: there.clone(),
        there,
        memories: Vec::new(),
        copied: Copied::default(),
    };
    copy.stay_alive().await?;
    for room in rooms(from).await.map_err(CopyError::From)? {
        copy.room(&room.room).await?;
    }
    // The oldest first, as they were begun.
    for (done, summary) in (1..).zip(sessions.iter().rev()) {
        copy.session(summary).await?;
        told(done, total);
    }
    copy.forget().await?;
    to.depart(node).await.map_err(CopyError::To)?;
    Ok(copy.copied)
}

async fn list(store: &dyn Store) -> Result<Vec<Summary>, JournalError> {
    let mut search = Search { limit: PAGE, ..Search::default() };
    let mut all: Vec<Summary> = Vec::new();
    loop {
        let page = store.search(&search).await?;
        let is_last = page.len() < PAGE;
        search.before = page.last().map(Summary::place);
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

async fn rooms(store: &dyn Store) -> Result<Vec<RoomSummary>, JournalError> {
    let mut all: Vec<RoomSummary> = Vec::new();
    loop {
        let before = all.last().map(RoomSummary::place);
        let page = store.rooms(before.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            // The one that was spoken in first is made first.
            all.reverse();
            return Ok(all);
        }
    }
}

/// Places in journals.
type Places = HashSet<(SessionId, Seq)>;

struct Copy<'a> {
    from: &'a dyn Store,
    to: &'a dyn Store,
    /// Owns what is being copied, so that nobody goes on with it before it is whole.
    node: NodeId,
    said_alive: Option<Instant>,
    /// How far each session had come in the other store, and has come now.
    were_there: HashMap<SessionId, Seq>,
    there: HashMap<SessionId, Seq>,
    /// What the journals say that somebody remembers.
    memories: Vec<Memory>,
    copied: Copied,
}

impl Copy<'_> {
    async fn stay_alive(&mut self) -> Result<(), CopyError> {
        if self.said_alive.is_none_or(|at| at.elapsed() > RENEWAL) {
            self.to.keep_alive(self.node, LEASE).await.map_err(CopyError::To)?;
            self.said_alive = Some(Instant::now());
        }
        Ok(())
    }

    /// The sessions of a room, in the order in which they were recorded. What was appended together lies together in
    /// it, and is appended together: a journal's beginning means something as a whole.
    async fn room(&mut self, room: &RoomId) -> Result<(), CopyError> {
        let mut after = RoomPlace(0);
        let mut together: Option<(SessionId, Vec<Arc<Record>>)> = None;
        loop {
            let page = self.from.read_room(room, after, PAGE).await.map_err(CopyError::From)?;
            let Some(last) = page.last() else { break };
            after = last.place;
            for entry in page {
                match &mut together {
                    Some((session, records)) if *session == entry.session => records.push(entry.record),
                    other => {
                        if let Some((session, records)) = other.replace((entry.session, vec![entry.record])) {
                            self.append(session, records).await?;
                        }
                    }
                }
            }
        }
        match together {
            Some((session, records)) => self.append(session, records).await,
            None => Ok(()),
        }
    }

    /// The whole journal of a session; of one in a room, what the room has brought already is there.
    async fn session(&mut self, summary: &Summary) -> Result<(), CopyError> {
        let session = summary.id;
        let records = self.from.read_all(session).await.map_err(CopyError::From)?;
        let there = self.to.read_all(session).await.map_err(CopyError::To)?;
        if !records.starts_with(&there) {
            return Err(CopyError::Differs(session));
        }
        self.memories.extend(memory::memories(&records));
        self.append(session, records).await?;
        let is_unchanged = self.were_there.get(&session) == Some(&summary.head);
        self.copied.unchanged += usize::from(is_unchanged);
        self.copied.sessions += usize::from(!is_unchanged);
        self.to.give_up(self.node, session, summary.head).await.map_err(CopyError::To)
    }

    /// Appends what of these records is not there yet.
    async fn append(&mut self, session: SessionId, mut records: Vec<Arc<Record>>) -> Result<(), CopyError> {
        self.stay_alive().await?;
        let head = self.there.get(&session).copied().unwrap_or(Seq::START);
        records.retain(|record| record.seq > head);
        let Some(last) = records.last().map(|record| record.seq) else { return Ok(()) };
        self.copied.records += records.len();
        self.to.append(session, records, self.node).await.map_err(CopyError::To)?;
        self.there.insert(session, last);
        Ok(())
    }

    /// A memory that the journal has and the store does not tell was forgotten.
    async fn forget(&mut self) -> Result<(), CopyError> {
        let mut told: HashMap<(AgentId, Arc<str>), Places> = HashMap::new();
        let mut forgotten = Vec::new();
        for memory in std::mem::take(&mut self.memories) {
            let whose = (memory.agent, memory.story);
            if !told.contains_key(&whose) {
                let kept =
                    self.from.memories(Some(&whose.0), Some(&whose.1), usize::MAX).await.map_err(CopyError::From)?;
                told.insert(whose.clone(), kept.iter().map(|memory| (memory.session, memory.seq)).collect());
            }
            let place = (memory.session, memory.seq);
            if !told[&whose].contains(&place) {
                forgotten.push(place);
            }
        }
        self.to.forget(forgotten).await.map_err(CopyError::To)
    }
}
