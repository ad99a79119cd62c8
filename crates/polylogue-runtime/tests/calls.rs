//! What a call may take, and what it is charged: every try, whatever became of it.

#[allow(dead_code, reason = "not every test needs all of it")]
mod support;

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Reason, Setup,
    event::FailureKind,
    format::chorus::{self, Slot, SlotId, VoiceProfile, purpose},
    id::Seq,
    ledger::{Usage, estimate_tokens},
    money::{Money, Price},
    projection::Outcome,
    setup::{Agent, Cast, FormatSetup, Limits},
};
use polylogue_runtime::{
    Hub, HubSettings, Published, Retries,
    port::{Call, CallError, Model, Reply},
};
use support::{Behaviour, Bench, TestModel, setup};
use tokio::time::Instant;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn a_call_may_be_slow_and_must_not_be_silent() {
    // What the model does, how often it is asked, how long that takes, and the setting that ended it.
    type Case = (fn() -> Behaviour, u32, u64, Option<&'static str>);
    let cases: [Case; 5] = [
        (|| Behaviour::WritesFor { seconds: 120 }, 1, 120, None),
        (|| Behaviour::HandsOnAfter(seconds(59)), 1, 59, None),
        (|| Behaviour::Hangs { after: "Half a word" }, 2, 2 * 30, Some("(call_timeout_seconds)")),
        (|| Behaviour::Hangs { after: "" }, 2, 2 * 60, Some("(first_token_seconds)")),
        (|| Behaviour::WritesFor { seconds: 300 }, 2, 2 * 240, Some("(call_max_seconds)")),
    ];
    for (behaviour, calls, takes, setting) in cases {
        let bench = Bench::new(TestModel::new(move |_| behaviour()));
        let began = Instant::now();
        let id = bench.run(setup(1)).await;
        let took = began.elapsed();
        assert!(took >= seconds(takes) && took < seconds(takes + 2), "{setting:?}: {took:?}");
        assert_eq!(bench.model.calls(), calls, "{setting:?}");
        let outcome = Outcome::of(&bench.hub.conversation(id).await.unwrap());
        match setting {
            None => assert_eq!(outcome.errors, []),
            Some(setting) => {
                let error = &outcome.errors[0];
                assert_eq!(error.kind, FailureKind::Timeout);
                assert!(error.message.starts_with("test ") && error.message.ends_with(setting), "{}", error.message);
            }
        }
    }
}

/// Five of a chorus answer at once; what the sixth does is up to the test.
struct Chorus {
    sixth: fn(&Call) -> Option<Duration>,
}

#[async_trait]
impl Model for Chorus {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        if call.ask.id.agent.as_str() == "slot-6" {
            match (self.sixth)(call) {
                Some(takes) => tokio::time::sleep(takes).await,
                None => pending().await,
            }
        }
        let target = if call.ask.id.agent.as_str() == "slot-1" { 2 } else { 1 };
        let text = match call.ask.id.purpose {
            purpose::COMMENT => {
                format!(r#"{{"targetSlotId": {target}, "comment": "Yes.", "voice_profile": "playful"}}"#)
            }
            _ => r#"{"text": "Yes.", "voice_profile": "playful"}"#.to_owned(),
        };
        Ok(Reply { text: text.into(), ..Reply::default() })
    }
}

fn chorus_of_six() -> Setup {
    let ids: Vec<SlotId> = (1..=6).map(|slot| slot.try_into().unwrap()).collect();
    let one = setup(1);
    let agent = |id: &SlotId| Agent { name: id.agent(), ..one.cast.agents()[0].clone() };
    let slots = ids.iter().map(|id| Slot { slot_id: *id, agent_id: id.agent(), name: None }).collect();
    let voices = vec![VoiceProfile { name: "playful".into(), description: "lively".into() }];
    Setup {
        format: FormatSetup::new(chorus::Settings { message: "What is a home?".into(), slots, voices }),
        cast: Cast::new(ids.iter().map(agent).collect(), vec!["you".parse().unwrap()]).unwrap(),
        ..one
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_holds_a_chorus_no_longer_than_the_deadline() {
    // Silence has as long as the first word and a pause together, whatever is tried in between.
    let deadline = seconds(60 + 30);
    let hangs_once = |call: &Call| (call.retry > 0 || call.ask.id.turn > 1).then_some(seconds(0));
    type Case = (fn(&Call) -> Option<Duration>, Duration, usize);
    let cases: [Case; 3] =
        [(|_| None, deadline, 5), (|_| Some(seconds(61)), deadline, 5), (hangs_once, seconds(60), 6)];
    for (sixth, at_least, answered) in cases {
        let bench = Bench::new(TestModel::handing_on());
        let ports = polylogue_runtime::Ports { model: Arc::new(Chorus { sixth }), ..bench.ports.clone() };
        let hub = Hub::new(ports, HubSettings::default());
        let began = Instant::now();
        let id = hub.start(chorus_of_six()).await.unwrap();
        hub.wait(id).await.unwrap();
        let took = began.elapsed();
        assert!(took >= at_least && took <= deadline.mul_f64(1.1), "{took:?}");
        let conversation = hub.conversation(id).await.unwrap();
        assert_eq!(conversation.stage().ended().unwrap().to_string(), "completed");
        let lines = conversation.stage().transcript().lines();
        let first = lines.iter().filter(|line| line.ask.as_ref().is_some_and(|ask| ask.turn == 1)).count();
        assert_eq!(first, answered);
    }
}

#[tokio::test(start_paused = true)]
async fn every_try_is_charged_as_its_vendor_bills_it() {
    let billed = Usage { input: 1_000, output: 10, ..Usage::default() };
    let text = "Half an answer, and then nothing.";
    let broke = || CallError::Network("broke off".into());
    let overloaded = || CallError::Overloaded { retry_after: None, message: String::new() };
    // How each of four tries ends, what had arrived by then, and what of it is paid for: input, output.
    type Case = (fn(&Call), fn() -> CallError, fn(u64) -> (u64, u64));
    let cases: [Case; 8] = [
        (|_| {}, || CallError::Unreachable("refused".into()), |_| (0, 0)),
        (|_| {}, || CallError::RateLimited { retry_after: None, message: String::new() }, |_| (0, 0)),
        (|_| {}, overloaded, |_| (0, 0)),
        (|_| {}, broke, |input| (4 * input, 0)),
        (|call| call.deltas.alive(), overloaded, |input| (4 * input, 0)),
        (|call| call.deltas.push("Half an answer, and then nothing."), broke, |input| (4 * input, 4 * 9)),
        (|call| call.deltas.overhear("Half an answer, and then nothing."), broke, |input| (4 * input, 4 * 9)),
        (
            |call| {
                call.deltas.bill(Usage { input: 1_000, output: 10, ..Usage::default() });
                call.deltas.push("Half an answer, and then nothing.");
            },
            broke,
            |_| (4_000, 40),
        ),
    ];
    assert_eq!(estimate_tokens(text), 9);
    for (number, (arrives, error, expected)) in cases.into_iter().enumerate() {
        let bench = Bench::new(TestModel::new(move |call| {
            arrives(call);
            Behaviour::Fails(error())
        }));
        let id = bench.run(setup(1)).await;
        assert_eq!(bench.model.calls(), 1 + Retries::default().max);
        let input = estimate(&bench.hub.records(id).await.unwrap()).input;
        let usage = bench.hub.conversation(id).await.unwrap().stage().ledger().total().usage;
        assert_eq!((usage.input, usage.output), expected(input), "case {number}");
        assert_eq!(usage.estimated, usage.total() > 0 && usage.input != 4 * billed.input, "case {number}");
    }
}

fn estimate(records: &[polylogue_core::Record]) -> Usage {
    let asked = records.iter().rev().find_map(|record| match &record.event {
        Event::Asked { estimate, .. } => Some(*estimate),
        _ => None,
    });
    asked.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_charged_with_the_tries_before_it() {
    // The first two tries break off after these words. Then stop is pressed in the middle of the third, or before it.
    for (in_the_third, tries) in [(true, 3), (false, 2)] {
        let model = TestModel::new(move |call| match call.retry {
            0 => {
                call.deltas.push(r#"{"message": "Half an answer, then"#);
                Behaviour::Fails(CallError::Network("broke off".into()))
            }
            1 if in_the_third => {
                call.deltas.push(r#"{"message": "Half an answer, then"#);
                Behaviour::Fails(CallError::Network("broke off again".into()))
            }
            1 => {
                call.deltas.push(r#"{"message": "Half an answer, then"#);
                let retry_after = Some(seconds(20));
                Behaviour::Fails(CallError::RateLimited { retry_after, message: "too many".into() })
            }
            _ => Behaviour::Hangs { after: r#"{"message": "Half an answer, then"# },
        });
        let bench = Bench::new(model);
        let id = bench.hub.start(setup(1)).await.unwrap();
        let mut watch = bench.hub.subscribe(id, Seq::START);
        let (mut deltas, mut waited) = (0, Vec::new());
        while deltas < 1 && !waited.iter().any(|what: &Arc<str>| what.contains("too many")) {
            match watch.next().await.unwrap().unwrap() {
                Published::Delta { .. } => deltas += 1,
                Published::Waiting { what, .. } => waited.extend(what),
                Published::Record(_) => {}
            }
        }
        assert_eq!(waited.len(), 2, "who waits for the next try is shown as waiting: {waited:?}");
        bench.hub.stop(id).await.unwrap();
        let input = estimate(&bench.hub.records(id).await.unwrap()).input;
        let account = *bench.hub.conversation(id).await.unwrap().stage().ledger().total();
        assert_eq!((account.usage.input, account.usage.output), (tries * input, tries * 9), "{tries} tries");
    }
}

#[tokio::test(start_paused = true)]
async fn no_try_begins_that_could_pass_a_limit() {
    let price = Price { input: 0.0, output: 1.0, cached: None, cache_write: None };
    // A try may cost $0.002048, and each one that breaks off costs $0.001.
    let billed = Usage { input: 0, output: 1_000, ..Usage::default() };
    for (max_usd, calls, is_told) in [(0.002, 0, false), (0.002_9, 1, true), (0.003_1, 2, true), (1.0, 4, false)] {
        let bench = Bench::new(TestModel::new(move |call| {
            call.deltas.bill(billed);
            Behaviour::Fails(CallError::Network("broke off".into()))
        }));
        let mut setup = setup(1);
        let agents = setup.cast.agents().iter().map(|agent| Agent { price: Some(price), ..agent.clone() });
        setup.cast = Cast::new(agents.collect(), vec!["you".parse().unwrap()]).unwrap();
        setup.limits = Limits { max_usd: Money::from_usd(max_usd), ..Limits::default() };
        let id = bench.run(setup).await;
        assert_eq!(bench.model.calls(), calls, "{max_usd}");
        let conversation = bench.hub.conversation(id).await.unwrap();
        let reason = if calls == 0 { Reason::LIMIT_USD } else { Reason::FAILED };
        assert_eq!(conversation.stage().ended(), Some(reason));
        let cost = conversation.stage().ledger().total().cost.unwrap();
        assert_eq!(cost, Money::from_usd(0.001 * f64::from(calls)));
        assert!(cost <= Money::from_usd(max_usd));
        let told = Outcome::of(&conversation).errors.iter().any(|error| error.message.contains("could pass a limit"));
        assert_eq!(told, is_told, "{max_usd}");
    }
}

#[tokio::test(start_paused = true)]
async fn asks_at_once_share_what_is_left() {
    // Six tries at once may cost $0.012288, and each one that breaks off costs $0.001.
    let price = Price { input: 0.0, output: 1.0, cached: None, cache_write: None };
    for (max_usd, fewest, most) in [(0.002, 0, 0), (0.012, 5, 19), (0.014_5, 7, 20), (1.0, 24, 24)] {
        let bench = Bench::new(TestModel::new(|call| {
            call.deltas.bill(Usage { input: 0, output: 1_000, ..Usage::default() });
            Behaviour::Fails(CallError::Network("broke off".into()))
        }));
        let mut setup = chorus_of_six();
        let agents = setup.cast.agents().iter().map(|agent| Agent { price: Some(price), ..agent.clone() });
        setup.cast = Cast::new(agents.collect(), vec!["you".parse().unwrap()]).unwrap();
        setup.limits = Limits { max_usd: Money::from_usd(max_usd), ..Limits::default() };
        let id = bench.run(setup).await;
        let calls = bench.model.calls();
        assert!((fewest..=most).contains(&calls), "{max_usd}: {calls} tries");
        let cost = bench.hub.conversation(id).await.unwrap().stage().ledger().total().cost.unwrap();
        assert_eq!(cost, Money::from_usd(0.001 * f64::from(calls)));
        assert!(cost <= Money::from_usd(max_usd), "{max_usd}: {cost}");
    }
}

/// Notes how many calls are under way at once.
#[derive(Default)]
struct Counting {
    now: AtomicU32,
    most: AtomicU32,
}

#[async_trait]
impl Model for Counting {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(seconds(1)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        (Chorus { sixth: |_| Some(Duration::ZERO) }).answer(call).await
    }
}

#[tokio::test(start_paused = true)]
async fn so_many_calls_at_once_and_the_others_wait_their_turn() {
    let bench = Bench::new(TestModel::handing_on());
    for (max_calls, most) in [(2, 2), (7, 7), (100, 12)] {
        let model = Arc::new(Counting::default());
        let ports = polylogue_runtime::Ports { model: model.clone(), ..bench.ports.clone() };
        let hub = Hub::new(ports, HubSettings { max_calls, ..HubSettings::default() });
        let ids = [hub.start(chorus_of_six()).await.unwrap(), hub.start(chorus_of_six()).await.unwrap()];
        for id in ids {
            hub.wait(id).await.unwrap();
            assert_eq!(hub.conversation(id).await.unwrap().stage().ended().unwrap().to_string(), "completed");
        }
        assert_eq!(model.most.load(Ordering::SeqCst), most);
    }
}
