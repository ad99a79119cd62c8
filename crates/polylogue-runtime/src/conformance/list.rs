//! The part of the suite that is about finding sessions, and about deleting them.

use std::time::Duration;

use polylogue_core::{
    Reason,
    format::collaboration::reason,
    id::{Seq, SessionId},
    projection::Status,
};

use super::{
    assert_nothing_of, begin,
    example::{NODE, discussion, ended, forked, id, records, said, started, started_by, started_in},
};
use crate::port::{JournalError, NodeId, Search, Store};

async fn found(store: &dyn Store, search: Search) -> Vec<SessionId> {
    let found = store.search(&search).await.expect("a list");
    for summary in &found {
        assert!(search.finds(summary), "{summary:?} is not looked for");
    }
    found.into_iter().map(|summary| summary.id).collect()
}

pub(super) async fn sessions_are_searched_page_by_page(store: &dyn Store) {
    for (n, title) in [(1, "Über den Wolken"), (2, "a well"), (3, "A WELL, 100 %")] {
        store.append(id(n), records(0, 300, [started(id(n), title)]), NODE).await.expect("a new session");
    }
    store.append(id(4), records(0, 200, [discussion(id(4))]), NODE).await.expect("a new session");
    store.append(id(5), records(0, 100, [started_in("lobby", id(5))]), NODE).await.expect("a new session");
    store.append(id(2), records(1, 300, [ended(Reason::CANCELLED)]), NODE).await.expect("it follows");

    // Those of the same time are in the order of their ids, and pages follow each other without a gap.
    let mut all = Vec::new();
    let mut before = None;
    loop {
        let page = store.search(&Search { before, limit: 2, ..Search::default() }).await.expect("a page");
        let Some(last) = page.last() else { break };
        assert_eq!(last.place().to_string().parse(), Ok(last.place()), "a place is read as it is written");
        before = Some(last.place());
        all.extend(page.into_iter().map(|summary| summary.id));
    }
    assert_eq!(all, [3, 2, 1, 4, 5].map(id));

    let everything = Search { limit: 9, ..Search::default() };
    let text = |text: &str| Search { text: Some(text.to_owned()), ..everything.clone() };
    let status = |status| Search { status: Some(status), ..everything.clone() };
    let format = |format: &str| Search { format: Some(format.to_owned()), ..everything.clone() };
    for (search, expected) in [
        (text(""), vec![3, 2, 1, 4, 5]),
        (text("well"), vec![3, 2]),
        (text(" WELL "), vec![3, 2]),
        (text("über"), vec![1]),
        (text("100 %"), vec![3]),
        (text("%"), vec![3]),
        (text("_"), vec![]),
        (status(Status::Ended), vec![2]),
        (status(Status::Waiting), vec![4]),
        (status(Status::Left), vec![3, 1, 5]),
        (status(Status::Running), vec![]),
        (format("discussion"), vec![4]),
        (format("Discussion"), vec![]),
        (Search { room: Some("lobby".parse().expect("a room")), ..everything.clone() }, vec![5]),
        (Search { room: Some("Lobby".parse().expect("a room")), ..everything.clone() }, vec![]),
        (Search { limit: 1, ..status(Status::Left) }, vec![3]),
        (Search { limit: 0, ..everything.clone() }, vec![]),
    ] {
        let expected: Vec<SessionId> = expected.into_iter().map(id).collect();
        assert_eq!(found(store, search.clone()).await, expected, "{search:?}");
    }
    let rooms: Vec<Option<String>> = store
        .search(&everything)
        .await
        .expect("a list")
        .into_iter()
        .map(|summary| summary.room.map(|room| room.to_string()))
        .collect();
    assert_eq!(rooms, [None, None, None, None, Some("lobby".to_owned())]);
}

pub(super) async fn sessions_are_found_by_whom_they_belong_to(store: &dyn Store) {
    store.append(id(1), records(0, 100, [started(id(1), "goal")]), NODE).await.expect("a new session");
    for (n, tenant) in [(2, "app"), (3, "App"), (4, "app")] {
        store.append(id(n), records(0, 100, [started_by(tenant, id(n))]), NODE).await.expect("a new session");
    }
    let fork = records(0, 100, [started_by("app", id(5)), forked(id(2), 1)]);
    store.append(id(5), fork, NODE).await.expect("a fork");
    for (tenant, expected) in [("app", vec![5, 4, 2]), ("App", vec![3]), ("other", vec![])] {
        let search = Search { tenant: Some(tenant.parse().expect("a name")), limit: 9, ..Search::default() };
        let expected: Vec<SessionId> = expected.into_iter().map(id).collect();
        assert_eq!(found(store, search).await, expected, "{tenant}");
    }
    let everybody = store.sessions(9).await.expect("a list").into_iter();
    let tenants: Vec<Option<String>> = everybody.map(|one| one.tenant.map(|tenant| tenant.to_string())).collect();
    let expected = [Some("app"), Some("app"), Some("App"), Some("app"), None];
    assert_eq!(tenants, expected.map(|tenant| tenant.map(str::to_owned)));
}

pub(super) async fn what_is_deleted_is_gone(store: &dyn Store) {
    begin(store, id(1), 100, 3).await;
    let other = begin(store, id(2), 200, 3).await;
    store.append(id(3), records(0, 300, [discussion(id(3))]), NODE).await.expect("a new session");
    for (n, was_there) in [(1, true), (3, true), (1, false), (9, false)] {
        assert_eq!(store.delete(id(n)).await, Ok(was_there), "session {n}");
        assert_nothing_of(store, id(n)).await;
    }
    assert_eq!(store.read_all(id(2)).await, Ok(other), "another session is another");
    let late = store.append(id(1), records(4, 400, [said("late")]), NODE).await;
    assert_eq!(late, Err(JournalError::Fenced { after: Seq(0) }), "who went on with it is fenced off");
    let again = begin(store, id(3), 500, 1).await;
    assert_eq!(store.read_all(id(3)).await, Ok(again), "nothing of before is in a new one");
}

pub(super) async fn what_somebody_runs_is_not_deleted(store: &dyn Store) {
    let node = NodeId::from_bytes([7; 16]);
    store.keep_alive(node, Duration::from_secs(60)).await.expect("a node");
    let begun = records(0, 100, [started(id(1), "goal")]);
    store.append(id(1), begun.clone(), node).await.expect("a new session");
    assert_eq!(store.delete(id(1)).await, Err(JournalError::Owned));
    store.append(id(1), records(1, 200, [ended(reason::FINAL)]), node).await.expect("it follows");
    assert_eq!(store.delete(id(1)).await, Err(JournalError::Owned), "its files are being made");
    assert_eq!(store.read(id(1), Seq::START, 1).await, Ok(begun));
    store.give_up(node, id(1), Seq(2)).await.expect("given up");
    assert_eq!(store.delete(id(1)).await, Ok(true));
    store.append(id(2), records(0, 100, [started(id(2), "goal")]), node).await.expect("a new session");
    store.depart(node).await.expect("gone");
    assert_eq!(store.delete(id(2)).await, Ok(true), "what was left is nobody's");
}

pub(super) async fn forks_know_where_they_come_from(store: &dyn Store) {
    begin(store, id(1), 100, 1).await;
    let fork = records(0, 200, [started(id(2), "goal"), forked(id(1), 2)]);
    store.append(id(2), fork, NODE).await.expect("a fork");
    let of_the_fork = records(0, 300, [started(id(3), "goal"), forked(id(1), 2), forked(id(2), 2)]);
    store.append(id(3), of_the_fork, NODE).await.expect("a fork of the fork");
    for (of, expected) in [(vec![1], vec![2, 3]), (vec![2], vec![3]), (vec![3, 9], vec![]), (vec![1, 2], vec![2, 3])] {
        let (of, expected): (Vec<_>, Vec<_>) =
            (of.into_iter().map(id).collect(), expected.into_iter().map(id).collect());
        assert_eq!(store.forks(&of).await, Ok(expected), "of {of:?}");
    }
    assert_eq!(store.delete(id(2)).await, Ok(true));
    assert_eq!(store.forks(&[id(1)]).await, Ok(vec![id(3)]), "it comes from the first all the same");
}
