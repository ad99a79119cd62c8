//! Letters to the owners of sessions.

use std::time::Duration;

use polylogue_core::{Reason, id::SessionId};

use super::example::{ended, id, records, resumed, started};
use crate::port::{Fate, Letter, LetterId, NodeId, Store};

const HERE: NodeId = NodeId::from_bytes([1; 16]);
const THERE: NodeId = NodeId::from_bytes([2; 16]);

/// Longer than any of these checks takes.
const LONG: Duration = Duration::from_secs(600);

pub(super) async fn the_owner_finds_a_letter_until_it_is_answered(store: &dyn Store) {
    owned_here(store, &[id(1), id(2)]).await;
    let contents = ["{\"words\": \"naïve \\u0000 \u{1f600}\"}", "second", "third"];
    for (n, (session, content)) in [id(1), id(2), id(1)].into_iter().zip(contents).enumerate() {
        let posted = store.post(letter(n as u8, session, content), LONG).await;
        assert_eq!(posted, Ok(Some(HERE)), "who it is for");
    }
    let found = store.letters(HERE, 9).await.expect("letters");
    let expected: Vec<Letter> =
        [(0, id(1)), (1, id(2)), (2, id(1))].map(|(n, session)| letter(n, session, contents[usize::from(n)])).into();
    assert_eq!(found.iter().map(|posted| posted.letter.clone()).collect::<Vec<_>>(), expected, "the oldest first");
    assert!(found.iter().all(|posted| posted.to == HERE));
    assert_eq!(store.letters(HERE, 2).await.map(|found| found.len()), Ok(2), "no more than wanted");
    assert_eq!(store.letters(THERE, 9).await, Ok(vec![]), "nobody else does");

    assert_eq!(store.fate(name(1)).await, Ok(Fate::Unanswered));
    store.answer(name(1), "taken").await.expect("it is there");
    store.answer(name(1), "refused").await.expect("it is there");
    assert_eq!(store.fate(name(1)).await, Ok(Fate::Answered("taken".into())), "the first answer counts");
    assert_eq!(names(store, HERE).await, [name(0), name(2)]);

    for n in [0, 1] {
        store.withdraw(name(n)).await.expect("it is there");
        assert_eq!(store.fate(name(n)).await, Ok(Fate::Gone));
    }
    assert_eq!(names(store, HERE).await, [name(2)]);
    // What comes too late is for nobody.
    store.answer(name(0), "taken").await.expect("nothing happens");
    store.withdraw(name(9)).await.expect("nothing happens");
    assert_eq!(store.fate(name(0)).await, Ok(Fate::Gone));
    assert_eq!(store.fate(name(9)).await, Ok(Fate::Gone));
}

pub(super) async fn nothing_is_left_for_nobody(store: &dyn Store) {
    owned_here(store, &[id(1)]).await;
    assert_eq!(store.post(letter(1, id(9), "to nobody"), LONG).await, Ok(None), "there is no such session");
    store.keep_alive(HERE, Duration::ZERO).await.expect("a node");
    assert_eq!(store.post(letter(2, id(1), "to the dead"), LONG).await, Ok(None), "its owner is gone");
    store.depart(HERE).await.expect("it was known");
    assert_eq!(store.post(letter(3, id(1), "to nobody"), LONG).await, Ok(None), "it has no owner");
    for n in [1, 2, 3] {
        assert_eq!(store.fate(name(n)).await, Ok(Fate::Gone), "letter {n}");
    }
}

pub(super) async fn the_next_owner_finds_what_was_not_answered(store: &dyn Store) {
    owned_here(store, &[id(1)]).await;
    for n in [1, 2] {
        store.post(letter(n, id(1), "words"), LONG).await.expect("an owner");
    }
    store.answer(name(1), "taken").await.expect("it is there");
    store.depart(HERE).await.expect("it was known");
    assert_eq!(store.letters(HERE, 9).await, Ok(vec![]));
    assert_eq!(store.take_over(THERE, 9).await.expect("a session").len(), 1);
    let found = store.letters(THERE, 9).await.expect("letters");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].letter.id, found[0].to), (name(2), HERE), "it is told whom it was written to");
}

pub(super) async fn a_letter_lasts_for_its_time(store: &dyn Store) {
    owned_here(store, &[id(1)]).await;
    assert_eq!(store.post(letter(1, id(1), "for no time"), Duration::ZERO).await, Ok(Some(HERE)));
    assert_eq!(names(store, HERE).await, []);
    assert_eq!(store.fate(name(1)).await, Ok(Fate::Gone));
    assert_eq!(store.post(letter(2, id(1), "for longer"), LONG).await, Ok(Some(HERE)));
    assert_eq!(names(store, HERE).await, [name(2)]);
}

pub(super) async fn a_session_takes_its_letters_with_it(store: &dyn Store) {
    owned_here(store, &[id(1)]).await;
    store.post(letter(1, id(1), "words"), LONG).await.expect("an owner");
    store.append(id(1), records(1, 200, [ended(Reason::CANCELLED), resumed()]), HERE).await.expect("it follows");
    assert_eq!(names(store, HERE).await, [name(1)]);
    store.depart(HERE).await.expect("it was known");
    assert_eq!(store.delete(id(1)).await, Ok(true));
    assert_eq!(store.fate(name(1)).await, Ok(Fate::Gone));
}

async fn owned_here(store: &dyn Store, sessions: &[SessionId]) {
    for node in [HERE, THERE] {
        store.keep_alive(node, LONG).await.expect("a node");
    }
    for session in sessions {
        store.append(*session, records(0, 100, [started(*session, "goal")]), HERE).await.expect("a new session");
    }
}

async fn names(store: &dyn Store, node: NodeId) -> Vec<LetterId> {
    store.letters(node, 9).await.expect("letters").into_iter().map(|posted| posted.letter.id).collect()
}

fn letter(n: u8, session: SessionId, content: &str) -> Letter {
    Letter { id: name(n), session, content: content.into() }
}

fn name(n: u8) -> LetterId {
    LetterId::from_bytes([n; 16])
}
