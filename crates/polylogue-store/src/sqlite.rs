//! Journals in one SQLite file.
//!
//! Appends go to one writer thread that commits whatever is waiting in one transaction, so that a hundred
//! sessions share the price of one sync. Reads go to a few read-only connections beside it. Nothing here blocks
//! the async runtime.

mod batch;
mod discussion;
mod memories;
mod open;
mod reader;
mod room;
mod schema;
mod views;
mod writer;

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{
    Record,
    id::{AgentId, Seq, SessionId},
    memory::Memory,
    room::{RoomId, RoomPlace},
};
use polylogue_runtime::port::{Journal, JournalError, Memories, RoomRecord, RoomSummary, Rooms, Summary};
use rusqlite::ErrorCode;
use tokio::sync::{mpsc, oneshot};

use self::{
    batch::Batch,
    reader::Readers,
    writer::{Append, Command, Forget},
};
pub use open::OpenError;

/// How many appends may wait for the writer before callers wait too.
const QUEUE: usize = 4_096;

/// A store of journals in one file. Several processes may use the same file.
///
/// Dropping it lets the writer finish what is waiting and close the file on its own time;
/// [`SqliteJournal::close`] waits for that.
#[derive(Debug)]
pub struct SqliteJournal {
    commands: mpsc::Sender<Command>,
    readers: Arc<Readers>,
}

impl SqliteJournal {
    /// Opens the store, and makes it and the folders above it when they are not there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let connection = open::for_writing(path)?;
        let (readers, readers_gone) = Readers::open(path)?;
        let (commands, queue) = mpsc::channel(QUEUE);
        std::thread::Builder::new()
            .name("journal-writer".to_owned())
            .spawn(move || writer::run(connection, queue, &readers_gone))
            .map_err(|error| OpenError::Failed { store: open::name(path), problem: error.to_string() })?;
        Ok(SqliteJournal { commands, readers })
    }

    /// Ends the store: what was asked before is still done, what is asked after fails. On return everything is
    /// in the one file and the file is closed.
    pub async fn close(&self) {
        self.readers.close();
        // When the writer is gone already there is nobody to tell, and nothing to wait for.
        let _ = self.commands.send(Command::Close).await;
        self.commands.closed().await;
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>) -> Result<(), JournalError> {
        let Some(batch) = Batch::new(session, &records)? else { return Ok(()) };
        let (answer, answered) = oneshot::channel();
        self.commands.send(Command::Append(Box::new(Append { batch, answer }))).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        self.readers.with(move |connection| reader::records(connection, session, after, limit)).await
    }

    async fn sessions(&self, limit: usize) -> Result<Vec<Summary>, JournalError> {
        self.readers.with(move |connection| reader::sessions(connection, limit)).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        let Some(range) = reader::IdRange::of_prefix(id_prefix) else { return Ok(Vec::new()) };
        self.readers.with(move |connection| reader::find(connection, &range, limit)).await
    }

    async fn unfinished(&self) -> Result<Vec<SessionId>, JournalError> {
        self.readers.with(reader::unfinished).await
    }
}

#[async_trait]
impl Memories for SqliteJournal {
    async fn memories(&self, agent: &AgentId, story: Option<&str>, limit: usize) -> Result<Vec<Memory>, JournalError> {
        let (agent, story) = (agent.clone(), story.map(str::to_owned));
        self.readers.with(move |connection| memories::read(connection, &agent, story.as_deref(), limit)).await
    }

    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(Command::Forget(Forget { places, answer })).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
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

    async fn rooms(&self, limit: usize) -> Result<Vec<RoomSummary>, JournalError> {
        self.readers.with(move |connection| room::list(connection, limit)).await
    }
}

fn closed() -> JournalError {
    JournalError::Failed("it is closed".to_owned())
}

fn failed(error: rusqlite::Error) -> JournalError {
    JournalError::Failed(match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => "another program keeps it locked".to_owned(),
        Some(ErrorCode::DiskFull) => "the disk is full".to_owned(),
        _ => error.to_string(),
    })
}
