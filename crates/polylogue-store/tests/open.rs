//! What a store says when it cannot be opened or read, and how it ends.

use std::{fs, path::Path, time::Duration};

use futures_util::future::join_all;
use polylogue_core::{event::Unreadable, format::collaboration::reason::FINAL};
use polylogue_runtime::{
    conformance::example::{NODE, ended, id, records, said, started},
    port::{Journal, JournalError, Rooms},
};
use polylogue_store::{OpenError, SqliteJournal};
use rusqlite::Connection;
use tempfile::TempDir;

/// What opening `name` in a folder says, with the folder left out.
#[track_caller]
fn refusal(folder: &Path, name: &str) -> String {
    let error = SqliteJournal::open(folder.join(name)).expect_err(name).to_string();
    assert!(!error.contains('\n'), "{error}");
    error.replace(folder.to_str().expect("a name in UTF-8"), "…")
}

#[test]
fn a_store_that_cannot_be_opened_says_what_to_do() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("folder")).expect("a folder");
    fs::write(at("short.txt"), "no").expect("a file");
    fs::write(at("notes.txt"), "not a database\n".repeat(1_000)).expect("a file");
    let foreign = Connection::open(at("bookmarks.db")).expect("a database");
    foreign.execute_batch("CREATE TABLE bookmarks (url TEXT)").expect("a table");
    drop(SqliteJournal::open(at("newer.db")).expect("a store"));
    let newer = Connection::open(at("newer.db")).expect("a database");
    newer.pragma_update(None, "user_version", 99).expect("a version");

    assert!(matches!(SqliteJournal::open(""), Err(OpenError::Folder { store }) if store.is_empty()));
    for (name, expected) in [
        ("folder", "`…/folder` is a folder: name a file for the store, for example one inside it"),
        ("short.txt", "`…/short.txt` is not a Polylogue store: name another file, or move this one away"),
        ("notes.txt", "`…/notes.txt` is not a Polylogue store: name another file, or move this one away"),
        ("bookmarks.db", "`…/bookmarks.db` is not a Polylogue store: name another file, or move this one away"),
        ("notes.txt/a.db", "the store `…/notes.txt/a.db` lies below a file, not a folder: name another place"),
        ("notes.txt/b/a.db", "the store `…/notes.txt/b/a.db` lies below a file, not a folder: name another place"),
        (
            "newer.db",
            "the store `…/newer.db` was written by a newer Polylogue (store version 99, this one reads up to 11): update Polylogue to open it",
        ),
    ] {
        assert_eq!(refusal(folder.path(), name), expected);
    }
    assert_eq!(fs::read(at("short.txt")).expect("the file"), b"no", "what is not a store is left as it is");
    let tables: i64 = foreign.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).expect("a count");
    assert_eq!(tables, 1);
}

/// Nobody, root included, may make files there.
#[cfg(target_os = "linux")]
#[test]
fn a_store_in_a_forbidden_place_says_so() {
    for name in ["store.db", "folder/store.db"] {
        let expected = format!(
            "no permission to read and write the store `…/{name}`: give yourself access to the file and its folder, or name another place"
        );
        assert_eq!(refusal(Path::new("/sys"), name), expected);
    }
}

#[tokio::test]
async fn folders_are_made_and_a_store_made_by_many_at_once_is_one() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("a/b/store.db");
    let openers: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || SqliteJournal::open(path).expect("a store"))
        })
        .collect();
    let stores: Vec<SqliteJournal> = openers.into_iter().map(|opener| opener.join().expect("no panic")).collect();
    stores[0].append(id(1), records(0, 100, [started(id(1), "goal")]), NODE).await.expect("a new session");
    assert_eq!(stores[3].find("", 9).await, Ok(vec![id(1)]));
}

/// Two processes that begin at once on no store at all: the one that comes second waits for the first.
#[test]
fn a_store_that_somebody_is_making_is_waited_for() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("store.db");
    let other = Connection::open(&path).expect("a database");
    other.pragma_update(None, "application_id", 0x506c_6f67).expect("our mark");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock for writing");
    let (opened, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || opened.send(SqliteJournal::open(path).map(drop)));
    assert!(heard.recv_timeout(Duration::from_millis(100)).is_err(), "it is not refused while somebody writes");
    other.execute_batch("COMMIT").expect("the end of the writing");
    assert_eq!(heard.recv(), Ok(Ok(())));
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_told_from_a_store_that_fails() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("store.db");
    let journal = SqliteJournal::open(&path).expect("a store");
    journal.append(id(1), records(0, 100, [started(id(1), "goal"), said("a")]), NODE).await.expect("a new session");
    let elsewhere = Connection::open(&path).expect("a database");
    for (event, expected) in [
        (r#"{"type":"sang"}"#, Unreadable::Unknown("sang".to_owned())),
        (r#"{"type":"resumed","version":9}"#, Unreadable::Newer { version: 9 }),
        ("", Unreadable::Damaged("EOF while parsing a value at line 1 column 0".to_owned())),
    ] {
        elsewhere.execute("UPDATE journal SET event = ?1 WHERE seq = 2", [event]).expect("an update");
        let read = (&journal as &dyn Journal).read_all(id(1)).await;
        assert_eq!(read, Err(JournalError::Unreadable(expected)));
    }
}

#[tokio::test]
async fn a_closed_store_is_one_file_and_refuses_more() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("store.db");
    let journal = SqliteJournal::open(&path).expect("a store");
    journal.append(id(1), records(0, 100, [started(id(1), "goal")]), NODE).await.expect("a new session");
    // Reads that are under way when it closes are finished or refused, and do not keep the file open.
    let reads = join_all((0..20).map(|_| journal.sessions(9)));
    tokio::join!(reads, journal.close());
    journal.close().await;
    let files: Vec<_> =
        fs::read_dir(folder.path()).expect("the folder").map(|file| file.expect("a file").file_name()).collect();
    assert_eq!(files, ["store.db"]);
    let closed = Err(JournalError::Failed("it is closed".to_owned()));
    assert_eq!(journal.append(id(1), records(1, 200, [ended(FINAL)]), NODE).await, closed);
    assert_eq!(journal.find("", 9).await.map(drop), closed);
}

/// Files that earlier versions left are brought to this one, and what is in them stays.
#[tokio::test]
async fn a_store_of_an_earlier_version_goes_on() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("store.db");
    let older = Connection::open(&path).expect("a database");
    older.execute_batch(include_str!("../src/sqlite/schema/1_journal.sql")).expect("the tables of version 1");
    older.pragma_update(None, "application_id", 0x506c_6f67).expect("our mark");
    older.pragma_update(None, "user_version", 1).expect("a version");
    let (id, record) = (id(1), started(id(1), "goal").encode());
    older
        .execute("INSERT INTO sessions VALUES (1, ?1, 'collaboration', 'goal', 1, 1, 1, NULL, 1)", [id.as_bytes()])
        .expect("a session");
    older.execute("INSERT INTO journal (place, at, event) VALUES ((1 << 32) + 1, 1, ?1)", [record]).expect("a record");
    drop(older);
    let journal = SqliteJournal::open(&path).expect("a store");
    journal.append(id, records(1, 200, [ended(FINAL)]), NODE).await.expect("it follows");
    assert_eq!((&journal as &dyn Journal).read_all(id).await.map(|records| records.len()), Ok(2));
    assert_eq!(journal.rooms(None, 9).await, Ok(vec![]));
}

/// The lists do not get slower with the sessions that they do not show.
#[test]
fn what_is_asked_often_has_an_index() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("store.db");
    let _journal = SqliteJournal::open(&path).expect("a store");
    let connection = Connection::open(&path).expect("a database");
    for (query, index) in [
        ("SELECT id, title FROM sessions ORDER BY last_at DESC, id DESC LIMIT 9", "sessions_newest"),
        ("SELECT id FROM sessions WHERE reason IS NULL AND waiting = 0 ORDER BY started_at, id", "sessions_unfinished"),
        ("SELECT name FROM rooms ORDER BY last_at DESC, name DESC LIMIT 9", "rooms_newest"),
        ("SELECT record FROM room_log WHERE room = 1 AND n > 4 ORDER BY n LIMIT 9", "PRIMARY KEY (room=? AND n>?)"),
        ("SELECT room FROM room_sessions WHERE session = 1", "INTEGER PRIMARY KEY"),
        ("SELECT id FROM sessions WHERE id BETWEEN x'00' AND x'ff' ORDER BY id", "sqlite_autoindex_sessions_1"),
    ] {
        let plan: String = connection
            .query_row(&format!("EXPLAIN QUERY PLAN {query}"), [], |row| row.get(3))
            .expect("a plan of one step");
        assert!(plan.contains(index), "{plan}");
    }
}
