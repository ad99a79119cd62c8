//! What goes wrong before anything runs: one clear line that says what to do, the right status, nothing lost.

use crate::folder::{Folder, example_config};

/// A command, its exit status, and what its one line of error says.
fn check(folder: &Folder, args: &[&str], status: i32, code: &str, parts: &[&str]) {
    let plain = folder.output(args);
    let stderr = String::from_utf8(plain.stderr).unwrap();
    assert_eq!(plain.status.code(), Some(status), "{args:?}: {stderr}");
    assert!(plain.stdout.is_empty(), "{args:?} wrote to standard output");
    assert_eq!(stderr.lines().count(), 1, "{args:?} says it in one line: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{args:?}: `{part}` is not in: {stderr}");
    }
    let here = folder.path("").canonicalize().unwrap();
    assert!(!stderr.contains(here.to_str().unwrap()), "{args:?} tells a path of the machine: {stderr}");

    let json = folder.run(args);
    assert_eq!(json.status, status);
    assert_eq!(json.lines.len(), 1, "{args:?}");
    assert_eq!(json.lines[0]["success"], false);
    assert_eq!(json.lines[0]["error"]["code"], code, "{args:?}");
    assert!(json.lines[0]["error"]["message"].as_str().is_some_and(|message| stderr.contains(message)));
}

#[test]
fn what_cannot_be_run_says_what_to_do() {
    let folder = Folder::without_cache();
    let example = example_config();
    folder.write("broken.yaml", "replies:\n  - {agent: gpt, reply: hi\n");
    folder.write("typo.yaml", "replies:\n  - {agnet: gpt, reply: hi}\n");
    folder.write("typo.toml", "[limits]\nmax_dollars = 3\n");
    folder.write("broken.toml", "[limits\n");
    folder.write(
        "notes.txt",
        "This file is no database, but a note of some length, longer than a header of SQLite is.\n".repeat(20).as_str(),
    );
    std::fs::create_dir(folder.path("folder")).unwrap();
    let go = |more: &[&'static str]| -> Vec<String> {
        ["collaborate", "Go."].iter().chain(more).map(|arg| (*arg).to_owned()).collect()
    };
    let with_example = |more: &[&'static str]| -> Vec<String> {
        let mut args = go(more);
        args.extend(["--config".to_owned(), example.clone()]);
        args
    };
    let cases: Vec<(Vec<String>, i32, &str, &[&str])> = vec![
        (
            go(&[]),
            2,
            "INVALID_CONFIG",
            &["polylogue models pull", "OPENAI_API_KEY", "--model", "examples/collaboration"],
        ),
        (
            with_example(&["--between", "gpt,bob"]),
            2,
            "INVALID_CONFIG",
            &["no agent `bob`", "claude, gpt", "[agents.bob]"],
        ),
        (with_example(&["--start", "bob"]), 2, "INVALID_CONFIG", &["`bob` does not take part", "gpt, claude"]),
        (with_example(&["--between", "gpt"]), 2, "INVALID_CONFIG", &["two agents or more"]),
        (with_example(&["--between", "gpt,gpt"]), 2, "INVALID_CONFIG", &["two participants are called `gpt`"]),
        (with_example(&["--max-rounds", "0"]), 2, "INVALID_CONFIG", &["rounds is 0", "from 1 to"]),
        (go(&["--model", "script/none.yaml"]), 2, "INVALID_CONFIG", &["script none.yaml", "no such file"]),
        (go(&["--model", "script/broken.yaml"]), 2, "INVALID_CONFIG", &["broken.yaml does not parse", "line"]),
        (go(&["--model", "script/typo.yaml"]), 2, "INVALID_CONFIG", &["typo.yaml does not parse", "agnet", "line 2"]),
        (go(&["--model", "nonsense"]), 2, "INVALID_CONFIG", &["nonsense", "provider/model"]),
        (go(&["--config", "none.toml"]), 2, "INVALID_CONFIG", &["none.toml", "no such file"]),
        (go(&["--config", "typo.toml"]), 2, "INVALID_CONFIG", &["typo.toml, line 2", "max_dollars", "max_usd"]),
        (go(&["--config", "broken.toml"]), 2, "INVALID_CONFIG", &["broken.toml, line 1"]),
        (go(&["--store", "mysql://x"]), 2, "INVALID_CONFIG", &["mysql://x", "sqlite:FILE"]),
        (with_example(&["--store", "sqlite:notes.txt"]), 1, "INTERNAL", &["notes.txt"]),
        (with_example(&["--store", "sqlite:folder"]), 1, "INTERNAL", &["folder"]),
        (with_example(&["--store", "sqlite:notes.txt/x.db"]), 1, "INTERNAL", &["notes.txt"]),
    ];
    for (args, status, code, parts) in cases {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        check(&folder, &args, status, code, parts);
    }
    for (args, status, code, parts) in [
        (["sessions", "show", "abc"], 1, "NOT_FOUND", ["no session `abc`", "sessions list"]),
        (["sessions", "resume", "last"], 1, "NOT_FOUND", ["no session `last`", "sessions list"]),
    ] {
        check(&folder, &args, status, code, &parts);
    }
    assert_eq!(std::fs::read_to_string(folder.path("notes.txt")).unwrap().lines().count(), 20, "it was left alone");
}

#[test]
fn a_command_line_that_cannot_be_understood_is_bad_usage() {
    let folder = Folder::new();
    let plain = folder.output(&["collaborate"]);
    assert_eq!(plain.status.code(), Some(2));
    let json = folder.run(&["collaborate", "Go.", "--max-rounds", "many"]);
    assert_eq!((json.status, &json.lines[0]["error"]["code"]), (2, &"INVALID_REQUEST".into()));
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    let folder = Folder::new();
    let run = folder.run(&["collaborate", "Say hello.", "--config", &example_config()]);
    let id = run.result()["sessionId"].as_str().unwrap().to_owned();
    let store = rusqlite::Connection::open(folder.path("data/polylogue.db")).unwrap();
    let changed =
        store.execute(r#"UPDATE journal SET event = replace(event, '"version":1', '"version":2')"#, []).unwrap();
    assert!(changed > 0);
    drop(store);
    for command in ["show", "resume", "replay", "export"] {
        check(
            &folder,
            &["sessions", command, &id],
            1,
            "INTERNAL",
            &["newer Polylogue", "version 2", "update Polylogue"],
        );
    }
    let store = rusqlite::Connection::open(folder.path("data/polylogue.db")).unwrap();
    let records: u32 = store.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap();
    assert_eq!(records as usize, run.lines.len() - 1);
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let folder = Folder::new();
    folder.run(&["collaborate", "Say hello.", "--config", &example_config()]);
    let store = rusqlite::Connection::open(folder.path("data/polylogue.db")).unwrap();
    store.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    check(&folder, &["sessions", "list"], 1, "INTERNAL", &["newer", "update Polylogue"]);
}
