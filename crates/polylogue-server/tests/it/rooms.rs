//! `/v1/rooms`: who is spoken to and how, what everybody hears, and who comes back to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::{
    client::{Answer, Heard, Opened, get, open, post},
    house::{AGENTS, Wanted},
};
use polylogue_core::{ask::Ask, room::RoomPlace};
use polylogue_runtime::port::{Journal, Rooms};
use serde_json::{Value, json};

async fn say(at: SocketAddr, room: &str, body: &Value) -> Answer {
    post(at, &format!("/v1/rooms/{room}/messages"), body).await.whole().await
}

/// Says something that is taken, and returns the answer.
async fn said(at: SocketAddr, room: &str, body: &Value) -> Value {
    let answer = say(at, room, body).await;
    assert_eq!(answer.status, 202, "{body}: {}", answer.text());
    answer.json()
}

async fn listen(at: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Opened {
    let opened = open(at, "GET", path, headers, "").await;
    assert_eq!((opened.status, opened.headers["content-type"].as_str()), (200, "text/event-stream"));
    opened
}

/// So many events, in the form that every event of a room has.
async fn hear(listener: &mut Opened, events: usize) -> Vec<Heard> {
    let mut heard = Vec::new();
    while heard.len() < events {
        let event = listener.event().await.expect("a room does not end");
        check(&event);
        heard.push(event);
    }
    assert!(heard.windows(2).all(|pair| pair[0].id < pair[1].id), "ids go up");
    heard
}

fn check(event: &Heard) {
    let data = event.data.as_object().unwrap();
    let keys: Vec<&str> = data.keys().map(String::as_str).collect();
    let always = ["type", "sender", "target", "thread", "text", "call_id", "ts"];
    let in_rounds = ["session_id", "round", "max_rounds"];
    assert_eq!(keys[..7], always, "{event:?}");
    assert!(keys[7..].is_empty() || keys[7..] == in_rounds, "{event:?}");
    assert!(matches!(data["type"].as_str().unwrap(), "human_message" | "agent_call" | "agent_response"));
    assert_eq!((&event.name[..], &data["thread"]), ("", &json!("default")));
    assert!(data["ts"].as_u64().is_some_and(|ts| (1_700_000_000..10_000_000_000).contains(&ts)), "seconds");
    if let Some(round) = data.get("round") {
        assert!((1..=data["max_rounds"].as_u64().unwrap()).contains(&round.as_u64().unwrap()), "{event:?}");
    }
}

/// Events as one reads them.
fn told(events: &[Heard]) -> Vec<String> {
    let one = |Heard { data, .. }: &Heard| {
        let word = |key: &str| data[key].as_str().unwrap().to_owned();
        format!("{} {}>{}: {}", &word("type")[..5].trim_end_matches('_'), word("sender"), word("target"), word("text"))
    };
    events.iter().map(one).collect()
}

/// Says which turn it is; hands on in a collaboration, ends in its third turn, and answers a person.
fn usual(ask: &Ask) -> Option<String> {
    let (agent, turn) = (ask.id.agent.as_str(), ask.id.turn);
    let is_collaboration = ask.request.prompt.starts_with("Goal:");
    let other = if agent == "gpt" { "claude" } else { "gpt" };
    Some(match turn {
        1 | 2 if is_collaboration => {
            json!({"message": format!("{agent} {turn}"), "handoff": {"to": other, "task": format!("on, {other}")}})
                .to_string()
        }
        _ if is_collaboration => json!({"message": format!("{agent} {turn}"), "final": true}).to_string(),
        _ => json!({"message": format!("{agent} here")}).to_string(),
    })
}

#[tokio::test]
async fn a_collaboration_is_told_event_by_event() {
    let server = Wanted::saying(usual).start().await;
    let mut listener = listen(server.at, "/v1/rooms/lobby/events", &[]).await;
    let body = json!({"text": "Write a tale.", "target": "claude", "mode": "collaborate", "maxRounds": 4});
    let answer = said(server.at, "lobby", &body).await;
    let events = hear(&mut listener, 9).await;
    assert_eq!(
        told(&events),
        [
            "human you>claude: Write a tale.",
            "agent router>all: Collaboration started: gpt and claude, up to 4 rounds, claude begins.",
            "agent router>claude: Write a tale.",
            "agent claude>all: claude 1",
            "agent router>gpt: on, gpt",
            "agent gpt>all: gpt 2",
            "agent router>claude: on, claude",
            "agent claude>all: claude 3",
            "agent router>all: Collaboration ended: claude finished it in round 3 of 4.",
        ]
    );
    for (event, round) in events.iter().zip([1, 1, 1, 1, 2, 2, 3, 3, 3]) {
        assert_eq!(event.data["session_id"], answer["sessionId"]);
        assert_eq!(event.data["call_id"], answer["callId"]);
        assert_eq!((&event.data["round"], &event.data["max_rounds"]), (&json!(round), &json!(4)));
    }
    assert_eq!(answer.as_object().unwrap().len(), 2, "{answer}");
    let session = get(server.at, &format!("/v1/sessions/{}", answer["sessionId"].as_str().unwrap())).await.json();
    assert_eq!(session["reason"], "final");
    server.stop().await;
}

#[tokio::test]
async fn whom_a_message_is_for_and_what_becomes_of_it() {
    // The message, who is called first, whom the message is for, what is left of the text, and who begins how.
    let cases: &[(Value, &str, &str, &str)] = &[
        (json!({"text": "Hi.", "target": "gpt"}), "gpt", "gpt", ""),
        (json!({"text": "Hi.", "target": "GPT", "mode": "single", "maxRounds": 6}), "gpt", "gpt", ""),
        (json!({"text": "@claude Hi."}), "claude", "claude", ""),
        (json!({"text": "@Critic, Hi."}), "critic", "critic", ""),
        (json!({"text": "@claude Hi.", "target": "gpt"}), "claude", "claude", ""),
        (json!({"text": "Hi."}), "gpt", "router", ""),
        (json!({"text": "Hi.", "target": "router", "speaker": "critic"}), "critic", "router", ""),
        (json!({"text": "@router Hi."}), "gpt", "router", ""),
        (json!({"text": "Hi.", "mode": "collaborate"}), "gpt", "router", "gpt and claude, up to 6 rounds, gpt"),
        (
            json!({"text": "Hi.", "mode": "collaborate", "target": "router", "speaker": "claude", "maxRounds": 1}),
            "claude",
            "router",
            "gpt and claude, 1 round, claude",
        ),
        (
            json!({"text": "@router collaborate critic claude: Hi.", "maxRounds": 3}),
            "critic",
            "router",
            "critic and claude, up to 3 rounds, critic",
        ),
        (
            json!({"text": "@router collaborate Critic, GPT: Hi.", "speaker": "gpt"}),
            "gpt",
            "router",
            "critic and gpt, up to 6 rounds, gpt",
        ),
        (
            json!({"text": "Hi.", "mode": "collaborate", "participants": ["claude", "critic"], "target": "critic"}),
            "critic",
            "critic",
            "claude and critic, up to 6 rounds, critic",
        ),
        (
            json!({"text": "@all Hi.", "mode": "collaborate"}),
            "gpt",
            "all",
            "gpt and claude and critic, up to 6 rounds, gpt",
        ),
    ];
    let server = Wanted::saying(|_| Some(json!({"message": "Yes.", "final": true}).to_string())).start().await;
    for (nth, (body, first, target, started)) in cases.iter().enumerate() {
        let room = format!("room-{nth}");
        said(server.at, &room, body).await;
        let mut expected = vec![format!("human you>{target}: Hi.")];
        if !started.is_empty() {
            expected.push(format!("agent router>all: Collaboration started: {started} begins."));
        }
        expected.extend([format!("agent router>{first}: Hi."), format!("agent {first}>all: Yes.")]);
        let mut listener = listen(server.at, &format!("/v1/rooms/{room}/events"), &[]).await;
        assert_eq!(told(&hear(&mut listener, expected.len()).await), expected, "{body}");
    }
    let rooms = get(server.at, "/v1/rooms").await.json();
    assert_eq!(rooms["rooms"].as_array().unwrap().len(), cases.len());
    assert_eq!(rooms["rooms"][0]["room"], format!("room-{}", cases.len() - 1), "{rooms}");
    server.stop().await;
}

#[tokio::test]
async fn all_are_asked_at_once_and_one_may_hand_over_once() {
    let server = Wanted::saying(|ask| match (ask.id.agent.as_str(), ask.id.turn) {
        ("critic", 1) => {
            Some(json!({"message": "critic here", "handoff": {"to": "gpt", "task": "Look again."}}).to_string())
        }
        ("gpt", 2) => Some(json!({"message": "I did.", "handoff": {"to": "critic", "task": "And you?"}}).to_string()),
        _ => usual(ask),
    })
    .start()
    .await;
    let answer = said(server.at, "lobby", &json!({"text": "Who is there?", "target": "all"})).await;
    let sessions: Vec<&str> =
        answer["sessions"].as_array().unwrap().iter().map(|session| session.as_str().unwrap()).collect();
    assert_eq!((sessions.len(), sessions[0]), (AGENTS.len(), answer["sessionId"].as_str().unwrap()));
    let mut listener = listen(server.at, "/v1/rooms/lobby/events", &[]).await;
    let events = hear(&mut listener, 9).await;
    assert!(events.iter().all(|event| event.data["call_id"] == answer["callId"]));
    let mut lines = told(&events);
    assert_eq!(lines.remove(0), "human you>all: Who is there?", "it is said once");
    let expected = [
        "agent claude>all: claude here",
        "agent critic>all: critic here",
        "agent gpt>all: I did.",
        "agent gpt>all: gpt here",
        "agent router>claude: Who is there?",
        "agent router>critic: Who is there?",
        "agent router>gpt: Look again.",
        "agent router>gpt: Who is there?",
    ];
    lines.sort();
    assert_eq!(lines, expected);
    let place = |line: &str| told(&events).iter().position(|told| told == line).unwrap();
    assert!(place("agent router>gpt: Look again.") > place("agent critic>all: critic here"));
    server.stop().await;
}

#[tokio::test]
async fn whoever_comes_back_hears_exactly_the_rest() {
    let server = Wanted::saying(usual).start().await;
    let path = "/v1/rooms/lobby/events";
    let mut live = listen(server.at, path, &[]).await;
    for body in
        [json!({"text": "@claude Hi."}), json!({"text": "Go.", "mode": "collaborate"}), json!({"text": "@all Hi."})]
    {
        said(server.at, "lobby", &body).await;
    }
    let all = hear(&mut live, 3 + 9 + 7).await;
    for (nth, event) in all.iter().enumerate() {
        let rest = &all[nth + 1..];
        let id = event.id.to_string();
        let mut again = listen(server.at, path, &[("last-event-id", &id)]).await;
        assert_eq!(hear(&mut again, rest.len()).await, rest, "after {id}");
        let mut again = listen(server.at, &format!("{path}?from={id}"), &[]).await;
        assert_eq!(hear(&mut again, rest.len()).await, rest, "from {id}");
        let mut again = listen(server.at, &format!("{path}?history={}", rest.len()), &[]).await;
        assert_eq!(hear(&mut again, rest.len()).await, rest, "the last {}", rest.len());
    }
    for path in [path.to_owned(), format!("{path}?from=0"), format!("{path}?history=1000")] {
        assert_eq!(hear(&mut listen(server.at, &path, &[]).await, all.len()).await, all);
    }
    // Those who wait hear what comes next, and only that.
    let last = all.last().unwrap().id.to_string();
    let mut waiting = vec![listen(server.at, path, &[("last-event-id", &last)]).await];
    waiting.push(listen(server.at, &format!("{path}?history=0"), &[]).await);
    let state = get(server.at, "/v1/rooms/lobby").await.json();
    waiting.push(listen(server.at, &format!("{path}?from={}", state["lastEventId"]), &[]).await);
    said(server.at, "lobby", &json!({"text": "@gpt Again."})).await;
    let next = hear(&mut live, 3).await;
    assert_eq!(told(&next)[0], "human you>gpt: Again.");
    for listener in &mut waiting {
        assert_eq!(hear(listener, 3).await, next);
    }

    // The server ends, another one begins: the room is as it was.
    let mut wanted = Wanted::saying(usual);
    wanted.journal = server.journal.clone();
    server.stop().await;
    assert_eq!(live.event().await, None, "the stream ends with the server");
    let second = wanted.start().await;
    let history = hear(&mut listen(second.at, path, &[]).await, all.len() + 3).await;
    assert_eq!(history, [all, next].concat());
    second.stop().await;
}

#[tokio::test]
async fn a_stop_is_told_and_what_goes_on_can_be_seen() {
    let mut wanted = Wanted::saying(usual);
    wanted.think = Duration::from_secs(600);
    let server = wanted.start().await;
    let mut listener = listen(server.at, "/v1/rooms/lobby/events", &[]).await;
    let one = said(server.at, "lobby", &json!({"text": "Go.", "mode": "collaborate", "maxRounds": 6})).await;
    let two = said(server.at, "lobby", &json!({"text": "@critic Hi."})).await;
    hear(&mut listener, 5).await;
    let state = get(server.at, "/v1/rooms/lobby").await.json();
    assert_eq!(state["agents"], json!(AGENTS), "who is not there cannot be spoken to");
    let sessions = &state["sessions"];
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    let first = sessions.as_array().unwrap().iter().find(|session| session["sessionId"] == one["sessionId"]).unwrap();
    let expected = json!({
        "sessionId": one["sessionId"], "callId": one["callId"], "mode": "collaborate", "goal": "Go.",
        "participants": ["gpt", "claude"], "speaker": "gpt", "round": 1, "roundsDone": 0, "maxRounds": 6,
    });
    assert_eq!(*first, expected);
    for (session, notice) in [(one, "Collaboration canceled by user."), (two, "Call canceled by user.")] {
        let stop = format!("/v1/sessions/{}/stop", session["sessionId"].as_str().unwrap());
        assert_eq!(post(server.at, &stop, &json!({})).await.whole().await.json()["reason"], "cancelled");
        let event = hear(&mut listener, 1).await.remove(0);
        assert_eq!((&event.data["sender"], &event.data["text"]), (&json!("router"), &json!(notice)));
    }
    assert_eq!(get(server.at, "/v1/rooms/lobby").await.json()["sessions"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn whoever_is_called_knows_what_was_said_and_not_what_goes_on() {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let seen = prompts.clone();
    let server = Wanted::saying(move |ask| {
        seen.lock().unwrap().push(ask.request.prompt.to_string());
        usual(ask)
    })
    .start()
    .await;
    let mut listener = listen(server.at, "/v1/rooms/lobby/events", &[]).await;
    said(server.at, "lobby", &json!({"text": "@gpt My cat is called Ada."})).await;
    hear(&mut listener, 3).await;
    said(server.at, "lobby", &json!({"text": "@claude What is she called?"})).await;
    hear(&mut listener, 3).await;
    said(server.at, "attic", &json!({"text": "@claude And here?"})).await;
    hear(&mut listen(server.at, "/v1/rooms/attic/events", &[]).await, 3).await;
    let prompts = prompts.lock().unwrap().clone();
    assert!(prompts[1].contains("you to gpt: My cat is called Ada.\ngpt: gpt here\n"), "{}", prompts[1]);
    assert!(!prompts[2].contains("Ada"), "another room is another room");
    server.stop().await;
}

/// Room, body, status and code; what the message must hold.
type Case<'a> = (&'a str, String, u16, &'a str, &'a str);

#[tokio::test]
async fn what_cannot_be_understood_changes_nothing() {
    let server = Wanted::saying(usual).start().await;
    let text = |more: &str| format!("{{\"text\": \"Hi.\"{more}}}");
    let collaborate = |more: &str| text(&format!(", \"mode\": \"collaborate\", {more}"));
    let just = |text: &str| json!({"text": text}).to_string();
    let long_name = "x".repeat(65);
    let cases: &[Case<'_>] = &[
        ("lobby", just(""), 400, "INVALID_REQUEST", "empty"),
        ("lobby", just("  \n"), 400, "INVALID_REQUEST", "empty"),
        ("lobby", just("@gpt  "), 400, "INVALID_REQUEST", "empty"),
        ("lobby", just("@router collaborate gpt claude: "), 400, "INVALID_REQUEST", "empty"),
        ("lobby", just(&"x".repeat(20_001)), 413, "TOO_LARGE", "20001"),
        ("lobby", just(&"x".repeat(1_000_000)), 413, "TOO_LARGE", "1000000"),
        ("lobby", just(&"x".repeat(1_100_000)), 413, "TOO_LARGE", "bytes"),
        ("lobby", just("@bob Hi."), 400, "INVALID_REQUEST", "gpt"),
        ("lobby", text(", \"target\": \"bob\""), 400, "INVALID_REQUEST", "critic"),
        ("lobby", text(", \"target\": \"\""), 400, "INVALID_REQUEST", "name"),
        ("lobby", text(", \"mode\": \"sing\""), 400, "INVALID_REQUEST", "collaborate"),
        ("lobby", text(", \"participants\": [\"gpt\", \"claude\"]"), 400, "INVALID_REQUEST", "collaborate"),
        ("lobby", just("@router collaborate gpt claude go"), 400, "INVALID_REQUEST", "colon"),
        ("lobby", just("@router collaborate gpt: go"), 400, "INVALID_REQUEST", "between 2 and"),
        ("lobby", just("@router collaborate gpt bob: go"), 400, "INVALID_REQUEST", "bob"),
        ("lobby", collaborate("\"maxRounds\": 0"), 400, "INVALID_REQUEST", "from 1 to"),
        ("lobby", collaborate("\"maxRounds\": 10001"), 400, "INVALID_REQUEST", "from 1 to"),
        ("lobby", collaborate("\"maxRounds\": -1"), 400, "INVALID_REQUEST", "integer"),
        ("lobby", collaborate("\"maxRounds\": \"6\""), 400, "INVALID_REQUEST", "string"),
        ("lobby", collaborate("\"speaker\": \"bob\""), 400, "INVALID_REQUEST", "bob"),
        ("lobby", collaborate("\"speaker\": \"critic\""), 400, "INVALID_REQUEST", "critic"),
        ("lobby", collaborate("\"participants\": []"), 400, "INVALID_REQUEST", "between 2 and"),
        ("lobby", collaborate("\"participants\": [\"gpt\", \"GPT\"]"), 400, "INVALID_REQUEST", "twice"),
        (
            "lobby",
            collaborate("\"participants\": [\"gpt\", \"claude\"], \"speaker\": \"critic\""),
            400,
            "INVALID_REQUEST",
            "critic",
        ),
        ("lobby", text(", \"sender\": \"me\""), 400, "INVALID_REQUEST", "sender"),
        ("lobby", "{}".to_owned(), 400, "INVALID_REQUEST", "text"),
        ("lobby", "{".to_owned(), 400, "INVALID_REQUEST", "body"),
        ("lobby", "[]".to_owned(), 400, "INVALID_REQUEST", "body"),
        ("a%20b", text(""), 400, "INVALID_REQUEST", "letters"),
        (&long_name, text(""), 400, "INVALID_REQUEST", "letters"),
        ("..%2f", text(""), 400, "INVALID_REQUEST", "letters"),
    ];
    for (room, body, status, code, holds) in cases {
        let path = format!("/v1/rooms/{room}/messages");
        let headers = [("content-type", "application/json")];
        let answer = open(server.at, "POST", &path, &headers, body).await.whole().await;
        let shown: String = body.chars().take(80).collect();
        assert_eq!((answer.status, answer.code().as_str()), (*status, *code), "{room} {shown}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(holds), "{shown}: {message}");
    }
    for path in [
        "/v1/rooms/a.b/events",
        "/v1/rooms/lobby/events?from=x",
        "/v1/rooms/lobby/events?history=1001",
        "/v1/rooms/lobby/events?history=-1",
        "/v1/rooms/a.b",
    ] {
        assert_eq!(get(server.at, path).await.code(), "INVALID_REQUEST", "{path}");
    }
    let bad_id = open(server.at, "GET", "/v1/rooms/lobby/events", &[("last-event-id", "x")], "").await.whole().await;
    assert_eq!(bad_id.code(), "INVALID_REQUEST");
    assert_eq!(get(server.at, "/v1/sessions").await.json()["sessions"], json!([]));
    assert_eq!(get(server.at, "/v1/rooms").await.json()["rooms"], json!([]));
    assert_eq!(server.journal.room_head(&"lobby".parse().unwrap()).await, Ok(RoomPlace(0)));
    server.stop().await;
}

#[tokio::test]
async fn so_many_sessions_and_no_more_and_then_nothing_is_said() {
    let mut wanted = Wanted::saying(usual);
    (wanted.think, wanted.max_live) = (Duration::from_secs(600), 2);
    let server = wanted.start().await;
    let all = say(server.at, "lobby", &json!({"text": "@all Hi."})).await;
    assert_eq!((all.status, all.code().as_str()), (429, "RATE_LIMITED"));
    assert_eq!(get(server.at, "/v1/rooms").await.json()["rooms"], json!([]), "some of them are not all of them");
    for name in ["gpt", "claude"] {
        said(server.at, "lobby", &json!({"text": "Hi.", "target": name})).await;
    }
    let third = say(server.at, "lobby", &json!({"text": "@critic Hi."})).await;
    assert_eq!((third.code().as_str(), third.headers["retry-after"].as_str()), ("RATE_LIMITED", "1"));
    server.stop().await;
}

/// Two who listen to each of fifty rooms, and four who speak in each at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_rooms_at_once() {
    const ROOMS: usize = 50;
    let server = Wanted::saying(usual).start().await;
    let at = server.at;
    let posts = || {
        [
            (json!({"text": "@gpt Hi."}), 3),
            (json!({"text": "One.", "mode": "collaborate"}), 9),
            (json!({"text": "@router collaborate claude gpt: Two."}), 9),
            (json!({"text": "@all Hi."}), 7),
        ]
    };
    let events: usize = posts().iter().map(|(_, events)| events).sum();
    let rooms: Vec<_> = (0..ROOMS)
        .map(|nth| {
            tokio::spawn(async move {
                let room = format!("room-{nth}");
                let path = format!("/v1/rooms/{room}/events");
                let mut early = listen(at, &path, &[]).await;
                let name = room.clone();
                let speakers = posts().map(|(body, _)| {
                    let room = name.clone();
                    tokio::spawn(async move { said(at, &room, &body).await })
                });
                let heard = hear(&mut early, events).await;
                let mut answers = Vec::new();
                for speaker in speakers {
                    answers.push(speaker.await.unwrap());
                }
                let late = hear(&mut listen(at, &path, &[]).await, events).await;
                assert_eq!(heard, late, "everybody hears the same in the same order");
                (room, answers, heard)
            })
        })
        .collect();
    for room in rooms {
        let (room, answers, heard) = room.await.unwrap();
        check_room(&answers, &heard);
        // The room's order and the journals agree.
        let log = server.journal.read_room(&room.parse().unwrap(), RoomPlace(0), usize::MAX).await.unwrap();
        let mut sessions: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for entry in log {
            sessions.entry(entry.session).or_default().push(entry.record);
        }
        assert_eq!(sessions.len(), 6);
        for (session, records) in sessions {
            let journal: &dyn Journal = &*server.journal;
            assert_eq!(journal.read_all(session).await, Ok(records));
            let status = get(at, &format!("/v1/sessions/{session}")).await.json();
            assert_eq!(status["status"], "ended");
        }
    }
    server.stop().await;
}

/// What each message of a room led to: all of it, once, in its own order, and nothing of the others.
fn check_room(answers: &[Value], heard: &[Heard]) {
    let calls: BTreeSet<&str> = answers.iter().map(|answer| answer["callId"].as_str().unwrap()).collect();
    assert_eq!(calls.len(), answers.len());
    for answer in answers {
        let of_call: Vec<Heard> =
            heard.iter().filter(|event| event.data["call_id"] == answer["callId"]).cloned().collect();
        let lines = told(&of_call);
        let humans = lines.iter().filter(|line| line.starts_with("human ")).count();
        assert_eq!((humans, lines[0].starts_with("human ")), (1, true), "{lines:?}");
        let of_session = of_call.iter().filter(|event| event.data["session_id"] == answer["sessionId"]).count();
        match lines.len() {
            3 => assert_eq!(lines[1..], ["agent router>gpt: Hi.", "agent gpt>all: gpt here"]),
            7 => assert_eq!(answer["sessions"].as_array().unwrap().len(), AGENTS.len()),
            9 => {
                assert_eq!(of_session, 9, "a collaboration is known by its session");
                let rounds: Vec<u64> = of_call.iter().map(|event| event.data["round"].as_u64().unwrap()).collect();
                assert_eq!(rounds, [1, 1, 1, 1, 2, 2, 3, 3, 3]);
            }
            other => panic!("{other} events: {lines:?}"),
        }
    }
}
