//! What a newer version wrote: it is listed and shown as far as it can be read, it is written as it was read, and
//! nobody goes on with it.

use polylogue_core::{
    Conversation, Event, Halt, Input, Record, Rejected, Timestamp,
    id::Seq,
    projection::{CannotFork, Outcome, Status, fork, plain_text},
    setup::Change,
};

use crate::support::{Play, collaboration, handoff, said};

/// The journal of a collaboration in its second round.
fn journal() -> Vec<String> {
    let mut play = Play::start(collaboration(&["claude", "gpt"], 4)).unwrap();
    let ask = play.begin().remove(0);
    play.answer(&ask, &handoff("Once upon a time.", "gpt", "Go on."));
    play.begin();
    play.records.iter().map(|record| record.event.encode()).collect()
}

fn read(lines: &[String]) -> Vec<Record> {
    let record = |(line, seq): (&String, u64)| Record {
        seq: Seq(seq),
        at: Timestamp(1_700_000_000_000 + seq),
        event: Event::decode(line).unwrap_or_else(|error| panic!("{error}: {line}")),
    };
    lines.iter().zip(1..).map(record).collect()
}

#[test]
fn what_is_not_known_is_shown_and_not_gone_on_with() {
    let cases = [
        (
            r#"{"type":"collaboration","decision":"weighed","by":{"gpt":0.7}}"#,
            "the decision `weighed` of the format `collaboration`",
        ),
        (r#"{"type":"duel","decision":"parried","blow":3}"#, "the decision `parried` of the format `duel`"),
        (
            r#"{"type":"collaboration","decision":"concluded","reason":"exhausted"}"#,
            "the decision `concluded` of the format `collaboration`",
        ),
        (
            r#"{"type":"line_spoken","speaker":{"agent":"gpt"},"kind":"verdict","text":"Guilty."}"#,
            "the kind of line `verdict`",
        ),
        (
            r#"{"type":"asked","ask":{"purpose":"weigh","turn":2,"agent":"gpt"},"digest":"00000000000000ff","estimate":{"input":1,"output":2}}"#,
            "the purpose `weigh`",
        ),
        (r#"{"type":"ended","reason":"exhausted"}"#, "the reason `exhausted`"),
    ];
    for (line, what) in cases {
        let mut lines = journal();
        lines.push(line.to_owned());
        let records = read(&lines);
        assert_eq!(records.last().unwrap().event.encode(), line, "it is written as it was read");
        assert_eq!(serde_json::to_value(records.last().unwrap()).unwrap()["type"], {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["type"].clone()
        });

        let conversation = Conversation::replay(&records).unwrap();
        let text = plain_text(&conversation);
        assert!(text.contains("claude: Once upon a time."), "{text}");
        assert!(text.contains(what), "{what}: {text}");
        let outcome = Outcome::of(&conversation);
        assert_eq!(outcome.unread, [what]);
        let is_over = line.contains("ended");
        assert_eq!(outcome.status, if is_over { Status::Ended } else { Status::Running }, "{line}");
        assert_eq!(outcome.lines.iter().any(|line| &*line.text == "Guilty."), line.contains("Guilty"));

        let refused = Err(Rejected::Unread(what.to_owned()));
        for input in [
            Input::ResumePressed { change: Change { max_rounds: Some(9), ..Change::default() } },
            said("you", "Go on."),
            Input::Halted { why: Halt::StopPressed, cut: Vec::new() },
        ] {
            assert_eq!(conversation.on(input), refused, "{line}");
        }
        assert_eq!(conversation.next(), []);
        let sentence = Rejected::Unread(what.to_owned()).to_string();
        assert!(sentence.contains(what) && sentence.contains("newer Polylogue"), "{sentence}");

        // What stands before it can be gone on from.
        let id = polylogue_core::id::SessionId::from_bytes([9; 16]);
        let forked = |at| fork(&records, Seq(at), id, Change::default(), Timestamp(0)).map(|_| ());
        assert_eq!(forked(5), Ok(()), "{line}");
        assert_eq!(forked(records.len() as u64), Err(CannotFork::Unread(what.to_owned())), "{line}");
    }
}

#[test]
fn a_session_of_an_unknown_format_is_shown() {
    let mut lines = journal();
    lines[0] = lines[0].replace(r#""name":"collaboration""#, r#""name":"duel","weapons":["pen","sword"]"#);
    let records = read(&lines);
    assert_eq!(records[0].event.encode(), lines[0], "it is written as it was read");
    let conversation = Conversation::replay(&records).unwrap();
    let outcome = Outcome::of(&conversation);
    assert_eq!((&*outcome.format, &*outcome.title), ("duel", "Write a fairy tale."));
    assert_eq!(outcome.unread, ["the format `duel` with its settings"]);
    assert!(plain_text(&conversation).contains("claude: Once upon a time."));
    let resumed = conversation.on(Input::ResumePressed { change: Change::default() });
    assert_eq!(resumed, Err(Rejected::Unread("the format `duel` with its settings".to_owned())));
    let Event::Started { setup, .. } = &records[0].event else { panic!("it is a start") };
    assert!(Conversation::start(setup.as_ref().clone(), Timestamp(0)).is_err(), "nobody can begin one");
}

#[test]
fn a_damaged_record_is_not_taken_for_a_newer_one() {
    for line in [r#"{"type":"ended"}"#, r#"{"type":"ended","reason":"Not A Name"}"#, r#"{"type":"line_spoken"}"#] {
        assert!(Event::decode(line).is_err(), "{line}");
    }
}
