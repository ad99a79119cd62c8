//! Rooms on the real server: the acceptance tests and edge cases of the collaboration's source document through
//! HTTP, on the scripts of `examples/`; many at once; and `kill -9`.

use std::{collections::BTreeMap, thread};

use serde_json::{Value, json};

use crate::{
    crash::lost_are_charged,
    folder::{Folder, example, example_config},
    server::Server,
};

const FAIRY_TALE: &str = "Write a 2‑paragraph fairy tale—Claude drafts, GPT edits, alternate until done (≤4 rounds).";
const HIKING: &str = "Collaborate to outline and refine a 5‑step plan for a weekend hiking trip. Keep it concise.";
const SUMMARY: &str = "Summarize this in 1 sentence, then stop.";

fn served() -> (Folder, Server) {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--config", &example_config()]);
    (folder, server)
}

fn collaborate(text: &str) -> Value {
    json!({"text": text, "target": "router", "mode": "collaborate"})
}

/// Who answered whom.
fn speakers(events: &[Value]) -> Vec<&str> {
    let answers = events.iter().filter(|event| event["type"] == "agent_response" && event["sender"] != "router");
    answers.map(|event| event["sender"].as_str().unwrap()).collect()
}

fn text(event: &Value) -> &str {
    event["text"].as_str().unwrap()
}

#[test]
fn the_acceptance_tests_and_prompts() {
    let (folder, server) = served();
    let bounded = json!({"text": HIKING, "mode": "collaborate", "maxRounds": 2});
    let command = json!({"text": format!("@router collaborate gpt claude: {SUMMARY}")});
    let raw = "Certainly! I would rather tell you in prose: the plan is good, and gpt should look at it next.";
    // The message; who speaks; how the router ends it.
    let cases: &[(&str, Value, &[&str], &str)] = &[
        ("A and 2", collaborate(FAIRY_TALE), &["claude", "gpt", "claude", "gpt"], "gpt finished it in round 4 of 6"),
        ("B", bounded, &["claude", "gpt"], "all 2 rounds are used"),
        ("C and 1", collaborate(HIKING), &["claude", "gpt", "claude"], "claude finished it in round 3 of 6"),
        ("D and 5", collaborate("Tell me in prose what you think."), &["claude"], "is shown as it came"),
        ("3", collaborate(SUMMARY), &["claude"], "claude finished it in round 1 of 6"),
        ("3, by command", command, &["gpt"], "gpt finished it in round 1 of 6"),
        ("no handoff", collaborate("Say hello."), &["claude"], "claude handed over to nobody in round 1 of 6"),
    ];
    for (nth, (name, body, expected, end)) in cases.iter().enumerate() {
        // A room of its own: whoever speaks in a room is told what was said there before.
        let room = format!("room-{nth}");
        let answer = server.say(&room, body);
        let events = server.listen(&room, 0).session(&answer["sessionId"]);
        assert_eq!(speakers(&events), *expected, "{name}");
        assert!(text(events.last().unwrap()).ends_with(&format!("{end}.")), "{name}: {:?}", events.last());
        if name.starts_with('D') {
            assert_eq!(text(&events[3]), raw);
        }
        if name.starts_with('A') {
            // Each sees what was said before it.
            let id = answer["sessionId"].as_str().unwrap();
            let request = folder.run(&["sessions", "show", id, "--ask", "6"]);
            let prompt = request.lines[0]["prompt"].as_str().unwrap();
            assert!(prompt.contains("claude: In a valley") && prompt.contains("gpt: Edited:"), "{prompt}");
            assert!(prompt.contains("Round 3 of 6"), "{prompt}");
        }
    }
    let log = server.kill();
    assert!(log.iter().any(|line| line.contains("WARN") && line.contains("no JSON object")), "{log:?}");
}

#[test]
fn e_a_manual_stop_ends_it_with_a_notice() {
    let (_folder, server) = served();
    let answer = server.say("lobby", &collaborate("Count slowly."));
    let mut listener = server.listen("lobby", 0);
    listener.take(3);
    let stop = format!("/v1/sessions/{}/stop", answer["sessionId"].as_str().unwrap());
    assert_eq!(server.post(&stop, &json!({})).1["reason"], "cancelled");
    let (_, notice) = listener.next().unwrap();
    assert_eq!((&notice["sender"], text(&notice)), (&json!("router"), "Collaboration canceled by user."));
    assert_eq!(notice["session_id"], answer["sessionId"]);
}

#[test]
fn edge_4_two_in_one_room_do_not_interfere() {
    let (_folder, server) = served();
    let tale = server.say("lobby", &collaborate(FAIRY_TALE));
    let plan = server.say("lobby", &collaborate(HIKING));
    let mut listener = server.listen("lobby", 0);
    // The tale is told slowly: the plan is made in between.
    let mut all = Vec::new();
    while all.iter().filter(|event| text(event).starts_with("Collaboration ended")).count() < 2 {
        all.push(listener.next().unwrap().1);
    }
    let of = |answer: &Value| -> Vec<Value> {
        all.iter().filter(|event| event["session_id"] == answer["sessionId"]).cloned().collect()
    };
    let (tale, plan) = (of(&tale), of(&plan));
    assert_eq!(tale.len() + plan.len(), all.len(), "every event is of one of them");
    assert_eq!(speakers(&tale), ["claude", "gpt", "claude", "gpt"]);
    assert_eq!(speakers(&plan), ["claude", "gpt", "claude"]);
    assert!(tale.iter().all(|event| !text(event).contains("hut")));
    assert!(plan.iter().all(|event| !text(event).contains("Ilse")));
    let ends = all.iter().rev().take(2).map(|event| &event["session_id"]).collect::<Vec<_>>();
    assert_eq!(ends, [&tale[0]["session_id"]; 2], "they were interleaved");
}

#[test]
fn the_example_of_a_room() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--config", &example("room/polylogue.toml")]);
    let mut listener = server.listen("lobby", 0);
    let mut heard = |events: usize| -> Vec<String> {
        let told = |(_, event): (u64, Value)| format!("{}: {}", event["sender"].as_str().unwrap(), text(&event));
        listener.take(events).into_iter().map(told).collect()
    };
    server.say("lobby", &json!({"text": "@gpt What is a cloud?"}));
    assert_eq!(heard(3)[2], "gpt: A cloud is water that has not decided where to fall.");
    server.say("lobby", &json!({"text": "Say it in verse.", "target": "gpt"}));
    assert_eq!(
        heard(5),
        [
            "you: Say it in verse.",
            "router: Say it in verse.",
            "gpt: That is not for me.",
            "router: Say it in one line of verse.",
            "claude: A cloud is a lake that nobody could hold.",
        ]
    );
    let all = server.say("lobby", &json!({"text": "What is a cloud?", "target": "all"}));
    assert_eq!(all["sessions"].as_array().unwrap().len(), 3);
    assert_eq!(heard(7)[0], "you: What is a cloud?");
    let answer = server.say("lobby", &json!({"text": "@router collaborate claude gpt: Tell of a cloud and a well."}));
    let events = server.listen("lobby", 0).session(&answer["sessionId"]);
    assert_eq!(speakers(&events), ["claude", "gpt", "claude"]);
    let (status, refused) = server.post("/v1/rooms/lobby/messages", &json!({"text": "@bob Hi."}));
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("INVALID_REQUEST")));
    let names = refused["error"]["message"].as_str().unwrap().to_owned();
    assert!(names.contains("claude, critic, gpt"), "{names}");
}

/// A folder whose agents hand on twice and end, a little time for each reply.
fn prepared(delay: &str) -> Folder {
    let folder = Folder::new();
    let agents = "[agents.gpt]\nmodel = \"script/replies.yaml\"\n[agents.claude]\nmodel = \"script/replies.yaml\"\n";
    folder.write("polylogue.toml", agents);
    let on = |turn: u32, to: &str| {
        format!(
            "  - {{turn: {turn}, contains: 'Goal:', delay: {delay}, reply: {{message: More., handoff: {{to: {to}, task: Go on.}}}}}}\n"
        )
    };
    let script = format!(
        "replies:\n{}{}  - {{contains: 'Goal:', delay: {delay}, reply: {{message: Done., final: true}}}}\n  \
         - {{delay: {delay}, reply: {{message: Here.}}}}\n",
        on(1, "claude"),
        on(2, "gpt")
    );
    folder.write("replies.yaml", &script);
    folder
}

/// How many events a collaboration of three rounds has.
const EVENTS: usize = 9;

fn without_ids(events: &[(u64, Value)]) -> Vec<String> {
    let one = |(_, event): &(u64, Value)| {
        let round = &event["round"];
        format!("{} {} {} {round} {}", event["type"], event["sender"], event["target"], event["text"])
    };
    events.iter().map(one).collect()
}

#[test]
fn killed_after_every_event_the_room_goes_on() {
    let undisturbed = {
        let folder = prepared("0s");
        let server = Server::start(&folder, &[]);
        server.say("lobby", &collaborate("Work it out."));
        without_ids(&server.listen("lobby", 0).take(EVENTS))
    };
    for after in 1..=EVENTS {
        let folder = prepared("60ms");
        let server = Server::start(&folder, &[]);
        let answer = server.say("lobby", &collaborate("Work it out."));
        let mut heard = server.listen("lobby", 0).take(after);
        server.kill();

        let server = Server::start(&folder, &[]);
        heard.extend(server.listen("lobby", heard.last().unwrap().0).take(EVENTS - after));
        assert_eq!(without_ids(&heard), undisturbed, "killed after {after}");
        let session = heard.iter().all(|(_, event)| event["session_id"] == answer["sessionId"]);
        assert!(session, "killed after {after}");
        let lost = lost_are_charged(&folder, answer["sessionId"].as_str().unwrap());
        assert!(lost <= 1, "one is asked at a time, and the kill came once: {lost}");
        assert_eq!(server.listen("lobby", 0).take(EVENTS), heard, "the history is what was heard");
        // And the room is open for more.
        server.say("lobby", &json!({"text": "@gpt Still there?"}));
        assert_eq!(text(&server.listen("lobby", heard[EVENTS - 1].0).take(3)[2].1), "Here.");
    }
}

/// Fifty rooms with two who listen and three who speak at once in each, on one store.
#[test]
fn fifty_rooms_at_once_and_their_order_is_in_the_tables() {
    const ROOMS: usize = 50;
    let folder = prepared("1ms");
    let server = Server::start(&folder, &[]);
    let posts = [collaborate("One."), collaborate("Two."), json!({"text": "@all Hi."})];
    // Each of the two that all are gets a call and answers.
    let events = EVENTS * 2 + 1 + 2 * 2;
    thread::scope(|scope| {
        for nth in 0..ROOMS {
            let (server, posts) = (&server, &posts);
            scope.spawn(move || {
                let room = format!("room-{nth}");
                let mut early = server.listen(&room, 0);
                let answers: Vec<Value> = thread::scope(|scope| {
                    let speakers: Vec<_> = posts.iter().map(|body| scope.spawn(|| server.say(&room, body))).collect();
                    speakers.into_iter().map(|speaker| speaker.join().unwrap()).collect()
                });
                let heard = early.take(events);
                assert!(heard.windows(2).all(|pair| pair[0].0 < pair[1].0), "ids go up");
                assert_eq!(server.listen(&room, 0).take(events), heard, "everybody hears the same");
                let mut calls: BTreeMap<String, usize> = BTreeMap::new();
                for (_, event) in &heard {
                    *calls.entry(event["call_id"].as_str().unwrap().to_owned()).or_default() += 1;
                }
                let of = |answer: &Value| calls[answer["callId"].as_str().unwrap()];
                assert_eq!(answers.iter().map(of).collect::<Vec<_>>(), [EVENTS, EVENTS, 5]);
            });
        }
    });
    server.kill();
    let store = rusqlite::Connection::open(folder.path("data/polylogue.db")).unwrap();
    let count = |query: &str| -> i64 { store.query_row(query, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM rooms"), ROOMS as i64);
    assert_eq!(count("SELECT count(*) FROM sessions WHERE reason IS NOT NULL"), ROOMS as i64 * 4);
    assert_eq!(count("SELECT count(*) FROM sessions"), ROOMS as i64 * 4);
    // Every record is in its room's order once, places have no gaps, and each session keeps its own order there.
    assert_eq!(count("SELECT count(*) FROM room_log"), count("SELECT count(*) FROM journal"));
    assert_eq!(count("SELECT count(*) FROM journal WHERE place NOT IN (SELECT record FROM room_log)"), 0);
    assert_eq!(count("SELECT count(*) FROM rooms WHERE head <> (SELECT max(n) FROM room_log WHERE room = key)"), 0);
    assert_eq!(count("SELECT count(*) FROM rooms WHERE head <> (SELECT count(*) FROM room_log WHERE room = key)"), 0);
    let out_of_order = "SELECT count(*) FROM room_log a JOIN room_log b ON a.room = b.room AND a.n < b.n
                        WHERE a.record >> 32 = b.record >> 32 AND a.record > b.record";
    assert_eq!(count(out_of_order), 0);
}
