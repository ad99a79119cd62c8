//! The collaboration of its source document, section by section, and its bounds.

use crate::support::{Play, agent, collaboration, handoff, said, settings, text};
use polylogue_core::{
    Cut, Event, Halt, Input, Reason, Rejected, Setup,
    event::{CallFailure, FailureKind},
    format::collaboration::{Decision, Finished, Mode, Settings, purpose, reason},
    id::{AskId, LineId},
    ledger::Usage,
    money::{Money, Price},
    projection::{self, CannotFork, NoRequest, Outcome, fork, markdown, plain_text, request_behind},
    setup::{BadSetup, Cast, Change, Limits},
    text::reply::Repair,
};

/// Four rounds, as acceptance test A tells them.
fn fairy_tale() -> Play {
    Play::start(collaboration(&["claude", "gpt"], 4)).unwrap().run(|ask| match ask.id.turn {
        1 => handoff("Once upon a time.", "gpt", "Edit this."),
        2 => handoff("Edited: once, upon a time.", "claude", "Write the end."),
        3 => handoff("And they lived.", "gpt", "Finish it."),
        _ => r#"{"message": "Done.", "final": true}"#.to_owned(),
    })
}

#[test]
fn a_context_sharing_works() {
    let play = fairy_tale();
    assert_eq!(
        play.lines(),
        [
            "you: Write a fairy tale.",
            "claude: Once upon a time.",
            "router: Edit this.",
            "gpt: Edited: once, upon a time.",
            "router: Write the end.",
            "claude: And they lived.",
            "router: Finish it.",
            "gpt: Done.",
            "router: Collaboration ended: gpt finished it in round 4 of 4.",
        ]
    );
    let request = request_behind(&play.records, LineId(8)).unwrap().ask.request;
    for seen in ["Write a fairy tale.", "claude: Once upon a time.", "router to gpt: Finish it.", "Round 4 of 4."] {
        assert!(request.prompt.contains(seen), "{seen} is not in:\n{}", request.prompt);
    }
}

#[test]
fn the_whole_journal_of_a_run() {
    insta::assert_snapshot!(fairy_tale().journal());
}

#[test]
fn the_request_of_a_middle_round() {
    let insight = request_behind(&fairy_tale().records, LineId(6)).unwrap();
    assert!(insight.is_exact);
    insta::assert_snapshot!(insight.ask.request.to_string());
}

#[test]
fn the_transcript_as_people_read_it() {
    let play = fairy_tale();
    insta::assert_snapshot!(plain_text(&play.conversation), @r"
    Collaboration between claude (script/test.yaml) and gpt (script/test.yaml)
    2023-11-14T22:13:20.000Z, session 11111111-1111-1111-1111-111111111111

    you: Write a fairy tale.

    claude: Once upon a time.

    [to gpt: Edit this.]

    gpt: Edited: once, upon a time.

    [to claude: Write the end.]

    claude: And they lived.

    [to gpt: Finish it.]

    gpt: Done.

    [Collaboration ended: gpt finished it in round 4 of 4.]
    ");
    assert!(markdown(&play.conversation).contains("\n**claude:** Once upon a time.\n\n> to gpt: Edit this.\n"));
}

#[test]
fn b_rounds_are_bounded() {
    let play = Play::start(collaboration(&["claude", "gpt"], 2)).unwrap().run(|ask| {
        let to = if ask.id.agent.as_str() == "gpt" { "claude" } else { "gpt" };
        handoff("More.", to, "Go on.")
    });
    assert_eq!(play.conversation.stage().ended(), Some(Reason::CAP_REACHED));
    let messages = play.lines().iter().filter(|line| line.ends_with("More.")).count();
    assert_eq!(messages, 2);
}

/// What one reply in round 1 of 3 leads to.
#[test]
fn c_and_d_envelopes_and_what_is_none() {
    let final_and_handoff = r#"{"message": "Hi.", "final": true, "handoff": {"to": "gpt", "task": "x"}}"#;
    let to_bob = r#"{"message": "Hi.", "handoff": {"to": "bob", "task": "x"}}"#;
    let cases: &[(&str, &str, Reason)] = &[
        (r#"{"message": "Hi.", "final": true}"#, "claude: Hi.", reason::FINAL),
        (final_and_handoff, "claude: Hi.", reason::FINAL),
        (r#"{"message": "Hi.", "final": false}"#, "claude: Hi.", reason::NO_HANDOFF),
        (r#"{"message": "Hi.", "handoff": null, "final": null}"#, "claude: Hi.", reason::NO_HANDOFF),
        ("```json\n{\"message\": \"Hi.\", \"final\": true}\n```", "claude: Hi.", reason::FINAL),
        ("Just prose, no JSON.", "claude: Just prose, no JSON.", reason::MALFORMED_REPLY),
        (r#"{"text": "Hi."}"#, r#"claude: {"text": "Hi."}"#, reason::MALFORMED_REPLY),
        (to_bob, "claude: Hi.", reason::NO_HANDOFF),
        (r#"{"message": "Hi.", "handoff": {"to": "gpt"}}"#, "claude: Hi.", reason::NO_HANDOFF),
        (r#"{"message": "Hi.", "handoff": "gpt"}"#, "claude: Hi.", reason::NO_HANDOFF),
        (&to_bob.replace("\"handoff\"", "\"final\": true, \"handoff\""), "claude: Hi.", reason::FINAL),
        (r#"{"message": "claude: Hi.", "final": true}"#, "claude: Hi.", reason::FINAL),
    ];
    for (reply, line, reason) in cases {
        let play = Play::start(collaboration(&["claude", "gpt"], 3)).unwrap().run(|_| (*reply).to_owned());
        assert_eq!(play.conversation.stage().ended(), Some(*reason), "{reply}");
        assert_eq!(play.lines()[1], *line, "{reply}");
        assert_eq!(play.lines().len(), 3, "nothing is asked again: {reply}");
    }
}

#[test]
fn a_message_in_an_envelope_is_kept_whole() {
    for dialogue in [
        "Here it is:\ngpt: Knock, knock.\nclaude: Who is there?",
        "claude: Knock, knock.\ngpt: Who is there?\nclaude: The router.",
        "**gpt:** Knock, knock.\n\n**claude:** Who is there?",
    ] {
        let reply = serde_json::json!({"message": dialogue, "handoff": {"to": "gpt", "task": "Go on."}}).to_string();
        let play = Play::start(collaboration(&["claude", "gpt"], 1)).unwrap().run(|_| reply.clone());
        assert_eq!(play.lines()[1], format!("claude: {dialogue}"));
        assert_eq!(play.conversation.stage().ended(), Some(Reason::CAP_REACHED));
    }
}

#[test]
fn a_malformed_reply_is_shown_raw_and_whole() {
    for raw in [
        "claude: Hi, in prose.\ngpt: And I am gpt.\nclaude: Bye.",
        "{\"text\": \"claude: Hi.\\ngpt: Hello.\"}",
        "Sure!\n\ngpt: my part is done",
    ] {
        let play = Play::start(collaboration(&["claude", "gpt"], 3)).unwrap().run(|_| raw.to_owned());
        assert_eq!(play.conversation.stage().ended(), Some(reason::MALFORMED_REPLY), "{raw}");
        assert_eq!(play.lines()[1], format!("claude: {raw}"));
    }
}

#[test]
fn a_handoff_to_a_name_that_is_nearly_right_is_repaired() {
    // What is written, whether it is right to the letter, and who goes on.
    for (to, is_exact, next) in [
        ("gpt", true, Some("gpt")),
        ("GPT", false, Some("gpt")),
        ("@gpt", false, Some("gpt")),
        ("@Claude", false, Some("claude")),
        ("gtp", false, Some("gpt")),
        ("cluade", false, Some("claude")),
        ("bob", false, None),
        ("gpt-5", false, None),
    ] {
        let mut play = Play::start(collaboration(&["claude", "gpt"], 2)).unwrap();
        let ask = play.begin().remove(0);
        play.answer(&ask, &handoff("Hi.", to, "Go on."));
        assert_eq!(play.lines()[1], "claude: Hi.", "{to}");
        let asked = play.begin();
        assert_eq!(asked.first().map(|ask| ask.id.agent.as_str()), next, "{to}");
        let repairs = play.records.iter().find_map(|record| match &record.event {
            Event::Answered { repairs, .. } => Some(repairs.clone()),
            _ => None,
        });
        let expected: &[Repair] = match (is_exact, next) {
            (true, _) => &[],
            (false, Some(_)) => &[Repair::Choice],
            (false, None) => &[Repair::UnknownField],
        };
        assert_eq!(repairs.as_deref(), Some(expected), "{to}");
        if next.is_none() {
            assert_eq!(play.conversation.stage().ended(), Some(reason::NO_HANDOFF), "{to}");
            let problem = play.records.iter().find_map(|record| match record.event.decided() {
                Some(Decision::Concluded { problem, .. }) => problem.clone(),
                _ => None,
            });
            assert_eq!(problem.as_deref(), Some("`handoff.to` must be one of claude, gpt"));
        }
    }
}

/// Claude's reply in round 1, which breaks off; the ask after it.
fn broken_off(reply: &str, max_output_tokens: Option<u32>) -> (Play, polylogue_core::ask::Ask) {
    let mut setup = collaboration(&["claude", "gpt"], 2);
    let mut claude = agent("claude");
    claude.sampling.max_output_tokens = max_output_tokens;
    setup.cast = Cast::new(vec![claude, agent("gpt")], vec!["you".parse().unwrap()]).unwrap();
    let mut play = Play::start(setup).unwrap();
    let ask = play.begin().remove(0);
    play.answer_in_part(&ask, reply);
    let next = play.begin().remove(0);
    (play, next)
}

#[test]
fn a_reply_that_broke_off_at_the_output_limit_is_asked_for_once_more_with_a_higher_one() {
    let half = r#"{"message": "Once upon a"#;
    for (limit, higher) in [(None, 4_096), (Some(100), 400), (Some(2_000), 4_096), (Some(20_000), 40_000)] {
        for reply in [half, "Sure, I will write"] {
            let (play, again) = broken_off(reply, limit);
            assert_eq!((again.id.agent.as_str(), again.id.turn, again.id.attempt), ("claude", 1, 2), "{reply}");
            assert_eq!(again.request.max_output_tokens(), higher, "{reply}");
            assert_eq!(play.lines().len(), 1, "nothing is shown yet: {reply}");
            assert_eq!(polylogue_core::Conversation::replay(&play.records).unwrap(), play.conversation);
        }
    }
    // The second reply is whole, and the next speaker has the usual room.
    let (mut play, again) = broken_off(half, None);
    play.answer(&again, &handoff("Once upon a time.", "gpt", "Go on."));
    assert_eq!(play.lines()[1], "claude: Once upon a time.");
    let next = play.begin().remove(0);
    assert_eq!((next.id.agent.as_str(), next.request.max_output_tokens()), ("gpt", 2_048));
    // The second breaks off too: what can be read of it is shown.
    let (mut play, again) = broken_off(half, None);
    play.answer_in_part(&again, r#"{"message": "Once upon a time, there"#);
    assert_eq!(play.begin(), []);
    assert_eq!(play.conversation.stage().ended(), Some(reason::NO_HANDOFF));
    assert_eq!(play.lines()[1], "claude: Once upon a time, there");
    // The second does not come at all: the first is what there is.
    let (mut play, again) = broken_off(half, None);
    let failure = CallFailure { kind: FailureKind::Rejected, message: "max_tokens is too large".into() };
    play.give(Input::AskFailed { ask: again.id, failure, usage: Usage::default(), retries: 0 }).unwrap();
    assert_eq!(play.begin(), []);
    assert_eq!(play.conversation.stage().ended(), Some(reason::NO_HANDOFF));
    assert_eq!(play.lines()[1], "claude: Once upon a");
}

#[test]
fn a_reply_that_is_whole_at_the_output_limit_is_not_asked_for_again() {
    let mut play = Play::start(collaboration(&["claude", "gpt"], 2)).unwrap();
    let ask = play.begin().remove(0);
    play.answer_in_part(&ask, &handoff("Hi.", "gpt", "Go on."));
    assert_eq!(play.begin()[0].id.agent.as_str(), "gpt");
}

#[test]
fn an_empty_reply_is_malformed_and_no_line() {
    let play = Play::start(collaboration(&["claude", "gpt"], 3)).unwrap().run(|_| "  \n".to_owned());
    assert_eq!(play.conversation.stage().ended(), Some(reason::MALFORMED_REPLY));
    assert_eq!(play.lines().len(), 2);
}

#[test]
fn what_was_repaired_and_why_not_is_recorded() {
    let run = |reply: &str| {
        let reply = reply.to_owned();
        Play::start(collaboration(&["claude", "gpt"], 1)).unwrap().run(move |_| reply.clone()).records
    };
    let repaired =
        run("Sure: {'message': 'claude: Hi', 'final': True,}").into_iter().find_map(|record| match record.event {
            Event::Answered { repairs, .. } => Some(repairs),
            _ => None,
        });
    let expected = vec![Repair::Prose, Repair::Quotes, Repair::BareWord, Repair::Comma, Repair::NamePrefix];
    assert_eq!(repaired, Some(expected));
    let problem = run(r#"{"message": 7}"#).into_iter().find_map(|record| match record.event.decided() {
        Some(Decision::Concluded { problem, .. }) => problem.clone(),
        _ => None,
    });
    assert_eq!(problem.as_deref(), Some("`message` must be a text that is not empty"));
}

#[test]
fn e_a_stop_ends_it_with_a_notice_and_can_be_resumed() {
    let mut play = Play::start(collaboration(&["claude", "gpt"], 2)).unwrap();
    let ask = play.begin().remove(0);
    let cut = vec![Cut { ask: ask.id.clone(), partial: text("{\"mess"), usage: None }];
    play.give(Input::Halted { why: Halt::StopPressed, cut }).unwrap();
    assert_eq!(play.conversation.stage().ended(), Some(Reason::CANCELLED));
    assert_eq!(play.lines().last().unwrap(), "router: Collaboration canceled by user.");
    assert_eq!(play.conversation.next(), []);
    let late = play.conversation.on(Input::Answered { ask: ask.id.clone(), answer: Default::default() });
    assert_eq!(late, Err(Rejected::Ended(Reason::CANCELLED)));

    play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    let again = play.begin().remove(0);
    assert_eq!((again.id.turn, again.id.attempt), (1, 2));
    assert_eq!(again.request, ask.request, "the same turn is asked again");
    let stale = play.conversation.on(Input::Answered { ask: ask.id.clone(), answer: Default::default() });
    assert_eq!(stale, Err(Rejected::NotAsked(ask.id)));
}

#[test]
fn three_agents_hand_over_to_whom_they_name() {
    let mut setup = collaboration(&["ann", "ben", "cleo"], 5);
    settings(&mut setup).speaker = "ben".parse().unwrap();
    let play = Play::start(setup).unwrap().run(|ask| match ask.id.turn {
        1 => handoff("Hi.", "CLEO", "Go on."),
        2 => handoff("Hi.", "cleo", "Go on yourself."),
        3 => handoff("Hi.", "ann", "Go on."),
        _ => r#"{"message": "Bye.", "final": true}"#.to_owned(),
    });
    let speakers: Vec<String> = play
        .records
        .iter()
        .filter_map(|record| match &record.event {
            Event::LineSpoken { speaker, .. } => Some(speaker.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(speakers, ["ben", "cleo", "cleo", "ann"]);
}

#[test]
fn a_failed_call_ends_it_and_resume_asks_again() {
    let mut play = Play::start(collaboration(&["claude", "gpt"], 2)).unwrap();
    let ask = play.begin().remove(0).id;
    let failure = CallFailure { kind: FailureKind::Unauthorized, message: "no".into() };
    play.give(Input::AskFailed { ask, failure, usage: Usage::default(), retries: 0 }).unwrap();
    assert_eq!(play.begin(), []);
    assert_eq!(play.conversation.stage().ended(), Some(Reason::FAILED));
    assert_eq!(play.lines().last().unwrap(), "router: Collaboration ended: claude could not be reached.");
    assert_eq!(Outcome::of(&play.conversation).errors[0].message, "no");
    play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    assert_eq!(play.begin()[0].id.attempt, 2);
}

#[test]
fn limits_are_looked_at_before_a_call() {
    let price = Some(Price { input: 0.0, output: 1.0, cached: None, cache_write: None });
    // A call may bring 2,048 tokens, which cost $0.002048; what it really brings is estimated at 2 tokens.
    let cases = [
        (Limits { max_usd: Money::from_usd(0.002), ..Limits::default() }, 0, Reason::LIMIT_USD),
        (Limits { max_usd: Money::from_usd(0.002_05), ..Limits::default() }, 1, Reason::LIMIT_USD),
        (Limits { max_tokens: 100, ..Limits::default() }, 0, Reason::LIMIT_TOKENS),
        (Limits { max_tokens: 2_600, ..Limits::default() }, 1, Reason::LIMIT_TOKENS),
        (Limits { max_seconds: 2, ..Limits::default() }, 2, Reason::LIMIT_SECONDS),
    ];
    for (limits, calls, reason) in cases {
        let mut setup = collaboration(&["claude", "gpt"], 9);
        let priced = |name| polylogue_core::setup::Agent { price, ..agent(name) };
        setup.cast = Cast::new(vec![priced("claude"), priced("gpt")], vec!["you".parse().unwrap()]).unwrap();
        setup.limits = limits;
        let play = Play::start(setup).unwrap().run(|_| handoff("Hi.", "gpt", "Go on."));
        assert_eq!(play.conversation.stage().ended(), Some(reason), "{limits:?}");
        assert_eq!(play.conversation.stage().ledger().total().calls, calls, "{limits:?}");
    }
}

#[test]
fn what_can_be_resumed_and_with_what() {
    let more_rounds = Change { max_rounds: Some(9), ..Change::default() };
    let fewer_rounds = Change { max_rounds: Some(1), ..Change::default() };
    let more_tokens = Change { limits: Some(Limits { max_tokens: 900_000, ..Limits::default() }), ..Change::default() };
    let same = Change::default();
    let tight = |setup: &mut Setup| setup.limits.max_tokens = 10;
    let wide = |_: &mut Setup| {};
    type Case<'a> = (&'a str, fn(&mut Setup), &'a Change, Result<(), Rejected>);
    let cases: Vec<Case<'_>> = vec![
        (r#"{"message": "x", "final": true}"#, wide, &more_rounds, Err(Rejected::Complete(reason::FINAL))),
        (r#"{"message": "x"}"#, wide, &more_rounds, Err(Rejected::Complete(reason::NO_HANDOFF))),
        ("x", wide, &more_rounds, Err(Rejected::Complete(reason::MALFORMED_REPLY))),
        (
            r#"{"message": "x", "handoff": {"to": "gpt", "task": "y"}}"#,
            wide,
            &same,
            Err(Rejected::StillAtLimit(Reason::CAP_REACHED)),
        ),
        (
            r#"{"message": "x", "handoff": {"to": "gpt", "task": "y"}}"#,
            wide,
            &fewer_rounds,
            Err(Rejected::StillAtLimit(Reason::CAP_REACHED)),
        ),
        (r#"{"message": "x", "handoff": {"to": "gpt", "task": "y"}}"#, wide, &more_rounds, Ok(())),
        ("", tight, &same, Err(Rejected::StillAtLimit(Reason::LIMIT_TOKENS))),
        ("", tight, &more_tokens, Ok(())),
    ];
    for (reply, adjust, change, expected) in cases {
        let mut setup = collaboration(&["claude", "gpt"], 2);
        adjust(&mut setup);
        let play = Play::start(setup).unwrap().run(|_| reply.to_owned());
        let got = play.conversation.on(Input::ResumePressed { change: change.clone() });
        assert_eq!(got.map(|_| ()), expected, "{reply}");
    }
}

#[test]
fn what_a_resume_or_a_fork_changes_is_held_to_the_bounds_of_a_setup() {
    let mut play = Play::start(collaboration(&["claude", "gpt"], 2)).unwrap();
    play.begin();
    play.give(Input::Halted { why: Halt::StopPressed, cut: Vec::new() }).unwrap();
    let zero = Limits { max_seconds: 0, ..Limits::default() };
    for (change, problem) in [
        (Change { max_rounds: Some(u32::MAX), ..Change::default() }, BadSetup::Rounds(u32::MAX, Settings::MAX_ROUNDS)),
        (Change { max_rounds: Some(0), ..Change::default() }, BadSetup::Rounds(0, Settings::MAX_ROUNDS)),
        (Change { limits: Some(zero), ..Change::default() }, BadSetup::ZeroLimit("max_seconds".into())),
    ] {
        let resumed = play.conversation.on(Input::ResumePressed { change: change.clone() });
        assert_eq!(resumed, Err(Rejected::BadSetup(problem.clone())));
        let id = polylogue_core::id::SessionId::from_bytes([7; 16]);
        let forked = fork(&play.records, polylogue_core::id::Seq(1), id, change, polylogue_core::Timestamp(0));
        assert_eq!(forked.map(|_| ()), Err(CannotFork::BadChange(problem)));
    }
}

#[test]
fn a_setup_that_cannot_work_is_refused_before_anything_happens() {
    let start = |adjust: fn(&mut Setup)| {
        let mut setup = collaboration(&["claude", "gpt"], 2);
        adjust(&mut setup);
        Play::start(setup).err()
    };
    type Case = (fn(&mut Setup), BadSetup);
    let cases: Vec<Case> = vec![
        (|setup| settings(setup).max_rounds = 0, BadSetup::Rounds(0, Settings::MAX_ROUNDS)),
        (|setup| settings(setup).max_rounds = 10_001, BadSetup::Rounds(10_001, Settings::MAX_ROUNDS)),
        (
            |setup| settings(setup).goal = "  ".into(),
            BadSetup::settings("the goal is empty: say what the agents are to do"),
        ),
        (|setup| settings(setup).goal = "x".repeat(20_001).into(), BadSetup::TooLong(20_001, 20_000)),
        (
            |setup| settings(setup).speaker = "bob".parse().unwrap(),
            BadSetup::NotInCast("bob".into(), "claude, gpt".into()),
        ),
        (
            |setup| setup.cast = Cast::new(vec![agent("claude")], vec![]).unwrap(),
            BadSetup::settings("a collaboration is between two agents or more: name another with --between"),
        ),
        (|setup| setup.limits.max_seconds = 0, BadSetup::ZeroLimit("max_seconds".into())),
    ];
    for (adjust, problem) in cases {
        assert_eq!(start(adjust), Some(problem));
    }
    let template = |name: &str, source: &str| {
        let mut setup = collaboration(&["claude", "gpt"], 2);
        setup.templates.insert(name.to_owned(), source.into());
        Play::start(setup).err().map(|problem| problem.to_string())
    };
    assert_eq!(template("collaboration_turn.j2", "Mine: {{ goal }}"), None);
    for (name, source, problem) in [
        ("collaboration_turn.j2", "{{ goal", "the template `collaboration_turn.j2` does not compile"),
        ("collaboration_turn.j2", "{{ gaol }}", "the template `collaboration_turn.j2` does not compile: undefined"),
        ("other.j2", "", "there is no template called `other.j2`"),
    ] {
        let said = template(name, source).unwrap();
        assert!(said.starts_with(problem), "{said}");
    }
    assert_eq!(Cast::new(vec![agent("Router"), agent("gpt")], vec![]), Err(BadSetup::Reserved("Router".into())));
    assert_eq!(Cast::new(vec![agent("gpt"), agent("GPT")], vec![]), Err(BadSetup::Twice("GPT".into())));
}

#[test]
fn templates_of_one_s_own_are_used() {
    let mut setup = collaboration(&["claude", "gpt"], 2);
    setup.templates.insert("collaboration_turn.j2".into(), "{{ goal }} ({{ round }}/{{ max_rounds }})".into());
    let mut play = Play::start(setup).unwrap();
    assert_eq!(&*play.begin()[0].request.prompt, "Write a fairy tale. (1/2)");
}

#[test]
fn only_a_line_that_was_asked_for_has_a_request() {
    let play = fairy_tale();
    assert_eq!(request_behind(&play.records, LineId(1)), Err(NoRequest::NotAsked(LineId(1), "you".into())));
    assert_eq!(request_behind(&play.records, LineId(3)), Err(NoRequest::NotAsked(LineId(3), "router".into())));
    assert_eq!(request_behind(&play.records, LineId(40)), Err(NoRequest::NoSuchLine(LineId(40), 9)));
    assert_eq!(request_behind(&play.records, LineId(0)), Err(NoRequest::NoSuchLine(LineId(0), 9)));
}

#[test]
fn ids_come_from_position() {
    let first = fairy_tale();
    let second = fairy_tale();
    assert_eq!(first.records, second.records);
    let ask = AskId { purpose: purpose::CONTRIBUTE, turn: 3, agent: "claude".parse().unwrap(), attempt: 1 };
    assert!(
        first.records.iter().any(|record| matches!(&record.event, Event::Asked { ask: asked, .. } if *asked == ask))
    );
}

#[test]
fn the_finished_work_is_the_result() {
    let tale = "# A tale\\n\\nOnce upon a time.\\n\\nThe end.";
    let finished = format!(r#"{{"message": "{tale}", "final": true}}"#);
    // What is replied, and what is handed out at the end.
    for (reply, result) in [
        (finished.as_str(), Some("# A tale\n\nOnce upon a time.\n\nThe end.")),
        (r#"{"message": "claude: The tale.", "final": true}"#, Some("The tale.")),
        (r#"{"message": "Half a tale."}"#, None),
        ("Half a tale.", None),
        (r#"{"message": "More.", "handoff": {"to": "gpt", "task": "x"}}"#, None),
    ] {
        let play = Play::start(collaboration(&["claude", "gpt"], 1)).unwrap().run(|_| reply.to_owned());
        assert_eq!(projection::result(&play.conversation).as_deref(), result, "{reply}");
        let artifacts = Outcome::of(&play.conversation).artifacts;
        let id = play.conversation.stage().setup().id;
        let path = format!("tts/sessions/{id}/result.md");
        assert_eq!(artifacts, result.map(|_| path).into_iter().collect::<Vec<_>>(), "{reply}");
        let file = Finished::of(&play.records).map(|finished| finished.file());
        assert_eq!(file, result.map(|result| format!("{result}\n")));
    }
    // What a person says to it afterwards is not the work, and a call comes to no work.
    let setup = |mode| {
        let mut setup = collaboration(&["claude", "gpt"], 2);
        settings(&mut setup).mode = mode;
        setup
    };
    for (mode, result) in [(Mode::Collaborate, Some("Done.")), (Mode::Single, None)] {
        let mut play = Play::start(setup(mode)).unwrap();
        let ask = play.begin().remove(0);
        assert_eq!(projection::result(&play.conversation), None, "it is not over");
        play.give(said("you", "And now?")).unwrap();
        play.answer(&ask, r#"{"message": "Done.", "final": true}"#);
        play.begin();
        assert_eq!(projection::result(&play.conversation).as_deref(), result);
    }
}

#[test]
fn agents_are_told_that_the_last_message_is_the_whole_work() {
    let play = fairy_tale();
    let last = request_behind(&play.records, LineId(8)).unwrap().ask.request;
    insta::assert_snapshot!("the_request_of_the_last_round", last.to_string());
}
