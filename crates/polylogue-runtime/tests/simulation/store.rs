//! The store as one process reaches it: slowly, in vain, or without being told that it was done.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use polylogue_core::{
    Record, Tenant,
    id::{AgentId, Seq, SessionId},
    memory::Memory,
    money::Money,
    room::{RoomId, RoomPlace},
};
use polylogue_runtime::{
    MemoryJournal,
    port::{
        Day, Fate, Grant, Journal, JournalError, Letter, LetterId, Letters, Living, Memories, NodeId, Nodes, Owned,
        Posted, Quotas, RoomListPlace, RoomRecord, RoomSummary, Rooms, Search, Summary, Wish,
    },
};

use crate::process::Process;

pub(crate) struct Faulty {
    pub(crate) store: Arc<MemoryJournal>,
    pub(crate) process: Arc<Process>,
}

type Done<T> = Result<T, JournalError>;

impl Faulty {
    /// What is done in the store, if it is reached. The store itself is quick: all waiting is before it and after it.
    async fn reach<T>(&self, work: impl Future<Output = Done<T>>) -> Done<T> {
        let world = &self.process.world;
        self.process.pass().await;
        let faults = world.faults();
        if self.process.is_cut_off() || world.is_out() || world.chance.happens(faults.store_refuses) {
            return Err(JournalError::Unavailable("nobody answers".to_owned()));
        }
        if world.chance.happens(faults.store_breaks) {
            self.process.trouble();
            return Err(JournalError::Failed("told to".to_owned()));
        }
        let done = work.await;
        self.process.pass().await;
        if world.chance.happens(faults.store_mute) {
            return Err(JournalError::Unavailable("it was done, and nobody was told".to_owned()));
        }
        done
    }

    /// The other processes, with what they own.
    fn owned_elsewhere(&self) -> Vec<(Arc<Process>, Vec<SessionId>)> {
        let world = &self.process.world;
        let others = world.processes().into_iter().filter(|process| process.number != self.process.number);
        others.map(|process| (process.clone(), world.owned(process.hub().node()))).collect()
    }
}

/// Whoever owned it could not say in time that it is alive, and has lost it.
fn lost(before: &[(Arc<Process>, Vec<SessionId>)], session: SessionId) {
    before.iter().filter(|(_, owned)| owned.contains(&session)).for_each(|(process, _)| process.trouble());
}

#[async_trait]
impl Journal for Faulty {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Done<()> {
        self.reach(async {
            let before = self.owned_elsewhere();
            self.store.append(session, records, node).await?;
            lost(&before, session);
            Ok(())
        })
        .await
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Done<Vec<Arc<Record>>> {
        self.reach(self.store.read(session, after, limit)).await
    }

    async fn search(&self, search: &Search) -> Done<Vec<Summary>> {
        self.reach(self.store.search(search)).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Done<Vec<SessionId>> {
        self.reach(self.store.find(id_prefix, limit)).await
    }

    async fn delete(&self, session: SessionId) -> Done<bool> {
        self.reach(self.store.delete(session)).await
    }

    async fn forks(&self, of: &[SessionId]) -> Done<Vec<SessionId>> {
        self.reach(self.store.forks(of)).await
    }
}

#[async_trait]
impl Nodes for Faulty {
    async fn keep_alive(&self, node: NodeId, lease: Duration) -> Done<bool> {
        self.reach(self.store.keep_alive(node, lease)).await
    }

    async fn depart(&self, node: NodeId) -> Done<()> {
        self.reach(self.store.depart(node)).await
    }

    async fn take_over(&self, node: NodeId, limit: usize) -> Done<Vec<Owned>> {
        self.reach(async {
            let before = self.owned_elsewhere();
            let taken = self.store.take_over(node, limit).await?;
            taken.iter().for_each(|taken| lost(&before, taken.session));
            Ok(taken)
        })
        .await
    }

    async fn owned(&self, node: NodeId) -> Done<Vec<Owned>> {
        self.reach(self.store.owned(node)).await
    }

    async fn give_up(&self, node: NodeId, session: SessionId, head: Seq) -> Done<()> {
        self.reach(self.store.give_up(node, session, head)).await
    }

    async fn ask_to_stop(&self, session: SessionId) -> Done<Option<NodeId>> {
        self.reach(self.store.ask_to_stop(session)).await
    }

    async fn tell_room(&self, node: NodeId, room: u32) -> Done<()> {
        self.reach(self.store.tell_room(node, room)).await
    }

    async fn book(&self, sessions: u32, other_than: NodeId) -> Done<Option<NodeId>> {
        self.reach(self.store.book(sessions, other_than)).await
    }

    async fn living(&self) -> Done<Vec<Living>> {
        self.reach(self.store.living()).await
    }

    async fn is_owned(&self, session: SessionId) -> Done<bool> {
        self.reach(self.store.is_owned(session)).await
    }
}

#[async_trait]
impl Letters for Faulty {
    async fn post(&self, letter: Letter, lifetime: Duration) -> Done<Option<NodeId>> {
        self.reach(self.store.post(letter, lifetime)).await
    }

    async fn letters(&self, node: NodeId, limit: usize) -> Done<Vec<Posted>> {
        self.reach(self.store.letters(node, limit)).await
    }

    async fn answer(&self, letter: LetterId, answer: &str) -> Done<()> {
        self.reach(self.store.answer(letter, answer)).await
    }

    async fn fate(&self, letter: LetterId) -> Done<Fate> {
        self.reach(self.store.fate(letter)).await
    }

    async fn withdraw(&self, letter: LetterId) -> Done<()> {
        self.reach(self.store.withdraw(letter)).await
    }
}

#[async_trait]
impl Quotas for Faulty {
    async fn hold(&self, node: NodeId, wish: Wish, lease: Duration) -> Done<Grant> {
        self.reach(self.store.hold(node, wish, lease)).await
    }

    async fn spend(&self, day: Day, whose: Option<&Tenant>, cost: Money) -> Done<Money> {
        self.reach(self.store.spend(day, whose, cost)).await
    }
}

#[async_trait]
impl Memories for Faulty {
    async fn memories(&self, agent: Option<&AgentId>, story: Option<&str>, limit: usize) -> Done<Vec<Memory>> {
        self.reach(self.store.memories(agent, story, limit)).await
    }

    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Done<()> {
        self.reach(self.store.forget(places)).await
    }
}

#[async_trait]
impl Rooms for Faulty {
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Done<Vec<RoomRecord>> {
        self.reach(self.store.read_room(room, after, limit)).await
    }

    async fn room_head(&self, room: &RoomId) -> Done<RoomPlace> {
        self.reach(self.store.room_head(room)).await
    }

    async fn rooms(&self, before: Option<&RoomListPlace>, limit: usize) -> Done<Vec<RoomSummary>> {
        self.reach(self.store.rooms(before, limit)).await
    }
}
