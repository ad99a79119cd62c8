//! Journals that earlier versions wrote, one folder a version: every later version reads them to the same end.
//! A file here is never changed; a new version of the journal adds a folder.

use polylogue_core::{
    Conversation, Event, Record, Timestamp,
    event::Unreadable,
    id::Seq,
    money::Money,
    projection::{Outcome, plain_text, request_behind},
};

/// The records of a file: a line each, without place and time.
fn read(journal: &str) -> Vec<Record> {
    let record = |(line, seq): (&str, u64)| Record {
        seq: Seq(seq),
        at: Timestamp(1_700_000_000_000 + seq),
        event: Event::decode(line).unwrap_or_else(|error| panic!("{error}: {line}")),
    };
    journal.lines().zip(1..).map(record).collect()
}

#[test]
fn every_old_journal_is_read_to_the_same_end() {
    for (name, journal, ended, lines) in [
        ("v1/final.jsonl", include_str!("corpus/v1/final.jsonl"), "final", 9),
        ("v1/stopped-and-resumed.jsonl", include_str!("corpus/v1/stopped-and-resumed.jsonl"), "cap_reached", 8),
        ("v1/chorus.jsonl", include_str!("corpus/v1/chorus.jsonl"), "completed", 10),
        ("v1/discussion.jsonl", include_str!("corpus/v1/discussion.jsonl"), "completed", 4),
        ("v1/room-call.jsonl", include_str!("corpus/v1/room-call.jsonl"), "no_handoff", 4),
        ("v1/scene-with-memory.jsonl", include_str!("corpus/v1/scene-with-memory.jsonl"), "goal_achieved", 2),
        ("v1/scene-narrated.jsonl", include_str!("corpus/v1/scene-narrated.jsonl"), "goal_achieved", 2),
        ("v1/interview.jsonl", include_str!("corpus/v1/interview.jsonl"), "completed", 2),
        ("v1/asked-again.jsonl", include_str!("corpus/v1/asked-again.jsonl"), "no_handoff", 5),
        ("v1/reopened-silent.jsonl", include_str!("corpus/v1/reopened-silent.jsonl"), "completed", 4),
        ("v1/forked-with-speech.jsonl", include_str!("corpus/v1/forked-with-speech.jsonl"), "failed", 5),
        ("v1/lost-and-billed.jsonl", include_str!("corpus/v1/lost-and-billed.jsonl"), "final", 5),
    ] {
        let records = read(journal);
        let conversation = Conversation::replay(&records).unwrap();
        let outcome = Outcome::of(&conversation);
        assert_eq!(outcome.reason.as_ref().map(|reason| reason.as_str()), Some(ended), "{name}");
        assert_eq!(outcome.lines.len(), lines, "{name}:\n{}", plain_text(&conversation));
        for (record, line) in records.iter().zip(journal.lines()) {
            assert_eq!(record.event.encode(), line, "{name} is written as it was read");
        }
    }
}

#[test]
fn what_was_lost_and_what_was_spoken_cost_what_they_cost() {
    let conversation = Conversation::replay(&read(include_str!("corpus/v1/lost-and-billed.jsonl"))).unwrap();
    let costs = Outcome::of(&conversation).costs;
    assert_eq!((costs.total_tokens, costs.estimated_usd), (3_194, Some(Money::from_usd(0.035_598_75))));
    assert_eq!(costs.speech.unwrap().estimated_usd, Some(Money::from_usd(0.0003)));
}

#[test]
fn the_requests_of_old_journals_are_recognised_by_their_digests() {
    for (name, journal) in [
        ("final", include_str!("corpus/v1/final.jsonl")),
        ("call", include_str!("corpus/v1/room-call.jsonl")),
        ("chorus", include_str!("corpus/v1/chorus.jsonl")),
        ("scene", include_str!("corpus/v1/scene-with-memory.jsonl")),
        ("interview", include_str!("corpus/v1/interview.jsonl")),
    ] {
        let records = read(journal);
        let conversation = Conversation::replay(&records).unwrap();
        let asked = conversation.stage().transcript().lines().iter().filter(|line| line.ask.is_some());
        let exact: Vec<bool> =
            asked.map(|line| request_behind(&records, line.id).expect("a request").is_exact).collect();
        assert!(!exact.is_empty() && exact.iter().all(|is_exact| *is_exact), "{name}: {exact:?}");
    }
}

#[test]
fn what_a_newer_version_wrote_is_said_to_be_newer() {
    for (line, problem) in [
        (r#"{"type":"resumed","version":2,"change":{}}"#, Unreadable::Newer { version: 2 }),
        (r#"{"type":"started","version":9,"setup":{"unknown":true}}"#, Unreadable::Newer { version: 9 }),
        (r#"{"type":"dreamt","of":"sheep"}"#, Unreadable::Unknown("dreamt".to_owned())),
    ] {
        assert_eq!(Event::decode(line), Err(problem), "{line}");
    }
    for line in ["", "{", "[]", r#"{"type":"ended"}"#, r#"{"no":"type"}"#] {
        assert!(matches!(Event::decode(line), Err(Unreadable::Damaged(_))), "{line}");
    }
}
