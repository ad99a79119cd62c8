//! The cost of one turn in the core alone: next, begin, on, apply, with no runtime around it. A turn late in a
//! long session must cost what an early one does.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use polylogue_core::{
    Answer, Conversation, Event, Input, Record, Setup, Step, Timestamp,
    format::collaboration::Settings,
    id::SessionId,
    money::Price,
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
    text::reply,
};

const AGENTS: [&str; 3] = ["a0", "a1", "a2"];

fn setup() -> Setup {
    let agent = |name: &&str| Agent {
        name: name.parse().unwrap(),
        model: "instant/model".parse().unwrap(),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small: false,
    };
    let settings = Settings::new("go", "a0".parse().unwrap(), 10_000);
    Setup {
        id: SessionId::from_bytes([1; 16]),
        format: FormatSetup::new(settings),
        cast: Cast::new(AGENTS.iter().map(agent).collect(), vec!["you".parse().unwrap()]).unwrap(),
        limits: Limits { max_tokens: u64::MAX, ..Limits::default() },
        seed: 1,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    }
}

fn record(conversation: &mut Conversation, events: Vec<Event>) {
    for event in events {
        let record = Record { seq: conversation.stage().head().next(), at: Timestamp(0), event };
        conversation.apply(&record);
    }
}

/// One turn: what is next, begun, answered.
fn turn(conversation: &mut Conversation) {
    let step = conversation.next().remove(0);
    record(conversation, conversation.begin(&step));
    let Step::Ask(ask) = step else { panic!("a collaboration asks until it ends") };
    let to = AGENTS[ask.id.turn as usize % AGENTS.len()];
    let text = format!(
        r#"{{"message": "hello there, a fake reply of moderate length", "handoff": {{"to": "{to}", "task": "Go on."}}}}"#
    );
    let answer = Answer { text: text.into(), ..Answer::default() };
    let events = conversation.on(Input::Answered { ask: ask.id, answer }).unwrap();
    record(conversation, events);
}

fn after(turns: u32) -> Conversation {
    let (mut conversation, _) = Conversation::start(setup(), Timestamp(0)).unwrap();
    (0..turns).for_each(|_| turn(&mut conversation));
    conversation
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("turn");
    for turns in [10, 100, 1_000, 3_000] {
        let conversation = after(turns);
        group.bench_with_input(BenchmarkId::new("after", turns), &conversation, |bench, conversation| {
            // A hundred turns on a copy, so that the copy itself does not count.
            bench.iter_batched_ref(
                || conversation.clone(),
                |conversation| (0..100).for_each(|_| turn(black_box(conversation))),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn replies(criterion: &mut Criterion) {
    let shape = match after(1).next().remove(0) {
        Step::Ask(ask) => ask.request.shape.unwrap(),
        Step::Speak(_) | Step::Narrate(_) | Step::AwaitHuman(_) | Step::End(_) => unreachable!("a collaboration asks"),
    };
    let mut group = criterion.benchmark_group("reply");
    for (name, text) in [
        ("strict", r#"{"message": "Hi.", "handoff": {"to": "a1", "task": "Go on."}, "final": false}"#),
        ("repaired", "Sure! ```json\n{'message': 'Hi.', 'handoff': {'to': 'A1', 'task': 'Go on.'},}\n```"),
        ("prose", "I would rather say it in prose, at some length, and without any object at all."),
    ] {
        group.bench_function(name, |bench| bench.iter(|| reply::read(black_box(text), &shape)));
    }
    group.finish();
}

criterion_group!(benches, steps, replies);
criterion_main!(benches);
