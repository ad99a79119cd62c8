//! Sessions of every format, small ones.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use polylogue_core::{
    Setup,
    format::{
        chorus::{self, Slot, SlotId, VoiceProfile},
        collaboration,
        discussion::{self, Participant, Role, Who},
        interview,
        scene::{self, MODERATOR, WorldEvents},
        score::{self, SHIPPED, Score, Seat, read_text},
    },
    id::{LineId, SessionId},
    money::{Money, Price},
    setup::{Agent, Cast, FormatSetup, Limits, ModelRef, Sampling},
};

use crate::{chance::Chance, provider::NAME};

/// Who speaks in every session.
pub(crate) const PERSON: &str = "ada";

/// The model of a session's agents: called after it, so that the provider knows who asks.
pub(crate) fn model(session: SessionId) -> ModelRef {
    ModelRef { provider: NAME.into(), model: session.to_string().into() }
}

/// What a token costs.
pub(crate) const PRICE: Price = Price { input: 1.0, output: 2.0, cached: None, cache_write: None };

pub(crate) fn drawn(chance: &Chance) -> Setup {
    let id = SessionId::from_random(chance.bytes());
    let agent = |name: &str| Agent {
        name: name.parse().expect("a name"),
        model: model(id),
        persona: None,
        voice: None,
        sampling: Sampling { max_output_tokens: Some(100), ..Sampling::default() },
        price: Some(PRICE),
        is_small: false,
    };
    let agents = |names: &[&str]| names.iter().map(|name| agent(name)).collect::<Vec<_>>();
    let names = &["gpt", "claude", "emil"][..2 + chance.below(2)];
    let rounds = chance.number(1..4) as u32;
    let people = vec![PERSON.parse().expect("a name")];
    let two = || Cast::new(agents(names), people.clone()).expect("a cast");
    let (format, cast) = match chance.below(6) {
        0 => {
            let slots: Vec<SlotId> = (1..=names.len() as u8).map(|slot| slot.try_into().expect("a slot")).collect();
            let cast = slots.iter().map(|slot| agent(slot.agent().as_str())).collect();
            let slot = |slot: &SlotId| Slot { slot_id: *slot, agent_id: "sim".parse().expect("an id"), name: None };
            let settings = chorus::Settings {
                message: "What is a home?".into(),
                slots: slots.iter().map(slot).collect(),
                voices: vec![VoiceProfile { name: "playful".into(), description: "lively".into() }],
            };
            (FormatSetup::new(settings), Cast::new(cast, people).expect("a cast"))
        }
        1 => {
            let settings = collaboration::Settings::new("Work it out.", names[0].parse().expect("a name"), rounds);
            (FormatSetup::new(settings), two())
        }
        2 => {
            let mut order: Vec<Participant> = names
                .iter()
                .map(|name| Participant { role: Role::Specialist, who: Who::Agent(name.parse().expect("a name")) })
                .collect();
            let has_person = chance.happens(600);
            if has_person {
                let who = Who::Person(people[0].clone());
                order.insert(chance.below(order.len() + 1), Participant { role: Role::User, who });
            }
            let settings = discussion::Settings {
                title: "The roof".into(),
                topic: None,
                participants: order,
                max_rounds: rounds.min(2),
                key: None,
                closing: discussion::Closing::Open,
            };
            let people = if has_person { people } else { Vec::new() };
            (FormatSetup::new(settings), Cast::new(agents(names), people).expect("a cast"))
        }
        3 => {
            let settings = interview::Settings {
                of: SessionId::from_random(chance.bytes()),
                line: LineId(1),
                said: "So it is.".into(),
                is_cut: false,
                question: "Why?".into(),
                system: "You are gpt.".into(),
                thread: Vec::new(),
            };
            (FormatSetup::new(settings), Cast::new(agents(&names[..1]), people).expect("a cast"))
        }
        4 => {
            let settings = scene::Settings {
                max_beats: rounds,
                events: if chance.happens(500) { WorldEvents::Off } else { WorldEvents::Auto },
                story: chance.happens(300).then(|| "a story".into()),
                memory: chance.happens(300),
                ..scene::Settings::new("gate", "They wait for the others.")
            };
            let cast = Cast::new(agents(names), Vec::new()).and_then(|cast| cast.with_crew(agents(&[MODERATOR])));
            (FormatSetup::new(settings), cast.expect("a cast"))
        }
        _ => {
            let seat = |name: &&str| Seat { name: (*name).into(), role: "member".into() };
            let values = BTreeMap::from([("rounds".into(), serde_json::json!(rounds.min(2)))]);
            let seats = names.iter().map(seat).collect();
            (FormatSetup::new(score::Settings::new(round_robin(), "What is a home?", values, seats)), two())
        }
    };
    Setup {
        id,
        format,
        cast,
        limits: limits(chance),
        seed: chance.number(0..u64::MAX),
        speech: chance.happens(300),
        templates: BTreeMap::new(),
        room: None,
        tenant: None,
    }
}

/// Calls are waited for a few seconds. Some sessions run out of time, tokens or dollars.
fn limits(chance: &Chance) -> Limits {
    Limits {
        max_usd: if chance.happens(100) { Money::from_usd(0.002) } else { Money::from_usd(10.0) },
        max_tokens: if chance.happens(100) { 5_000 } else { 1_000_000 },
        max_seconds: if chance.happens(150) { chance.number(1..20) } else { 900 },
        call_timeout_seconds: 2,
        first_token_seconds: Some(3),
        call_max_seconds: 6,
    }
}

fn round_robin() -> Arc<Score> {
    static SCORE: OnceLock<Arc<Score>> = OnceLock::new();
    let read = || {
        let text = SHIPPED.iter().find(|(name, _)| *name == "round-robin").map(|(_, text)| *text);
        read_text(text.expect("a score that is shipped")).map(Arc::new).unwrap_or_else(|_| panic!("it can be read"))
    };
    SCORE.get_or_init(read).clone()
}
