//! The part of the suite that is about rooms.

use std::{collections::BTreeMap, ops::AsyncFn, sync::Arc};

use polylogue_core::{
    Record, Timestamp,
    id::{Seq, SessionId},
    room::{RoomId, RoomPlace},
};
use tokio::task::JoinSet;

use super::example::{NODE, id, records, said, started, started_in};
use crate::port::{JournalError, RoomRecord, RoomSummary, Store};

pub(super) async fn rooms(open: impl AsyncFn() -> Arc<dyn Store>) {
    a_room_is_read_in_the_order_of_its_appends(&*open().await).await;
    what_is_not_appended_is_not_in_its_room(&*open().await).await;
    the_newest_room_is_listed_first(&*open().await).await;
    what_is_deleted_is_in_no_room(&*open().await).await;
    many_who_write_at_once_are_in_one_order(open().await).await;
}

fn room(name: &str) -> RoomId {
    name.parse().expect("a room's name")
}

/// Places, sessions and records as they are read from the start, in pages of three.
async fn read(journal: &dyn Store, name: &str) -> Vec<(u64, SessionId, Arc<Record>)> {
    let mut all: Vec<RoomRecord> = Vec::new();
    loop {
        let after = all.last().map_or(RoomPlace(0), |last| last.place);
        let page = journal.read_room(&room(name), after, 3).await.expect("a page");
        if page.is_empty() {
            return all.into_iter().map(|entry| (entry.place.0, entry.session, entry.record)).collect();
        }
        all.extend(page);
    }
}

async fn a_room_is_read_in_the_order_of_its_appends(journal: &dyn Store) {
    let one = records(0, 100, [started_in("lobby", id(1)), said("a")]);
    let two = records(0, 200, [started_in("lobby", id(2))]);
    let elsewhere = records(0, 300, [started_in("Lobby", id(3)), said("b")]);
    let nowhere = records(0, 400, [started(id(4), "goal"), said("c")]);
    let more = records(2, 500, [said("d"), said("e")]);
    let last = records(1, 600, [said("f")]);
    let appends = [(1, one), (2, two), (3, elsewhere), (4, nowhere), (1, more), (2, last)];
    let mut expected = Vec::new();
    for (n, added) in appends {
        journal.append(id(n), added.clone(), NODE).await.expect("it follows");
        if n < 3 {
            let places = expected.len() as u64 + 1..;
            expected.extend(places.zip(added).map(|(place, record)| (place, id(n), record)));
        }
        assert_eq!(read(journal, "lobby").await, expected, "an append is in its room's order when it returns");
        assert_eq!(journal.room_head(&room("lobby")).await, Ok(RoomPlace(expected.len() as u64)));
    }
    assert_eq!(read(journal, "Lobby").await.len(), 2, "letters and capitals are two names");
    assert_eq!(read(journal, "nobody").await, []);
    assert_eq!(journal.room_head(&room("nobody")).await, Ok(RoomPlace(0)));
    for (after, limit, count) in [(0, usize::MAX, 6), (4, usize::MAX, 2), (6, 9, 0), (u64::MAX, 9, 0), (0, 0, 0)] {
        let page = journal.read_room(&room("lobby"), RoomPlace(after), limit).await.expect("a page");
        assert_eq!(page.len(), count, "at most {limit} after {after}");
    }
}

async fn what_is_not_appended_is_not_in_its_room(journal: &dyn Store) {
    let late = records(1, 100, [said("nobody has begun")]);
    assert_eq!(journal.append(id(1), late, NODE).await, Err(JournalError::Fenced { after: Seq(0) }));
    journal.append(id(1), records(0, 100, [started_in("lobby", id(1))]), NODE).await.expect("a new session");
    let again = records(0, 200, [started_in("lobby", id(1)), said("again")]);
    assert_eq!(journal.append(id(1), again, NODE).await, Err(JournalError::Fenced { after: Seq(1) }));
    let stale = records(4, 200, [said("too far")]);
    assert_eq!(journal.append(id(1), stale, NODE).await, Err(JournalError::Fenced { after: Seq(1) }));
    let of_another = journal.append(id(2), records(0, 200, [started_in("lobby", id(3))]), NODE).await;
    assert!(matches!(of_another, Err(JournalError::Failed(_))), "{of_another:?}");
    assert_eq!(read(journal, "lobby").await.len(), 1);
    assert_eq!(journal.rooms(None, 9).await.expect("a list")[0].last_at, Timestamp(100));
}

async fn the_newest_room_is_listed_first(journal: &dyn Store) {
    assert_eq!(journal.rooms(None, 9).await, Ok(Vec::new()));
    for (n, name, at) in [(1, "one", 300), (2, "two", 100), (3, "three", 200), (4, "one", 50)] {
        journal.append(id(n), records(0, at, [started_in(name, id(n)), said("a")]), NODE).await.expect("a new session");
    }
    let listed = async |limit| {
        let rooms = journal.rooms(None, limit).await.expect("a list").into_iter();
        rooms.map(|summary| summary.room.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(listed(9).await, ["three", "two", "one"]);
    journal.append(id(1), records(2, 400, [said("b")]), NODE).await.expect("it follows");
    assert_eq!(listed(usize::MAX).await, ["one", "three", "two"]);
    assert_eq!(listed(1).await, ["one"]);
    assert_eq!(listed(0).await, Vec::<String>::new());
    let (started_at, last_at, head) = (Timestamp(300), Timestamp(400), RoomPlace(5));
    let expected = RoomSummary { room: room("one"), started_at, last_at, head };
    assert_eq!(journal.rooms(None, 1).await, Ok(vec![expected.clone()]));
    let place = expected.place();
    assert_eq!(place.to_string().parse(), Ok(place.clone()), "a place is read as it is written");
    let later = journal.rooms(Some(&place), 9).await.expect("a list").into_iter();
    assert_eq!(later.map(|summary| summary.room.to_string()).collect::<Vec<_>>(), ["three", "two"]);
}

async fn what_is_deleted_is_in_no_room(journal: &dyn Store) {
    for (n, at) in [(1, 100), (2, 200)] {
        journal.append(id(n), records(0, at, [started_in("lobby", id(n))]), NODE).await.expect("a new session");
    }
    journal.append(id(1), records(1, 300, [said("a")]), NODE).await.expect("it follows");
    assert_eq!(journal.delete(id(1)).await, Ok(true));
    let places = async || read(journal, "lobby").await.into_iter().map(|(place, ..)| place).collect::<Vec<_>>();
    assert_eq!(places().await, [2], "the others keep their places");
    assert_eq!(journal.room_head(&room("lobby")).await, Ok(RoomPlace(3)));
    journal.append(id(2), records(1, 400, [said("b")]), NODE).await.expect("it follows");
    assert_eq!(places().await, [2, 4], "no place is given twice");
    assert_eq!(journal.delete(id(2)).await, Ok(true));
    assert_eq!(journal.rooms(None, 9).await, Ok(Vec::new()), "nothing is left of it");
    journal.append(id(3), records(0, 500, [started_in("lobby", id(3))]), NODE).await.expect("a new session");
    assert_eq!(places().await, [5]);
}

async fn many_who_write_at_once_are_in_one_order(journal: Arc<dyn Store>) {
    const SESSIONS: u8 = 40;
    let mut writers = JoinSet::new();
    for n in 0..SESSIONS {
        let journal = journal.clone();
        writers.spawn(async move {
            let name = ["even", "odd"][usize::from(n % 2)];
            journal.append(id(n), records(0, 100, [started_in(name, id(n))]), NODE).await.expect("a new session");
            for append in 0..10 {
                let added = records(1 + append * 2, 200, [said(&format!("{n} says {append}")), said("and more")]);
                journal.append(id(n), added, NODE).await.expect("it follows");
            }
        });
    }
    writers.join_all().await;
    for name in ["even", "odd"] {
        let log = read(&*journal, name).await;
        let places: Vec<u64> = log.iter().map(|(place, ..)| *place).collect();
        assert_eq!(places, (1..=u64::from(SESSIONS) / 2 * 21).collect::<Vec<_>>(), "places have no gaps");
        let mut sessions: BTreeMap<SessionId, Vec<Arc<Record>>> = BTreeMap::new();
        for (_, session, record) in log {
            sessions.entry(session).or_default().push(record);
        }
        assert_eq!(sessions.len(), usize::from(SESSIONS) / 2);
        for (session, records) in sessions {
            assert_eq!(journal.read_all(session).await, Ok(records), "a room holds its sessions whole and in order");
        }
    }
}
