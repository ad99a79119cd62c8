//! `kill -9` after every record of a scene: resumed, it ends as if nothing had happened.

use serde_json::Value;

use super::{Theatre, entries, scene};
use crate::{
    crash::{calls, lost_are_charged, settled},
    folder::{Run, said},
};

/// What is asked in a beat: the characters, or the moderator.
type Phase = (String, u64);

/// Every kind of thing that can happen in a scene, with the replies of one phase held back for longer than any test.
fn prepare(theatre: &Theatre, held: Option<&Phase>) {
    const REPLIES: [(&str, &str, u64, &str); 14] = [
        ("act", "agent: bob", 0, "reply: '[TO: Alice, TONE: tense] \"Look, I can explain what happened.\"'"),
        ("judge", "attempt: 1", 0, "reply: Lovely!"),
        ("judge", "attempt: 2", 0, "reply: {progress: 0.1, goalReached: false, naturalEnd: false}"),
        ("act", "agent: alice", 1, "reply: '[INTERRUPT after \"I can explain\", TONE: furious] \"No excuses!\"'"),
        ("act", "agent: bob", 1, "reply: '[SILENT, *looks down*]'"),
        (
            "judge",
            "agent: moderator",
            1,
            "reply: {progress: 0.2, goalReached: false, naturalEnd: false, onTrack: false, event: A phone rings, \
             characters: [{name: Bob, note: Say it.}], relationships: [{from: Alice, to: Bob, change: -0.3}]}",
        ),
        ("act", "agent: alice", 2, "fail: {kind: refused, message: no}"),
        ("act", "agent: bob", 2, "delay: 150ms, reply: 'Bob: [tone: sad] I am sorry.'"),
        ("judge", "agent: moderator", 2, "fail: {kind: refused, message: no}"),
        ("act", "agent: bob", 3, "reply: '[REACT, TONE: hopeful, *looks up*]'"),
        ("act", "agent: alice", 3, "delay: 150ms, reply: '[TO: Bob, TONE: warm] \"All right.\"'"),
        (
            "judge",
            "agent: moderator",
            3,
            "reply: {evidence: [{part: 1, line: All right.}], progress: 1, goalReached: true, naturalEnd: true}",
        ),
        ("remember", "agent: alice", 3, "reply: I forgave Bob."),
        ("remember", "agent: bob", 3, "reply: I was forgiven."),
    ];
    let reply = |(purpose, who, turn, reply): (&str, &str, u64, &str)| {
        let is_held = held.is_some_and(|(phase, beat)| phase == purpose && *beat == turn);
        let reply = if is_held { "delay: 120s, reply: ''" } else { reply };
        format!("  - {{purpose: {purpose}, {who}, turn: {turn}, {reply}}}\n")
    };
    theatre.replies(&REPLIES.map(reply).concat());
}

fn theatre() -> Theatre {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.folder.write("scene.yaml", &scene("killed", "alice, bob", "initialSpeaker: bob\nstory: the-office"));
    theatre
}

const PLAY: [&str; 4] = ["scene", "scene.yaml", "--model", "script/replies.yaml"];

fn without_times(transcript: &str) -> Vec<String> {
    entries(transcript).into_iter().map(str::to_owned).collect()
}

/// Kills a run as soon as this record has been seen, resumes it, and compares.
fn killed_at(record: &Value, expected: &Run, transcript: &[String]) {
    let theatre = theatre();
    // Where the journal waits for replies, they are held back, so that the kill comes exactly there.
    let asked: Option<Phase> = (record["type"] == "asked").then(|| {
        let ask = &record["ask"];
        (ask["purpose"].as_str().unwrap().to_owned(), ask["turn"].as_u64().unwrap())
    });
    // A judgement that is asked for again has been answered once: only the second can be waited for.
    let asked = asked.filter(|_| record["ask"]["attempt"].is_null());
    prepare(&theatre, asked.as_ref());
    let seq = &record["seq"];
    let mut running = theatre.folder.start(&PLAY);
    assert!(running.read_until(|seen| seen["seq"] == *seq), "there is no record {seq}");
    let session = running.session();
    running.kill();

    let settled = settled(&theatre.folder, &session);
    prepare(&theatre, None);
    let shown = theatre.folder.run(&["sessions", "show", &session]);
    if shown.result()["status"] != "ended" {
        let resumed = theatre.folder.run(&["sessions", "resume", &session]);
        assert_eq!((resumed.status, resumed.reason()), (0, "goal_achieved"), "killed at {seq}");
        assert_eq!(without_times(&theatre.transcript("killed")), transcript, "killed at {seq}");
    }
    let result = theatre.folder.run(&["sessions", "show", &session]);
    assert_eq!(said(result.result()), expected.said(), "killed at {seq}");
    let lost = lost_are_charged(&theatre.folder, &session);
    assert!(asked.is_none() || lost > 0, "killed at {seq} while replies are held back, and nothing is charged");
    for ask in settled {
        assert_eq!(calls(&theatre.folder)[&ask], 1, "killed at {seq}: {ask} was asked again");
    }
}

#[test]
fn killed_on_the_way_through_a_scene() {
    let theatre = theatre();
    prepare(&theatre, None);
    let run = theatre.folder.run(&PLAY);
    assert_eq!((run.status, run.reason()), (0, "goal_achieved"), "{}", run.stderr);
    let transcript = without_times(&theatre.transcript("killed"));
    assert_eq!(
        transcript,
        [
            "Bob [TO: Alice, TONE: tense] \"Look, I can explain—\"",
            "Alice [INTERRUPT after \"I can explain\", TONE: furious] \"No excuses!\"",
            "[EVENT: A phone rings]",
            "[SYSTEM: Alice unable to respond]",
            "Bob [TONE: sad] \"I am sorry.\"",
            "Bob [REACT, TONE: hopeful, *looks up*]",
            "Alice [TO: Bob, TONE: warm] \"All right.\"",
            "[SCENE END - Goal: Achieved]",
        ]
    );
    let records: Vec<&Value> = run.lines.iter().filter(|line| line["type"] != "result").collect();
    // Each waits for its processes more than it works.
    const AT_ONCE: usize = 4;
    for some in records.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for record in some {
                scope.spawn(|| killed_at(record, &run, &transcript));
            }
        });
    }
}
