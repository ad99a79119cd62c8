//! A store that is copied to PostgreSQL and back is the same store.

use std::sync::Arc;

use polylogue_core::{
    Event, Reason, Record,
    format::discussion::Who,
    id::{Seq, SessionId},
    memory::Memory,
    projection::Status,
    room::RoomPlace,
};
use polylogue_runtime::{
    conformance::{
        example::{
            NODE, agent, discussion, ended, every_event, forked, id, records, said, started, started_in, turn_taken,
        },
        remembers, scene,
    },
    port::{Journal, NodeId, Nodes, RoomRecord, RoomSummary, Search, Store, Summary},
};
use polylogue_store::{Copied, CopyError, SqliteJournal, copy};
use tempfile::TempDir;

use crate::server::{new_store, open};

/// All that can be seen of a store.
#[derive(Debug, PartialEq)]
struct Seen {
    sessions: Vec<Summary>,
    journals: Vec<(SessionId, Vec<Arc<Record>>)>,
    rooms: Vec<(RoomSummary, Vec<RoomRecord>)>,
    memories: Vec<Memory>,
    forks: Vec<SessionId>,
}

async fn seen(store: &dyn Store) -> Seen {
    let sessions = store.search(&Search { limit: usize::MAX, ..Search::default() }).await.expect("a list");
    let mut journals = Vec::new();
    for summary in &sessions {
        journals.push((summary.id, store.read_all(summary.id).await.expect("a journal")));
    }
    let mut rooms = Vec::new();
    for room in store.rooms(None, 99).await.expect("a list") {
        let log = store.read_room(&room.room, RoomPlace(0), usize::MAX).await.expect("a room");
        rooms.push((room, log));
    }
    let memories = store.memories(Some(&agent()), None, usize::MAX).await.expect("memories");
    let forks = store.forks(&[id(1), id(2)]).await.expect("a list");
    Seen { sessions, journals, rooms, memories, forks }
}

/// A little of everything.
async fn fill(store: &dyn Store) {
    let append = async |n: u8, after, at, events: Vec<Event>| {
        store.append(id(n), records(after, at, events), NODE).await.expect("it follows");
    };
    append(1, 0, 100, every_event(id(1))).await;
    append(2, 0, 200, vec![started(id(2), "left by its process"), said("a")]).await;
    append(3, 0, 300, vec![discussion(id(3)), turn_taken(0, Who::Person("you there".parse().expect("a name")), None)])
        .await;
    append(4, 0, 400, vec![started(id(4), "a fork"), said("a"), forked(id(2), 2)]).await;
    append(4, 3, 450, vec![ended(Reason::CANCELLED)]).await;
    // Two sessions that speak in turn.
    append(5, 0, 500, vec![started_in("lobby", id(5)), said("one")]).await;
    append(6, 0, 510, vec![started_in("lobby", id(6))]).await;
    append(5, 2, 520, vec![said("two"), said("three")]).await;
    append(6, 1, 530, vec![said("four")]).await;
    append(5, 4, 540, vec![ended(Reason::COMPLETED)]).await;
    for n in [7, 8] {
        append(
            n,
            0,
            600,
            vec![scene(id(n), Some("winter"), "one"), remembers("gpt", "first"), remembers("gpt", "second")],
        )
        .await;
    }
    store.forget(vec![(id(7), Seq(2))]).await.expect("forgotten");
}

#[tokio::test]
async fn what_is_copied_there_and_back_is_the_same() {
    let folder = TempDir::new().expect("a folder");
    let here = SqliteJournal::open(folder.path().join("here.db")).expect("a store");
    let back = SqliteJournal::open(folder.path().join("back.db")).expect("a store");
    let there = open(&new_store()).await;
    fill(&here).await;
    let expected = seen(&here).await;
    assert_eq!((expected.sessions.len(), expected.rooms.len(), expected.memories.len()), (8, 1, 3));
    let mut heard = Vec::new();
    let copied = copy(&here, &there, &mut |done, of| heard.push((done, of))).await.expect("a copy");
    let count = expected.journals.iter().map(|(_, records)| records.len()).sum();
    assert_eq!(copied, Copied { sessions: 8, records: count, unchanged: 0 });
    assert_eq!(heard.last(), Some(&(8, 8)));
    assert_eq!(seen(&there).await, expected);
    copy(&there, &back, &mut |_, _| {}).await.expect("a copy");
    assert_eq!(seen(&back).await, expected);

    // Once more there is nothing to do, and what has come since is brought after.
    let again = copy(&here, &there, &mut |_, _| {}).await;
    assert_eq!(again, Ok(Copied { sessions: 0, records: 0, unchanged: 8 }));
    here.append(id(2), records(2, 900, [said("more")]), NODE).await.expect("it follows");
    let again = copy(&here, &there, &mut |_, _| {}).await;
    assert_eq!(again, Ok(Copied { sessions: 1, records: 1, unchanged: 7 }));
    assert_eq!(seen(&there).await, seen(&here).await);

    // What went on in both is not made one.
    here.append(id(2), records(3, 950, [said("here")]), NODE).await.expect("it follows");
    there.append(id(2), records(3, 950, [said("there")]), NODE).await.expect("it follows");
    assert_eq!(copy(&here, &there, &mut |_, _| {}).await, Err(CopyError::Differs(id(2))));
}

/// Nobody owns what was copied, and what somebody runs is not copied.
#[tokio::test]
async fn what_runs_is_not_copied() {
    let folder = TempDir::new().expect("a folder");
    let here = SqliteJournal::open(folder.path().join("here.db")).expect("a store");
    let there = open(&new_store()).await;
    let node = NodeId::from_bytes([1; 16]);
    here.keep_alive(node, std::time::Duration::from_secs(600)).await.expect("a node");
    here.append(id(1), records(0, 100, [started(id(1), "goal")]), node).await.expect("a new session");
    assert_eq!(copy(&here, &there, &mut |_, _| {}).await, Err(CopyError::Running(1)));
    assert_eq!(there.find("", 9).await, Ok(vec![]));
    here.depart(node).await.expect("it was known");
    copy(&here, &there, &mut |_, _| {}).await.expect("a copy");
    let summary = there.sessions(9).await.expect("a list").remove(0);
    assert_eq!((summary.status(), summary.takeovers), (Status::Left, 0));
}
