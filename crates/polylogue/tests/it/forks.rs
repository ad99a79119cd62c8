//! Every kind of change that a fork can make, in every format where it means something, from the command line and over
//! HTTP: killed at its first ask, and resumed.

mod cases;

use serde_json::{Value, json};

use self::cases::{CASES, Case, EDITED, Kind, NOTE, PERSONA, WORDS};
use crate::{
    folder::{Folder, said},
    server::Server,
};

/// A session that was played to its end, and the record at which it is forked.
struct Played<'a> {
    case: &'a Case,
    folder: Folder,
    id: String,
    at: u64,
}

/// A fork that was killed, and has been resumed to its end.
struct Forked {
    session: String,
    /// The record that says what was changed.
    at: u64,
}

fn journal(folder: &Folder, session: &str) -> Vec<Value> {
    folder.run(&["sessions", "replay", session]).lines
}

/// The requests of a session after a record, each with who was asked.
fn requests(folder: &Folder, session: &str, after: u64) -> Vec<(String, String)> {
    let records = journal(folder, session);
    let asked = records.iter().filter(|record| record["type"] == "asked" && record["seq"].as_u64() > Some(after));
    asked
        .map(|record| {
            let request = folder.run(&["sessions", "show", session, "--at", &record["seq"].to_string()]);
            (record["ask"]["agent"].as_str().unwrap().to_owned(), request.lines[0].to_string())
        })
        .collect()
}

impl Played<'_> {
    fn of(case: &Case) -> Played<'_> {
        let folder = case.folder();
        let id = case.play(&folder);
        let shown = folder.run(&["sessions", "show", &id]);
        let at = said(shown.result()).iter().position(|line| line == case.line);
        let at = at.unwrap_or_else(|| panic!("{}: {:?}", case.format, said(shown.result())));
        let at = shown.result()["lines"][at]["seq"].as_u64().unwrap();
        Played { case, folder, id, at }
    }

    /// Forks it from the command line with this change, kills the fork at its first ask, and resumes it.
    fn by_command(&self, kind: Kind) -> Forked {
        let Played { case, folder, id, at } = self;
        case.write(folder, true);
        let (at, flags) = (at.to_string(), case.flags(kind));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut fork = folder.start(&[&["sessions", "fork", id, "--at", &at], &flags[..]].concat());
        let is_forked = fork.read_until(|record| record["type"] == "forked");
        assert!(is_forked, "{} {kind:?} does not fork: {:?}", case.format, fork.seen.last());
        let at = fork.seen.last().unwrap()["seq"].as_u64().unwrap();
        let is_asked = fork.read_until(|record| record["type"] == "asked");
        assert!(is_asked, "{} {kind:?} asks nobody: {:?}", case.format, fork.seen.last());
        let session = fork.session();
        fork.kill();

        case.write(folder, false);
        let resumed = folder.run(&["sessions", "resume", &session]);
        assert_eq!(resumed.status, 0, "{} {kind:?}: {:?} {}", case.format, resumed.lines.last(), resumed.stderr);
        Forked { session, at }
    }

    /// The same over HTTP: the server is killed, and the next one goes on with the fork.
    fn over_http(&self, kind: Kind) -> Forked {
        let Played { case, folder, id, at } = self;
        case.write(folder, true);
        let server = Server::start(folder, &[]);
        let (status, begun) = server.post(&format!("/v1/sessions/{id}/fork"), &case.body(kind, *at));
        assert_eq!(status, 202, "{} {kind:?}: {begun}", case.format);
        let session = begun["sessionId"].as_str().unwrap().to_owned();
        let mut records = server.watch(&session);
        let mut forked = None;
        loop {
            let (seq, record) = records.next().unwrap_or_else(|| panic!("{} {kind:?} asks nobody", case.format));
            match record["type"].as_str() {
                Some("forked") => forked = Some(seq),
                Some("asked") if forked.is_some() => break,
                _ => {}
            }
        }
        server.kill();

        case.write(folder, false);
        let server = Server::start(folder, &[]);
        let mut records = server.watch(&session);
        while records.next().is_some() {}
        Forked { session, at: forked.unwrap() }
    }

    /// The change is in the journal, and holds to the end.
    fn holds(&self, kind: Kind, forked: &Forked) {
        let Played { case, folder, id, .. } = self;
        let name = format!("{} {kind:?}", case.format);
        let Forked { session, at } = forked;
        assert_ne!(session, id);
        let result = folder.run(&["sessions", "show", session]);
        assert_eq!(result.result()["status"], "ended", "{name}");
        let records = journal(folder, session);
        let change = &records.iter().find(|record| record["type"] == "forked").unwrap()["change"];
        let asked = requests(folder, session, *at);
        let with = |text: &str| asked.iter().filter(|(_, request)| request.contains(text)).count();
        let [_, other] = case.agents;
        let of_other: Vec<&String> = asked.iter().filter(|(who, _)| who == other).map(|(_, request)| request).collect();
        assert!(!of_other.is_empty(), "{name}: {asked:?}");
        match kind {
            Kind::Edit => {
                assert_eq!(change["edit"], EDITED, "{name}");
                let lines = said(result.result());
                let edited = case.line.replace(WORDS, EDITED);
                assert!(lines.contains(&edited) && !lines.contains(&case.line.to_owned()), "{name}: {lines:?}");
                assert_eq!(with("One red house"), 0, "{name}: the old words are still told");
                assert!(with(EDITED) > 0, "{name}: {asked:?}");
            }
            Kind::Persona => {
                assert_eq!(change["personas"][other], PERSONA, "{name}");
                assert!(of_other.iter().all(|request| request.contains(PERSONA)), "{name}: {of_other:?}");
            }
            Kind::Model => {
                let recast = change["recast"].as_array().unwrap();
                assert_eq!((recast.len(), &recast[0]["agent"]), (1, &json!(other)), "{name}: {change}");
                let log = folder.path("others.jsonl");
                let calls = std::fs::read_to_string(&log).unwrap_or_default();
                assert!(calls.lines().count() > 0, "{name}: the other model was not asked");
                std::fs::remove_file(log).unwrap();
            }
            Kind::Note | Kind::NoteToOne => {
                assert_eq!(change["notes"][0]["text"], NOTE, "{name}");
                assert!(of_other[0].contains(NOTE), "{name}: {of_other:?}");
                let to = if kind == Kind::NoteToOne { json!(other) } else { Value::Null };
                assert_eq!(change["notes"][0]["to"], to, "{name}");
            }
        }
        let before = journal(folder, id);
        assert!(before.iter().all(|record| record["type"] != "forked"), "{name}: the first session stays as it was");
    }
}

/// Each format by itself, at the same time.
fn in_each_format(test: impl Fn(&Played<'_>) + Sync) {
    std::thread::scope(|scope| {
        for case in &CASES {
            scope.spawn(|| test(&Played::of(case)));
        }
    });
}

#[test]
fn each_kind_of_change_holds_in_each_format_wherever_the_fork_is_killed() {
    in_each_format(|played| {
        for kind in played.case.kinds() {
            played.holds(*kind, &played.by_command(*kind));
        }
        if !played.case.takes_notes {
            let at = played.at.to_string();
            let refused = played.folder.run(&["sessions", "fork", &played.id, "--at", &at, "--note", "Hm."]);
            assert_ne!(refused.status, 0, "{}: {:?}", played.case.format, refused.lines.last());
        }
    });
}

#[test]
fn each_holds_over_http_though_the_server_is_killed() {
    in_each_format(|played| {
        for kind in played.case.kinds() {
            played.holds(*kind, &played.over_http(*kind));
        }
        let server = Server::start(&played.folder, &[]);
        let fork = |body: &Value| server.post(&format!("/v1/sessions/{}/fork", played.id), body);
        if !played.case.takes_notes {
            let (status, refused) = fork(&played.case.body(Kind::Note, played.at));
            assert_eq!((status, &refused["error"]["code"]), (409, &json!("CONFLICT")), "{refused}");
        }
        let mut closed = played.case.body(Kind::Model, played.at);
        closed["models"] = json!({ played.case.agents[1]: "script/persona.md" });
        assert_eq!(fork(&closed).0, 400, "{}: a model that is not open", played.case.format);
    });
}

#[test]
fn all_changes_can_be_made_at_once() {
    in_each_format(|played| {
        let Played { case, folder, id, at } = played;
        let server = Server::start(folder, &[]);
        let mut body = json!({});
        for kind in case.kinds() {
            body.as_object_mut().unwrap().extend(case.body(*kind, *at).as_object().unwrap().clone());
        }
        let (status, begun) = server.post(&format!("/v1/sessions/{id}/fork"), &body);
        assert_eq!(status, 202, "{}: {begun}", case.format);
        let session = begun["sessionId"].as_str().unwrap().to_owned();
        let mut records = server.watch(&session);
        let mut forked = None;
        while let Some((seq, record)) = records.next() {
            forked = forked.or((record["type"] == "forked").then_some(seq));
        }
        let forked = Forked { session, at: forked.unwrap() };
        for kind in case.kinds().iter().filter(|kind| **kind != Kind::Note) {
            played.holds(*kind, &forked);
        }
    });
}
