//! Who owns what, and what becomes of it when a node is gone.

use std::{sync::Arc, time::Duration};

use polylogue_core::{
    Event, Reason,
    format::{collaboration::reason, discussion::Who, scene},
    id::{AskId, LineId, Seq, SessionId},
    projection::Status,
};
use tokio::task::JoinSet;

use super::example::{agent, discussion, ended, id, records, resumed, said, started, turn_taken};
use crate::port::{JournalError, Living, MAX_TAKEOVERS, NodeId, Owned, Store};

const HERE: NodeId = NodeId::from_bytes([1; 16]);
const THERE: NodeId = NodeId::from_bytes([2; 16]);

/// Longer than any of these checks takes.
const LONG: Duration = Duration::from_secs(600);

pub(super) async fn the_one_who_appends_owns_a_session(store: &dyn Store) {
    both_are_known(store).await;
    begin(store, id(1), HERE).await;
    assert_eq!(status(store, id(1)).await, Status::Running);
    assert_eq!((owned(store, HERE).await, owned(store, THERE).await), (vec![id(1)], vec![]));
    let more = || records(1, 200, [said("more")]);
    assert_eq!(store.append(id(1), more(), THERE).await, Err(JournalError::Owned));
    assert_eq!(store.read_all(id(1)).await.map(|records| records.len()), Ok(1), "nothing was added");
    store.append(id(1), more(), HERE).await.expect("its owner goes on with it");
    assert_eq!(store.take_over(THERE, 9).await, Ok(vec![]), "it was not left");

    // What has ended is anybody's to go on with.
    store.append(id(1), records(2, 300, [ended(Reason::CANCELLED)]), HERE).await.expect("it follows");
    assert_eq!(status(store, id(1)).await, Status::Ended);
    store.append(id(1), records(3, 400, [resumed()]), THERE).await.expect("it follows");
    assert_eq!((owned(store, HERE).await, owned(store, THERE).await), (vec![], vec![id(1)]));
    assert_eq!(store.is_owned(id(1)).await, Ok(true));
    assert_eq!(store.is_owned(id(9)).await, Ok(false), "an unknown session is nobody's");
}

pub(super) async fn what_waits_for_a_person_is_nobody_s(store: &dyn Store) {
    both_are_known(store).await;
    let (person, agent) = (Who::Person("you there".parse().expect("a name")), Who::Agent(agent()));
    let steps = [
        (vec![discussion(id(1))], HERE, Status::Waiting, false),
        (vec![turn_taken(0, agent.clone(), None)], THERE, Status::Running, true),
        (vec![said("a"), turn_taken(1, person, None)], THERE, Status::Waiting, false),
        (vec![said("the last clip is made, say")], THERE, Status::Waiting, false),
        (vec![ended(Reason::CANCELLED)], HERE, Status::Ended, true),
        (vec![resumed()], THERE, Status::Waiting, false),
    ];
    let mut head = 0;
    for (events, node, expected, is_owned) in steps {
        let added = records(head, 100 + head, events);
        head += added.len() as u64;
        store.append(id(1), added, node).await.expect("it follows");
        assert_eq!(status(store, id(1)).await, expected, "at record {head}");
        assert_eq!(store.is_owned(id(1)).await, Ok(is_owned), "at record {head}");
        assert_eq!(store.take_over(HERE, 9).await, Ok(vec![]), "at record {head}");
    }
}

/// A session that waits for a person until some time is anybody's to go on with from then on.
pub(super) async fn who_waited_long_enough_goes_on(store: &dyn Store) {
    both_are_known(store).await;
    // Two of them are over at once, one is not over for more than a hundred years, and one never.
    let waits = [(1, Some(0)), (2, Some(u32::MAX)), (3, None), (4, Some(0))];
    for (n, seconds) in waits {
        begin(store, id(n), HERE).await;
        let wait = waited_for(seconds);
        store.append(id(n), records(1, 200, [wait]), HERE).await.expect("it follows");
        assert_eq!(status(store, id(n)).await, Status::Waiting);
    }
    store.append(id(4), records(2, 300, [waited_for(Some(u32::MAX))]), HERE).await.expect("it waits anew");
    let taken = store.take_over(THERE, 9).await.expect("a session");
    assert_eq!(taken, [Owned { session: id(1), head: Seq(2), is_to_stop: false }]);
    assert_eq!(store.take_over(HERE, 9).await, Ok(vec![]), "somebody sees to it");
    assert_eq!(store.append(id(1), records(2, 300, [said("late")]), HERE).await, Err(JournalError::Owned));

    // Whoever took it is gone before it could go on with it.
    store.keep_alive(THERE, Duration::ZERO).await.expect("the same node");
    assert_eq!(store.take_over(HERE, 9).await.expect("a session").len(), 1);
    store.append(id(1), records(2, 300, [passed_over()]), HERE).await.expect("it follows");
    assert_eq!(status(store, id(1)).await, Status::Running);
    assert_eq!(owned(store, HERE).await, [id(1)]);
    store.append(id(1), records(3, 400, [waited_for(None)]), HERE).await.expect("it follows");
    assert_eq!(store.take_over(HERE, 9).await, Ok(vec![]), "it waits however long it takes");
}

fn waited_for(seconds: Option<u32>) -> Event {
    Event::decision(scene::Decision::WaitBegun { characters: vec![agent()], seconds })
}

fn passed_over() -> Event {
    let ask = AskId { purpose: scene::purpose::ACT, turn: 0, agent: agent(), attempt: 1 };
    Event::decision(scene::Decision::PassedOver { ask })
}

pub(super) async fn what_a_node_leaves_is_taken_over_once(store: Arc<dyn Store>) {
    both_are_known(&*store).await;
    for n in 1..=40 {
        begin(&*store, id(n), HERE).await;
    }
    store.depart(HERE).await.expect("it was known");
    assert_eq!(status(&*store, id(1)).await, Status::Left);
    let mut takers = JoinSet::new();
    for n in 10..14 {
        let (store, node) = (store.clone(), NodeId::from_bytes([n; 16]));
        takers.spawn(async move {
            store.keep_alive(node, LONG).await.expect("a node");
            let mut taken = Vec::new();
            loop {
                let more = store.take_over(node, 3).await.expect("sessions");
                if more.is_empty() {
                    assert_eq!(owned(&*store, node).await.len(), taken.len());
                    return taken;
                }
                taken.extend(more.into_iter().map(|owned| owned.session));
            }
        });
    }
    let mut taken: Vec<SessionId> = takers.join_all().await.into_iter().flatten().collect();
    taken.sort();
    let mut all: Vec<SessionId> = (1..=40).map(id).collect();
    all.sort();
    assert_eq!(taken, all, "each by one of them");
    assert_eq!(store.append(id(1), records(1, 200, [said("late")]), HERE).await, Err(JournalError::Owned));
}

pub(super) async fn the_oldest_is_taken_over_first(store: &dyn Store) {
    both_are_known(store).await;
    for (n, at) in [(1, 300), (2, 100), (3, 200)] {
        store.append(id(n), records(0, at, [started(id(n), "goal")]), HERE).await.expect("a new session");
    }
    store.depart(HERE).await.expect("it was known");
    let first = store.take_over(THERE, 2).await.expect("sessions");
    let head = Seq(1);
    let expected = [2, 3].map(|n| Owned { session: id(n), head, is_to_stop: false });
    assert_eq!(sorted(first), sorted(expected.to_vec()));
    assert_eq!(owned(store, THERE).await.len(), 2);
    assert_eq!(store.take_over(THERE, 0).await, Ok(vec![]));
    assert_eq!(store.take_over(THERE, 9).await.expect("a session").len(), 1);
}

pub(super) async fn a_node_whose_time_is_up_is_gone(store: &dyn Store) {
    assert_eq!(store.keep_alive(HERE, Duration::ZERO).await, Ok(false), "a new node was never gone");
    assert_eq!(store.keep_alive(THERE, LONG).await, Ok(false));
    begin(store, id(1), HERE).await;
    assert_eq!(status(store, id(1)).await, Status::Left);
    assert_eq!(store.is_owned(id(1)).await, Ok(false));
    // It may only have seemed to be gone.
    assert_eq!(store.keep_alive(HERE, LONG).await, Ok(true), "and is told that it did");
    assert_eq!(store.keep_alive(HERE, LONG).await, Ok(false));
    assert_eq!(status(store, id(1)).await, Status::Running);
    assert_eq!(store.take_over(THERE, 9).await, Ok(vec![]));
    // When the machine slept, all seem to be gone: nobody takes over who does.
    for node in [HERE, THERE] {
        store.keep_alive(node, Duration::ZERO).await.expect("the same node");
    }
    assert_eq!(status(store, id(1)).await, Status::Left);
    assert_eq!(store.take_over(THERE, 9).await, Ok(vec![]));
    store.keep_alive(THERE, LONG).await.expect("the same node");
    store.keep_alive(HERE, Duration::ZERO).await.expect("the same node");
    store.append(id(1), records(1, 200, [resumed()]), THERE).await.expect("nobody who is alive owns it");
    store.keep_alive(HERE, LONG).await.expect("the same node");
    assert_eq!(store.append(id(1), records(2, 300, [said("late")]), HERE).await, Err(JournalError::Owned));
    let behind = store.append(id(1), records(1, 300, [said("late")]), HERE).await;
    assert!(matches!(behind, Err(JournalError::Owned | JournalError::Fenced { .. })), "{behind:?}");
}

pub(super) async fn what_ends_its_process_is_left_alone(store: &dyn Store) {
    let node = |n| NodeId::from_bytes([n; 16]);
    store.keep_alive(node(1), Duration::ZERO).await.expect("a node");
    begin(store, id(1), node(1)).await;
    // Those who take it over are gone before anything came of it, with or without having recorded that they did.
    let mut head = 1;
    for n in 2..2 + MAX_TAKEOVERS as u8 {
        store.keep_alive(node(n), LONG).await.expect("a node");
        assert_eq!(store.take_over(node(n), 9).await.expect("a session").len(), 1, "node {n}");
        if n == 2 {
            store.append(id(1), records(head, 200, [resumed()]), node(n)).await.expect("it follows");
            head += 1;
        }
        store.keep_alive(node(n), Duration::ZERO).await.expect("a node");
    }
    store.keep_alive(node(9), LONG).await.expect("a node");
    assert_eq!(store.take_over(node(9), 9).await, Ok(vec![]));
    let summary = store.sessions(9).await.expect("a list").remove(0);
    assert_eq!((summary.status(), summary.is_left_alone()), (Status::Left, true));

    // A person may go on with it, and then something has come of it.
    let events = [resumed(), Event::ClipFailed { line: LineId(1), error: String::new() }];
    store.append(id(1), records(head, 300, events), node(9)).await.expect("it follows");
    let summary = store.sessions(9).await.expect("a list").remove(0);
    assert_eq!((summary.status(), summary.takeovers), (Status::Running, 0));
}

pub(super) async fn who_leaves_in_good_order_was_not_ended_by_a_session(store: &dyn Store) {
    begin(store, id(1), HERE).await;
    for n in 10..20 {
        let node = NodeId::from_bytes([n; 16]);
        store.keep_alive(node, LONG).await.expect("a node");
        assert_eq!(store.take_over(node, 9).await.expect("a session").len(), 1, "node {n}");
        store.depart(node).await.expect("it was known");
    }
}

pub(super) async fn what_has_ended_is_owned_until_it_is_given_up(store: &dyn Store) {
    both_are_known(store).await;
    for n in [1, 2] {
        begin(store, id(n), HERE).await;
        store.append(id(n), records(1, 200, [ended(reason::FINAL)]), HERE).await.expect("it follows");
    }
    assert_eq!(owned(store, HERE).await.len(), 2);
    store.give_up(HERE, id(1), Seq(1)).await.expect("it is known");
    assert_eq!(owned(store, HERE).await.len(), 2, "there is a newer record");
    store.give_up(THERE, id(1), Seq(2)).await.expect("it is known");
    assert_eq!(owned(store, HERE).await.len(), 2, "it is not theirs");
    store.give_up(HERE, id(1), Seq(2)).await.expect("it is known");
    assert_eq!(owned(store, HERE).await, [id(2)]);
    // Nobody has seen to what is left of the other.
    store.depart(HERE).await.expect("it was known");
    let taken = store.take_over(THERE, 9).await.expect("a session");
    assert_eq!(taken.iter().map(|owned| owned.session).collect::<Vec<_>>(), [id(2)]);
    store.give_up(THERE, id(2), Seq(2)).await.expect("it is known");
    assert_eq!(store.take_over(THERE, 9).await, Ok(vec![]));
}

pub(super) async fn the_owner_hears_that_it_is_to_stop(store: &dyn Store) {
    both_are_known(store).await;
    begin(store, id(1), HERE).await;
    begin(store, id(2), HERE).await;
    assert_eq!(store.ask_to_stop(id(2)).await, Ok(Some(HERE)));
    assert_eq!(store.ask_to_stop(id(9)).await, Ok(None), "nothing happens");
    let to_stop = |owned: Vec<Owned>| -> Vec<SessionId> {
        owned.iter().filter(|owned| owned.is_to_stop).map(|owned| owned.session).collect()
    };
    assert_eq!(to_stop(store.owned(HERE).await.expect("sessions")), [id(2)]);
    let stopped = records(1, 200, [ended(Reason::CANCELLED), resumed()]);
    store.append(id(2), stopped, HERE).await.expect("it follows");
    assert_eq!(to_stop(store.owned(HERE).await.expect("sessions")), [], "it was stopped, and goes on");
}

pub(super) async fn places_are_booked_at_the_roomiest_of_the_others(store: &dyn Store) {
    both_are_known(store).await;
    assert_eq!(store.book(1, HERE).await, Ok(None), "nobody has told of any room");
    store.tell_room(HERE, 9).await.expect("it is written");
    store.tell_room(THERE, 3).await.expect("it is written");
    assert_eq!(store.book(4, HERE).await, Ok(None), "the other has not so much, and its own does not count");
    assert_eq!(store.book(2, HERE).await, Ok(Some(THERE)));
    assert_eq!(store.book(2, HERE).await, Ok(None), "what was booked is taken");
    assert_eq!(store.book(1, HERE).await, Ok(Some(THERE)));
    assert_eq!(store.book(1, THERE).await, Ok(Some(HERE)));
    begin(store, id(1), HERE).await;
    let (here, there) = (Living { node: HERE, room: 8, sessions: 1 }, Living { node: THERE, room: 0, sessions: 0 });
    let mut both = vec![here, there];
    both.sort_by_key(|living| living.node);
    assert_eq!(store.living().await, Ok(both));
    // A node that is gone has no room, and is not there.
    store.keep_alive(HERE, Duration::ZERO).await.expect("it is written");
    assert_eq!(store.book(1, THERE).await, Ok(None));
    assert_eq!(store.living().await, Ok(vec![there]));
}

async fn both_are_known(store: &dyn Store) {
    for node in [HERE, THERE] {
        store.keep_alive(node, LONG).await.expect("a node");
    }
}

async fn begin(store: &dyn Store, session: SessionId, node: NodeId) {
    store.append(session, records(0, 100, [started(session, "goal")]), node).await.expect("a new session");
}

async fn owned(store: &dyn Store, node: NodeId) -> Vec<SessionId> {
    let mut owned: Vec<SessionId> =
        store.owned(node).await.expect("sessions").into_iter().map(|owned| owned.session).collect();
    owned.sort();
    owned
}

async fn status(store: &dyn Store, session: SessionId) -> Status {
    let sessions = store.sessions(usize::MAX).await.expect("a list");
    sessions.iter().find(|summary| summary.id == session).expect("it is listed").status()
}

fn sorted(mut owned: Vec<Owned>) -> Vec<Owned> {
    owned.sort_by_key(|owned| owned.session);
    owned
}
