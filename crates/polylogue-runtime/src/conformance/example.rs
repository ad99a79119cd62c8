//! Records to try a journal with.

use std::{iter, sync::Arc};

use polylogue_core::{
    Event, Reason, Record, Setup, Tenant, Timestamp,
    ask::Digest,
    event::{CallFailure, Drafts, FailureKind, Lost, Origin, VERSION},
    format::{
        collaboration::{Settings, purpose, reason},
        discussion::{self, Participant, Role, Turn, TurnFailure, Who},
    },
    id::{AgentId, AskId, LineId, Seq, SessionId},
    ledger::Usage,
    line::{Clip, Delivery, LineKind, Speaker, SpeechBill},
    room::{CallId, RoomCall, Target},
    setup::{Agent, Cast, Change, FormatSetup, Limits, Note, Recast, Sampling},
    text::reply::Repair,
};

use crate::port::NodeId;

/// A node that no store has heard of: what it begins is left at once.
pub const NODE: NodeId = NodeId::from_bytes([0xff; 16]);

/// The session with this number.
pub fn id(n: u8) -> SessionId {
    SessionId::from_random([n; 16])
}

pub fn started(id: SessionId, goal: &str) -> Event {
    begun(id, goal, None, None)
}

/// A session that belongs to this tenant.
pub fn started_by(tenant: &str, id: SessionId) -> Event {
    begun(id, "goal", None, Some(tenant.parse().expect("a tenant's name")))
}

/// A session that answers in this room.
pub fn started_in(room: &str, id: SessionId) -> Event {
    let (room, call_id) = (room.parse().expect("a room's name"), CallId::from_random([7; 16]));
    begun(id, "goal", Some(RoomCall { room, call_id, target: Target::Router, is_repeat: false }), None)
}

fn begun(id: SessionId, goal: &str, room: Option<RoomCall>, tenant: Option<Tenant>) -> Event {
    let agents = ["gpt", "Zoë 🎭"].map(|name| Agent {
        name: name.parse().expect("a name"),
        model: "openai/gpt-4o".parse().expect("a model"),
        persona: Some("\"quoted\"\n\u{1}\u{2028}".into()),
        voice: None,
        sampling: Sampling::default(),
        price: None,
        is_small: false,
    });
    let cast = Cast::new(agents.into(), vec!["you there".parse().expect("a name")]).expect("two agents and a person");
    let settings = Settings::new(goal, agent(), 6);
    let (format, limits) = (FormatSetup::new(settings), Limits::default());
    let templates = Default::default();
    let setup = Setup { id, format, cast, limits, seed: u64::MAX, speech: true, templates, room, tenant };
    Event::Started { version: VERSION, setup: Arc::new(setup) }
}

pub fn said(text: &str) -> Event {
    Event::LineSpoken {
        speaker: Speaker::Agent(agent()),
        kind: LineKind::MESSAGE,
        text: text.into(),
        ask: None,
        to: None,
        voice: None,
        delivery: Delivery { tone: Some("stern".into()), ..Delivery::default() },
    }
}

pub fn ended(reason: Reason) -> Event {
    Event::Ended { reason, notice: None }
}

pub fn resumed() -> Event {
    Event::Resumed { version: VERSION, change: Change::default(), lost: Vec::new() }
}

pub fn forked(from: SessionId, at: u64) -> Event {
    Event::Forked { version: VERSION, from, at: Seq(at), change: Change::default() }
}

/// Events with their places after `after`; the first at `at`, each a millisecond after the one before.
pub fn records(after: u64, at: u64, events: impl IntoIterator<Item = Event>) -> Vec<Arc<Record>> {
    let places = (after + 1..).zip(at..);
    places.zip(events).map(|((seq, at), event)| Arc::new(Record { seq: Seq(seq), at: Timestamp(at), event })).collect()
}

/// One event of every kind.
pub fn every_event(id: SessionId) -> Vec<Event> {
    iter::successors(Some(started(id, "Ein Ziel für 日本語 🎈")), following).collect()
}

/// Each kind names the next, so that a new kind of event cannot be forgotten here.
fn following(event: &Event) -> Option<Event> {
    let ask = AskId { purpose: purpose::CONTRIBUTE, turn: 1, agent: agent(), attempt: 2 };
    let usage = Usage { input: 9, output: u64::MAX, cached: 1, cache_written: 2, reasoning: 3, estimated: true };
    let line = LineId(u32::MAX);
    match event {
        Event::Started { .. } => {
            let recast =
                vec![Recast { agent: agent(), model: "a/b".parse().expect("a model"), price: None, is_small: false }];
            let note = Note { to: Some(agent()), text: "nöte".into() };
            let change = Change {
                limits: Some(Limits::default()),
                max_rounds: Some(9),
                recast,
                speech: Some(false),
                personas: [(agent(), "persöna".into())].into(),
                edit: Some("wörds".into()),
                notes: vec![note],
            };
            Some(Event::Forked { version: VERSION, from: id(0), at: Seq(7), change })
        }
        Event::Forked { .. } => {
            let lost = vec![Lost { ask, usage }];
            Some(Event::Resumed { version: VERSION, change: Change::default(), lost })
        }
        Event::Resumed { .. } => {
            let mut digest = Digest::default();
            digest.add("prompt");
            Some(Event::Asked { ask, digest, estimate: usage })
        }
        Event::Asked { .. } => {
            let repairs = vec![Repair::Fence, Repair::Comma];
            Some(Event::Answered {
                ask,
                text: "{\"a\": \"\\u0000\"}\0\r\n".into(),
                usage,
                retries: 1,
                repairs,
                is_full: true,
                is_edited: true,
                drafts: Some(Drafts { kept: 2, of: 3 }),
            })
        }
        Event::Answered { .. } => {
            let failure = CallFailure { kind: FailureKind::RateLimited, message: "späte".to_owned() };
            Some(Event::AskFailed { ask, failure, usage, retries: 3 })
        }
        Event::AskFailed { .. } => Some(Event::AskCut { ask, partial: "".into(), usage: Usage::default() }),
        Event::AskCut { .. } => Some(said("")),
        Event::LineSpoken { .. } => Some(Event::LineCut { line, after: "wörd".into(), by: agent() }),
        Event::LineCut { .. } => Some(Event::ClipMade {
            line,
            clip: Clip {
                path: "a/ü.wav".to_owned(),
                loudness_lufs: Some(-18.5),
                billed: Some(SpeechBill { characters: 7, cost: None }),
                ..Clip::default()
            },
        }),
        Event::ClipMade { .. } => Some(Event::ClipFailed { line, error: String::new() }),
        Event::ClipFailed { .. } => Some(Event::Narrated {
            of: Seq(2),
            clip: Clip { path: "narrator/0002.wav".to_owned(), duration_ms: 900, ..Clip::default() },
        }),
        Event::Narrated { .. } => Some(Event::NarrationFailed { of: Seq(2), error: "hoarse".to_owned() }),
        Event::NarrationFailed { .. } => {
            let origin = Origin { key: Some("a \"key\"".into()), user_id: Some("Zoë".into()), organization_id: None };
            Some(Event::HumanSpoke {
                who: "you there".parse().expect("a name"),
                text: "مرحبا".into(),
                origin,
                ask: Some(ask),
            })
        }
        Event::HumanSpoke { .. } => Some(turn_taken(7, Who::Agent(agent()), None)),
        Event::Decided(_) => Some(Event::Ended { reason: reason::FINAL, notice: Some("fin".into()) }),
        Event::Ended { .. } => None,
    }
}

/// A discussion whose first turn is a person's.
pub fn discussion(id: SessionId) -> Event {
    let Event::Started { version, setup } = started(id, "goal") else { unreachable!("it was made so") };
    let person = Who::Person("you there".parse().expect("a name"));
    let agents = setup.cast.agents().iter().map(|agent| (Role::Specialist, Who::Agent(agent.name.clone())));
    let participants = [(Role::User, person)].into_iter().chain(agents);
    let participants = participants.map(|(role, who)| Participant { role, who }).collect();
    let settings = discussion::Settings {
        title: "title".into(),
        topic: None,
        participants,
        max_rounds: 3,
        key: None,
        closing: discussion::Closing::Open,
    };
    let setup = Setup { format: FormatSetup::new(settings), ..Setup::clone(&setup) };
    Event::Started { version, setup: Arc::new(setup) }
}

/// The end of a turn in round 2, which an agent let pass, and whose is next.
pub fn turn_taken(index: u32, next: Who, kind: Option<FailureKind>) -> Event {
    let turn = |index, who: Who| {
        let role = if matches!(who, Who::Person(_)) { Role::User } else { Role::Specialist };
        Turn { index, round: 2, participant: Participant { role, who } }
    };
    let failure = Some(TurnFailure { kind, message: "nothing \u{1}".to_owned() });
    Event::decision(discussion::Decision::TurnTaken {
        turn: turn(index, Who::Agent(agent())),
        failure,
        next: Some(turn(index + 1, next)),
        closes: None,
    })
}

pub fn agent() -> AgentId {
    "gpt".parse().expect("a name")
}
