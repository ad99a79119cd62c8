//! How often a request reads a journal: once, however long it is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    Answer, Conversation, Event, Input, Record, Setup, Step, Tenant, Timestamp,
    event::Origin,
    format::discussion::{Closing, Participant, Role, Settings, Who},
    id::{AgentId, Seq, SessionId},
    memory::Memory,
    money::Money,
    money::Price,
    room::{RoomId, RoomPlace},
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
};
use polylogue_runtime::{
    MemoryJournal,
    port::{
        Day, Fate, Grant, Journal, JournalError, Letter, LetterId, Letters, Living, Memories, NodeId, Nodes, Owned,
        Posted, Quotas, RoomListPlace, RoomRecord, RoomSummary, Rooms, Search, Summary, Wish,
    },
};
use serde_json::json;

use crate::{
    client::{get, post},
    house::Wanted,
};

/// A store that counts the records that are read from it.
#[derive(Default)]
struct Counted {
    store: MemoryJournal,
    records_read: AtomicUsize,
}

#[async_trait]
impl Journal for Counted {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        self.store.append(session, records, node).await
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        let records = self.store.read(session, after, limit).await?;
        self.records_read.fetch_add(records.len(), Ordering::SeqCst);
        Ok(records)
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        self.store.search(search).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        self.store.find(id_prefix, limit).await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        self.store.delete(session).await
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        self.store.forks(of).await
    }
}

#[async_trait]
impl Nodes for Counted {
    async fn keep_alive(&self, node: NodeId, lease: Duration) -> Result<bool, JournalError> {
        self.store.keep_alive(node, lease).await
    }

    async fn depart(&self, node: NodeId) -> Result<(), JournalError> {
        self.store.depart(node).await
    }

    async fn take_over(&self, node: NodeId, limit: usize) -> Result<Vec<Owned>, JournalError> {
        self.store.take_over(node, limit).await
    }

    async fn owned(&self, node: NodeId) -> Result<Vec<Owned>, JournalError> {
        self.store.owned(node).await
    }

    async fn give_up(&self, node: NodeId, session: SessionId, head: Seq) -> Result<(), JournalError> {
        self.store.give_up(node, session, head).await
    }

    async fn ask_to_stop(&self, session: SessionId) -> Result<Option<NodeId>, JournalError> {
        self.store.ask_to_stop(session).await
    }

    async fn tell_room(&self, node: NodeId, room: u32) -> Result<(), JournalError> {
        self.store.tell_room(node, room).await
    }

    async fn book(&self, sessions: u32, other_than: NodeId) -> Result<Option<NodeId>, JournalError> {
        self.store.book(sessions, other_than).await
    }

    async fn living(&self) -> Result<Vec<Living>, JournalError> {
        self.store.living().await
    }

    async fn is_owned(&self, session: SessionId) -> Result<bool, JournalError> {
        self.store.is_owned(session).await
    }
}

#[async_trait]
impl Letters for Counted {
    async fn post(&self, letter: Letter, lifetime: Duration) -> Result<Option<NodeId>, JournalError> {
        self.store.post(letter, lifetime).await
    }

    async fn letters(&self, node: NodeId, limit: usize) -> Result<Vec<Posted>, JournalError> {
        self.store.letters(node, limit).await
    }

    async fn answer(&self, letter: LetterId, answer: &str) -> Result<(), JournalError> {
        self.store.answer(letter, answer).await
    }

    async fn fate(&self, letter: LetterId) -> Result<Fate, JournalError> {
        self.store.fate(letter).await
    }

    async fn withdraw(&self, letter: LetterId) -> Result<(), JournalError> {
        self.store.withdraw(letter).await
    }
}

#[async_trait]
impl Quotas for Counted {
    async fn hold(&self, node: NodeId, wish: Wish, lease: Duration) -> Result<Grant, JournalError> {
        self.store.hold(node, wish, lease).await
    }

    async fn spend(&self, day: Day, whose: Option<&Tenant>, cost: Money) -> Result<Money, JournalError> {
        self.store.spend(day, whose, cost).await
    }
}

#[async_trait]
impl Memories for Counted {
    async fn memories(
        &self,
        agent: Option<&AgentId>,
        story: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Memory>, JournalError> {
        self.store.memories(agent, story, limit).await
    }

    async fn forget(&self, places: Vec<(SessionId, Seq)>) -> Result<(), JournalError> {
        self.store.forget(places).await
    }
}

#[async_trait]
impl Rooms for Counted {
    async fn read_room(&self, room: &RoomId, after: RoomPlace, limit: usize) -> Result<Vec<RoomRecord>, JournalError> {
        self.store.read_room(room, after, limit).await
    }

    async fn room_head(&self, room: &RoomId) -> Result<RoomPlace, JournalError> {
        self.store.room_head(room).await
    }

    async fn rooms(&self, before: Option<&RoomListPlace>, limit: usize) -> Result<Vec<RoomSummary>, JournalError> {
        self.store.rooms(before, limit).await
    }
}

const ID: SessionId = SessionId::from_bytes([0x44; 16]);

/// The records of a discussion of four in which so many turns were taken. It is the person's turn then.
fn discussion(turns: u32) -> Vec<Arc<Record>> {
    let agents = ["max", "lea", "sue"].map(|name| Agent {
        name: name.parse().unwrap(),
        model: "script/test.yaml".parse().unwrap(),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small: false,
    });
    let seat = |agent: &Agent| Participant { role: Role::Specialist, who: Who::Agent(agent.name.clone()) };
    let person = Participant { role: Role::User, who: Who::Person("ada".parse().unwrap()) };
    let participants = [person].into_iter().chain(agents.iter().map(seat)).collect();
    let settings = Settings {
        title: "Long".into(),
        topic: None,
        participants,
        max_rounds: 1_000,
        key: None,
        closing: Closing::Open,
    };
    let setup = Setup {
        id: ID,
        format: FormatSetup::new(settings),
        cast: Cast::new(agents.to_vec(), vec!["ada".parse().unwrap()]).unwrap(),
        limits: Limits { max_tokens: u64::MAX, max_seconds: u64::MAX / 1_000, ..Limits::default() },
        seed: 7,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    };
    let (mut conversation, first) = Conversation::start(setup, Timestamp(1)).unwrap();
    let mut records = vec![Arc::new(first)];
    let mut record = |conversation: &mut Conversation, events: Vec<Event>| {
        for event in events {
            let record = Record { seq: conversation.stage().head().next(), at: Timestamp(1), event };
            conversation.apply(&record);
            records.push(Arc::new(record));
        }
    };
    for _ in 0..turns {
        let step = conversation.next().remove(0);
        let begun = conversation.begin(&step);
        record(&mut conversation, begun);
        let input = match step {
            Step::Ask(ask) => {
                Input::Answered { ask: ask.id, answer: Answer { text: "I think so.".into(), ..Answer::default() } }
            }
            Step::AwaitHuman(awaited) => {
                Input::HumanSaid { who: awaited.who, text: "And you?".into(), origin: Origin::default() }
            }
            other => panic!("nobody expects {other:?}"),
        };
        let events = conversation.on(input).unwrap();
        record(&mut conversation, events);
    }
    records
}

#[tokio::test]
async fn a_request_reads_a_long_discussion_once() {
    let store = Arc::new(Counted::default());
    let records = discussion(2_000);
    let head = records.len();
    store.append(ID, records, NodeId::from_bytes([0; 16])).await.unwrap();
    let server = Wanted::saying(|_| Some("Yes.".to_owned())).start_on(store.clone()).await;
    let read = || store.records_read.swap(0, Ordering::SeqCst);

    let path = format!("/api/discussions/{ID}");
    let state = get(server.at, &path).await;
    assert_eq!((state.status, state.json()["entries"].as_array().unwrap().len()), (200, 2_000));
    assert_eq!(read(), head, "opening it");

    for form in ["", "/transcript", "/transcript?as=md", "/transcript?as=json", "/transcript?as=vtt"] {
        assert_eq!(get(server.at, &format!("/v1/sessions/{ID}{form}")).await.status, 200, "{form}");
        assert_eq!(read(), head, "{form}");
    }

    // A message reads what there is once, then what has come since, and the last record to see that nobody goes on.
    let said = post(server.at, &path, &json!({"message": "Shall we?", "userId": "ada"})).await.whole().await;
    assert_eq!((said.status, said.json()["entries"].as_array().unwrap().len()), (200, 2_004), "{}", said.text());
    let more = store.store.read_all(ID).await.unwrap().len() - head;
    assert_eq!(read(), head + more + 1, "saying something");
}
