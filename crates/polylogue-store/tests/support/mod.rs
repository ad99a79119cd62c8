//! A store that two processes share, as seen by somebody who asks them in turn.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
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
use polylogue_runtime::port::{
    Day, Fate, Grant, Journal, JournalError, Letter, LetterId, Letters, Living, Memories, NodeId, Nodes, Owned, Posted,
    Quotas, RoomListPlace, RoomRecord, RoomSummary, Rooms, Search, Store, Summary, Wish,
};

/// One store that is open twice, asked in turn.
pub(crate) struct TwoNodes {
    nodes: [Arc<dyn Store>; 2],
    asked: AtomicUsize,
}

impl TwoNodes {
    pub(crate) fn new(nodes: [Arc<dyn Store>; 2]) -> Self {
        TwoNodes { nodes, asked: AtomicUsize::new(0) }
    }

    fn node(&self) -> &dyn Store {
        &*self.nodes[self.asked.fetch_add(1, Ordering::Relaxed) % 2]
    }
}

#[async_trait]
impl Journal for TwoNodes {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        self.node().append(session, records, node).await
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        self.node().read(session, after, limit).await
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        self.node().search(search).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        self.node().find(id_prefix, limit).await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        self.node().delete(session).await
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        self.node().forks(of).await
    }
}

#[async_trait]
impl Nodes for TwoNodes {
    async fn keep_alive(&self, node: NodeId, lease: Duration) -> Result<bool, JournalError> {
        self.node().keep_alive(node, lease).await
    }

    async fn depart(&self, node: NodeId) -> Result<(), JournalError> {
        self.node().depart(node).await
    }

    async fn take_over(&self, node: NodeId, limit: usize) -> Result<Vec<Owned>, JournalError> {
        self.node().take_over(node, limit).await
    }

    async fn owned(&self, node: NodeId) -> Result<Vec<Owned>, JournalError> {
        self.node().owned(node).await
    }

    async fn give_up(&self, node: NodeId, session: SessionId, head: Seq) -> Result<(), JournalError> {
        self.node().give_up(node, session, head).await
    }

    async fn ask_to_stop(&self, session: SessionId) -> Result<Option<NodeId>, JournalError> {
        self.node().ask_to_stop(session).await
    }

    async fn tell_room(&self, node: NodeId, room: u32) -> Result<(), JournalError> {
        self.node().tell_room(node, room).await
    }

    async fn book(&self, sessions: u32, other_than: NodeId) -> Result<Option<NodeId>, JournalError> {
        self.node().book(sessions, other_than).await
    }

    async fn living(&self) -> Result<Vec<Living>, JournalError> {
        self.node().living().await
    }

    async fn is_owned(&self, session: SessionId) -> Result<bool, JournalError> {
        self.node().is_owned(session).await
    }
}

#[async_trait]
impl Letters for TwoNodes {
    async fn post(&self, letter: Letter, lifetime: Duration) -> Result<Option<NodeId>, JournalError> {
        self.node().post(letter, lifetime).await
    }

    async fn letters(&self, node: NodeId, limit: usize) -> Result<Vec<Posted>, JournalError> {
        self.node().letters(node, limit).await
    }

    async fn answer(&self, letter: LetterId, answer: &str) -> Result<(), JournalError> {
        self.node().answer(letter, answer).await
    }

    async fn fate(&self, letter: LetterId) -> Result<Fate, JournalError> {
        self.node().fate(letter).await
    }

    async fn withdraw(&self, letter: LetterId) -> Result<(), JournalError> {
        self.node().withdraw(letter).await
    }
}

#[async_trait]
impl Quotas for TwoNodes {
    async fn hold(&self, node: NodeId, wish: Wish, lease: Duration) -> Result<Grant, JournalError> {
        self.node().hold(node, wish, lease).await
    }

    async fn spend(&self, day: Day, whose: Option<&Tenant>, cost: Money) -> Result<Money, JournalError> {
        self.node().spend(day, whose, cost).await
    }
}

#[async_trait]
impl Memories for TwoNodes {
    async fn memories(
        &self,
        agent: Option<&AgentId>,
        story: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, JournalError> {
        self.node().memories(agent, story, limit).await
    }

    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError> {
        self.node().forget(places).await
    }
}

#[async_trait]
impl Rooms for TwoNodes {
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Result<Vec<RoomRecord>, JournalError> {
        self.node().read_room(room, after, limit).await
    }

    async fn room_head(&self, room: &RoomId) -> Result<RoomPlace, JournalError> {
        self.node().room_head(room).await
    }

    async fn rooms(&self, before: Option<&RoomListPlace>, limit: usize) -> Result<Vec<RoomSummary>, JournalError> {
        self.node().rooms(before, limit).await
    }
}
