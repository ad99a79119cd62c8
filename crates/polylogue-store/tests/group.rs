//! Appends that are committed together do not share each other's fate, unless the commit itself fails.

use std::{future::Future, path::PathBuf, pin::Pin, time::Duration};

use futures_util::future::join_all;
use polylogue_core::id::Seq;
use polylogue_runtime::{
    conformance::example::{NODE, id, records, said, started},
    port::{Journal, JournalError},
};
use polylogue_store::SqliteJournal;
use rusqlite::Connection;
use tempfile::TempDir;

type Answer<'a> = Pin<Box<dyn Future<Output = Option<Result<(), JournalError>>> + Send + 'a>>;

struct Store {
    journal: SqliteJournal,
    path: PathBuf,
    _folder: TempDir,
}

impl Store {
    fn new() -> Store {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("store.db");
        Store { journal: SqliteJournal::open(&path).expect("a store"), path, _folder: folder }
    }

    /// Makes SQLite do this whenever a record with `poison` in it is written.
    fn poison(&self, action: &str) {
        let sql = format!(
            "CREATE TABLE debts (session INTEGER REFERENCES sessions (key) DEFERRABLE INITIALLY DEFERRED);
             CREATE TRIGGER poison AFTER INSERT ON journal WHEN new.event LIKE '%poison%' BEGIN {action}; END"
        );
        Connection::open(&self.path).expect("a database").execute_batch(&sql).expect("a trigger");
    }

    /// Appends to one new session for each first line, while the store is locked from elsewhere until all of
    /// them wait. The first alone is a group; the others are the next, since the writer waits with the first.
    async fn append_together(&self, lines: &[&str]) -> Vec<Result<(), JournalError>> {
        let elsewhere = Connection::open(&self.path).expect("a database");
        elsewhere.execute_batch("BEGIN IMMEDIATE").expect("a lock");
        let mut answers: Vec<Answer<'_>> = Vec::new();
        for (n, line) in (1..).zip(lines) {
            let after = if *line == "late" { 5 } else { 0 };
            let batch = records(after, 100, [started(id(n), "goal"), said(line)]);
            answers.push(Box::pin(async move { Some(self.journal.append(id(n), batch, NODE).await) }));
        }
        answers.push(Box::pin(async move {
            elsewhere.execute_batch("COMMIT").expect("the lock given back");
            None
        }));
        join_all(answers).await.into_iter().flatten().collect()
    }

    async fn sessions(&self) -> Vec<u8> {
        let found = self.journal.find("", 9).await.expect("a list");
        (0..9).filter(|n| found.contains(&id(*n))).collect()
    }
}

#[tokio::test]
async fn one_that_is_fenced_or_cannot_be_written_leaves_the_others_alone() {
    let store = Store::new();
    store.poison("SELECT RAISE(ABORT, 'too bitter')");
    let answers = store.append_together(&["a", "b", "late", "poison", "c"]).await;
    let fenced = Err(JournalError::Fenced { after: Seq::START });
    let bitter = Err(JournalError::Failed("too bitter".to_owned()));
    assert_eq!(answers, [Ok(()), Ok(()), fenced, bitter, Ok(())]);
    assert_eq!(store.sessions().await, [1, 2, 5]);
}

#[tokio::test]
async fn a_commit_that_fails_fails_for_all_and_leaves_nothing() {
    let store = Store::new();
    store.poison("INSERT INTO debts VALUES (-1)");
    let answers = store.append_together(&["poison"]).await;
    assert_eq!(answers, [Err(JournalError::Failed("FOREIGN KEY constraint failed".to_owned()))]);
    assert!(store.sessions().await.is_empty());
    assert_eq!(store.append_together(&["a", "b"]).await, [Ok(()), Ok(())], "the store goes on");
    assert_eq!(store.sessions().await, [1, 2]);
}

#[tokio::test]
async fn a_dropped_store_becomes_one_file_by_itself() {
    let Store { journal, path, _folder } = Store::new();
    journal.append(id(1), records(0, 100, [started(id(1), "goal")]), NODE).await.expect("a new session");
    assert!(path.with_extension("db-wal").exists());
    drop(journal);
    let one_file = async {
        while path.with_extension("db-wal").exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), one_file).await.expect("the writer ends by itself");
    let again = SqliteJournal::open(&path).expect("a store");
    assert_eq!(again.find("", 9).await, Ok(vec![id(1)]));
}
