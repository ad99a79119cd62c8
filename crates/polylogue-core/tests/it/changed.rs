//! Forks that change something: a line's words, a persona, a model, or what the agents are told.

use polylogue_core::{
    Conversation, Event, Input, Record, Rejected, Setup, Step,
    ask::Ask,
    format::{chorus, collaboration},
    id::{Seq, SessionId},
    line::Speaker,
    projection::{CannotFork, Outcome, fork, request_behind},
    setup::{BadSetup, Change, Note, Recast},
};

use crate::{
    scene::{judged, scene},
    score,
    support::{Play, chorus, collaboration, comment_on, discussion, handoff, said, spoken},
};

const NEW_ID: [u8; 16] = [9; 16];

/// A session of some format, how its agents answer, and a line of it.
struct Case {
    name: &'static str,
    play: Play,
    reply: fn(&Ask) -> String,
    line: &'static str,
}

fn works(ask: &Ask) -> String {
    let to = if ask.id.agent.as_str() == "ann" { "ben" } else { "ann" };
    handoff(&format!("Part {}.", ask.id.turn), to, &format!("Go on, {to}."))
}

fn sings(ask: &Ask) -> String {
    match ask.id.purpose {
        chorus::purpose::COMMENT => comment_on(if ask.id.agent.as_str() == "slot-1" { 2 } else { 1 }, "Well said."),
        _ => spoken(&format!("A song of {}.", ask.id.agent)),
    }
}

fn acts(ask: &Ask) -> String {
    use polylogue_core::format::scene::purpose;
    match (ask.id.purpose, ask.id.turn, ask.id.agent.as_str()) {
        (purpose::ACT, 0, "bob") => "[TO: Alice, TONE: nervous, *fidgets*] \"Look, I can explain it all.\"".to_owned(),
        (purpose::ACT, 1, "alice") => "[INTERRUPT after \"I can explain\", TONE: cold] \"No excuses!\"".to_owned(),
        (purpose::ACT, 2, "alice") => "[REACT, *sits down*]".to_owned(),
        (purpose::ACT, _, "alice") => "[SILENT]".to_owned(),
        (purpose::ACT, beat, _) => format!("[TONE: calm] \"That was beat {beat}.\""),
        _ => judged(0.1, ""),
    }
}

fn discusses(ask: &Ask) -> String {
    format!("{} in round {}.", ask.id.agent, ask.id.turn)
}

/// Answers what is asked, and says something for the person, until it is over.
fn to_the_end(mut play: Play, reply: fn(&Ask) -> String) -> Play {
    while play.conversation.stage().ended().is_none() {
        if let [Step::AwaitHuman(awaited)] = play.conversation.next().as_slice() {
            // Other words each time.
            let words = format!("I see {}.", play.lines().len());
            play.give(said(awaited.who.as_str(), &words)).unwrap();
        }
        for ask in play.begin() {
            play.wait_ms(1_000);
            play.answer(&ask, &reply(&ask));
        }
    }
    play
}

fn played(name: &'static str, setup: Setup, reply: fn(&Ask) -> String, line: &'static str) -> Case {
    Case { name, play: to_the_end(Play::start(setup).unwrap(), reply), reply, line }
}

fn silent(slots: u8) -> Setup {
    Setup { speech: false, ..chorus(slots) }
}

fn cases() -> Vec<Case> {
    let (names, seats) = (["ann", "ben"], ["leader=max", "user=ada", "specialist=ivy"]);
    let mut cases = vec![
        played("collaboration", collaboration(&names, 3), works, "ben: Part 2."),
        played("chorus_response", silent(3), sings, "slot-2: A song of slot-2."),
        played("chorus_comment", silent(3), sings, "slot-3: Well said."),
        played("scene_interruption", scene(&["alice", "bob"], 4), acts, "alice: No excuses!"),
        played("scene_act", scene(&["alice", "bob"], 4), acts, "alice: sits down"),
        played("discussion", discussion(&seats, 2), discusses, "ivy: ivy in round 1."),
        played("discussion_person", discussion(&seats, 2), discusses, "ada: I see 1."),
    ];
    let members: [(&str, &[&str]); 2] = [("member", &["ann", "ben", "cem"]), ("chair", &["chair"])];
    let sides: [(&str, &[&str]); 3] = [("pro", &["pro"]), ("con", &["con"]), ("jury", &["ivy"])];
    let writers: [(&str, &[&str]); 1] = [("writer", &["ann", "ben", "cem"])];
    let seats: [(&str, &[&str]); 3] = [("manager", &["max"]), ("guest", &["ada"]), ("specialist", &["ivy"])];
    let mirror = score::setup(score::score(include_str!("mirrors/discussion.yaml")), &seats);
    cases.extend([
        played("score_at_once", score::setup(score::shipped("council"), &members), score::reply, "ben: ben in 1."),
        played("score_in_turn", score::setup(score::shipped("debate"), &sides), score::reply, "con: con in 1."),
        played("score_form", score::setup(score::shipped("writers-room"), &writers), score::reply, "ben: ben in 2."),
        played("score_person", mirror, score::reply, "ada: I see 2."),
    ]);
    let mut more = to_the_end(Play::start(silent(2)).unwrap(), sings);
    more.give(said("you", "And a house?")).unwrap();
    let play = to_the_end(more, sings);
    cases.push(Case { name: "chorus_message", play, reply: sings, line: "you: And a house?" });
    cases
}

/// The record of a line.
fn seq(play: &Play, line: &str) -> Seq {
    let at = play.lines().iter().position(|text| text == line).unwrap_or_else(|| panic!("{line}: {:?}", play.lines()));
    play.conversation.stage().transcript().lines()[at].seq
}

fn forked(play: &Play, at: Seq, change: Change) -> Result<Play, CannotFork> {
    let (id, now) = (SessionId::from_bytes(NEW_ID), play.conversation.stage().last_at());
    let (conversation, records) = fork(&play.records, at, id, change, now)?;
    let play = Play::replay(&records);
    assert_eq!(play.conversation, conversation, "it is the fold of its journal");
    for record in &play.records {
        assert_eq!(Event::decode(&record.event.encode()).as_ref(), Ok(&record.event));
    }
    Ok(play)
}

fn edit(words: &str) -> Change {
    Change { edit: Some(words.into()), ..Change::default() }
}

/// The journal from its fork on.
fn since_fork(records: &[Record]) -> String {
    let at = records.iter().position(|record| matches!(record.event, Event::Forked { .. })).unwrap();
    records[at..].iter().map(|record| format!("{} {}\n", record.seq, record.event.encode())).collect()
}

/// A fork ends alike wherever its process is killed: nothing that was on disk is lost or said twice.
fn survives_everywhere(begun: &Play, reply: fn(&Ask) -> String) -> Play {
    let whole = to_the_end(Play::replay(&begun.records), reply);
    for at in begun.records.len()..whole.records.len() {
        if whole.records[at].event.is_consequence() {
            continue;
        }
        let mut killed = Play::replay(&whole.records[..at]);
        killed.give(Input::ResumePressed { change: Change::default() }).unwrap();
        assert_eq!(to_the_end(killed, reply).lines(), whole.lines(), "killed after record {at}");
    }
    whole
}

#[test]
fn a_line_reads_otherwise_and_all_follows_from_it() {
    for Case { name, play, reply, line } in cases() {
        let words = "Say it with \"quotes\", \\ and é.";
        let words = if line.ends_with("sits down") { "leaves the room" } else { words };
        let begun = forked(&play, seq(&play, line), edit(words)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (speaker, _) = line.split_once(": ").unwrap();
        assert!(begun.lines().contains(&format!("{speaker}: {words}")), "{name}: {:?}", begun.lines());
        assert!(!begun.lines().contains(&line.to_owned()), "{name}");
        // Nobody was asked for it.
        assert_eq!(Outcome::of(&begun.conversation).costs.total_tokens, 0, "{name}");
        assert_eq!(begun.conversation.stage().ledger().by_agent().len(), 0, "{name}");
        insta::assert_snapshot!(format!("edited_{name}"), since_fork(&begun.records));

        let whole = survives_everywhere(&begun, reply);
        let asked_with = |line: &&polylogue_core::line::Line| {
            let request = request_behind(&whole.records, line.id).unwrap().ask.request;
            let thread: String = request.thread.messages().iter().map(|message| &*message.text).collect();
            [thread.as_str(), &*request.prompt].concat()
        };
        let agents = |line: &&polylogue_core::line::Line| matches!(line.speaker, Speaker::Agent(_));
        let last = whole.conversation.stage().transcript().lines().iter().rfind(agents).unwrap();
        let told = asked_with(&last).replace("\\\"", "\"").replace("\\\\", "\\");
        let others_old_words = line.split_once(": ").unwrap().1;
        assert!(!told.contains(others_old_words) || name.starts_with("chorus"), "{name}: {told}");
    }
}

#[test]
fn the_old_words_are_told_to_nobody_and_the_new_ones_to_the_next() {
    let play = to_the_end(Play::start(collaboration(&["ann", "ben"], 3)).unwrap(), works);
    let mut begun = forked(&play, seq(&play, "ben: Part 2."), edit("Another part.")).unwrap();
    let [next] = begun.begin().try_into().unwrap();
    assert_eq!((next.id.agent.as_str(), next.id.turn), ("ann", 3), "the handoff stands");
    assert!(next.request.prompt.contains("Another part.") && !next.request.prompt.contains("Part 2."));
}

#[test]
fn every_record_of_a_decision_names_its_line() {
    let play = to_the_end(Play::start(collaboration(&["ann", "ben"], 3)).unwrap(), works);
    let line = seq(&play, "ben: Part 2.");
    let whole = forked(&play, line, edit("Another.")).unwrap().journal();
    // The answer before the line, and the handoff after it.
    for at in [line.0 - 1, line.0 + 1] {
        assert_eq!(forked(&play, Seq(at), edit("Another.")).unwrap().journal(), whole);
    }
}

#[test]
fn the_last_words_can_be_edited_too() {
    let ends = |_: &Ask| r#"{"message": "Done.", "final": true}"#.to_owned();
    let play = to_the_end(Play::start(collaboration(&["ann", "ben"], 3)).unwrap(), ends);
    let begun = forked(&play, seq(&play, "ann: Done."), edit("All done.")).unwrap();
    let ended = to_the_end(begun, ends);
    assert_eq!(ended.conversation.stage().ended(), Some(collaboration::reason::FINAL));
    assert_eq!(ended.lines()[1], "ann: All done.");
}

#[test]
fn an_edit_can_be_edited_and_a_reply_that_could_not_be_read() {
    let play = to_the_end(Play::start(collaboration(&["ann", "ben"], 3)).unwrap(), works);
    let once = forked(&play, seq(&play, "ann: Part 1."), edit("Once.")).unwrap();
    let twice = forked(&once, seq(&once, "ann: Once."), edit("Twice.")).unwrap();
    assert_eq!(twice.lines()[1..], ["ann: Twice.", "router: Go on, ben."]);

    let raw = |_: &Ask| "no envelope at all".to_owned();
    let play = to_the_end(Play::start(collaboration(&["ann", "ben"], 3)).unwrap(), raw);
    let begun = forked(&play, seq(&play, "ann: no envelope at all"), edit("Still none.")).unwrap();
    let ended = to_the_end(begun, raw);
    assert_eq!(ended.conversation.stage().ended(), Some(collaboration::reason::MALFORMED_REPLY));
    assert_eq!(ended.lines()[1], "ann: Still none.");
}

#[test]
fn the_clip_of_an_edited_line_is_made_anew() {
    let setup = Setup { speech: true, ..collaboration(&["ann", "ben"], 2) };
    let mut play = Play::start(setup).unwrap();
    let ask = play.begin().remove(0);
    play.answer(&ask, &works(&ask));
    let line = seq(&play, "ann: Part 1.");
    let made = play.conversation.next().into_iter().find_map(|step| match step {
        Step::Speak(line) => Some(line),
        _ => None,
    });
    play.give(Input::ClipMade { line: made.unwrap(), clip: Default::default() }).unwrap();
    let begun = forked(&play, line, edit("Another.")).unwrap();
    assert!(begun.conversation.next().contains(&Step::Speak(made.unwrap())));
}

#[test]
fn what_cannot_be_edited_is_refused_in_words() {
    let play = to_the_end(Play::start(collaboration(&["ann", "ben"], 3)).unwrap(), works);
    let line = seq(&play, "ben: Part 2.");
    let head = play.conversation.stage().head();
    let scene = to_the_end(Play::start(scene(&["alice", "bob"], 3)).unwrap(), acts);
    let is_silence = |record: &&Record| record.event.encode().contains("stayed_silent");
    let silence = scene.records.iter().find(is_silence).unwrap().seq;
    let discussed = to_the_end(Play::start(discussion(&["leader=max", "user=ada"], 1)).unwrap(), discusses);
    let long = "word ".repeat(10_000);
    let cases: [(&Play, Seq, &str, CannotFork); 8] = [
        (&play, Seq(1), "Another goal.", CannotFork::NoLine(Seq(1))),
        (&play, Seq(2), "An ask.", CannotFork::NoLine(Seq(2))),
        (&play, head, "The end.", CannotFork::NoLine(head)),
        (&play, line, "  ", Rejected::EmptyMessage.into()),
        (&play, line, &long, Rejected::TooLong(49_999, Conversation::MAX_MESSAGE_CHARS).into()),
        (&play, line, "ben: mine", CannotFork::ReadsOtherwise("mine".into())),
        (&scene, silence, "Words.", CannotFork::NoLine(silence)),
        (&discussed, Seq(3), "As in [1].", CannotFork::ReadsOtherwise("As in".into())),
    ];
    for (play, at, words, problem) in cases {
        assert_eq!(forked(play, at, edit(words)).map(|play| play.lines()), Err(problem), "{words}");
    }
    let mut left = Play::replay(&play.records[..line.0 as usize + 1]);
    for change in [
        edit("Another."),
        Change { personas: [("ann".parse().unwrap(), "New.".into())].into(), ..Change::default() },
        Change { notes: vec![Note { to: None, text: "Hurry.".into() }], ..Change::default() },
    ] {
        let refused = left.give(Input::ResumePressed { change });
        assert!(matches!(refused, Err(Rejected::BadSetup(BadSetup::Settings(_)))), "{refused:?}");
    }
}

#[test]
fn another_persona_and_another_model_hold_from_the_fork_on() {
    let persona = "You have changed your mind about everything.";
    for Case { name, play, reply, line } in cases() {
        let stage = play.conversation.stage();
        // Somebody who has a line after the fork.
        let agents = stage.cast().agents();
        let who = if name.starts_with("scene") { &agents[1] } else { &agents[0] }.name.clone();
        let model = "openai/gpt-4o".parse().unwrap();
        let recast = vec![Recast { agent: who.clone(), model, price: None, is_small: false }];
        let personas = [(who.clone(), persona.into())].into();
        let change = Change { recast, personas, ..edit_if(line, "chorus_message", name) };
        let begun = match forked(&play, seq(&play, line), change) {
            Ok(begun) => begun,
            Err(error) => panic!("{name}: {error}"),
        };
        let whole = survives_everywhere(&begun, reply);
        let own = |line: &&polylogue_core::line::Line| line.speaker == Speaker::Agent(who.clone());
        let fork_at = begun.records.len() as u64;
        for said in whole.conversation.stage().transcript().lines().iter().filter(own) {
            let request = request_behind(&whole.records, said.id).unwrap().ask.request;
            let is_after = said.seq.0 > fork_at;
            assert_eq!(request.system.contains(persona), is_after, "{name}: {}", said.text);
            assert_eq!(&*request.model.provider == "openai", is_after, "{name}: {}", said.text);
        }
        let after = whole.conversation.stage().transcript().lines().iter().filter(own);
        assert!(after.clone().any(|said| said.seq.0 > fork_at), "{name}: it speaks again");
    }
}

/// A message is where a chorus begins again: without other words there is nothing after it to fork.
fn edit_if(line: &str, only: &str, name: &str) -> Change {
    let words = line.split_once(": ").unwrap().1;
    if name == only { edit(words) } else { Change::default() }
}

#[test]
fn a_note_is_told_before_the_next_turn() {
    let text = "Mention the cat.";
    for Case { name, play, reply, line } in cases() {
        let to = play.conversation.stage().cast().agents().first().unwrap().name.clone();
        for whom in [None, Some(to.clone())] {
            let change = Change { notes: vec![Note { to: whom.clone(), text: text.into() }], ..Change::default() };
            let begun = match (forked(&play, seq(&play, line), change), name.starts_with("chorus")) {
                (refused, true) => {
                    assert_eq!(refused.map(|play| play.lines()), Err(Rejected::NoNotes.into()), "{name}");
                    continue;
                }
                (begun, false) => begun.unwrap_or_else(|error| panic!("{name}: {error}")),
            };
            let whole = survives_everywhere(&begun, reply);
            let lines = whole.conversation.stage().transcript().lines();
            let after = lines.iter().filter(|said| said.seq.0 > begun.records.len() as u64);
            let mut heard = std::collections::BTreeMap::new();
            for said in after.filter(|said| matches!(said.speaker, Speaker::Agent(_))) {
                let request = request_behind(&whole.records, said.id).unwrap().ask.request;
                let count = request.prompt.matches(text).count();
                heard.entry(said.speaker.name().to_owned()).or_insert_with(Vec::new).push(count);
            }
            for (who, counts) in &heard {
                // A collaboration shows its last lines to everybody, each time.
                let is_for = whom.is_none() || name == "collaboration" || who == to.as_str();
                assert_eq!(counts[0], usize::from(is_for), "{name}: {who} {counts:?}");
                let again: usize = counts[1..].iter().sum();
                assert!(again == 0 || name == "collaboration", "{name}: told once: {counts:?}");
            }
            assert!(heard.contains_key(to.as_str()) || name != "discussion", "{name}: {heard:?}");
        }
    }
}

/// Whoever is choosing who speaks is told too.
#[test]
fn a_note_reaches_whoever_chooses() {
    let seats: [(&str, &[&str]); 2] = [("host", &["host"]), ("guest", &["ann", "ben", "cem"])];
    let play = to_the_end(Play::start(score::setup(score::shipped("panel"), &seats)).unwrap(), score::reply);
    let notes = vec![Note { to: None, text: "Mention the cat.".into() }];
    let at = seq(&play, "ann: ann in 2.");
    let mut begun = forked(&play, at, Change { notes, ..Change::default() }).unwrap();
    let [pick] = begun.begin().try_into().unwrap();
    assert_eq!((pick.id.purpose.as_str(), pick.request.prompt.matches("Mention the cat.").count()), ("pick", 1));
    begun.answer(&pick, "{\"next\": \"cem\"}");
    let [talk] = begun.begin().try_into().unwrap();
    assert_eq!((talk.id.agent.as_str(), talk.request.prompt.matches("Mention the cat.").count()), ("cem", 1));
    begun.answer(&talk, "Miaow.");
    let [next] = begun.begin().try_into().unwrap();
    assert!(!next.request.prompt.contains("Mention the cat."), "told once: {}", next.request.prompt);
}

#[test]
fn a_change_names_only_who_takes_part_and_keeps_within_bounds() {
    let play = to_the_end(Play::start(collaboration(&["ann", "ben"], 3)).unwrap(), works);
    let not_in = || BadSetup::NotInCast("zoe".to_owned(), "ann, ben".to_owned());
    let zoe = || "zoe".parse().unwrap();
    let note = |to: Option<&str>, text: &str| Note { to: to.map(|to| to.parse().unwrap()), text: text.into() };
    let notes = |notes: Vec<Note>| Change { notes, ..Change::default() };
    let persona = |text: &str| Change { personas: [("ann".parse().unwrap(), text.into())].into(), ..Change::default() };
    let recast = vec![Recast { agent: zoe(), model: "openai/gpt-4o".parse().unwrap(), price: None, is_small: false }];
    let cases = [
        (Change { recast, ..Change::default() }, not_in()),
        (Change { personas: [(zoe(), "New.".into())].into(), ..Change::default() }, not_in()),
        (notes(vec![note(Some("zoe"), "Go.")]), not_in()),
        (notes(vec![note(None, " ")]), BadSetup::settings("the note is empty")),
        (notes(vec![note(None, &"x".repeat(2_001))]), BadSetup::TooLong(2_001, Note::MAX_CHARS)),
        (notes(vec![note(None, "Go."); 17]), BadSetup::settings("there are 17 notes: at most 16 are taken")),
        (persona(" "), BadSetup::settings("the persona of `ann` is empty")),
        (persona(&"x".repeat(20_001)), BadSetup::TooLong(20_001, Change::MAX_PERSONA_CHARS)),
    ];
    for (change, problem) in cases {
        let at = seq(&play, "ann: Part 1.");
        assert_eq!(forked(&play, at, change).map(|play| play.lines()), Err(CannotFork::BadChange(problem)));
    }
}
