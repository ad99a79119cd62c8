//! `kill -9` after every append of a run of each ending: resumed, it ends as if nothing had happened.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::folder::{Folder, Run, is_ask_of, said};

/// How a run goes: its replies by turn, and what else it needs.
struct Ending {
    reason: &'static str,
    replies: &'static [&'static str],
    config: &'static str,
    args: &'static [&'static str],
    status: i32,
}

const ON: &str = "reply: {message: Here is more., handoff: {to: OTHER, task: Go on.}}";

const ENDINGS: [Ending; 7] = [
    Ending {
        reason: "final",
        replies: &[ON, ON, ON, "reply: {message: Done., final: true}"],
        config: "",
        args: &[],
        status: 0,
    },
    Ending { reason: "no_handoff", replies: &[ON, "reply: {message: That is all.}"], config: "", args: &[], status: 0 },
    Ending { reason: "cap_reached", replies: &[ON, ON, ON], config: "", args: &["--max-rounds", "3"], status: 0 },
    Ending { reason: "malformed_reply", replies: &[ON, "reply: just prose"], config: "", args: &[], status: 0 },
    Ending { reason: "failed", replies: &[ON, "fail: {kind: unauthorized}"], config: "", args: &[], status: 1 },
    Ending {
        reason: "limit_tokens",
        replies: &[ON, ON, ON],
        config: "[limits]\nmax_tokens = 3000\n",
        args: &[],
        status: 0,
    },
    // Stopped by hand at the last turn that the replies know.
    Ending { reason: "cancelled", replies: &[ON, ON, ON], config: "", args: &[], status: 130 },
];

/// Where tokens are the limit.
const MAX_TOKENS: u64 = 3_000;

impl Ending {
    fn last_turn(&self) -> u64 {
        self.replies.len() as u64
    }

    /// A folder in which the run can be played; the reply of `slow_turn` takes longer than any test.
    fn prepare(&self, folder: &Folder, slow_turn: Option<u64>) {
        let agents =
            "[agents.gpt]\nmodel = \"script/replies.yaml\"\n[agents.claude]\nmodel = \"script/replies.yaml\"\n";
        folder.write("polylogue.toml", &format!("{}{agents}", self.config));
        let mut script = "log: calls.jsonl\nreplies:\n".to_owned();
        for (turn, reply) in (1..).zip(self.replies) {
            let other = if turn % 2 == 1 { "claude" } else { "gpt" };
            let delay = if slow_turn == Some(turn) { "120s" } else { "0s" };
            script += &format!("  - {{turn: {turn}, delay: {delay}, {}}}\n", reply.replace("OTHER", other));
        }
        folder.write("replies.yaml", &script);
    }

    fn args(&self) -> Vec<&'static str> {
        [&["collaborate", "Work it out."], self.args].concat()
    }

    fn is_stopped_by_hand(&self) -> bool {
        self.reason == "cancelled"
    }

    /// Plays a command to its end, pressing Ctrl-C at the last turn where the ending is that.
    fn play(&self, folder: &Folder, args: &[&str]) -> Run {
        if !self.is_stopped_by_hand() {
            self.prepare(folder, None);
            return folder.run(args);
        }
        self.prepare(folder, Some(self.last_turn()));
        let mut running = folder.start(args);
        assert!(running.read_until(is_ask_of(self.last_turn())));
        running.interrupt()
    }
}

/// How often each ask reached the model.
pub(crate) fn calls(folder: &Folder) -> BTreeMap<String, usize> {
    let log = std::fs::read_to_string(folder.path("calls.jsonl")).unwrap_or_default();
    let mut calls = BTreeMap::new();
    for line in log.lines() {
        let call: Value = serde_json::from_str(line).unwrap();
        *calls.entry(call["ask"].to_string()).or_default() += 1;
    }
    calls
}

/// The asks whose outcome is on disk.
pub(crate) fn settled(folder: &Folder, session: &str) -> Vec<String> {
    let journal = folder.run(&["sessions", "replay", session]).lines;
    let is_settled = |record: &&Value| record["type"] == "answered" || record["type"] == "ask_failed";
    journal.iter().filter(is_settled).map(|record| record["ask"].to_string()).collect()
}

/// What the asks that were open at a kill were expected to use at most, by ask.
type Open = BTreeMap<String, Value>;

fn follow(open: &mut Open, record: &Value) {
    match record["type"].as_str().unwrap() {
        "asked" => {
            open.insert(record["ask"].to_string(), record["estimate"].clone());
        }
        "answered" | "ask_failed" | "ask_cut" => {
            open.remove(&record["ask"].to_string());
        }
        _ => {}
    }
}

fn tokens(usage: &Value) -> u64 {
    usage["input"].as_u64().unwrap() + usage["output"].as_u64().unwrap()
}

/// Holds a session's journal to it that what every kill took with it is charged at its estimate, once, and that the
/// ledger is the sum of what is recorded. Answers with how many asks were lost.
pub(crate) fn lost_are_charged(folder: &Folder, session: &str) -> usize {
    let (mut open, mut lost, mut sum) = (Open::new(), 0, 0);
    for record in &folder.run(&["sessions", "replay", session]).lines {
        if record["type"] == "result" {
            assert_eq!(record["costs"]["totalTokens"], sum, "the ledger is what the journal says");
            continue;
        }
        if record["type"] == "resumed" {
            let charged = record["lost"].as_array().cloned().unwrap_or_default();
            lost += charged.len();
            let charged: Open = charged.iter().map(|lost| (lost["ask"].to_string(), lost["usage"].clone())).collect();
            assert_eq!(charged, std::mem::take(&mut open), "exactly what was open is charged, at its estimate");
            assert!(charged.values().all(|usage| usage["estimated"] == true), "and marked as estimated");
            sum += charged.values().map(tokens).sum::<u64>();
        }
        sum += record.get("usage").map(tokens).unwrap_or_default();
        follow(&mut open, record);
    }
    lost
}

/// The journal of an undisturbed run, and its result.
fn undisturbed(ending: &Ending) -> (Vec<Value>, Vec<String>) {
    let folder = Folder::new();
    let mut run = ending.play(&folder, &ending.args());
    assert_eq!((run.status, run.reason()), (ending.status, ending.reason));
    let said = run.said();
    run.lines.pop();
    (run.lines, said)
}

/// Kills a run as soon as this record has been seen, resumes it, and compares.
fn killed_at(ending: &Ending, seq: u64, slow_turn: Option<u64>, expected: &[String]) {
    let folder = Folder::new();
    ending.prepare(&folder, slow_turn);
    let mut running = folder.start(&ending.args());
    assert!(running.read_until(|record| record["seq"] == seq), "{} has no record {seq}", ending.reason);
    let session = running.session();
    running.kill();
    let is_held = slow_turn.is_some() && !ending.is_stopped_by_hand();

    let settled = settled(&folder, &session);
    let seen = folder.run(&["sessions", "replay", &session]).lines;
    let seen: Vec<Value> = seen.into_iter().filter(|record| record["type"] != "result").collect();
    let shown = folder.run(&["sessions", "show", &session]);
    // Where tokens are the limit, what the kill cost is made good: then it ends as if nothing had happened.
    let mut open = Open::new();
    seen.iter().for_each(|record| follow(&mut open, record));
    let lost = open.values().map(tokens).sum::<u64>();
    let limit = |more: u64| format!("the limit of {} tokens", MAX_TOKENS + more);
    let made_good = limit(lost);
    let result = if shown.result()["status"] == "ended" {
        shown
    } else {
        let more = (MAX_TOKENS + lost).to_string();
        let resume = ["sessions", "resume", &session, "--max-tokens", &more];
        let resumed = ending.play(&folder, if ending.reason == "limit_tokens" { &resume[..] } else { &resume[..3] });
        assert_eq!(lost_are_charged(&folder, &session), open.len(), "{} killed at {seq}", ending.reason);
        assert!(!is_held || open.len() == 1, "{} killed at {seq} while a reply is held back", ending.reason);
        resumed
    };
    assert_eq!(result.reason(), ending.reason, "{} killed at {seq}", ending.reason);
    let said: Vec<String> = said(result.result()).iter().map(|line| line.replace(&made_good, &limit(0))).collect();
    assert_eq!(said, expected, "{} killed at {seq}", ending.reason);
    for ask in settled {
        assert_eq!(calls(&folder)[&ask], 1, "{} killed at {seq}: {ask} was asked again", ending.reason);
    }
}

fn killed_everywhere(reason: &str) {
    let ending = ENDINGS.iter().find(|ending| ending.reason == reason).unwrap();
    let (journal, expected) = undisturbed(ending);
    for record in &journal {
        let seq = record["seq"].as_u64().unwrap();
        // Where the journal waits for a reply, the reply is held back, so that the kill comes exactly there.
        let waits = (record["type"] == "asked").then(|| record["ask"]["turn"].as_u64().unwrap());
        if ending.is_stopped_by_hand() {
            // The stop itself, and what follows it, are one append at the end: nobody is there to be killed.
            if record["type"] != "ask_cut" && record["type"] != "ended" {
                killed_at(ending, seq, waits.or(Some(ending.last_turn())), &expected);
            }
        } else {
            killed_at(ending, seq, waits, &expected);
        }
    }
}

#[test]
fn killed_on_the_way_to_final() {
    killed_everywhere("final");
}

#[test]
fn killed_on_the_way_to_no_handoff() {
    killed_everywhere("no_handoff");
}

#[test]
fn killed_on_the_way_to_cap_reached() {
    killed_everywhere("cap_reached");
}

#[test]
fn killed_on_the_way_to_malformed_reply() {
    killed_everywhere("malformed_reply");
}

#[test]
fn killed_on_the_way_to_failed() {
    killed_everywhere("failed");
}

#[test]
fn killed_on_the_way_to_limit_tokens() {
    killed_everywhere("limit_tokens");
}

#[test]
fn killed_on_the_way_to_cancelled() {
    killed_everywhere("cancelled");
}
