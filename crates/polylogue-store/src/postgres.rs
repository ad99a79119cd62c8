//! Journals in a PostgreSQL database, for as many processes on as many machines as like to share it.
//!
//! Appends go to one task that commits whatever is waiting in one round trip and one transaction. Reads, and what is
//! written besides, go to a few connections beside it. A server that cannot be reached is trouble that passes
//! ([`JournalError::Unavailable`]): whoever runs sessions waits, and goes on when it is back.

mod address;
mod connections;
mod delete;
mod discussion;
mod group;
mod letters;
mod memories;
mod nodes;
mod problem;
mod quotas;
mod reader;
mod room;
mod schema;
mod tls;
mod value;
mod views;
mod writer;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use deadpool_postgres::Object;
use futures_util::future::BoxFuture;
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
use tokio::sync::{mpsc, oneshot};

use self::{address::Address, connections::Connections, problem::Problem, writer::Append};
use crate::{
    OpenError,
    batch::Batch,
    list::{IdRange, rows},
};

/// How many appends may wait for the writer before callers wait too.
const QUEUE: usize = 4_096;

/// How many connections there are at most for all but appends. Those have one of their own, so that they never wait for
/// readers.
const CONNECTIONS: usize = 7;

/// A store of journals in a PostgreSQL database.
///
/// Dropping it lets the writer finish what is waiting on its own time; [`PostgresJournal::close`] waits for that.
pub struct PostgresJournal {
    appends: mpsc::Sender<Append>,
    connections: Connections,
    of_the_writer: Connections,
    name: String,
}

impl std::fmt::Debug for PostgresJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresJournal").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PostgresJournal {
    /// Opens the store, and makes its tables when they are not there. The password is for an address that has none.
    pub async fn open(url: &str, password: Option<&str>) -> Result<Self, OpenError> {
        let address = Address::parse(url, password)?;
        let connections = Connections::new(&address, CONNECTIONS)?;
        let of_the_writer = Connections::new(&address, 1)?;
        let schema = address.schema.clone();
        let standing = connections
            .with(move |connection| Box::pin(async move { schema::migrate(connection, &schema).await }))
            .await
            .map_err(|problem| problem.into_open_error(&address.name, &address.schema))?;
        standing.check(&address)?;
        let (appends, queue) = mpsc::channel(QUEUE);
        tokio::spawn(writer::run(of_the_writer.clone(), queue));
        Ok(PostgresJournal { appends, connections, of_the_writer, name: address.name })
    }

    /// The store's address without its password.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lets a task have a connection.
    async fn with<T: Send>(
        &self,
        task: impl for<'a> FnOnce(&'a mut Object) -> BoxFuture<'a, Result<T, Problem>> + Send,
    ) -> Result<T, JournalError> {
        Ok(self.connections.with(task).await?)
    }

    /// Ends the store: nothing more can be asked of it. What has been appended is there already.
    pub fn close(&self) {
        self.connections.close();
        self.of_the_writer.close();
    }
}

#[async_trait]
impl Journal for PostgresJournal {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        let Some(batch) = Batch::new(session, &records, node)? else { return Ok(()) };
        let (answer, answered) = oneshot::channel();
        let closed = || JournalError::Failed("it is closed".to_owned());
        self.appends.send(Append { batch, answer }).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        self.with(move |connection| Box::pin(reader::records(connection, session, after, limit))).await
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        let search = search.clone();
        self.with(move |connection| Box::pin(async move { reader::search(connection, &search).await })).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        let Some(range) = IdRange::of_prefix(id_prefix) else { return Ok(Vec::new()) };
        self.with(move |connection| Box::pin(async move { reader::find(connection, &range, limit).await })).await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        self.with(move |connection| Box::pin(delete::delete(connection, session))).await
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        let of = of.to_vec();
        self.with(move |connection| Box::pin(async move { reader::forks(connection, &of).await })).await
    }
}

#[async_trait]
impl Nodes for PostgresJournal {
    async fn keep_alive(&self, node: NodeId, lease: Duration) -> Result<bool, JournalError> {
        self.with(move |connection| Box::pin(nodes::keep_alive(connection, node, lease))).await
    }

    async fn depart(&self, node: NodeId) -> Result<(), JournalError> {
        self.with(move |connection| Box::pin(nodes::depart(connection, node))).await
    }

    async fn take_over(&self, node: NodeId, limit: usize) -> Result<Vec<Owned>, JournalError> {
        self.with(move |connection| Box::pin(nodes::take_over(connection, node, rows(limit)))).await
    }

    async fn owned(&self, node: NodeId) -> Result<Vec<Owned>, JournalError> {
        self.with(move |connection| Box::pin(nodes::owned(connection, node))).await
    }

    async fn give_up(&self, node: NodeId, session: SessionId, head: Seq) -> Result<(), JournalError> {
        self.with(move |connection| Box::pin(nodes::give_up(connection, node, session, head))).await
    }

    async fn ask_to_stop(&self, session: SessionId) -> Result<Option<NodeId>, JournalError> {
        self.with(move |connection| Box::pin(nodes::ask_to_stop(connection, session))).await
    }

    async fn tell_room(&self, node: NodeId, room: u32) -> Result<(), JournalError> {
        self.with(move |connection| Box::pin(nodes::tell_room(connection, node, room))).await
    }

    async fn book(&self, sessions: u32, other_than: NodeId) -> Result<Option<NodeId>, JournalError> {
        self.with(move |connection| Box::pin(nodes::book(connection, sessions, other_than))).await
    }

    async fn living(&self) -> Result<Vec<Living>, JournalError> {
        self.with(move |connection| Box::pin(nodes::living(connection))).await
    }

    async fn is_owned(&self, session: SessionId) -> Result<bool, JournalError> {
        self.with(move |connection| Box::pin(nodes::is_owned(connection, session))).await
    }
}

#[async_trait]
impl Letters for PostgresJournal {
    async fn post(&self, letter: Letter, lifetime: Duration) -> Result<Option<NodeId>, JournalError> {
        self.with(move |connection| Box::pin(async move { letters::post(connection, &letter, lifetime).await })).await
    }

    async fn letters(&self, node: NodeId, limit: usize) -> Result<Vec<Posted>, JournalError> {
        self.with(move |connection| Box::pin(letters::to(connection, node, rows(limit)))).await
    }

    async fn answer(&self, letter: LetterId, answer: &str) -> Result<(), JournalError> {
        let answer = answer.to_owned();
        self.with(move |connection| Box::pin(async move { letters::answer(connection, letter, &answer).await })).await
    }

    async fn fate(&self, letter: LetterId) -> Result<Fate, JournalError> {
        self.with(move |connection| Box::pin(letters::fate(connection, letter))).await
    }

    async fn withdraw(&self, letter: LetterId) -> Result<(), JournalError> {
        self.with(move |connection| Box::pin(letters::withdraw(connection, letter))).await
    }
}

#[async_trait]
impl Quotas for PostgresJournal {
    async fn hold(&self, node: NodeId, wish: Wish, lease: Duration) -> Result<Grant, JournalError> {
        self.with(move |connection| Box::pin(async move { quotas::hold(connection, node, &wish, lease).await })).await
    }

    async fn spend(&self, day: Day, whose: Option<&Tenant>, cost: Money) -> Result<Money, JournalError> {
        let whose = whose.cloned();
        self.with(move |connection| Box::pin(async move { quotas::spend(connection, day, whose.as_ref(), cost).await }))
            .await
    }
}

#[async_trait]
impl Memories for PostgresJournal {
    async fn memories(
        &self,
        agent: Option<&AgentId>,
        story: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, JournalError> {
        let (agent, story) = (agent.cloned(), story.map(str::to_owned));

        self.with(move |connection| {
            Box::pin(async move { memories::read(connection, agent.as_ref(), story.as_deref(), limit).await })
        })
        .await
    }

    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError> {
        self.with(move |connection| Box::pin(async move { memories::forget(connection, &places).await })).await
    }
}

#[async_trait]
impl Rooms for PostgresJournal {
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Result<Vec<RoomRecord>, JournalError> {
        let room = room.clone();
        self.with(move |connection| Box::pin(async move { room::read(connection, &room, after, limit).await })).await
    }

    async fn room_head(&self, room: &RoomId) -> Result<RoomPlace, JournalError> {
        let room = room.clone();
        self.with(move |connection| Box::pin(async move { room::head(connection, &room).await })).await
    }

    async fn rooms(&self, before: Option<&RoomListPlace>, limit: usize) -> Result<Vec<RoomSummary>, JournalError> {
        let before = before.cloned();
        self.with(move |connection| Box::pin(async move { room::list(connection, before.as_ref(), limit).await })).await
    }
}
