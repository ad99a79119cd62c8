//! The journal in SQLite keeps to its port, while it is open and from disk.

mod support;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    Record, Tenant,
    id::{AgentId, Seq, SessionId},
    memory::Memory,
    money::Money,
    room::{RoomId, RoomPlace},
};
use polylogue_runtime::{
    conformance,
    port::{
        Day, Fate, Grant, Journal, JournalError, Letter, LetterId, Letters, Living, Memories, NodeId, Nodes, Owned,
        Posted, Quotas, RoomListPlace, RoomRecord, RoomSummary, Rooms, Search, Store, Summary, Wish,
    },
};
use polylogue_store::SqliteJournal;
use tempfile::TempDir;

use self::support::TwoNodes;
use tokio::sync::{RwLock, RwLockWriteGuard};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journal_in_sqlite_conforms() {
    let stores = Stores::default();
    conformance::store(async || Arc::new(open(&stores.path())) as Arc<dyn Store>).await;
    conformance::nodes(async || Arc::new(open(&stores.path())) as Arc<dyn Store>).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_appended_is_on_disk() {
    let stores = Stores::default();
    conformance::store(async || Arc::new(FromDisk::new(stores.path())) as Arc<dyn Store>).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_with_one_file_are_as_one() {
    let stores = Stores::default();
    let two = || {
        let path = stores.path();
        Arc::new(TwoNodes::new([(); 2].map(|()| Arc::new(open(&path)) as Arc<dyn Store>))) as Arc<dyn Store>
    };
    conformance::store(async || two()).await;
    conformance::nodes(async || two()).await;
}

/// The folders of the stores, gone when the test is.
#[derive(Default)]
struct Stores(Mutex<Vec<TempDir>>);

impl Stores {
    fn path(&self) -> PathBuf {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("store.db");
        self.0.lock().expect("no panics").push(folder);
        path
    }
}

fn open(path: &PathBuf) -> SqliteJournal {
    SqliteJournal::open(path).expect("a store")
}

/// Closes the store and opens it again before whatever is read.
struct FromDisk {
    path: PathBuf,
    journal: RwLock<SqliteJournal>,
}

impl FromDisk {
    fn new(path: PathBuf) -> Self {
        FromDisk { journal: RwLock::new(open(&path)), path }
    }

    async fn reopened(&self) -> RwLockWriteGuard<'_, SqliteJournal> {
        let mut journal = self.journal.write().await;
        journal.close().await;
        assert!(!self.path.with_extension("db-wal").exists(), "a closed store is one file");
        *journal = open(&self.path);
        journal
    }
}

#[async_trait]
impl Journal for FromDisk {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        self.journal.read().await.append(session, records, node).await
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        self.reopened().await.read(session, after, limit).await
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        self.reopened().await.search(search).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        self.reopened().await.find(id_prefix, limit).await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        self.journal.read().await.delete(session).await
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        self.reopened().await.forks(of).await
    }
}

#[async_trait]
impl Nodes for FromDisk {
    async fn keep_alive(&self, node: NodeId, lease: Duration) -> Result<bool, JournalError> {
        self.journal.read().await.keep_alive(node, lease).await
    }

    async fn depart(&self, node: NodeId) -> Result<(), JournalError> {
        self.journal.read().await.depart(node).await
    }

    async fn take_over(&self, node: NodeId, limit: usize) -> Result<Vec<Owned>, JournalError> {
        self.journal.read().await.take_over(node, limit).await
    }

    async fn owned(&self, node: NodeId) -> Result<Vec<Owned>, JournalError> {
        self.journal.read().await.owned(node).await
    }

    async fn give_up(&self, node: NodeId, session: SessionId, head: Seq) -> Result<(), JournalError> {
        self.journal.read().await.give_up(node, session, head).await
    }

    async fn ask_to_stop(&self, session: SessionId) -> Result<Option<NodeId>, JournalError> {
        self.journal.read().await.ask_to_stop(session).await
    }

    async fn tell_room(&self, node: NodeId, room: u32) -> Result<(), JournalError> {
        self.journal.read().await.tell_room(node, room).await
    }

    async fn book(&self, sessions: u32, other_than: NodeId) -> Result<Option<NodeId>, JournalError> {
        self.journal.read().await.book(sessions, other_than).await
    }

    async fn living(&self) -> Result<Vec<Living>, JournalError> {
        self.journal.read().await.living().await
    }

    async fn is_owned(&self, session: SessionId) -> Result<bool, JournalError> {
        self.journal.read().await.is_owned(session).await
    }
}

#[async_trait]
impl Letters for FromDisk {
    async fn post(&self, letter: Letter, lifetime: Duration) -> Result<Option<NodeId>, JournalError> {
        self.reopened().await.post(letter, lifetime).await
    }

    async fn letters(&self, node: NodeId, limit: usize) -> Result<Vec<Posted>, JournalError> {
        self.reopened().await.letters(node, limit).await
    }

    async fn answer(&self, letter: LetterId, answer: &str) -> Result<(), JournalError> {
        self.reopened().await.answer(letter, answer).await
    }

    async fn fate(&self, letter: LetterId) -> Result<Fate, JournalError> {
        self.reopened().await.fate(letter).await
    }

    async fn withdraw(&self, letter: LetterId) -> Result<(), JournalError> {
        self.reopened().await.withdraw(letter).await
    }
}

#[async_trait]
impl Quotas for FromDisk {
    async fn hold(&self, node: NodeId, wish: Wish, lease: Duration) -> Result<Grant, JournalError> {
        self.reopened().await.hold(node, wish, lease).await
    }

    async fn spend(&self, day: Day, whose: Option<&Tenant>, cost: Money) -> Result<Money, JournalError> {
        self.reopened().await.spend(day, whose, cost).await
    }
}

#[async_trait]
impl Memories for FromDisk {
    async fn memories(
        &self,
        agent: Option<&AgentId>,
        story: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, JournalError> {
        self.reopened().await.memories(agent, story, limit).await
    }

    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError> {
        self.journal.read().await.forget(places).await
    }
}

#[async_trait]
impl Rooms for FromDisk {
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Result<Vec<RoomRecord>, JournalError> {
        self.reopened().await.read_room(room, after, limit).await
    }

    async fn room_head(&self, room: &RoomId) -> Result<RoomPlace, JournalError> {
        self.reopened().await.room_head(room).await
    }

    async fn rooms(&self, before: Option<&RoomListPlace>, limit: usize) -> Result<Vec<RoomSummary>, JournalError> {
        self.reopened().await.rooms(before, limit).await
    }
}
