//! What every implementation of a port does alike, as checks that panic with what was different.

pub mod example;
mod letters;
mod list;
mod memories;
mod nodes;
mod quotas;
mod rooms;

pub use self::memories::{remembers, scene};

use std::{collections::BTreeSet, ops::AsyncFn, sync::Arc};

use polylogue_core::{
    Reason, Record, Timestamp,
    format::{collaboration::reason, discussion::Who},
    id::{Seq, SessionId},
    projection::Status,
};
use tokio::task::JoinSet;

use self::example::{
    NODE, agent, discussion, ended, every_event, forked, id, records, resumed, said, started, turn_taken,
};
use crate::port::{CastNames, Journal, JournalError, Store, Summary};

/// Tries a store. `open` makes a new and empty one each time that it is called.
pub async fn store(open: impl AsyncFn() -> Arc<dyn Store>) {
    journal(&open).await;
    memories::follow_the_journals(&*open().await).await;
    memories::are_forgotten_for_good(&*open().await).await;
    rooms::rooms(open).await;
}

/// Tries the nodes of a store. Each node here lives for as long as the store is open.
pub async fn nodes(open: impl AsyncFn() -> Arc<dyn Store>) {
    nodes::the_one_who_appends_owns_a_session(&*open().await).await;
    nodes::what_waits_for_a_person_is_nobody_s(&*open().await).await;
    nodes::places_are_booked_at_the_roomiest_of_the_others(&*open().await).await;
    nodes::who_waited_long_enough_goes_on(&*open().await).await;
    nodes::what_a_node_leaves_is_taken_over_once(open().await).await;
    nodes::the_oldest_is_taken_over_first(&*open().await).await;
    nodes::a_node_whose_time_is_up_is_gone(&*open().await).await;
    nodes::what_ends_its_process_is_left_alone(&*open().await).await;
    nodes::who_leaves_in_good_order_was_not_ended_by_a_session(&*open().await).await;
    nodes::what_has_ended_is_owned_until_it_is_given_up(&*open().await).await;
    nodes::the_owner_hears_that_it_is_to_stop(&*open().await).await;
    letters::the_owner_finds_a_letter_until_it_is_answered(&*open().await).await;
    letters::nothing_is_left_for_nobody(&*open().await).await;
    letters::the_next_owner_finds_what_was_not_answered(&*open().await).await;
    letters::a_letter_lasts_for_its_time(&*open().await).await;
    letters::a_session_takes_its_letters_with_it(&*open().await).await;
    quotas::places_are_given_out_once(open().await).await;
    quotas::who_is_alone_gets_all_and_lets_go_of_it(&*open().await).await;
    quotas::the_places_of_who_is_gone_are_free(&*open().await).await;
    quotas::what_is_spent_is_added_up_by_day(open().await).await;
    quotas::what_a_tenant_spends_is_counted_apart(open().await).await;
}

async fn journal(open: &impl AsyncFn() -> Arc<dyn Store>) {
    every_event_is_read_back_as_it_was(&*open().await).await;
    pages_follow_each_other(&*open().await).await;
    an_unknown_session_is_empty(&*open().await).await;
    an_append_is_whole_or_not_at_all(&*open().await).await;
    a_writer_that_is_behind_is_fenced(&*open().await).await;
    a_journal_begins_with_its_start(&*open().await).await;
    one_of_many_racing_writers_wins(open().await).await;
    the_newest_session_is_listed_first(&*open().await).await;
    a_summary_follows_the_journal(&*open().await).await;
    a_fork_begins_when_it_is_forked(&*open().await).await;
    a_long_title_is_cut(&*open().await).await;
    sessions_are_found_by_how_their_id_begins(&*open().await).await;
    what_has_not_ended_is_left(&*open().await).await;
    what_waits_for_a_person_needs_nobody(&*open().await).await;
    list::sessions_are_searched_page_by_page(&*open().await).await;
    list::sessions_are_found_by_whom_they_belong_to(&*open().await).await;
    list::what_is_deleted_is_gone(&*open().await).await;
    list::what_somebody_runs_is_not_deleted(&*open().await).await;
    list::forks_know_where_they_come_from(&*open().await).await;
    sessions_written_at_once_keep_their_order(open().await).await;
}

async fn every_event_is_read_back_as_it_was(journal: &dyn Journal) {
    let mut written = records(0, 1_700_000_000_000, every_event(id(1)));
    journal.append(id(1), written.clone(), NODE).await.expect("all at once");
    assert_eq!(journal.read_all(id(1)).await.as_ref(), Ok(&written));

    let more = records(written.len() as u64, 0, every_event(id(1)));
    for record in &more {
        journal.append(id(1), vec![record.clone()], NODE).await.expect("one by one");
    }
    written.extend(more);
    assert_eq!(journal.read_all(id(1)).await, Ok(written));
}

async fn pages_follow_each_other(journal: &dyn Journal) {
    begin(journal, id(1), 100, 4).await;
    begin(journal, id(2), 100, 9).await;
    for (after, limit, expected) in [
        (0, 5, vec![1, 2, 3, 4, 5]),
        (0, 2, vec![1, 2]),
        (2, 2, vec![3, 4]),
        (4, 2, vec![5]),
        (3, usize::MAX, vec![4, 5]),
        (5, 2, vec![]),
        (u64::MAX, 2, vec![]),
        (0, 0, vec![]),
    ] {
        let page = journal.read(id(1), Seq(after), limit).await.expect("a page");
        let places: Vec<u64> = page.iter().map(|record| record.seq.0).collect();
        assert_eq!(places, expected, "at most {limit} after {after}");
    }
}

async fn an_unknown_session_is_empty(journal: &dyn Journal) {
    begin(journal, id(2), 100, 1).await;
    journal.append(id(1), Vec::new(), NODE).await.expect("nothing can always be added");
    assert_nothing_of(journal, id(1)).await;
}

async fn an_append_is_whole_or_not_at_all(journal: &dyn Journal) {
    let start = records(0, 100, [started(id(1), "goal"), said("one"), said("two")]);
    for gap in [[0, 2], [0, 0], [1, 0]] {
        let batch = gap.map(|at| start[at].clone()).to_vec();
        assert_fenced(journal.append(id(1), batch, NODE).await);
        assert_nothing_of(journal, id(1)).await;
    }
    journal.append(id(1), start.clone(), NODE).await.expect("it follows");
    let mut batch = records(3, 200, [said("three"), said("four"), ended(reason::FINAL)]);
    batch.remove(1);
    assert_fenced(journal.append(id(1), batch, NODE).await);
    assert_eq!(journal.read_all(id(1)).await.as_ref(), Ok(&start));
    assert_eq!(summary(journal).await, (Seq(3), Timestamp(102), None), "the list too is as it was");
}

async fn a_writer_that_is_behind_is_fenced(journal: &dyn Journal) {
    begin(journal, id(1), 100, 2).await;
    let before = journal.read_all(id(1)).await;
    for after in [1, 2, 4, 1_000] {
        let late = records(after, 200, [ended(reason::FINAL), resumed()]);
        assert_eq!(
            journal.append(id(1), late, NODE).await,
            Err(JournalError::Fenced { after: Seq(3) }),
            "after {after}"
        );
    }
    let again = records(0, 200, [started(id(1), "another")]);
    assert_eq!(journal.append(id(1), again, NODE).await, Err(JournalError::Fenced { after: Seq(3) }));
    let orphan = records(3, 200, [said("to nobody")]);
    assert_eq!(journal.append(id(2), orphan, NODE).await, Err(JournalError::Fenced { after: Seq(0) }));
    assert_eq!(journal.read_all(id(1)).await, before);
    assert_eq!(summary(journal).await, (Seq(3), Timestamp(102), None));
    assert_nothing_of(journal, id(2)).await;
}

async fn a_journal_begins_with_its_start(journal: &dyn Journal) {
    for first in [said("no start"), started(id(2), "the start of another")] {
        let refused = journal.append(id(1), records(0, 100, [first]), NODE).await;
        assert!(matches!(refused, Err(JournalError::Failed(_))), "{refused:?}");
        assert_nothing_of(journal, id(1)).await;
    }
}

async fn one_of_many_racing_writers_wins(journal: Arc<dyn Journal>) {
    begin(&*journal, id(1), 100, 0).await;
    for round in 1..=20 {
        let mut writers = JoinSet::new();
        for writer in 0..4 {
            let journal = journal.clone();
            let records = records(round, 100, [said(&format!("writer {writer}"))]);
            writers.spawn(async move { journal.append(id(1), records.clone(), NODE).await.map(|()| records) });
        }
        let (won, lost): (Vec<_>, Vec<_>) = writers.join_all().await.into_iter().partition(Result::is_ok);
        let [Ok(won)] = won.as_slice() else { panic!("{} writers won", won.len()) };
        assert_eq!(lost, vec![Err(JournalError::Fenced { after: Seq(round + 1) }); 3]);
        assert_eq!(journal.read(id(1), Seq(round), 9).await.as_ref(), Ok(won));
    }
}

async fn the_newest_session_is_listed_first(journal: &dyn Journal) {
    assert_eq!(journal.sessions(9).await, Ok(Vec::new()));
    for (n, at) in [(1, 300), (2, 100), (3, 200)] {
        begin(journal, id(n), at, 0).await;
    }
    assert_eq!(listed(journal, 9).await, [1, 3, 2].map(id));
    journal.append(id(2), records(1, 400, [said("the last word")]), NODE).await.expect("it follows");
    assert_eq!(listed(journal, usize::MAX).await, [2, 1, 3].map(id));
    assert_eq!(listed(journal, 2).await, [2, 1].map(id));
    assert_eq!(listed(journal, 0).await, []);
}

async fn a_summary_follows_the_journal(journal: &dyn Journal) {
    let steps = [
        (vec![started(id(1), "goal")], None),
        (vec![said("a"), ended(Reason::CANCELLED)], Some(Reason::CANCELLED)),
        (vec![resumed()], None),
        (vec![said("b")], None),
        (vec![ended(Reason::LIMIT_USD), resumed()], None),
        (vec![resumed(), ended(reason::NO_HANDOFF)], Some(reason::NO_HANDOFF)),
    ];
    let mut head = 0;
    for (events, reason) in steps {
        let added = records(head, 100 + head, events);
        head += added.len() as u64;
        journal.append(id(1), added, NODE).await.expect("it follows");
        let (format, title) = ("collaboration".to_owned(), "goal".to_owned());
        let (started_at, last_at, head) = (Timestamp(100), Timestamp(99 + head), Seq(head));
        let (is_waiting, is_owned, takeovers) = (false, false, 0);
        let (agents, people) = (["gpt", "Zoë 🎭"].map(str::to_owned).to_vec(), vec!["you there".to_owned()]);
        let (id, room, cast) = (id(1), None, CastNames { agents, people });
        let expected = Summary {
            id,
            format,
            title,
            cast,
            room,
            tenant: None,
            started_at,
            last_at,
            head,
            reason,
            is_waiting,
            is_owned,
            takeovers,
        };
        assert_eq!(journal.sessions(9).await, Ok(vec![expected]));
    }
}

async fn a_fork_begins_when_it_is_forked(journal: &dyn Journal) {
    let mut copy = records(0, 100, [started(id(2), "goal"), said("a"), ended(reason::FINAL), forked(id(0), 3)]);
    copy.extend(records(4, 500, [said("b"), forked(id(1), 5)]));
    journal.append(id(2), copy.clone(), NODE).await.expect("a whole journal at once");
    assert_eq!(journal.read_all(id(2)).await, Ok(copy));
    assert_eq!(summary(journal).await, (Seq(6), Timestamp(501), None));
    assert_eq!(journal.sessions(1).await.expect("a list")[0].started_at, Timestamp(501));
    assert_eq!(left(journal).await, [id(2)]);
}

async fn a_long_title_is_cut(journal: &dyn Journal) {
    let goal = "é".repeat(Summary::MAX_TITLE_CHARS * 2);
    journal.append(id(1), records(0, 100, [started(id(1), &goal)]), NODE).await.expect("it follows");
    let title = journal.sessions(1).await.expect("a list").remove(0).title;
    assert_eq!(title, "é".repeat(Summary::MAX_TITLE_CHARS));
}

async fn sessions_are_found_by_how_their_id_begins(journal: &dyn Journal) {
    let [low, middle, high] = [0x00, 0xab, 0xac].map(id);
    for session in [high, low, middle] {
        begin(journal, session, 100, 0).await;
    }
    let full = middle.to_string();
    let (upper, longer, unhyphenated) = (full.to_uppercase(), format!("{full}0"), full.replace('-', ""));
    for (prefix, limit, expected) in [
        ("", 9, vec![low, middle, high]),
        ("", 2, vec![low, middle]),
        ("a", 9, vec![middle, high]),
        ("a", 1, vec![middle]),
        ("AB", 9, vec![middle]),
        ("ac", 9, vec![high]),
        ("00000000-0000-4", 9, vec![low]),
        ("0", 0, vec![]),
        ("abababab", 9, vec![middle]),
        ("abababab-", 9, vec![middle]),
        (&full, 9, vec![middle]),
        (&upper, 9, vec![middle]),
        (&longer, 9, vec![]),
        (&unhyphenated, 9, vec![]),
        ("f", 9, vec![]),
        ("ab-", 9, vec![]),
        ("%", 9, vec![]),
        ("é", 9, vec![]),
    ] {
        assert_eq!(journal.find(prefix, limit).await, Ok(expected), "at most {limit} that begin with `{prefix}`");
    }
}

async fn what_has_not_ended_is_left(journal: &dyn Journal) {
    for (n, at) in [(1, 300), (2, 100), (3, 200)] {
        begin(journal, id(n), at, 0).await;
    }
    assert_eq!(left(journal).await, [1, 3, 2].map(id));
    journal.append(id(3), records(1, 400, [ended(reason::FINAL)]), NODE).await.expect("it follows");
    assert_eq!(left(journal).await, [1, 2].map(id));
    journal.append(id(3), records(2, 500, [resumed()]), NODE).await.expect("it follows");
    assert_eq!(left(journal).await, [3, 1, 2].map(id));
}

async fn what_waits_for_a_person_needs_nobody(journal: &dyn Journal) {
    let (person, agent) = (Who::Person("you there".parse().expect("a name")), Who::Agent(agent()));
    let steps = [
        (vec![discussion(id(1))], Status::Waiting),
        (vec![turn_taken(0, agent.clone(), None)], Status::Left),
        (vec![said("a"), turn_taken(1, person, None)], Status::Waiting),
        (vec![ended(Reason::CANCELLED)], Status::Ended),
        (vec![resumed()], Status::Waiting),
        (vec![turn_taken(0, agent, None)], Status::Left),
        (vec![ended(Reason::COMPLETED)], Status::Ended),
    ];
    let mut head = 0;
    for (events, status) in steps {
        let added = records(head, 100 + head, events);
        head += added.len() as u64;
        journal.append(id(1), added, NODE).await.expect("it follows");
        assert_eq!(journal.sessions(9).await.expect("a list")[0].status(), status, "at record {head}");
    }
}

async fn sessions_written_at_once_keep_their_order(journal: Arc<dyn Journal>) {
    const SESSIONS: u8 = 64;
    const APPENDS: u64 = 20;
    let mut writers = JoinSet::new();
    for n in 0..SESSIONS {
        let journal = journal.clone();
        writers.spawn(async move {
            let mut written = begin(&*journal, id(n), 100, 0).await;
            for append in 0..APPENDS {
                let added = records(1 + append * 2, 200, [said(&format!("{n} says {append}")), said("and more")]);
                journal.append(id(n), added.clone(), NODE).await.expect("it follows");
                written.extend(added);
            }
            (id(n), written)
        });
    }
    for (session, written) in writers.join_all().await {
        assert_eq!(journal.read_all(session).await, Ok(written));
    }
    let all: BTreeSet<SessionId> = listed(&*journal, usize::MAX).await.into_iter().collect();
    assert_eq!(all, (0..SESSIONS).map(id).collect());
}

/// Starts a session with this many lines after its first record.
async fn begin(journal: &dyn Journal, session: SessionId, at: u64, lines: usize) -> Vec<Arc<Record>> {
    let lines = (0..lines).map(|n| said(&format!("line {n}")));
    let written = records(0, at, [started(session, "goal")].into_iter().chain(lines));
    journal.append(session, written.clone(), NODE).await.expect("a new session");
    written
}

/// The sessions that nobody runs, the newest first. The node of these checks is nobody whom the store knows.
async fn left(journal: &dyn Journal) -> Vec<SessionId> {
    let sessions = journal.sessions(usize::MAX).await.expect("a list").into_iter();
    sessions.filter(|summary| summary.status() == Status::Left).map(|summary| summary.id).collect()
}

async fn listed(journal: &dyn Journal, limit: usize) -> Vec<SessionId> {
    journal.sessions(limit).await.expect("a list").into_iter().map(|summary| summary.id).collect()
}

/// What the list says about the only session.
async fn summary(journal: &dyn Journal) -> (Seq, Timestamp, Option<Reason>) {
    match journal.sessions(9).await.expect("a list").as_slice() {
        [one] => (one.head, one.last_at, one.reason),
        other => panic!("one session was begun, {} are listed", other.len()),
    }
}

async fn assert_nothing_of(journal: &dyn Journal, session: SessionId) {
    assert_eq!(journal.read_all(session).await, Ok(Vec::new()));
    assert_eq!(journal.find(&session.to_string(), 9).await, Ok(Vec::new()));
    assert!(!listed(journal, usize::MAX).await.contains(&session));
}

fn assert_fenced(result: Result<(), JournalError>) {
    assert!(matches!(result, Err(JournalError::Fenced { .. })), "{result:?}");
}
