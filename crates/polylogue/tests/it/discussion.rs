//! Discussions on the real server and its tables, read with plain SQL; and `polylogue discuss`.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{crash::lost_are_charged, folder::Folder, server::Server};

/// Three agents that one script plays; the reply of this agent in this round takes longer than any test.
fn prepare(folder: &Folder, slow: Option<(&str, u64)>) {
    let agents = ["max", "sue", "sam"].map(|name| format!("[agents.{name}]\nmodel = \"script/replies.yaml\"\n"));
    folder.write("polylogue.toml", &agents.concat());
    let mut script = "log: calls.jsonl\nreplies:\n".to_owned();
    for round in 1..=3 {
        for agent in ["max", "sue", "sam"] {
            let delay = if slow == Some((agent, round)) { "600s" } else { "1ms" };
            script += &format!(
                "  - {{agent: {agent}, turn: {round}, delay: {delay}, reply: \"{agent} in round {round}.\\n\\nada: No.\"}}\n"
            );
        }
    }
    folder.write("replies.yaml", &script);
}

fn four() -> Value {
    json!({"title": "The roof", "participants": [
        {"role": "user", "userId": "ada"},
        {"role": "manager", "agent": "max"},
        {"role": "specialist", "agent": "sue", "aiModelConfig": {"temperature": 0.5, "maxTokens": 200, "stop": ["\n\n"]}},
        {"role": "specialist", "agent": "sam", "ai_model_config": {}},
    ]})
}

fn created(server: &Server) -> String {
    let (status, state) = server.post("/api/discussions", &four());
    assert_eq!(status, 201, "{state}");
    state["project"]["id"].as_str().unwrap().to_owned()
}

fn message(round: u64) -> Value {
    json!({"message": format!("Word {round}."), "userId": "ada"})
}

/// What is expected of a discussion after so many turns.
fn expected(turns: usize) -> Vec<String> {
    let speakers = ["ada", "max", "sue", "sam"];
    let line = |turn: usize| match (turn / 4 + 1, turn % 4) {
        (round, 0) => format!("{round}.0 ada: Word {round}."),
        (round, at) => format!("{round}.{at} {0}: {0} in round {round}.", speakers[at]),
    };
    (0..turns).map(line).collect()
}

fn entries(state: &Value) -> Vec<String> {
    let entry = |entry: &Value| {
        let (round, turn) = (&entry["roundNumber"], &entry["turnIndex"]);
        format!("{round}.{turn} {}: {}", entry["speaker"].as_str().unwrap(), entry["content"].as_str().unwrap())
    };
    state["entries"].as_array().unwrap().iter().map(entry).collect()
}

fn store(folder: &Folder) -> Connection {
    Connection::open(folder.path("data/polylogue.db")).unwrap()
}

/// The rows of a query, as JSON values.
fn rows(store: &Connection, query: &str, id: &str) -> Vec<Vec<Value>> {
    let mut query = store.prepare(query).unwrap();
    let columns = query.column_count();
    let value = |row: &rusqlite::Row<'_>, at: usize| -> rusqlite::Result<Value> {
        Ok(match row.get_ref(at)? {
            rusqlite::types::ValueRef::Null => Value::Null,
            rusqlite::types::ValueRef::Integer(number) => number.into(),
            other => other.as_str().unwrap().into(),
        })
    };
    let found = query.query_map([id], |row| (0..columns).map(|at| value(row, at)).collect()).unwrap();
    found.collect::<rusqlite::Result<_>>().unwrap()
}

/// The tables say what the API says, which is made of the journal.
fn tables_agree(folder: &Folder, state: &Value) {
    let store = store(folder);
    let id = state["project"]["id"].as_str().unwrap();
    let logs = rows(
        &store,
        "SELECT id, project_id, agent_id, role, content, turn_index, round_number, metadata, created_at
         FROM discussion_logs WHERE project_id = ? ORDER BY round_number, turn_index",
        id,
    );
    let keys = ["id", "projectId", "agentId", "role", "content", "turnIndex", "roundNumber"];
    let entries = state["entries"].as_array().unwrap();
    assert_eq!(logs.len(), entries.len());
    for (row, entry) in logs.iter().zip(entries) {
        assert_eq!(row[..7].iter().collect::<Vec<_>>(), keys.map(|key| &entry[key]));
        let metadata: Value = serde_json::from_str(row[7].as_str().unwrap()).unwrap();
        assert_eq!((&metadata, &row[8]), (&entry["metadata"], &entry["createdAt"]));
    }
    let project = &state["project"];
    let standing = rows(
        &store,
        "SELECT current_turn_index, current_round, status, discussion_state.updated_at, title, max_rounds
         FROM discussion_state JOIN projects ON projects.id = project_id WHERE project_id = ?",
        id,
    );
    let keys = ["currentTurnIndex", "currentRound", "status", "updatedAt", "title", "maxRounds"];
    assert_eq!(standing, [keys.map(|key| project[key].clone()).to_vec()]);
    let seats = rows(
        &store,
        "SELECT p.id, agent_id, p.name, role, sequence_order, a.name FROM discussion_participants p
         LEFT JOIN agent_templates a ON a.id = agent_id WHERE p.project_id = ? ORDER BY sequence_order",
        id,
    );
    for (row, seat) in seats.iter().zip(project["participants"].as_array().unwrap()) {
        assert_eq!(
            row[..5].iter().collect::<Vec<_>>(),
            ["id", "agentId", "name", "role", "sequenceOrder"].map(|key| &seat[key])
        );
        assert_eq!(row[5], if row[3] == "user" { Value::Null } else { row[2].clone() });
    }
    assert_eq!(seats.len(), state["speakerOrder"].as_array().unwrap().len());
    let orphans: u32 = store.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(orphans, 0);
}

/// The discussion once nobody runs it: it is a person's turn, or it is over.
fn settled(server: &Server, id: &str) -> Value {
    while server.get(&format!("/v1/sessions/{id}"))["status"] == "running" {}
    server.get(&format!("/api/discussions/{id}"))
}

#[test]
fn the_checklist_of_the_source_document() {
    let folder = Folder::new();
    prepare(&folder, None);
    let server = Server::start(&folder, &[]);
    let id = created(&server);
    let path = format!("/api/discussions/{id}");
    let store = store(&folder);
    let participants = rows(
        &store,
        "SELECT role, sequence_order, agent_id IS NULL FROM discussion_participants
         WHERE project_id = ? ORDER BY sequence_order",
        &id,
    );
    assert_eq!(
        json!(participants),
        json!([["user", 0, 1], ["manager", 1, 0], ["specialist", 2, 0], ["specialist", 3, 0]])
    );
    let standing = |id: &str| {
        let query = "SELECT current_turn_index, current_round, status FROM discussion_state WHERE project_id = ?";
        json!(rows(&store, query, id))
    };
    assert_eq!(standing(&id), json!([[0, 1, "active"]]));
    let configs =
        rows(&store, "SELECT name, ai_model_config FROM agent_templates WHERE project_id = ? ORDER BY name", &id);
    let configs: BTreeMap<&str, Value> = configs
        .iter()
        .map(|row| (row[0].as_str().unwrap(), serde_json::from_str(row[1].as_str().unwrap()).unwrap()))
        .collect();
    assert_eq!(configs["max"]["stop"], json!(["[", "\n\n", "Speaker:"]));
    assert_eq!((&configs["sue"]["stop"], &configs["sue"]["temperature"]), (&json!(["\n\n"]), &json!(0.5)));
    assert_eq!(
        (&configs["sue"]["maxTokens"], &configs["sam"]["stop"]),
        (&json!(200), &json!(["[", "\n\n", "Speaker:"]))
    );

    for round in 1..=3 {
        let (status, state) = server.post(&path, &message(round));
        assert_eq!(status, 200, "{state}");
        let turns = 4 * round as usize;
        assert_eq!(entries(&state), expected(turns), "each reply is distinct, and no blob");
        let logs = rows(
            &store,
            "SELECT round_number, turn_index, role, content, agent_id IS NULL FROM discussion_logs
             WHERE project_id = ? ORDER BY created_at, round_number, turn_index",
            &id,
        );
        assert_eq!(logs.len(), turns);
        for (turn, row) in logs.iter().enumerate() {
            let role = ["user", "manager", "specialist", "specialist"][turn % 4];
            let content = expected(turns)[turn].split_once(": ").unwrap().1.to_owned();
            assert_eq!(json!(row), json!([turn / 4 + 1, turn % 4, role, content, i32::from(turn % 4 == 0)]));
        }
        let next = if round < 3 { json!([[0, round + 1, "active"]]) } else { json!([[3, 3, "completed"]]) };
        assert_eq!(standing(&id), next);
        assert_eq!(state["nextSpeaker"], if round < 3 { json!("ada") } else { Value::Null });
        tables_agree(&folder, &state);
    }
    let (status, refused) = server.post(&path, &message(4));
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("CONFLICT")));
    let state = server.get(&path);
    assert_eq!(entries(&state), expected(12), "nothing after completion");
    tables_agree(&folder, &state);
    // A fork is a discussion too, and leaves this one alone.
    let at = state["entries"][5]["metadata"]["seq"].clone();
    let (_, forked) = server.post(&format!("/v1/sessions/{id}/fork"), &json!({"at": at}));
    let forked = settled(&server, forked["sessionId"].as_str().unwrap());
    assert_eq!(entries(&forked), expected(8));
    assert_ne!(forked["entries"][0]["id"], state["entries"][0]["id"]);
    tables_agree(&folder, &forked);
    tables_agree(&folder, &state);
}

/// How often each ask reached the model.
fn calls(folder: &Folder) -> BTreeMap<String, usize> {
    let log = std::fs::read_to_string(folder.path("calls.jsonl")).unwrap_or_default();
    let mut calls = BTreeMap::new();
    for line in log.lines() {
        let call: Value = serde_json::from_str(line).unwrap();
        let ask = format!("{} {}", call["ask"]["turn"], call["ask"]["agent"].as_str().unwrap());
        *calls.entry(ask).or_default() += 1;
    }
    calls
}

#[test]
fn killed_at_every_append_and_begun_again() {
    for round in [1, 2, 3] {
        for slow in [Some((1, "max")), Some((2, "sue")), Some((3, "sam")), None] {
            let folder = Folder::new();
            prepare(&folder, slow.map(|(_, agent)| (agent, round)));
            let server = Server::start(&folder, &[]);
            let id = created(&server);
            let path = format!("/api/discussions/{id}");
            for earlier in 1..round {
                assert_eq!(server.post(&path, &message(earlier)).0, 200);
            }
            let taken = 4 * (round as usize - 1) + slow.map_or(4, |(before, _)| before);
            let post = server.begin(&path, "k", &message(round));
            while server.get(&path)["entries"].as_array().unwrap().len() < taken {}
            if let Some((_, agent)) = slow {
                // A person's words are recorded before anybody is asked because of them.
                let is_slow = |record: &Value| record["type"] == "asked" && record["ask"]["agent"] == agent;
                let is_asked = |record: &Value| is_slow(record) && record["ask"]["turn"] == round;
                let mut records = server.watch(&id);
                while !is_asked(&records.next().expect("they are asked").1) {}
            }
            server.kill();
            drop(post);

            let before = calls(&folder);
            prepare(&folder, None);
            let server = Server::start(&folder, &[]);
            let state = settled(&server, &id);
            let at = format!("round {round}, {slow:?}");
            assert_eq!(entries(&state), expected(4 * round as usize), "{at}: it goes on by itself");
            tables_agree(&folder, &state);
            // Whoever saw no answer asks again, and nothing is doubled.
            let again = server.post_with(&path, "k", &message(round));
            assert_eq!(again, (200, state), "{at}");
            assert_eq!(lost_are_charged(&folder, &id), usize::from(slow.is_some()), "{at}: what was in flight is paid");
            for (ask, count) in calls(&folder) {
                let was_in_flight = slow.is_some_and(|(_, agent)| ask == format!("{round} {agent}"));
                assert_eq!(count, 1 + usize::from(was_in_flight && before.contains_key(&ask)), "{at}: {ask}");
            }
            for later in round + 1..=3 {
                assert_eq!(server.post(&path, &message(later)).0, 200);
            }
            let state = server.get(&path);
            assert_eq!((entries(&state), &state["project"]["status"]), (expected(12), &json!("completed")), "{at}");
            tables_agree(&folder, &state);
        }
    }
}

/// What a discussion that closes with a decision says at its end, after so many rounds.
fn decides(folder: &Folder, slow: bool) {
    let agents = ["max", "sue"].map(|name| format!("[agents.{name}]\nmodel = \"script/replies.yaml\"\n"));
    folder.write("polylogue.toml", &agents.concat());
    let delay = if slow { "600s" } else { "1ms" };
    let script = format!(
        "log: calls.jsonl\nreplies:\n  - {{purpose: decide, delay: {delay}, reply: \"We repair it.\"}}\n  - {{reply: \"It leaks.\"}}\n"
    );
    folder.write("replies.yaml", &script);
}

#[test]
fn a_discussion_closes_with_a_decision_though_its_process_is_killed() {
    let roof = json!({"title": "The roof", "maxRounds": 1, "closing": "decision", "participants": [
        {"role": "user", "userId": "ada"}, {"role": "manager", "agent": "max"}, {"role": "specialist", "agent": "sue"}]});
    let folder = Folder::new();
    decides(&folder, true);
    let server = Server::start(&folder, &[]);
    let (status, state) = server.post("/api/discussions", &roof);
    assert_eq!((status, &state["project"]["closing"]), (201, &json!("decision")), "{state}");
    let id = state["project"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/discussions/{id}");
    let post = server.begin(&path, "k", &message(1));
    while server.get(&path)["entries"].as_array().unwrap().len() < 3 {}
    let due = server.get(&path);
    assert_eq!((&due["nextSpeaker"], &due["project"]["status"]), (&json!("max"), &json!("active")));
    tables_agree(&folder, &due);
    // The process dies while the decision is written, and another goes on.
    while !std::fs::read_to_string(folder.path("calls.jsonl")).unwrap().contains("decide") {}
    server.kill();
    drop(post);
    decides(&folder, false);
    let server = Server::start(&folder, &[]);
    let state = settled(&server, &id);
    assert_eq!((&state["decision"], &state["project"]["status"]), (&json!("We repair it."), &json!("completed")));
    let said = ["1.0 ada: Word 1.", "1.1 max: It leaks.", "1.2 sue: It leaks.", "1.3 max: We repair it."];
    assert_eq!(entries(&state), said);
    assert_eq!(state["entries"][3]["metadata"]["kind"], "decision");
    assert_eq!(state["counts"], json!({"ada": 1, "max": 1, "sue": 1}));
    tables_agree(&folder, &state);
    assert_eq!(server.post_with(&path, "k", &message(1)).1, state, "asked again, nothing is doubled");
    // Another round is discussed, and decided anew.
    let (status, _) = server.post(&format!("/v1/sessions/{id}/resume"), &json!({"maxRounds": 2}));
    assert_eq!(status, 202);
    let state = settled(&server, &id);
    assert_eq!((&state["nextSpeaker"], &state["decision"]), (&json!("ada"), &Value::Null));
    tables_agree(&folder, &state);
    assert_eq!(server.post(&path, &message(2)).0, 200);
    let state = settled(&server, &id);
    assert_eq!(
        (&entries(&state)[7], &state["decision"]),
        (&"2.3 max: We repair it.".to_owned(), &json!("We repair it."))
    );
    tables_agree(&folder, &state);
}

#[test]
fn a_decision_on_the_command_line() {
    let folder = Folder::new();
    decides(&folder, false);
    let new = [
        "discuss",
        "new",
        "--title",
        "The roof",
        "--participant",
        "leader=max",
        "--participant",
        "specialist=sue",
        "--max-rounds",
        "2",
        "--closing",
        "decision",
    ];
    let run = folder.run(&new);
    assert_eq!((run.status, run.reason()), (0, "completed"), "{}", run.stderr);
    let said = run.said();
    assert_eq!(
        said[said.len() - 2..],
        ["max (decision): We repair it.", "router (router): Discussion completed with a decision."]
    );
    let shown = String::from_utf8(folder.output(&["discuss", "show", "last"]).stdout).unwrap();
    assert!(shown.contains("— the decision —") && shown.contains("We repair it."), "{shown}");
    let refused = folder.run(&[&new[..new.len() - 1], &["maybe"]].concat());
    assert_eq!(refused.status, 2, "{:?}", refused.lines);
}

#[test]
fn killed_at_any_moment_a_message_is_said_once() {
    for moment in 0..6 {
        let folder = Folder::new();
        prepare(&folder, None);
        let server = Server::start(&folder, &[]);
        let id = created(&server);
        let path = format!("/api/discussions/{id}");
        let post = server.begin(&path, "k", &message(1));
        (0..moment).for_each(|_| drop(server.get(&path)));
        server.kill();
        drop(post);
        let server = Server::start(&folder, &[]);
        let (status, state) = server.post_with(&path, "k", &message(1));
        assert_eq!((status, entries(&state)), (200, expected(4)), "after {moment} looks");
        tables_agree(&folder, &state);
    }
}

#[test]
fn fifty_at_once_with_posts_that_race() {
    let folder = Folder::new();
    prepare(&folder, None);
    let server = Server::start(&folder, &[]);
    let race = || {
        let id = created(&server);
        let path = format!("/api/discussions/{id}");
        let mut won = 0;
        while server.get(&path)["project"]["status"] == "active" {
            let post = |n: u64| server.post(&path, &json!({"message": format!("Word of {n}."), "userId": "ada"}));
            std::thread::scope(|scope| {
                let posts: Vec<_> = (0..4).map(|n| scope.spawn(move || post(n))).collect();
                for answer in posts {
                    let (status, body) = answer.join().unwrap();
                    match status {
                        200 => won += 1,
                        409 => assert_eq!(body["error"]["code"], "CONFLICT", "{body}"),
                        other => panic!("{other}: {body}"),
                    }
                }
            });
        }
        let state = server.get(&path);
        assert_eq!((won, state["entries"].as_array().unwrap().len()), (3, 12), "each turn is won once");
        tables_agree(&folder, &state);
    };
    std::thread::scope(|scope| {
        let races: Vec<_> = (0..50).map(|_| scope.spawn(race)).collect();
        races.into_iter().for_each(|race| race.join().unwrap());
    });
    let count = |query: &str| store(&folder).query_row(query, [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM projects"), 50);
    assert_eq!(count("SELECT count(*) FROM discussion_logs"), 600);
    assert_eq!(count("SELECT count(*) FROM discussion_state WHERE status = 'completed'"), 50);
    let said = "SELECT count(*) FROM journal WHERE json_extract(event, '$.type') = 'human_spoke'";
    assert_eq!(count(said), 150, "the journal agrees");
}

#[test]
fn from_one_command_to_the_next() {
    let folder = Folder::new();
    prepare(&folder, None);
    let seats = ["--participant", "user=ada", "--participant", "manager=max", "--participant", "specialist=sue"];
    let new = folder.run(&[&["discuss", "new", "--title", "The roof", "--max-rounds", "2"], &seats[..]].concat());
    assert_eq!((new.status, &new.result()["status"]), (0, &json!("waiting")), "{}", new.stderr);
    let id = new.result()["sessionId"].as_str().unwrap();
    let said = folder.run(&["discuss", "say", "last", "It leaks."]);
    assert_eq!((said.status, said.said().len()), (0, 3), "{}", said.stderr);
    for (args, status, code) in [
        (&["discuss", "say", id, " "][..], 2, "INVALID_REQUEST"),
        (&["discuss", "say", id, "Hi.", "--as", "eve"], 2, "INVALID_REQUEST"),
        (&["discuss", "say", "none", "Hi."], 1, "NOT_FOUND"),
        (&["discuss", "new", "--title", "T", "--participant", "king=max"], 2, "INVALID_REQUEST"),
        (&["discuss", "new", "--title", "T", "--participant", "manager"], 2, "INVALID_REQUEST"),
        (&["discuss", "new", "--title", "T", "--participant", "user"], 2, "INVALID_CONFIG"),
        (&["discuss", "new", "--title", "T", "--participant", "leader=bob"], 2, "INVALID_CONFIG"),
    ] {
        let refused = folder.run(args);
        assert_eq!((refused.status, &refused.lines[0]["error"]["code"]), (status, &json!(code)), "{args:?}");
    }
    let shown = folder.run(&["discuss", "show", id]).lines.remove(0);
    assert_eq!((entries(&shown).len(), &shown["nextSpeaker"]), (3, &json!("ada")));
    let end = folder.run(&["discuss", "say", id, "And now?", "--as", "ada"]);
    assert_eq!((end.status, end.reason()), (0, "completed"));
    let late = folder.run(&["discuss", "say", id, "More."]);
    assert_eq!((late.status, &late.lines[0]["error"]["code"]), (1, &json!("CONFLICT")));
    tables_agree(&folder, &folder.run(&["discuss", "show", id]).lines[0]);

    // The recorded conversation is one like all others.
    let replayed = folder.run(&["sessions", "replay", id]);
    assert_eq!(replayed.said(), end.said());
    let text = String::from_utf8(folder.output(&["sessions", "export", id]).stdout).unwrap();
    assert!(text.contains("\nada: It leaks.\n") && text.contains("\nmax: max in round 1.\n"), "{text}");
    let request = folder.run(&["sessions", "show", id, "--ask", "2"]);
    assert_eq!(request.lines[0]["isExact"], true);
    let at = shown["entries"][1]["metadata"]["seq"].to_string();
    let fork = folder.run(&["sessions", "fork", id, "--at", &at]);
    assert_eq!((fork.status, &fork.result()["status"]), (0, &json!("waiting")), "{}", fork.stderr);
    let more = folder.run(&["sessions", "resume", id, "--max-rounds", "3"]);
    assert_eq!((more.status, &more.result()["status"]), (0, &json!("waiting")), "{}", more.stderr);
    let text = String::from_utf8(folder.output(&["discuss", "show", id]).stdout).unwrap();
    assert!(text.contains("— round 2 of 3 —") && text.contains("it is ada's turn"), "{text}");
    tables_agree(&folder, &folder.run(&["discuss", "show", id]).lines[0]);
    let list = folder.run(&["sessions", "list"]).lines;
    let forked = list.iter().find(|session| session["sessionId"] == fork.result()["sessionId"]).unwrap();
    assert_eq!((&forked["status"], &forked["format"]), (&json!("waiting"), &json!("discussion")));
}
