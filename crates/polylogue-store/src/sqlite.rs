//! Journals in one SQLite file.
//!
//! Appends go to one writer thread that commits whatever is waiting in one transaction, so that a hundred
//! sessions share the price of one sync. Reads go to a few read-only connections beside it. Nothing here blocks
//! the async runtime.

mod delete;
mod discussion;
mod letters;
mod locks;
mod memories;
mod nodes;
mod open;
mod quotas;
mod reader;
mod room;
mod schema;
mod views;
mod writer;

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use polylogue_core::{
    Record, Tenant,
    id::{AgentId, Seq, SessionId},
    memory::Memory,
    money::Money,
    room::{RoomId, RoomPlace},
};
use polylogue_runtime::port::{
    Day, Fate, Grant, Journal, JournalError, Letter, LetterId, Letters, Living, Memories, NodeId, Nodes, Owned, Posted,
    Quotas, RoomListPlace, RoomRecord, RoomSummary, Rooms, Search, Summary, Wish,
};
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use self::{
    locks::Locks,
    reader::Readers,
    writer::{Append, Command},
};
use crate::{OpenError, batch::Batch, list::IdRange};

/// How many appends may wait for the writer before callers wait too.
const QUEUE: usize = 4_096;

/// A store of journals in one file. Several processes may use the same file.
///
/// Dropping it lets the writer finish what is waiting and close the file on its own time;
/// [`SqliteJournal::close`] waits for that.
pub struct SqliteJournal {
    commands: mpsc::Sender<Command>,
    readers: Arc<Readers>,
    locks: Arc<Locks>,
}

impl std::fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteJournal").finish_non_exhaustive()
    }
}

impl SqliteJournal {
    /// Opens the store, and makes it and the folders above it when they are not there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let connection = open::for_writing(path)?;
        let (readers, readers_gone) = Readers::open(path)?;
        let (commands, queue) = mpsc::channel(QUEUE);
        let locks = Arc::new(Locks::beside(path));
        let known = locks.clone();
        std::thread::Builder::new()
            .name("journal-writer".to_owned())
            .spawn(move || writer::run(connection, &known, queue, &readers_gone))
            .map_err(|error| OpenError::Failed { store: open::name(path), problem: error.to_string() })?;
        Ok(SqliteJournal { commands, readers, locks })
    }

    /// Has the writer do this, after what was asked before.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (answer, answered) = oneshot::channel();
        let work = Box::new(move |connection: &mut Connection| {
            // The caller may have left; it is done all the same.
            let _ = answer.send(work(connection));
        });
        self.commands.send(Command::Do(work)).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Ends the store: what was asked before is still done, what is asked after fails. On return everything is
    /// in the one file and the file is closed.
    pub async fn close(&self) {
        self.readers.close();
        // When the writer is gone already there is nobody to tell, and nothing to wait for.
        let _ = self.commands.send(Command::Close).await;
        self.commands.closed().await;
        self.locks.let_go_of_all();
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        let Some(batch) = Batch::new(session, &records, node)? else { return Ok(()) };
        let (answer, answered) = oneshot::channel();
        self.commands.send(Command::Append(Box::new(Append { batch, answer }))).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        self.readers.with(move |connection| reader::records(connection, session, after, limit)).await
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        let (locks, search) = (self.locks.clone(), search.clone());
        self.readers.with(move |connection| reader::search(connection, &locks, &search)).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        let Some(range) = IdRange::of_prefix(id_prefix) else { return Ok(Vec::new()) };
        self.readers.with(move |connection| reader::find(connection, &range, limit)).await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        let locks = self.locks.clone();
        self.write(move |connection| delete::delete(connection, &locks, session)).await
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        let of = of.to_vec();
        self.readers.with(move |connection| reader::forks(connection, &of)).await
    }
}

#[async_trait]
impl Nodes for SqliteJournal {
    async fn keep_alive(&self, node: NodeId, lease: Duration) -> Result<bool, JournalError> {
        let locks = self.locks.clone();
        self.write(move |connection| nodes::keep_alive(connection, &locks, node, lease)).await
    }

    async fn depart(&self, node: NodeId) -> Result<(), JournalError> {
        let locks = self.locks.clone();
        self.write(move |connection| nodes::depart(connection, &locks, node)).await
    }

    async fn take_over(&self, node: NodeId, limit: usize) -> Result<Vec<Owned>, JournalError> {
        let locks = self.locks.clone();
        if limit == 0 || !self.readers.with(move |connection| nodes::is_any_left(connection, &locks)).await? {
            return Ok(Vec::new());
        }
        let locks = self.locks.clone();
        self.write(move |connection| nodes::take_over(connection, &locks, node, limit)).await
    }

    async fn owned(&self, node: NodeId) -> Result<Vec<Owned>, JournalError> {
        self.readers.with(move |connection| nodes::owned(connection, node)).await
    }

    async fn give_up(&self, node: NodeId, session: SessionId, head: Seq) -> Result<(), JournalError> {
        self.write(move |connection| nodes::give_up(connection, node, session, head)).await
    }

    async fn ask_to_stop(&self, session: SessionId) -> Result<Option<NodeId>, JournalError> {
        self.write(move |connection| nodes::ask_to_stop(connection, session)).await
    }

    async fn tell_room(&self, node: NodeId, room: u32) -> Result<(), JournalError> {
        self.write(move |connection| nodes::tell_room(connection, node, room)).await
    }

    async fn book(&self, sessions: u32, other_than: NodeId) -> Result<Option<NodeId>, JournalError> {
        let locks = self.locks.clone();
        self.write(move |connection| nodes::book(connection, &locks, sessions, other_than)).await
    }

    async fn living(&self) -> Result<Vec<Living>, JournalError> {
        let locks = self.locks.clone();
        self.readers.with(move |connection| nodes::living(connection, &locks)).await
    }

    async fn is_owned(&self, session: SessionId) -> Result<bool, JournalError> {
        let locks = self.locks.clone();
        self.readers.with(move |connection| nodes::is_owned(connection, &locks, session)).await
    }
}

#[async_trait]
impl Letters for SqliteJournal {
    async fn post(&self, letter: Letter, lifetime: Duration) -> Result<Option<NodeId>, JournalError> {
        let locks = self.locks.clone();
        self.write(move |connection| letters::post(connection, &locks, &letter, lifetime).map_err(failed)).await
    }

    async fn letters(&self, node: NodeId, limit: usize) -> Result<Vec<Posted>, JournalError> {
        self.readers.with(move |connection| letters::to(connection, node, limit).map_err(failed)).await
    }

    async fn answer(&self, letter: LetterId, answer: &str) -> Result<(), JournalError> {
        let answer = answer.to_owned();
        self.write(move |connection| letters::answer(connection, letter, &answer).map_err(failed)).await
    }

    async fn fate(&self, letter: LetterId) -> Result<Fate, JournalError> {
        self.readers.with(move |connection| letters::fate(connection, letter).map_err(failed)).await
    }

    async fn withdraw(&self, letter: LetterId) -> Result<(), JournalError> {
        self.write(move |connection| letters::withdraw(connection, letter).map_err(failed)).await
    }
}

#[async_trait]
impl Quotas for SqliteJournal {
    async fn hold(&self, node: NodeId, wish: Wish, lease: Duration) -> Result<Grant, JournalError> {
        let locks = self.locks.clone();
        self.write(move |connection| quotas::hold(connection, &locks, node, &wish, lease).map_err(failed)).await
    }

    async fn spend(&self, day: Day, whose: Option<&Tenant>, cost: Money) -> Result<Money, JournalError> {
        let whose = whose.cloned();
        if cost == Money::ZERO {
            let spent = move |connection: &_| quotas::spent(connection, day, whose.as_ref()).map_err(failed);
            return self.readers.with(spent).await;
        }
        self.write(move |connection| quotas::spend(connection, day, whose.as_ref(), cost).map_err(failed)).await
    }
}

#[async_trait]
impl Memories for SqliteJournal {
    async fn memories(
        &self,
        agent: Option<&AgentId>,
        story: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, JournalError> {
        let (agent, story) = (agent.cloned(), story.map(str::to_owned));
        self.readers.with(move |connection| memories::read(connection, agent.as_ref(), story.as_deref(), limit)).await
    }

    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError> {
        self.write(move |connection| memories::forget(connection, &places).map_err(failed)).await
    }
}

#[async_trait]
impl Rooms for SqliteJournal {
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Result<Vec<RoomRecord>, JournalError> {
        let room = room.clone();
        self.readers.with(move |connection| room::read(connection, &room, after, limit)).await
    }

    async fn room_head(&self, room: &RoomId) -> Result<RoomPlace, JournalError> {
        let room = room.clone();
        self.readers.with(move |connection| room::head(connection, &room)).await
    }

    async fn rooms(&self, before: Option<&RoomListPlace>, limit: usize) -> Result<Vec<RoomSummary>, JournalError> {
        let before = before.cloned();
        self.readers.with(move |connection| room::list(connection, before.as_ref(), limit)).await
    }
}

fn closed() -> JournalError {
    JournalError::Failed("it is closed".to_owned())
}

fn failed(error: rusqlite::Error) -> JournalError {
    let passing = |what: &str| JournalError::Unavailable(what.to_owned());
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => passing("another program keeps it locked"),
        Some(ErrorCode::DiskFull) => passing("the disk is full"),
        // A disk that is full says so in this way too, where a file has to grow that is shared between processes.
        Some(ErrorCode::SystemIoFailure) => passing("the disk cannot be written or read"),
        Some(ErrorCode::CannotOpen) => passing("its files cannot be opened"),
        Some(ErrorCode::OutOfMemory) => passing("there is no memory left"),
        Some(ErrorCode::ReadOnly) => passing("its file cannot be written: the disk is read-only"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            JournalError::Failed("its file is damaged: restore it from a backup".to_owned())
        }
        _ => JournalError::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_told_from_what_does_not() {
        use rusqlite::ffi;
        for (code, passes, words) in [
            (ffi::SQLITE_BUSY, true, "keeps it locked"),
            (ffi::SQLITE_FULL, true, "the disk is full"),
            (ffi::SQLITE_IOERR_WRITE, true, "the disk cannot be written"),
            (ffi::SQLITE_READONLY, true, "read-only"),
            (ffi::SQLITE_READONLY_DBMOVED, true, "read-only"),
            (ffi::SQLITE_CORRUPT, false, "restore it from a backup"),
            (ffi::SQLITE_NOTADB, false, "restore it from a backup"),
        ] {
            let error = failed(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            assert_eq!(matches!(error, JournalError::Unavailable(_)), passes, "{code}: {error}");
            assert!(error.to_string().contains(words), "{code}: {error}");
        }
    }
}
