//! A chorus whose voices have names: what they read, whom they answer, and what becomes of names before their lines.

use polylogue_core::{
    Setup,
    format::chorus::{Persona, Settings, SlotId, kind, purpose},
    line::Speaker,
    projection::{markdown, plain_text, request_behind},
    setup::{Agent, BadSetup, Cast},
};

use crate::{
    chorus::{play, slot_of},
    support::{Play, chorus, comment_on, spoken},
};

/// Six slots with the usual personas and their names, as a house seats them.
fn named(is_small: bool) -> Setup {
    let mut setup = Setup { speech: false, ..chorus(6) };
    let usual = |agent: &Agent| {
        let slot: SlotId = agent.name.as_str().trim_start_matches("slot-").parse::<u8>().unwrap().try_into().unwrap();
        let persona = Persona::of(slot);
        let persona = if is_small { persona.brief().to_owned() } else { persona.full() };
        Agent { persona: Some(persona.into()), is_small, ..agent.clone() }
    };
    setup.cast = Cast::new(setup.cast.agents().iter().map(usual).collect(), setup.cast.people().to_vec()).unwrap();
    for slot in &mut settings(&mut setup).slots {
        slot.name = Some(Persona::of(slot.slot_id).name.into());
    }
    setup
}

fn settings(setup: &mut Setup) -> &mut Settings {
    setup.format.settings_mut().expect("a chorus")
}

/// Everybody comments on the first, who turns to the second.
fn played(setup: Setup) -> Play {
    let reply = |ask: &polylogue_core::ask::Ask| {
        let slot = slot_of(ask);
        Some(match ask.id.purpose {
            purpose::RESPOND => spoken(&format!("A home is what number {slot} says it is.")),
            purpose::COMMENT if slot == 1 => comment_on(2, "Noor, who nurses you?"),
            purpose::COMMENT => comment_on(1, &format!("Hendrik, number {slot} doubts that.")),
            _ => spoken(&format!("I stand by it, says {slot}.")),
        })
    };
    play(Play::start(setup).unwrap(), reply, |_| true)
}

/// The request behind the last line of a slot.
fn last_request(play: &Play, slot: &str) -> String {
    let lines = play.conversation.stage().transcript().lines();
    let last = lines.iter().rfind(|line| line.speaker.name() == slot).unwrap();
    request_behind(&play.records, last.id).unwrap().ask.request.to_string()
}

#[test]
fn voices_with_names_read_who_said_what_to_them() {
    let play = played(named(false));
    insta::assert_snapshot!("named_chorus_first", last_request(&play, "slot-1"));
    insta::assert_snapshot!("named_chorus_second", last_request(&play, "slot-2"));
    let small = last_request(&played(named(true)), "slot-1");
    insta::assert_snapshot!("named_chorus_small", small);
}

#[test]
fn six_voices_are_told_six_different_things() {
    let play = played(named(false));
    let lines = play.conversation.stage().transcript().lines().iter().filter(|line| line.kind == kind::RESPONSE);
    let heads: Vec<String> =
        lines.map(|line| request_behind(&play.records, line.id).unwrap().ask.request.system.to_string()).collect();
    assert_eq!(heads.len(), 6);
    for (at, head) in heads.iter().enumerate() {
        let own = Persona::of(SlotId::try_from(at as u8 + 1).unwrap());
        assert!(head.contains(&own.full()) && head.contains(&format!("You are {}, in slot {}.", own.name, at + 1)));
        for other in (1..=6).filter(|other| *other != at as u8 + 1) {
            let other = Persona::of(SlotId::try_from(other).unwrap());
            assert!(head.contains(other.name), "it knows that {} is there", other.name);
            assert!(!head.contains(other.brief()), "who {} is, {} finds out", other.name, own.name);
        }
    }
}

#[test]
fn a_name_before_a_line_is_no_part_of_it() {
    for (said, line) in [
        ("Hendrik: Aye.", "Aye."),
        ("Slot 1: Aye.", "Aye."),
        ("Hendrik (slot 1): Aye.", "Aye."),
        ("Slot 1: Hendrik: Aye.", "Aye."),
        ("Aye.\\nNoor: And I say no.", "Aye."),
        ("Aye.\\nNoor (slot 2): And I say no.", "Aye."),
        ("Noor, who nurses you?", "Noor, who nurses you?"),
        ("Hendrik is my name.", "Hendrik is my name."),
    ] {
        let mut play = Play::start(named(false)).unwrap();
        let ask = play.begin().into_iter().find(|ask| slot_of(ask) == 1).unwrap();
        play.answer(&ask, &spoken(said));
        let lines = play.conversation.stage().transcript().lines();
        let own = lines.iter().find(|line| matches!(&line.speaker, Speaker::Agent(_))).unwrap();
        assert_eq!(&*own.text, line, "{said}");
        // What is heard while it arrives never says more than that.
        let hearing = play.conversation.hearing(&ask.id);
        for end in said.char_indices().map(|(at, _)| at) {
            let partial = format!(r#"{{"text": "{}"#, &said[..end]);
            if let Some(hearing) = &hearing {
                let heard = hearing.words(&partial);
                assert!(line.starts_with(heard.trim_end_matches('…')), "{said}: {heard}");
            }
        }
    }
}

#[test]
fn names_are_one_voices_own() {
    for (name, problem) in [
        ("Noor", BadSetup::Twice("Noor".into())),
        ("noor", BadSetup::Twice("Noor".into())),
        ("slot 3", BadSetup::Twice("slot 3".into())),
    ] {
        let mut setup = named(false);
        settings(&mut setup).slots[0].name = Some(name.into());
        assert_eq!(setup.check(), Err(problem), "{name}");
    }
    for name in ["", " Ada", "Ada:", "A\nda", &"a".repeat(41)] {
        let mut setup = named(false);
        settings(&mut setup).slots[0].name = Some(name.into());
        assert!(matches!(setup.check(), Err(BadSetup::Settings(_))), "{name}");
    }
}

#[test]
fn a_transcript_calls_them_by_their_names() {
    let play = played(named(false));
    let text = plain_text(&play.conversation);
    assert!(text.starts_with("Chorus between Hendrik (script/test.yaml) and Noor (script/test.yaml)"), "{text}");
    assert!(text.contains("\nNoor to Hendrik: Hendrik, number 2 doubts that.\n"), "{text}");
    assert!(markdown(&play.conversation).contains("\n**Hendrik to Noor:** Noor, who nurses you?\n"));
}
