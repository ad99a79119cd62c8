//! Appends that are committed together do not share each other's fate, unless the commit itself fails.

use futures_util::future::join_all;
use polylogue_core::id::Seq;
use polylogue_runtime::{
    conformance::example::{NODE, id, records, said, started},
    port::{Journal, JournalError},
};
use polylogue_store::PostgresJournal;
use tokio_postgres::Client;

use crate::server::{elsewhere, new_store, open};

/// A store, and somebody else who can hold it up.
struct Held {
    journal: PostgresJournal,
    other: Client,
}

impl Held {
    async fn new() -> Held {
        let url = new_store();
        Held { journal: open(&url).await, other: elsewhere(&url).await }
    }

    /// Makes the database do this whenever a record with `poison` in it is written.
    async fn poison(&self, action: &str) {
        let sql = format!(
            "CREATE TABLE debts (session_id uuid REFERENCES sessions (id) DEFERRABLE INITIALLY DEFERRED);
             CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {action}; RETURN new; END $$;
             CREATE TRIGGER poison AFTER INSERT ON journal FOR EACH ROW WHEN (new.event LIKE '%poison%')
             EXECUTE FUNCTION poison()"
        );
        self.other.batch_execute(&sql).await.expect("a trigger");
    }

    /// Appends to one new session for each first line, while the list of sessions is locked until all of them wait. The
    /// first alone is a group; the others are the next, since the writer waits with the first.
    async fn append_together(&self, lines: &[&str]) -> Vec<Result<(), JournalError>> {
        self.other.batch_execute("BEGIN; LOCK TABLE sessions IN EXCLUSIVE MODE").await.expect("a lock");
        let appends = join_all((1..).zip(lines).map(|(n, line)| {
            let after = if *line == "late" { 5 } else { 0 };
            let batch = records(after, 100, [started(id(n), "goal"), said(line)]);
            self.journal.append(id(n), batch, NODE)
        }));
        let (answers, given_back) = tokio::join!(appends, self.other.batch_execute("COMMIT"));
        given_back.expect("the lock given back");
        answers
    }

    async fn sessions(&self) -> Vec<u8> {
        let found = self.journal.find("", 9).await.expect("a list");
        (0..9).filter(|n| found.contains(&id(*n))).collect()
    }
}

#[tokio::test]
async fn one_that_is_fenced_or_cannot_be_written_leaves_the_others_alone() {
    let store = Held::new().await;
    store.poison("RAISE EXCEPTION 'too bitter'").await;
    let answers = store.append_together(&["a", "b", "late", "poison", "c"]).await;
    let fenced = Err(JournalError::Fenced { after: Seq::START });
    let bitter = Err(JournalError::Failed("too bitter".to_owned()));
    assert_eq!(answers, [Ok(()), Ok(()), fenced, bitter, Ok(())]);
    assert_eq!(store.sessions().await, [1, 2, 5]);
}

#[tokio::test]
async fn a_commit_that_fails_fails_for_all_and_leaves_nothing() {
    let store = Held::new().await;
    store.poison("INSERT INTO debts VALUES (gen_random_uuid())").await;
    let answers = store.append_together(&["poison"]).await;
    assert!(
        matches!(&answers[..], [Err(JournalError::Failed(problem))] if problem.contains("foreign key")),
        "{answers:?}"
    );
    assert!(store.sessions().await.is_empty());
    assert_eq!(store.append_together(&["a", "b"]).await, [Ok(()), Ok(())], "the store goes on");
    assert_eq!(store.sessions().await, [1, 2]);
}

/// Fifty sessions that append at once are a handful of transactions, not fifty.
#[tokio::test]
async fn what_waits_is_one_transaction() {
    let store = Held::new().await;
    let lines = ["line"; 50];
    let answers = store.append_together(&lines).await;
    assert_eq!(answers, vec![Ok(()); 50]);
    let transactions = "SELECT count(DISTINCT xmin::text) FROM sessions";
    let transactions: i64 = store.other.query_one(transactions, &[]).await.expect("a count").get(0);
    assert!(transactions <= 2, "{transactions} transactions");
}

/// What several want to append to one session comes one after the other, also when it waits together.
#[tokio::test]
async fn one_session_is_written_in_order() {
    let store = Held::new().await;
    let begun = records(0, 100, [started(id(1), "goal")]);
    let more = |n: u64| records(n, 200, [said(&format!("line {n}"))]);
    let appends = [begun, more(1), more(2), more(3)].map(|batch| store.journal.append(id(1), batch, NODE));
    assert_eq!(join_all(appends).await, vec![Ok(()); 4]);
    let places: Vec<u64> =
        store.journal.read(id(1), Seq::START, 9).await.expect("records").iter().map(|record| record.seq.0).collect();
    assert_eq!(places, [1, 2, 3, 4]);
}
