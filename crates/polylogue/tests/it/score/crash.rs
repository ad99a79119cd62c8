//! `kill -9` after every record of a score: resumed, it ends as if nothing had happened.

use serde_json::{Value, json};

use super::folder;
use crate::{
    crash::{calls, lost_are_charged, settled},
    folder::{Folder, Run, said},
};

/// A score with how it is played.
struct Played {
    score: &'static str,
    set: &'static str,
    replies: &'static str,
}

/// Those who speak at once answer one after the other, so that every run hears them in the same order. The first reply
/// of somebody in each cannot be used, and is asked for again.
const COUNCIL: Played = Played {
    score: "council",
    set: "sentences=2",
    replies: r"  - {agent: gpt, turn: 1, reply: A door that one may close.}
  - {agent: claude, turn: 1, delay: 250ms, reply: A table with a place too many.}
  - {agent: gemini-2.5-pro, turn: 1, delay: 500ms, reply: What is missing when one is away.}
  - {agent: gpt, turn: 2, attempt: 1, reply: I cannot decide.}
  - {agent: gpt, turn: 2, reply: {ranking: [A, B], because: It is short.}}
  - {agent: claude, turn: 2, delay: 500ms, reply: {ranking: [B, A], because: It is true.}}
  - {agent: gemini-2.5-pro, turn: 2, delay: 750ms, fail: {kind: refused, message: no}}
  - {agent: chair, reply: A door with a table behind it.}
",
};

const DEBATE: Played = Played {
    score: "debate",
    set: "rounds=2",
    replies: r"  - {agent: pro, turn: 1, reply: Boats move.}
  - {agent: con, turn: 1, reply: So do their floors.}
  - {agent: pro, turn: 2, reply: One learns to stand.}
  - {agent: con, turn: 2, reply: One learns that ashore as well.}
  - {agent: gpt, turn: 3, attempt: 1, reply: Who knows?}
  - {agent: gpt, turn: 3, reply: {winner: con, because: The last word.}}
  - {agent: claude, turn: 3, delay: 250ms, reply: {winner: pro, because: The first word.}}
  - {agent: gemini-2.5-pro, turn: 3, delay: 500ms, reply: {winner: con, because: The floor.}}
",
};

const PANEL: Played = Played {
    score: "panel",
    set: "turns=3",
    replies: r"  - {agent: host, turn: 1, reply: Welcome.}
  - {agent: host, purpose: pick, turn: 2, reply: {next: claude}}
  - {agent: host, purpose: pick, turn: 3, attempt: 1, reply: Whoever likes.}
  - {agent: host, purpose: pick, turn: 3, reply: {next: gpt}}
  - {agent: host, purpose: pick, turn: 4, reply: Nobody at all.}
  - {agent: claude, purpose: play, reply: First of all.}
  - {agent: gpt, purpose: play, reply: Second to that.}
  - {agent: gemini-2.5-pro, purpose: play, reply: And thirdly.}
  - {agent: host, turn: 5, reply: Good night.}
",
};

/// An ask, as scripts name it.
type Asked = (String, String, u64);

fn asked(record: &Value) -> Asked {
    let ask = &record["ask"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&ask["agent"]), text(&ask["purpose"]), ask["turn"].as_u64().unwrap())
}

impl Played {
    fn folder(&self, held: &[Asked]) -> Folder {
        folder(&["gpt", "claude", "gemini-2.5-pro"], &self.script(held), &[])
    }

    /// The replies, with those to these asks held back for longer than any test.
    fn script(&self, held: &[Asked]) -> String {
        let hold = |(agent, purpose, turn): &Asked| {
            format!("  - {{agent: {agent}, purpose: {purpose}, turn: {turn}, delay: 120s, reply: ''}}\n")
        };
        format!("{}{}", held.iter().map(hold).collect::<String>(), self.replies)
    }

    fn args(&self) -> [&'static str; 7] {
        ["play", self.score, "What is a home?", "--set", self.set, "--seed", "7"]
    }

    /// Kills it after every record of an undisturbed run, and compares.
    fn killed_everywhere(&self) {
        let run = self.folder(&[]).run(&self.args());
        assert_eq!((run.status, run.reason()), (0, "completed"), "{}: {}", self.score, run.stderr);
        let records: Vec<&Value> = run.lines.iter().filter(|line| line["type"] != "result").collect();
        let is = |record: &&&Value, decision: &str| record["decision"] == decision;
        assert!(records.iter().any(|record| is(&record, "reasked")), "{}: a reply is asked for again", self.score);
        let places: Vec<usize> = (0..records.len()).collect();
        // Each waits for its processes more than it works.
        const AT_ONCE: usize = 4;
        for some in places.chunks(AT_ONCE) {
            std::thread::scope(|scope| {
                for at in some {
                    let (records, run) = (&records, &run);
                    scope.spawn(move || self.killed_at(*at, records, run));
                }
            });
        }
    }

    fn killed_at(&self, at: usize, records: &[&Value], expected: &Run) {
        let seq = &records[at]["seq"];
        // Where the journal waits for replies, they are held back, so that the kill comes exactly there. What is asked
        // for once more has been answered before: that answer cannot be held back.
        let asks = records[at..].iter().take_while(|record| record["type"] == "asked");
        let before = records[..at].iter().rev().take_while(|record| record["type"] == "asked");
        let is_again = records[at]["ask"]["attempt"].is_u64();
        let held: Vec<Asked> = match is_again {
            true => Vec::new(),
            false => asks
                .chain(before)
                .filter(|record| records[at]["type"] == "asked" && record["type"] == "asked")
                .map(|record| asked(record))
                .collect(),
        };
        let folder = self.folder(&held);
        let mut running = folder.start(&self.args());
        assert!(running.read_until(|seen| seen["seq"] == *seq), "{}: there is no record {seq}", self.score);
        let session = running.session();
        running.kill();

        let settled = settled(&folder, &session);
        folder.write("replies.yaml", &format!("log: calls.jsonl\nreplies:\n{}", self.script(&[])));
        let shown = folder.run(&["sessions", "show", &session]);
        if shown.result()["status"] != "ended" {
            let resumed = folder.run(&["sessions", "resume", &session]);
            assert_eq!((resumed.status, resumed.reason()), (0, "completed"), "{} killed at {seq}", self.score);
        }
        let result = folder.run(&["sessions", "show", &session]);
        assert_eq!(said(result.result()), expected.said(), "{} killed at {seq}", self.score);
        for of in ["results", "title"] {
            assert_eq!(result.result()[of], expected.result()[of], "{} killed at {seq}", self.score);
        }
        let lost = lost_are_charged(&folder, &session);
        assert!(
            held.is_empty() || lost > 0,
            "{} killed at {seq}: replies are held back, and none is charged",
            self.score
        );
        for ask in settled {
            assert_eq!(calls(&folder)[&ask], 1, "{} killed at {seq}: {ask} was asked again", self.score);
        }
    }
}

#[test]
fn a_council_that_is_killed_goes_on() {
    COUNCIL.killed_everywhere();
}

#[test]
fn a_debate_that_is_killed_goes_on() {
    DEBATE.killed_everywhere();
}

#[test]
fn a_panel_that_is_killed_goes_on() {
    PANEL.killed_everywhere();
}

/// Too few are left: it is no success, and resumed it asks those again who failed.
#[test]
fn a_score_that_is_short_of_seats_has_failed_and_goes_on_when_resumed() {
    let replies = "  - {agent: pro, reply: Boats move.}\n";
    let folder = folder(
        &["gpt", "claude", "gemini-2.5-pro"],
        &format!("{replies}  - {{agent: con, fail: {{kind: refused, message: no}}}}\n"),
        &[],
    );
    let run = folder.run(&["play", "debate", "Boats.", "--set", "rounds=1"]);
    assert_eq!((run.status, run.reason()), (1, "too_few"), "{}", run.stderr);
    assert_eq!(run.result().get("results"), None, "nothing came out: {}", run.result());
    let more = "  - {agent: con, reply: Houses stay.}\n  - {reply: {winner: pro, because: It moves.}}\n";
    folder.write("replies.yaml", &format!("replies:\n{replies}{more}"));
    let resumed = folder.run(&["sessions", "resume", "last"]);
    assert_eq!((resumed.status, resumed.reason()), (0, "completed"), "{}", resumed.stderr);
    assert_eq!(resumed.result()["results"], json!({"votes": [{"value": "pro", "count": 3}]}));
}
