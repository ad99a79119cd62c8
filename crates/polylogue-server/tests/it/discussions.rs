//! `/api/discussions`: whose turn it is, what a message leads to, and what leads to nothing.

use std::{net::SocketAddr, time::Duration};

use crate::{
    client::{Answer, get, open, post},
    house::{Served, Wanted},
};
use futures_util::future::join_all;
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Two agents after one person.
fn three(max_rounds: u32) -> Value {
    json!({"title": "The roof", "maxRounds": max_rounds, "participants": [
        {"role": "user", "userId": "ada"},
        {"role": "manager", "agent": "max"},
        {"role": "specialist", "agent": "sue"},
    ]})
}

/// A server whose agents say whose turn it is.
fn speaking() -> Wanted {
    Wanted::saying(|ask| Some(format!("{} in round {}.", ask.id.agent, ask.id.turn)))
}

async fn created(at: SocketAddr, body: &Value) -> String {
    let answer = post(at, "/api/discussions", body).await.whole().await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    format!("/api/discussions/{}", answer.json()["project"]["id"].as_str().unwrap())
}

async fn say(at: SocketAddr, path: &str, who: &str, words: &str) -> Answer {
    post(at, path, &json!({"message": words, "userId": who})).await.whole().await
}

async fn patch(at: SocketAddr, path: &str, body: Value) -> Answer {
    open(at, "PATCH", path, &[JSON], &body.to_string()).await.whole().await
}

/// What must hold for every state; returns the entries as `round.turn speaker: content`.
#[track_caller]
fn check(state: &Value) -> Vec<String> {
    let keys: Vec<&str> = state.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["status", "project", "entries", "counts", "speakerOrder", "nextSpeaker"]);
    assert_eq!(state["status"], "success");
    let order = state["speakerOrder"].as_array().unwrap();
    let entries = state["entries"].as_array().unwrap();
    for (at, entry) in entries.iter().enumerate() {
        assert_eq!(entry["roundNumber"], at / order.len() + 1);
        assert_eq!(entry["turnIndex"], at % order.len());
        assert_eq!(entry["speaker"], order[at % order.len()]);
        assert_eq!(entry["agentId"].is_null(), entry["role"] == "user");
        assert_eq!(entry["projectId"], state["project"]["id"]);
    }
    for name in order {
        let said = entries.iter().filter(|entry| entry["speaker"] == *name).count();
        assert_eq!(state["counts"][name.as_str().unwrap()], said);
    }
    let is_complete = state["project"]["status"] == "completed";
    let next = if is_complete { &Value::Null } else { &order[entries.len() % order.len()] };
    assert_eq!(state["nextSpeaker"], *next);
    let text = |entry: &Value| {
        let (round, turn) = (&entry["roundNumber"], &entry["turnIndex"]);
        format!("{round}.{turn} {}: {}", entry["speaker"].as_str().unwrap(), entry["content"].as_str().unwrap())
    };
    entries.iter().map(text).collect()
}

/// The discussion once it is a person's turn, or over.
async fn settled(server: &Served, path: &str) -> Value {
    let session = path.replace("/api/discussions", "/v1/sessions");
    while get(server.at, &session).await.json()["status"] == "running" {}
    get(server.at, path).await.json()
}

#[tokio::test]
async fn a_message_runs_the_agents_up_to_the_next_turn_of_the_person() {
    let server = speaking().start().await;
    let path = created(server.at, &three(2)).await;
    for round in 1..=2 {
        let before = get(server.at, &path).await.json();
        assert_eq!(
            (&before["nextSpeaker"], before["entries"].as_array().unwrap().len()),
            (&json!("ada"), 3 * (round - 1))
        );
        let listed = get(server.at, "/v1/sessions").await.json();
        assert_eq!(listed["sessions"][0]["status"], "waiting");
        let answer = say(server.at, &path, "ada", &format!("Word {round}.")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let said = check(&answer.json());
        let expected = [format!("{round}.0 ada: Word {round}."), format!("{round}.1 max: max in round {round}.")];
        assert_eq!(said[3 * (round - 1)..3 * round - 1], expected);
    }
    let state = get(server.at, &path).await.json();
    assert_eq!((&state["project"]["status"], &state["project"]["currentRound"]), (&json!("completed"), &json!(2)));
    let list = get(server.at, "/api/discussions").await.json();
    assert_eq!(
        (&list["discussions"][0]["status"], &list["discussions"][0]["title"]),
        (&json!("completed"), &json!("The roof"))
    );
    assert_eq!(say(server.at, &path, "ada", "More.").await.code(), "CONFLICT");
    assert_eq!(get(server.at, &path).await.json(), state);
    server.stop().await;
}

#[tokio::test]
async fn agents_that_come_first_speak_at_once_and_several_people_in_their_turn() {
    let server = speaking().start().await;
    let body = json!({"title": "The roof", "maxRounds": 1, "participants": [
        {"role": "leader", "agent": "lea"}, {"role": "user", "userId": "ada"}, {"role": "user", "userId": "bob"},
        {"role": "specialist", "agent": "sue"}, {"role": "user"},
    ]});
    let path = created(server.at, &body).await;
    let state = settled(&server, &path).await;
    assert_eq!((check(&state), &state["nextSpeaker"]), (vec!["1.0 lea: lea in round 1.".to_owned()], &json!("ada")));
    for (who, code) in [("bob", "CONFLICT"), ("eve", "CONFLICT")] {
        assert_eq!(say(server.at, &path, who, "Hello.").await.code(), code, "{who}");
        assert_eq!(get(server.at, &path).await.json(), state);
    }
    let unsaid = post(server.at, &path, &json!({"message": "Hello."})).await.whole().await;
    assert_eq!(unsaid.code(), "INVALID_REQUEST");
    assert_eq!(say(server.at, &path, "ada", "A.").await.json()["nextSpeaker"], "bob");
    assert_eq!(say(server.at, &path, "bob", "B.").await.json()["nextSpeaker"], "user");
    // The last place is anybody's.
    let last = say(server.at, &path, "eve", "E.").await.json();
    assert_eq!(last["entries"][4]["metadata"]["userId"], "eve");
    assert_eq!(check(&last).len(), 5);
    server.stop().await;
}

#[tokio::test]
async fn a_stream_shows_turn_by_turn_and_can_be_come_back_to() {
    let server = speaking().start().await;
    let path = created(server.at, &three(1)).await;
    let body = json!({"message": "It leaks.", "userId": "ada"}).to_string();
    let stream = [JSON, ("accept", "application/json;q=0.5, text/event-stream"), ("idempotency-key", "k1")];
    let opened = open(server.at, "POST", &path, &stream, &body).await;
    assert_eq!(opened.headers["content-type"], "text/event-stream");
    let events = opened.events().await;
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["entry", "entry", "entry", "done"]);
    assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id), "{events:?}");
    let state = get(server.at, &path).await.json();
    assert_eq!(events[3].data, state);
    let entries: Vec<&Value> = events[..3].iter().map(|event| &event.data).collect();
    assert_eq!(entries, state["entries"].as_array().unwrap().iter().collect::<Vec<_>>());
    // The same again is the same, and nothing is said twice.
    assert_eq!(open(server.at, "POST", &path, &stream, &body).await.events().await, events);
    let last = events[1].id.to_string();
    let back = [stream[0], stream[1], stream[2], ("last-event-id", last.as_str())];
    assert_eq!(open(server.at, "POST", &path, &back, &body).await.events().await, events[2..]);
    server.stop().await;
}

#[tokio::test]
async fn a_key_makes_a_repeated_request_harmless() {
    let server = speaking().start().await;
    let keyed = async |path: &str, key: &str, body: Value| {
        open(server.at, "POST", path, &[JSON, ("idempotency-key", key)], &body.to_string()).await.whole().await
    };
    let (first, again) =
        (keyed("/api/discussions", "c1", three(2)).await, keyed("/api/discussions", "c1", three(2)).await);
    assert_eq!((first.status, again.status, first.json()), (201, 201, again.json()));
    assert_eq!(keyed("/api/discussions", "c1", three(3)).await.code(), "CONFLICT");
    let at_once = join_all((0..8).map(|_| keyed("/api/discussions", "c2", three(2)))).await;
    assert!(at_once.iter().all(|answer| answer.json()["project"]["id"] == at_once[0].json()["project"]["id"]));

    let path = format!("/api/discussions/{}", first.json()["project"]["id"].as_str().unwrap());
    let message = |words: &str| json!({"message": words, "userId": "ada"});
    let said = keyed(&path, "m1", message("It leaks.")).await.json();
    assert_eq!(check(&said).len(), 3);
    for _ in 0..2 {
        assert_eq!(keyed(&path, "m1", message("It leaks.")).await.json(), said);
    }
    let at_once = join_all((0..8).map(|_| keyed(&path, "m1", message("It leaks.")))).await;
    assert!(at_once.iter().all(|answer| answer.json() == said));
    assert_eq!(keyed(&path, "m1", message("It drips.")).await.code(), "CONFLICT");
    assert_eq!(get(server.at, &path).await.json(), said);
    // Also when the first of them has not been answered yet.
    let at_once = join_all((0..8).map(|_| keyed(&path, "m2", message("It leaks.")))).await;
    assert!(at_once.iter().all(|answer| answer.status == 200 && check(&answer.json()).len() == 6));
    assert_eq!(keyed(&path, &"x".repeat(201), message("It leaks.")).await.code(), "INVALID_REQUEST");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_at_once_one_is_in_time() {
    let mut wanted = speaking();
    wanted.think = Duration::from_millis(5);
    let server = wanted.start().await;
    for _ in 0..20 {
        let path = created(server.at, &three(1)).await;
        let words: Vec<String> = (0..8).map(|n| format!("Word {n}.")).collect();
        let answers = join_all(words.iter().map(|words| say(server.at, &path, "ada", words))).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!(won.len(), 1);
        assert!(lost.iter().all(|answer| answer.code() == "CONFLICT"));
        assert_eq!(check(&won[0].json()).len(), 3);
        assert_eq!(get(server.at, &path).await.json(), won[0].json());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_message_survives_the_client_going_away() {
    let mut wanted = speaking();
    wanted.think = Duration::from_millis(20);
    let server = wanted.start().await;
    let path = created(server.at, &three(1)).await;
    let body = json!({"message": "It leaks.", "userId": "ada"}).to_string();
    let (at, to) = (server.at, path.clone());
    let waiting = tokio::spawn(async move { open(at, "POST", &to, &[JSON], &body).await.whole().await });
    while get(server.at, &path).await.json()["entries"].as_array().unwrap().is_empty() {}
    // The connection goes with the task that reads it.
    waiting.abort();
    assert!(waiting.await.is_err_and(|error| error.is_cancelled()));
    assert_eq!(check(&settled(&server, &path).await).len(), 3);
    server.stop().await;
}

#[tokio::test]
async fn a_pause_in_the_middle_is_gone_on_from() {
    let mut wanted = speaking();
    wanted.think = Duration::from_millis(300);
    let server = wanted.start().await;
    let path = created(server.at, &three(1)).await;
    let (at, to) = (server.at, path.clone());
    let waiting = tokio::spawn(async move { say(at, &to, "ada", "It leaks.").await });
    while get(server.at, &path).await.json()["entries"].as_array().unwrap().is_empty() {}
    let paused = patch(server.at, &path, json!({"status": "paused"})).await.json();
    assert_eq!((&paused["project"]["status"], &paused["nextSpeaker"]), (&json!("paused"), &json!("max")));
    assert_eq!(waiting.await.unwrap().json(), paused, "whoever waits is told");
    assert_eq!(patch(server.at, &path, json!({"status": "paused"})).await.json(), paused, "twice is once");
    assert_eq!(say(server.at, &path, "ada", "Hello?").await.code(), "CONFLICT");
    assert_eq!(get(server.at, &path).await.json(), paused);
    let active = patch(server.at, &path, json!({"status": "active"})).await.json();
    assert_eq!(active["project"]["status"], "active");
    let state = settled(&server, &path).await;
    assert_eq!(check(&state).len(), 3);
    for status in ["paused", "active"] {
        assert_eq!(patch(server.at, &path, json!({"status": status})).await.code(), "CONFLICT", "it is complete");
    }
    server.stop().await;
}

#[tokio::test]
async fn who_takes_part_can_be_changed_before_the_first_turn() {
    let server = speaking().start().await;
    let path = created(server.at, &three(1)).await;
    let others = json!([{"role": "user", "userId": "bob"}, {"role": "leader", "agent": "lea"}]);
    let changed = patch(server.at, &path, json!({"participants": others})).await.json();
    assert_eq!(changed["speakerOrder"], json!(["bob", "lea"]));
    assert_eq!(say(server.at, &path, "ada", "Hello.").await.code(), "INVALID_REQUEST");
    assert_eq!(check(&say(server.at, &path, "bob", "Hello.").await.json())[1], "1.1 lea: lea in round 1.");
    assert_eq!(patch(server.at, &path, json!({"participants": others})).await.code(), "CONFLICT");
    server.stop().await;
}

#[tokio::test]
async fn a_turn_that_brings_nothing_is_logged_and_passes_on() {
    let server = Wanted::saying(|ask| match (ask.id.agent.as_str(), ask.id.attempt) {
        ("max", _) => None,
        ("sue", 1) => Some("[nods]".to_owned()),
        _ => Some("Yes.\n\nmax: No.".to_owned()),
    });
    let server = server.start().await;
    let path = created(server.at, &three(2)).await;
    let state = say(server.at, &path, "ada", "It leaks.").await.json();
    assert_eq!(check(&state), ["1.0 ada: It leaks.", "1.1 max: ", "1.2 sue: Yes."]);
    let failure = &state["entries"][1]["metadata"]["failure"];
    assert_eq!((&failure["kind"], failure["message"].is_string()), (&json!("refused"), true));
    assert_eq!(state["entries"][2]["metadata"]["attempt"], 2);
    server.stop().await;
}

#[tokio::test]
async fn what_is_refused_changes_nothing() {
    let server = speaking().start().await;
    let path = created(server.at, &three(1)).await;
    let chorus = post(server.at, "/v1/chat", &crate::chat::chat(1)).await.event().await.unwrap();
    let chorus = format!("/api/discussions/{}", chorus.data["sessionId"].as_str().unwrap());
    let state = get(server.at, &path).await.json();
    let message = |words: &str| json!({"message": words, "userId": "ada"}).to_string();
    let with = |participants: Value| json!({"title": "T", "participants": participants}).to_string();
    let user = json!({"role": "user"});
    let unknown = "/api/discussions/00000000-0000-4000-8000-000000000000";
    let new = "/api/discussions";
    let cases: Vec<(&str, &str, String, u16, &str)> = vec![
        ("GET", unknown, String::new(), 404, "NOT_FOUND"),
        ("GET", "/api/discussions/xyz", String::new(), 404, "NOT_FOUND"),
        ("GET", &chorus, String::new(), 404, "NOT_FOUND"),
        ("POST", unknown, message("Hi."), 404, "NOT_FOUND"),
        ("POST", &chorus, message("Hi."), 404, "NOT_FOUND"),
        ("PATCH", unknown, r#"{"status": "paused"}"#.to_owned(), 404, "NOT_FOUND"),
        ("DELETE", &path, String::new(), 405, "INVALID_REQUEST"),
        ("POST", &path, message(" \n"), 400, "INVALID_REQUEST"),
        ("POST", &path, message(&"x".repeat(20_001)), 413, "TOO_LARGE"),
        ("POST", &path, message(&"x".repeat(1_048_576)), 413, "TOO_LARGE"),
        ("POST", &path, "{".to_owned(), 400, "INVALID_REQUEST"),
        ("POST", &path, "{}".to_owned(), 400, "INVALID_REQUEST"),
        ("POST", &path, r#"{"message": 7, "userId": "ada"}"#.to_owned(), 400, "INVALID_REQUEST"),
        ("POST", &path, r#"{"message": "Hi.", "userId": "eve"}"#.to_owned(), 400, "INVALID_REQUEST"),
        ("POST", &path, json!({"message": "Hi.", "userId": "x".repeat(65)}).to_string(), 400, "INVALID_REQUEST"),
        ("PATCH", &path, "{}".to_owned(), 400, "INVALID_REQUEST"),
        ("PATCH", &path, r#"{"status": "completed"}"#.to_owned(), 400, "INVALID_REQUEST"),
        ("PATCH", &path, r#"{"participants": []}"#.to_owned(), 400, "INVALID_REQUEST"),
        ("POST", new, r#"{"title": "T"}"#.to_owned(), 400, "INVALID_REQUEST"),
        ("POST", new, with(json!([])), 400, "INVALID_REQUEST"),
        ("POST", new, with(json!([user])), 400, "INVALID_REQUEST"),
        ("POST", new, with(json!([{"role": "king", "agent": "max"}])), 400, "INVALID_REQUEST"),
        (
            "POST",
            new,
            with(json!([{"role": "manager", "agent": "max"}, {"role": "leader", "agent": "Max"}])),
            400,
            "INVALID_REQUEST",
        ),
        ("POST", new, with(json!([user, user, {"role": "leader", "agent": "max"}])), 400, "INVALID_CONFIG"),
        ("POST", new, three(0).to_string(), 400, "INVALID_CONFIG"),
        ("POST", new, three(1).to_string().replace("The roof", " "), 400, "INVALID_CONFIG"),
    ];
    let before = get(server.at, "/v1/sessions").await.json()["sessions"].as_array().unwrap().len();
    for (method, to, body, status, code) in cases {
        let answer = open(server.at, method, to, &[JSON], &body).await.whole().await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{method} {to} {:.200}", body);
        assert_eq!(get(server.at, &path).await.json(), state);
    }
    let after = get(server.at, "/v1/sessions").await.json()["sessions"].as_array().unwrap().len();
    assert_eq!(before, after, "no session was begun");
    server.stop().await;
}

#[tokio::test]
async fn a_server_that_begins_again_goes_on_and_asks_nobody_when_a_person_is_due() {
    let mut wanted = speaking();
    wanted.think = Duration::from_secs(600);
    let first = wanted.start().await;
    let (waits, speaks) = (created(first.at, &three(1)).await, created(first.at, &three(1)).await);
    let (at, to) = (first.at, speaks.clone());
    let waiting = tokio::spawn(async move { say(at, &to, "ada", "It leaks.").await });
    while get(first.at, &speaks).await.json()["entries"].as_array().unwrap().is_empty() {}
    let journal = first.journal.clone();
    first.stop().await;
    waiting.abort();

    let mut wanted = speaking();
    wanted.journal = journal;
    let second = wanted.start().await;
    assert_eq!(check(&settled(&second, &speaks).await).len(), 3);
    let session = waits.replace("/api/discussions", "/v1/sessions");
    assert_eq!(get(second.at, &session).await.json()["status"], "waiting");
    let list = get(second.at, "/v1/sessions").await.json();
    let id = session.rsplit('/').next().unwrap();
    let listed = list["sessions"].as_array().unwrap().iter().find(|listed| listed["sessionId"] == id).unwrap();
    assert_eq!((&listed["status"], &listed["head"]), (&json!("waiting"), &json!(1)), "nothing was written for it");
    // Who listens to it while it waits hears it when it goes on, to its end.
    let listener = open(second.at, "GET", &format!("{session}/events"), &[], "").await;
    let heard = tokio::spawn(async move { listener.events().await });
    assert_eq!(check(&say(second.at, &waits, "ada", "Hello.").await.json()).len(), 3);
    let heard = heard.await.unwrap();
    assert_eq!(heard.last().unwrap().data["type"], "ended");
    let ids: Vec<u64> = heard.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=heard.len() as u64).collect::<Vec<_>>());
    second.stop().await;
}
