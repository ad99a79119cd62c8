//! What holds for every reply in every format: it never ends a run by itself, and the journal that comes of it can be
//! folded and read again.

use std::collections::BTreeMap;

use polylogue_core::{
    Answer, Conversation, Event, Input, Record, Setup, Step, Timestamp,
    format::{
        chorus::{self, Slot, SlotId, VoiceProfile},
        collaboration, discussion,
        discussion::{Closing, Participant, Role, Who},
        scene::{self, MODERATOR},
        score::{self, SHIPPED, Seat, read_text},
    },
    id::SessionId,
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
};

/// Asks that are answered with the same reply.
const ASKS: usize = 6;

pub(crate) fn check(reply: &str) {
    for setup in setups() {
        let (mut conversation, first) = Conversation::start(setup, Timestamp(1)).unwrap();
        let mut records = vec![first];
        let mut record = |conversation: &mut Conversation, events: Vec<Event>| {
            for event in events {
                let seq = conversation.stage().head().next();
                let record = Record { seq, at: Timestamp(seq.0), event };
                conversation.apply(&record);
                records.push(record);
            }
        };
        for _ in 0..ASKS {
            let steps = conversation.next();
            for step in &steps {
                let events = conversation.begin(step);
                record(&mut conversation, events);
            }
            let ask = steps.into_iter().find_map(|step| if let Step::Ask(ask) = step { Some(ask) } else { None });
            let Some(ask) = ask else { break };
            let answer = Answer { text: reply.into(), ..Answer::default() };
            let events = conversation.on(Input::Answered { ask: ask.id, answer }).unwrap();
            record(&mut conversation, events);
        }
        for record in &records {
            let encoded = record.event.encode();
            assert_eq!(Event::decode(&encoded), Ok(record.event.clone()), "{encoded}");
        }
        assert_eq!(Conversation::replay(&records), Ok(conversation), "{reply:?}");
    }
}

fn setups() -> Vec<Setup> {
    let agent = |name: &str| Agent {
        name: name.parse().unwrap(),
        model: "test/model".parse().unwrap(),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: None,
        is_small: false,
    };
    let agents = |names: &[&str]| names.iter().map(|name| agent(name)).collect::<Vec<_>>();
    let (names, people) = (["gpt", "claude"], vec!["ada".parse().unwrap()]);
    let two = |people| Cast::new(agents(&names), people).unwrap();
    let slots: Vec<SlotId> = (1..=2).map(|slot| slot.try_into().unwrap()).collect();
    let slot = |id: &SlotId| Slot { slot_id: *id, agent_id: "sim".parse().unwrap(), name: None };
    let of_slots = slots.iter().map(|slot| agent(slot.agent().as_str())).collect();
    let participant = |name: &&str| Participant { role: Role::Specialist, who: Who::Agent(name.parse().unwrap()) };
    let round_robin = SHIPPED.iter().find(|(name, _)| *name == "round-robin").unwrap().1;
    let seat = |name: &&str| Seat { name: (*name).into(), role: "member".into() };
    let formats = [
        (
            FormatSetup::new(collaboration::Settings::new("Work it out.", names[0].parse().unwrap(), 3)),
            two(people.clone()),
        ),
        (
            FormatSetup::new(chorus::Settings {
                message: "What is a home?".into(),
                slots: slots.iter().map(slot).collect(),
                voices: vec![VoiceProfile { name: "playful".into(), description: "lively".into() }],
            }),
            Cast::new(of_slots, people.clone()).unwrap(),
        ),
        (
            FormatSetup::new(discussion::Settings {
                title: "The roof".into(),
                topic: None,
                participants: names.iter().map(participant).collect(),
                max_rounds: 2,
                key: None,
                closing: Closing::Open,
            }),
            two(Vec::new()),
        ),
        (
            FormatSetup::new(scene::Settings { max_beats: 2, ..scene::Settings::new("gate", "They wait.") }),
            two(Vec::new()).with_crew(agents(&[MODERATOR])).unwrap(),
        ),
        (
            FormatSetup::new(score::Settings::new(
                read_text(round_robin).unwrap().into(),
                "What is a home?",
                BTreeMap::new(),
                names.iter().map(seat).collect(),
            )),
            two(people),
        ),
    ];
    let setup = |(format, cast)| Setup {
        id: SessionId::from_bytes([0x66; 16]),
        format,
        cast,
        limits: Limits::default(),
        seed: 7,
        speech: false,
        templates: BTreeMap::new(),
        room: None,
        tenant: None,
    };
    formats.into_iter().map(setup).collect()
}
