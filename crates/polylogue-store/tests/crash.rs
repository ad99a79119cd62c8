//! A process that is killed while it writes loses nothing that was confirmed, and leaves nothing half written.

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use polylogue_core::{
    Record,
    id::{Seq, SessionId},
};
use polylogue_runtime::{
    conformance::example::{NODE, id, records, said, started},
    port::Journal,
};
use polylogue_store::SqliteJournal;
use tempfile::TempDir;

/// Where the writing process finds its store. Only the test below sets it.
const STORE: &str = "POLYLOGUE_CRASH_TEST_STORE";
const SESSIONS: u8 = 4;
/// Records in each append.
const BATCH: u64 = 3;
/// The writing process ends by itself after so many appends to a session, in case that nobody kills it.
const MAX_APPENDS: u64 = 20_000;

#[tokio::test]
async fn what_was_confirmed_survives_a_kill() {
    let folder = TempDir::new().expect("a folder");
    let store = folder.path().join("store.db");
    let mut confirmed: BTreeMap<SessionId, u64> = BTreeMap::new();
    for lines in [1, 2, 7, 40, 200, 1_000] {
        confirmed.extend(write_and_kill(&store, lines));

        let journal = SqliteJournal::open(&store).expect("a store that was left by a crash");
        for n in 0..SESSIONS {
            let found = (&journal as &dyn Journal).read_all(id(n)).await.expect("a readable journal");
            let head = found.len() as u64;
            assert!(head >= confirmed.get(&id(n)).copied().unwrap_or(0), "session {n} lost what was confirmed");
            assert_eq!(head % BATCH, 0, "session {n} has a part of an append");
            let expected: Vec<Arc<Record>> = (0..head / BATCH).flat_map(|append| batch(n, append)).collect();
            assert_eq!(found, expected);
        }
        journal.close().await;
    }
    assert_eq!(confirmed.len(), usize::from(SESSIONS));
}

/// The writing process: this same program, told to run only this. In an ordinary run it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_until_killed() {
    let Some(store) = env::var_os(STORE) else { return };
    let journal = Arc::new(SqliteJournal::open(store).expect("a store"));
    let writers = (0..SESSIONS).map(|n| {
        let journal = journal.clone();
        tokio::spawn(async move {
            let written = (&*journal as &dyn Journal).read_all(id(n)).await.expect("a readable journal");
            for append in written.len() as u64 / BATCH..MAX_APPENDS {
                let batch = batch(n, append);
                let Seq(head) = batch[batch.len() - 1].seq;
                journal.append(id(n), batch, NODE).await.expect("it follows");
                // In one piece, so that the four writers do not mix their lines.
                let line = format!("confirmed {n} {head}\n");
                std::io::stdout().lock().write_all(line.as_bytes()).expect("somebody who reads");
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("no panic");
    }
}

fn batch(n: u8, append: u64) -> Vec<Arc<Record>> {
    let first = if append == 0 { started(id(n), "goal") } else { said(&format!("{n} says {append}")) };
    records(append * BATCH, 1_000 + append, [first, said(&"long ".repeat(append as usize % 500)), said("short")])
}

/// What the process confirmed before it died; it is killed when this many lines have been read.
fn write_and_kill(store: &Path, lines: usize) -> BTreeMap<SessionId, u64> {
    let child = Command::new(env::current_exe().expect("this program"))
        .args(["--exact", "writes_until_killed", "--nocapture"])
        .env(STORE, store)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program again");
    let mut child = Killed(child);
    let output = BufReader::new(child.0.stdout.take().expect("a pipe"));
    let mut confirmed = BTreeMap::new();
    let mut read = 0;
    // What was in the pipe when it died counts too.
    for line in output.lines() {
        let line = line.expect("text");
        let Some((n, head)) = parse(&line) else { continue };
        confirmed.insert(id(n), head);
        read += 1;
        if read == lines {
            child.0.kill().expect("a process to kill");
        }
    }
    assert!(read >= lines, "the writing process ended after {read} appends");
    confirmed
}

fn parse(line: &str) -> Option<(u8, u64)> {
    let (n, head) = line.strip_prefix("confirmed ")?.split_once(' ')?;
    Some((n.parse().ok()?, head.parse().ok()?))
}

/// A process that does not outlive the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It is dead already unless the test has failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
