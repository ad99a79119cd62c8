//! The chorus of its source document, section by section.

use crate::support::{Play, chorus, comment_on, said, spoken, text};
use polylogue_core::{
    Conversation, Event, Halt, Input, Reason, Record, Rejected, Setup, Step,
    ask::{Ask, Role},
    event::{CallFailure, FailureKind},
    format::chorus::{ChorusStream, Decision, Manifest, Settings, purpose},
    id::LineId,
    ledger::Usage,
    line::Clip,
    projection::{Outcome, plain_text, request_behind},
    setup::{BadSetup, Change},
    text::reply::Repair,
};

/// The number of the slot that is asked.
pub(crate) fn slot_of(ask: &Ask) -> u8 {
    ask.id.agent.as_str().trim_start_matches("slot-").parse().unwrap()
}

/// What a well-behaved slot says: it comments on the next one.
pub(crate) fn good(ask: &Ask, slots: u8) -> String {
    let slot = slot_of(ask);
    match ask.id.purpose {
        purpose::RESPOND => spoken(&format!("I am {slot}.")),
        purpose::COMMENT => comment_on(slot % slots + 1, &format!("{slot} heard you.")),
        purpose::REPLY => spoken(&format!("Thank you, says {slot}.")),
        other => unreachable!("a chorus asks for no {other}"),
    }
}

/// Plays to the end: every ask is answered in turn, `None` being a failed call, then every clip is made.
pub(crate) fn play(mut play: Play, reply: impl Fn(&Ask) -> Option<String>, clips: impl Fn(LineId) -> bool) -> Play {
    let mut steps = 0;
    while play.conversation.stage().ended().is_none() {
        steps += 1;
        assert!(steps < 100, "it does not end");
        let wanted: Vec<LineId> = wanted(&play);
        for ask in play.begin() {
            play.wait_ms(100);
            match reply(&ask) {
                Some(text) => play.answer(&ask, &text),
                None => fail(&mut play, &ask),
            }
        }
        for line in wanted {
            speak(&mut play, line, clips(line));
        }
    }
    play
}

fn wanted(play: &Play) -> Vec<LineId> {
    let steps = play.conversation.next();
    steps.into_iter().filter_map(|step| if let Step::Speak(line) = step { Some(line) } else { None }).collect()
}

fn fail(play: &mut Play, ask: &Ask) {
    let failure = CallFailure { kind: FailureKind::Timeout, message: "no answer within 30 s".into() };
    play.give(Input::AskFailed { ask: ask.id.clone(), failure, usage: Usage::default(), retries: 3 }).unwrap();
}

pub(crate) fn speak(play: &mut Play, line: LineId, is_made: bool) {
    let stage = play.conversation.stage();
    let place = play.conversation.clip_place(stage.transcript().get(line).unwrap());
    let path = format!("tts/sessions/{}/{}.wav", stage.setup().id, place.join("/"));
    let input = match is_made {
        true => Input::ClipMade { line, clip: Clip { path, duration_ms: 40, ..Clip::default() } },
        false => Input::ClipFailed { line, error: "no voice".into() },
    };
    play.give(input).unwrap();
}

fn all_good(slots: u8) -> Play {
    play(Play::start(chorus(slots)).unwrap(), |ask| Some(good(ask, slots)), |_| true)
}

/// The stream, an event a line, with its sequence number.
pub(crate) fn stream(records: &[Record]) -> Vec<String> {
    let (mut stream, first) = ChorusStream::begin(&records[0]).unwrap();
    let mut events = vec![(records[0].seq, first)];
    for record in &records[1..] {
        events.extend(stream.on(record).map(|event| (record.seq, event)));
    }
    events
        .into_iter()
        .map(|(seq, event)| format!("{seq} {} {}", event.name(), serde_json::to_string(&event).unwrap()))
        .collect()
}

/// The stream without what is the same in every event.
fn told(play: &Play) -> String {
    let session = format!("\"sessionId\":\"{}\"", play.conversation.stage().setup().id);
    let lines = stream(&play.records)
        .into_iter()
        .map(|line| line.replace(&session, "").replace("{,", "{").replace(",,", ",") + "\n");
    lines.collect()
}

fn decisions(play: &Play) -> Vec<Decision> {
    play.records.iter().filter_map(|record| record.event.decided().cloned()).collect()
}

#[test]
fn the_whole_journal_of_a_run() {
    insta::assert_snapshot!(all_good(3).journal());
}

#[test]
fn the_whole_stream_of_two_slots() {
    insta::assert_snapshot!(told(&all_good(2)));
}

#[test]
fn a_single_slot_has_nobody_to_comment_on() {
    insta::assert_snapshot!(told(&all_good(1)));
}

#[test]
fn the_requests_of_the_three_turns() {
    let play = all_good(3);
    let lines = play.conversation.stage().transcript().lines();
    let last = lines.iter().rfind(|line| line.speaker.name() == "slot-1").unwrap();
    let insight = request_behind(&play.records, last.id).unwrap();
    assert!(insight.is_exact);
    insta::assert_snapshot!(insight.ask.request.to_string());
    let comment = lines.iter().find(|line| line.to.is_some()).unwrap();
    let shape = request_behind(&play.records, comment.id).unwrap().ask.request.shape.unwrap().schema();
    assert_eq!(shape["properties"]["targetSlotId"], serde_json::json!({"type": "integer", "enum": [2, 3]}));
    assert_eq!(shape["required"], serde_json::json!(["targetSlotId", "comment", "voice_profile"]));
}

#[test]
fn the_manifest_and_the_transcript() {
    let play = all_good(2);
    let manifest = Manifest::of(&play.records).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&manifest).unwrap());
    assert!(plain_text(&play.conversation).contains("\nslot-1 to slot-2: 1 heard you.\n"));
    assert_eq!(Outcome::of(&play.conversation).artifacts.len(), 7);
}

#[test]
fn a_slot_without_a_response_is_out_and_one_without_a_comment_still_replies() {
    // Purpose of the failing ask of slot 2, and who comments and replies then.
    for (purpose, commenting, replying, completed) in [
        (purpose::RESPOND, vec![1, 3, 4], vec![1, 3, 4], 3),
        (purpose::COMMENT, vec![1, 2, 3, 4], vec![1, 2, 4], 3),
        (purpose::REPLY, vec![1, 2, 3, 4], vec![1, 2, 3, 4], 3),
    ] {
        let reply = |ask: &Ask| match (slot_of(ask), ask.id.purpose) {
            (2, failing) if failing == purpose => None,
            // Without slot 2, slot 1 comments on slot 3.
            (1, purpose::COMMENT) if purpose == purpose::RESPOND => Some(comment_on(3, "Hm.")),
            _ => Some(good(ask, 4)),
        };
        let play = play(Play::start(chorus(4)).unwrap(), reply, |_| true);
        let begun: Vec<Vec<u8>> = decisions(&play)
            .into_iter()
            .filter_map(|decision| match decision {
                Decision::TurnBegun { slots, .. } => Some(slots.into_iter().map(|slot| slot.number()).collect()),
                _ => None,
            })
            .collect();
        assert_eq!(begun, [commenting, replying], "{purpose:?}");
        assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
        let events = stream(&play.records);
        assert!(events.last().unwrap().contains(&format!("done {{\"completedSlots\":{completed}")), "{events:?}");
        assert_eq!(events.iter().filter(|event| event.contains("slot.error")).count(), 1);
    }
}

#[test]
fn nobody_answers() {
    let failing = play(Play::start(chorus(2)).unwrap(), |_| None, |_| true);
    assert_eq!(failing.conversation.stage().ended(), Some(Reason::FAILED));
    assert!(stream(&failing.records).last().unwrap().ends_with("\"turns\":1,\"reason\":\"failed\"}"));
    // The models are there again.
    let mut failing = failing;
    failing.give(Input::ResumePressed { change: Change::default() }).unwrap();
    let resumed = play(failing, |ask| Some(good(ask, 2)), |_| true);
    assert_eq!(resumed.conversation.stage().ended(), Some(Reason::COMPLETED));
    let done = stream(&resumed.records).pop().unwrap();
    assert!(done.contains("\"completedSlots\":2,") && done.ends_with("\"turns\":3}"), "{done}");
}

#[test]
fn at_most_three_comments_are_forwarded_and_the_seed_draws_them() {
    let forwarded_with = |seed| {
        let setup = Setup { seed, ..chorus(6) };
        let to_the_first = |ask: &Ask| match (slot_of(ask), ask.id.purpose) {
            (1, purpose::COMMENT) => Some(comment_on(2, "You.")),
            (_, purpose::COMMENT) => Some(comment_on(1, "You.")),
            _ => Some(good(ask, 6)),
        };
        let play = play(Play::start(setup).unwrap(), to_the_first, |_| true);
        let manifest = Manifest::of(&play.records).unwrap();
        let kept = manifest.lines.iter().filter(|line| line.forwarded == Some(true)).count();
        assert_eq!((kept, manifest.lines.len()), (4, 6 + 6 + 2));
        let routed = |decision| match decision {
            Decision::Routed { target, forwarded, dropped } if target.number() == 1 => Some((forwarded, dropped)),
            _ => None,
        };
        let (forwarded, dropped) = decisions(&play).into_iter().find_map(routed).unwrap();
        assert_eq!((forwarded.len(), dropped.len()), (3, 2));
        forwarded
    };
    assert_eq!(forwarded_with(1), forwarded_with(1));
    let drawn: std::collections::BTreeSet<_> = (0..20).map(forwarded_with).collect();
    assert!(drawn.len() > 5, "{drawn:?}");
}

/// What slot 1 says in turn 2, try by try, and what becomes of it.
fn commented(tries: &[&str]) -> Play {
    let reply = |ask: &Ask| match (slot_of(ask), ask.id.purpose) {
        (1, purpose::COMMENT) => Some(tries[ask.id.attempt as usize - 1].to_owned()),
        _ => Some(good(ask, 3)),
    };
    play(Play::start(chorus(3)).unwrap(), reply, |_| true)
}

#[test]
fn a_comment_reaches_somebody_who_can_be_commented_on() {
    let (own, unknown) = (comment_on(1, "Me!"), comment_on(5, "Who?"));
    let quoted = r#"{"targetSlotId": "slot-3", "comment": "Yes.", "voice_profile": "playful"}"#;
    let no_voice = r#"{"targetSlotId": 3, "comment": "Yes."}"#;
    let odd_voice = r#"{"targetSlotId": 3, "comment": "Yes.", "voice_profile": "bass"}"#;
    // Tries; whether it was asked again, whether the target was drawn, whether slot 1 spoke at all.
    let cases: &[(&[&str], bool, bool, bool)] = &[
        (&[&comment_on(3, "Yes.")], false, false, true),
        (&[quoted], false, false, true),
        (&[no_voice], false, false, true),
        (&[odd_voice], false, false, true),
        (&[&own, &comment_on(3, "Yes.")], true, false, true),
        (&[&own, &own], true, true, true),
        (&[&unknown, &own], true, true, true),
        (&["no JSON", &unknown], true, true, true),
        (&["no JSON", &comment_on(3, "Yes.")], true, false, true),
        (&[&own, "no JSON"], true, false, false),
        (&["no JSON", "no JSON"], true, false, false),
    ];
    for (tries, again, drawn, spoke) in cases {
        let play = commented(tries);
        let decisions = decisions(&play);
        let is_again = |decision: &Decision| matches!(decision, Decision::Reasked { .. });
        let is_drawn = |decision: &Decision| matches!(decision, Decision::TargetDrawn { .. });
        assert_eq!(decisions.iter().any(is_again), *again, "{tries:?}");
        assert_eq!(decisions.iter().any(is_drawn), *drawn, "{tries:?}");
        let lines = play.conversation.stage().transcript().lines();
        let comment = lines.iter().find(|line| line.to.is_some() && line.speaker.name() == "slot-1");
        assert_eq!(comment.is_some(), *spoke, "{tries:?}");
        assert!(comment.is_none_or(|line| line.to.as_ref().unwrap().as_str() != "slot-1" && line.voice.is_some()));
        assert_eq!(play.conversation.stage().ended(), Some(Reason::COMPLETED));
    }
}

#[test]
fn a_re_ask_names_the_error_and_stays_in_the_thread() {
    let play = commented(&[&comment_on(1, "Me!"), &comment_on(3, "Yes.")]);
    let lines = play.conversation.stage().transcript().lines();
    let comment = lines.iter().find(|line| line.to.is_some() && line.speaker.name() == "slot-1").unwrap();
    let request = request_behind(&play.records, comment.id).unwrap().ask.request;
    assert!(request.prompt.contains("`targetSlotId` must be one of 2, 3"), "{}", request.prompt);
    let roles: Vec<Role> = request.thread.messages().iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant]);
    assert!(request.thread.messages()[3].text.contains("Me!"));
}

#[test]
fn a_reply_that_broke_off_is_asked_for_again_with_more_room() {
    let (prose, half) = ("Let me think about", r#"{"text": "A home is"#);
    for (reply, broke_off, room) in [(prose, true, 4_096), (half, true, 4_096), (prose, false, 2_048)] {
        let mut play = Play::start(chorus(2)).unwrap();
        let ask = play.begin().remove(0);
        match broke_off {
            true => play.answer_in_part(&ask, reply),
            false => play.answer(&ask, reply),
        }
        let again = play.begin().remove(0);
        assert_eq!((&again.id.agent, again.id.attempt), (&ask.id.agent, 2), "{reply}");
        assert_eq!(again.request.max_output_tokens(), room, "{reply}");
        // The second time, what can be read is taken.
        play.answer_in_part(&again, half);
        assert_eq!(play.lines().last().unwrap(), "slot-1: A home is", "{reply}");
    }
}

#[test]
fn lines_keep_to_their_length_and_their_speaker() {
    let long = "A sentence of some length that says nothing in particular. ".repeat(20);
    let reply = |ask: &Ask| match (slot_of(ask), ask.id.purpose) {
        (1, purpose::RESPOND) => Some(spoken(&long)),
        (1, purpose::COMMENT) => Some(comment_on(2, "Slot 1: One.\\nSlot 2: And I?")),
        _ => Some(good(ask, 2)),
    };
    let play = play(Play::start(chorus(2)).unwrap(), reply, |_| true);
    let lines = play.conversation.stage().transcript().lines();
    assert_eq!(lines[1].text.matches('.').count(), 3);
    assert!(lines.iter().any(|line| &*line.text == "One."));
    let repairs: Vec<Repair> = play
        .records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Answered { repairs, .. } => Some(repairs.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(repairs, [Repair::Cut, Repair::NamePrefix, Repair::OtherSpeaker]);
}

#[test]
fn a_comment_that_is_not_too_long_is_kept_whole() {
    let kettle = "Hmm... I love how you hear the kettle.";
    let play = commented(&[&comment_on(3, kettle)]);
    let lines = play.conversation.stage().transcript().lines();
    assert!(lines.iter().any(|line| &*line.text == kettle), "{:?}", play.lines());
}

#[test]
fn clips_fail_and_the_texts_go_on() {
    let all_silent = play(Play::start(chorus(2)).unwrap(), |ask| Some(good(ask, 2)), |_| false);
    let events = stream(&all_silent.records);
    assert_eq!(events.iter().filter(|event| event.contains("tts_error")).count(), 6);
    assert_eq!(events.iter().filter(|event| event.contains("\"clipCount\":0")).count(), 3);
    assert!(events.last().unwrap().contains("\"completedSlots\":2"));
    // The last text of a turn fails when its clips are done already.
    let mut play = Play::start(chorus(2)).unwrap();
    let asks = play.begin();
    play.answer(&asks[0], &spoken("Hello."));
    speak(&mut play, LineId(2), true);
    fail(&mut play, &asks[1]);
    let last: Vec<String> = stream(&play.records).split_off(5);
    let names: Vec<&str> = last.iter().map(|event| event.split(' ').nth(1).unwrap()).collect();
    assert_eq!(names[..3], ["slot.error", "turn.done", "turn.audio"]);
    assert!(last[2].contains("\"clipCount\":1"), "{last:?}");
}

#[test]
fn without_speech_there_is_no_audio_event() {
    let silent = Setup { speech: false, ..chorus(6) };
    let play = play(Play::start(silent).unwrap(), |ask| Some(good(ask, 6)), |_| true);
    assert!(stream(&play.records).iter().all(|event| !event.contains("audio")));
}

#[test]
fn a_session_that_goes_on_falls_silent_and_speaks_again() {
    let silent = Change { speech: Some(false), ..Change::default() };
    // A chorus that is stopped with clips to be made.
    let mut play = Play::start(chorus(2)).unwrap();
    for ask in play.begin() {
        play.answer(&ask, &good(&ask, 2));
    }
    assert_eq!(wanted(&play), [LineId(2), LineId(3)]);
    play.give(Input::Halted { why: Halt::StopPressed, cut: Vec::new() }).unwrap();
    play.give(Input::ResumePressed { change: silent }).unwrap();
    assert_eq!(wanted(&play), []);
    let mut over = self::play(play, |ask| Some(good(ask, 2)), |_| true);
    assert_eq!(over.conversation.stage().ended(), Some(Reason::COMPLETED));
    assert!(stream(&over.records).iter().all(|event| !event.contains("audio")));
    // The next message is spoken as the session was set up, and so is what was left.
    over.give(said("you", "And a house?")).unwrap();
    assert_eq!(wanted(&over), [LineId(2), LineId(3)]);
    assert_eq!(Conversation::replay(&over.records).unwrap(), over.conversation);
}

#[test]
fn a_later_message_goes_on_with_the_threads() {
    let mut first = all_good(2);
    let head = first.records.len();
    let again = said("you", "And a house?");
    first.give(again.clone()).unwrap();
    // It is the chorus's turn now.
    first.begin();
    assert_eq!(first.give(again), Err(Rejected::NotYourTurn("you".parse().unwrap())));
    let second = play(first, |ask| Some(good(ask, 2)), |_| true);
    let lines = second.conversation.stage().transcript().lines();
    let paths: Vec<String> = Outcome::of(&second.conversation).artifacts;
    assert_eq!(paths.len(), 13);
    assert!(paths[6].ends_with("/message_2/turn_1/slot-1_agent-1_playful.wav"), "{}", paths[6]);
    let answer = lines.iter().filter(|line| line.speaker.name() == "slot-1").nth(3).unwrap();
    let request = request_behind(&second.records, answer.id).unwrap().ask.request;
    assert_eq!(request.thread.messages().len(), 6);
    assert!(request.prompt.contains("And a house?"));
    // The stream from there on is that of a chorus.
    let events: Vec<String> = stream(&second.records);
    let mut later = events.iter().filter(|event| event.split(' ').next().unwrap().parse::<usize>().unwrap() > head);
    let names: Vec<&str> = later.clone().map(|event| event.split(' ').nth(1).unwrap()).collect();
    assert_eq!((names[0], *names.last().unwrap()), ("turn.start", "done"));
    assert!(later.next_back().unwrap().contains("\"turns\":3"));
    assert_eq!(Manifest::of(&second.records).unwrap().lines.iter().filter(|line| line.message == 2).count(), 6);
}

#[test]
fn a_setup_is_checked() {
    type Spoil = fn(&mut polylogue_core::format::chorus::Settings);
    let cases: &[(Spoil, &str)] = &[
        (|settings| settings.message = "  ".into(), "the message is empty"),
        (|settings| settings.slots.clear(), "1 to 6 slots"),
        (|settings| settings.slots[1].slot_id = 1.try_into().unwrap(), "slot 1 is there twice"),
        (|settings| settings.slots[1].slot_id = 5.try_into().unwrap(), "nobody sits in slot 5"),
        (|settings| settings.slots.truncate(1), "2 agents for 1 slots"),
        (|settings| settings.voices.clear(), "voice profiles"),
        (|settings| settings.voices[0].name = "a/b".into(), "`a/b`"),
    ];
    for (spoil, problem) in cases {
        let mut setup = chorus(2);
        let settings = setup.format.settings_mut::<Settings>().unwrap();
        spoil(settings);
        let error = setup.check().unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let broken = [("turn2_comment_select.j2".to_owned(), text("{{ peers }}"))];
    let setup = Setup { templates: broken.into(), ..chorus(2) };
    assert!(matches!(Play::start(setup).err(), Some(BadSetup::Template { .. })));
}
