//! Sessions through the hub, on a model made for the test: stop, resume, fork, watching, bounds.

mod owners;
#[allow(dead_code, reason = "not every test needs all of it")]
mod support;
mod waiting;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use polylogue_core::{
    Event, Reason, Record, Rejected, Timestamp,
    id::{Seq, SessionId},
    ledger::Usage,
    projection::{CannotFork, Outcome, Status},
    setup::{Change, Limits},
};
use polylogue_runtime::{
    Hub, HubError, HubSettings, MemoryJournal, Ports, Published, Retries,
    conformance::example::NODE,
    port::{CallError, Clock, Journal, JournalError, NodeId, Search, Summary},
};
use support::{Behaviour, Bench, TestModel, TokioClock, setup, texts};
use tokio::time::{sleep, timeout};

#[tokio::test(start_paused = true)]
async fn a_collaboration_runs_to_its_cap_and_says_so() {
    let bench = Bench::new(TestModel::handing_on());
    let id = bench.run(setup(3)).await;
    assert_eq!(bench.reason(id).await, Some(Reason::CAP_REACHED));
    assert_eq!(
        texts(&bench.hub.conversation(id).await.unwrap()),
        [
            "you: Work it out.",
            "gpt: turn 1 of gpt",
            "router: go on, claude",
            "claude: turn 2 of claude",
            "router: go on, gpt",
            "gpt: turn 3 of gpt",
            "router: go on, claude",
            "router: Collaboration ended: all 3 rounds are used.",
        ]
    );
    assert_eq!(bench.model.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn stop_drops_a_call_in_flight_at_once_and_resume_repeats_no_turn() {
    // The second turn takes 30 s, and had said two words when stop is pressed.
    let model = TestModel::new(|call| match (call.ask.id.turn, call.ask.id.attempt) {
        (2, 1) => Behaviour::Hangs { after: "{\"message\": \"half a" },
        _ => Behaviour::HandsOn,
    });
    let bench = Bench::new(model);
    let id = bench.hub.start(setup(3)).await.unwrap();
    let mut watch = bench.hub.subscribe(id, Seq::START);
    while !matches!(watch.next().await.unwrap(), Some(Published::Delta { ask, .. }) if ask.turn == 2) {}

    let pressed = tokio::time::Instant::now();
    bench.hub.stop(id).await.unwrap();
    assert_eq!(pressed.elapsed(), Duration::ZERO, "the call is not waited for");
    assert_eq!(bench.model.dropped(), 1, "the request itself is gone");
    assert_eq!(bench.reason(id).await, Some(Reason::CANCELLED));
    let records = bench.hub.records(id).await.unwrap();
    let cut = records.iter().find_map(|record| match &record.event {
        Event::AskCut { partial, usage, .. } => Some((partial.to_string(), usage.estimated)),
        _ => None,
    });
    assert_eq!(cut, Some(("{\"message\": \"half a".to_owned(), true)));
    let said = texts(&bench.hub.conversation(id).await.unwrap());
    assert_eq!(said.last().unwrap(), "router: Collaboration canceled by user.");

    bench.hub.resume(id, Change::default()).await.unwrap();
    bench.hub.wait(id).await.unwrap();
    assert_eq!(bench.reason(id).await, Some(Reason::CAP_REACHED));
    let said = texts(&bench.hub.conversation(id).await.unwrap());
    let turns: Vec<&String> = said.iter().filter(|line| line.contains("turn")).collect();
    assert_eq!(turns, ["gpt: turn 1 of gpt", "claude: turn 2 of claude", "gpt: turn 3 of gpt"]);
    assert_eq!(bench.model.calls(), 4, "three turns and the one that was cut");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_lost_its_process_goes_on_where_it_was() {
    let model = TestModel::new(|call| match call.ask.id.turn {
        2 => Behaviour::Hangs { after: "" },
        _ => Behaviour::HandsOn,
    });
    let bench = Bench::new(model);
    let id = bench.hub.start(setup(3)).await.unwrap();
    let mut watch = bench.hub.subscribe(id, Seq::START);
    loop {
        match watch.next().await.unwrap() {
            Some(Published::Record(record)) if matches!(&record.event, Event::Asked { ask, .. } if ask.turn == 2) => {
                break;
            }
            _ => {}
        }
    }
    bench.hub.leave().await;
    assert_eq!(bench.reason(id).await, None);

    let next = bench.next_process(TestModel::handing_on());
    assert_eq!(next.hub.attend().await.unwrap(), [id]);
    next.hub.wait(id).await.unwrap();
    assert_eq!(next.reason(id).await, Some(Reason::CAP_REACHED));
    assert_eq!(next.model.calls(), 2, "the first turn was on disk");
    assert_eq!(next.hub.attend().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_fork_goes_its_own_way_and_leaves_the_other_alone() {
    let bench = Bench::new(TestModel::handing_on());
    let id = bench.run(setup(3)).await;
    let before = bench.hub.records(id).await.unwrap();
    let second_line = before.iter().filter(|record| matches!(record.event, Event::LineSpoken { .. })).nth(1).unwrap();
    let fork = SessionId::from_random([9; 16]);
    let change = Change { max_rounds: Some(4), ..Change::default() };
    bench.hub.fork(id, second_line.seq, fork, change).await.unwrap();
    bench.hub.wait(fork).await.unwrap();

    let forked = bench.hub.conversation(fork).await.unwrap();
    let turns: Vec<String> = texts(&forked).into_iter().filter(|line| line.contains("turn")).collect();
    assert_eq!(
        turns,
        ["gpt: turn 1 of gpt", "claude: turn 2 of claude", "gpt: turn 3 of gpt", "claude: turn 4 of claude"]
    );
    let outcome = Outcome::of(&forked);
    assert_eq!(outcome.session_id, fork);
    assert_eq!(
        outcome.costs.by_agent.values().map(|agent| agent.calls).sum::<u64>(),
        2,
        "the copy was paid for before"
    );
    assert_eq!(bench.hub.records(id).await.unwrap(), before);

    let head = before.last().unwrap().seq;
    let at = |seq| bench.hub.fork(id, seq, SessionId::from_random([8; 16]), Change::default());
    assert_eq!(at(head).await, Err(CannotFork::Complete(head, Reason::CAP_REACHED).into()));
    assert_eq!(at(Seq(99)).await, Err(CannotFork::NoSuchRecord(Seq(99), head).into()));
    assert_eq!(at(Seq(0)).await, Err(CannotFork::NoSuchRecord(Seq(0), head).into()));
}

#[tokio::test(start_paused = true)]
async fn whoever_watches_from_any_place_sees_the_same() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_millis(10))));
    let id = bench.hub.start(setup(40)).await.unwrap();
    let watching = |after: u64| {
        let mut watch = bench.hub.subscribe(id, Seq(after));
        tokio::spawn(async move {
            let mut seen = Vec::new();
            while let Some(published) = watch.next().await.unwrap() {
                if let Published::Record(record) = published {
                    seen.push(record);
                }
            }
            seen
        })
    };
    let live: Vec<_> = [0, 1, 2, 7].map(watching).into_iter().collect();
    // One that does not keep up has to go back to the journal.
    let mut slow = bench.hub.subscribe(id, Seq::START);
    bench.hub.wait(id).await.unwrap();
    let whole = bench.hub.records(id).await.unwrap();
    for (seen, after) in live.into_iter().zip([0, 1, 2, 7]) {
        assert_eq!(seen.await.unwrap().iter().map(|record| Record::clone(record)).collect::<Vec<_>>(), whole[after..]);
    }
    let mut seen = 0;
    while let Some(published) = slow.next().await.unwrap() {
        if let Published::Record(record) = published {
            assert_eq!(*record, whole[seen]);
            seen += 1;
        }
    }
    assert_eq!(seen, whole.len());
    let mut late = bench.hub.subscribe(id, Seq(whole.len() as u64 - 1));
    assert_eq!(late.next().await.unwrap(), Some(Published::Record(Arc::new(whole.last().unwrap().clone()))));
    assert_eq!(late.next().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn passing_failures_are_retried_within_their_bound() {
    let overloaded = || CallError::Overloaded { retry_after: Some(Duration::from_secs(7)), message: "busy".into() };
    let model = TestModel::new(move |call| match call.retry {
        0 | 1 => Behaviour::Fails(overloaded()),
        _ => Behaviour::HandsOn,
    });
    let bench = Bench::new(model);
    let began = tokio::time::Instant::now();
    let id = bench.run(setup(1)).await;
    assert_eq!(began.elapsed(), Duration::from_secs(14), "the provider's word is heeded");
    assert_eq!(bench.reason(id).await, Some(Reason::CAP_REACHED));
    let answered = bench.hub.records(id).await.unwrap();
    assert!(answered.iter().any(|record| matches!(record.event, Event::Answered { retries: 2, .. })));

    let bench = Bench::new(TestModel::new(move |_| Behaviour::Fails(overloaded())));
    let id = bench.run(setup(1)).await;
    assert_eq!(bench.reason(id).await, Some(Reason::FAILED));
    assert_eq!(bench.model.calls(), 1 + Retries::default().max);

    let bench = Bench::new(TestModel::new(|_| Behaviour::Fails(CallError::Unauthorized("no".into()))));
    let id = bench.run(setup(1)).await;
    assert_eq!(bench.reason(id).await, Some(Reason::FAILED));
    assert_eq!(bench.model.calls(), 1, "a bad key is not tried again");
    let next = bench.next_process(TestModel::handing_on());
    next.hub.resume(id, Change::default()).await.unwrap();
    next.hub.wait(id).await.unwrap();
    assert_eq!(next.reason(id).await, Some(Reason::CAP_REACHED));
}

#[tokio::test(start_paused = true)]
async fn what_failed_tries_used_is_counted_even_when_the_reply_says_nothing() {
    let billed = Usage { input: 1_000, output: 10, ..Usage::default() };
    let model = TestModel::new(move |call| match call.retry {
        0 | 1 => {
            call.deltas.bill(billed);
            Behaviour::Fails(CallError::Network("cut".into()))
        }
        _ => Behaviour::HandsOn,
    });
    let bench = Bench::new(model);
    let id = bench.run(setup(1)).await;
    let usage = bench.hub.conversation(id).await.unwrap().stage().ledger().total().usage;
    assert!(usage.input > 2_000 && usage.output > 20, "both tries and the estimated reply: {usage:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_given_up_after_its_time_limit() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::Hangs { after: "" }));
    let mut setup = setup(1);
    setup.limits = Limits { first_token_seconds: Some(5), ..Limits::default() };
    let id = bench.run(setup).await;
    assert_eq!(bench.reason(id).await, Some(Reason::FAILED));
    let outcome = Outcome::of(&bench.hub.conversation(id).await.unwrap());
    assert_eq!(outcome.errors[0].message, "test has said nothing within 5 s (first_token_seconds)");
    assert_eq!(bench.model.calls(), 2, "what timed out is tried once more");
}

#[tokio::test(start_paused = true)]
async fn the_session_s_time_is_a_bound_too() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(4))));
    let mut setup = setup(100);
    setup.limits = Limits { max_seconds: 10, ..Limits::default() };
    let began = tokio::time::Instant::now();
    let id = bench.run(setup).await;
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    assert_eq!(bench.reason(id).await, Some(Reason::LIMIT_SECONDS));
    // Time that nobody ran it is not counted, and more of it lets it go on.
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let still = bench.hub.resume(id, Change::default()).await;
    assert_eq!(still, Err(Rejected::StillAtLimit(Reason::LIMIT_SECONDS).into()));
    let limits = Some(Limits { max_seconds: 15, ..Limits::default() });
    bench.hub.resume(id, Change { limits, ..Change::default() }).await.unwrap();
    bench.hub.wait(id).await.unwrap();
    assert_eq!(bench.hub.conversation(id).await.unwrap().stage().active_ms(), 15_000);
}

#[tokio::test(start_paused = true)]
async fn a_person_can_put_in_a_word_and_only_while_it_runs() {
    let bench = Bench::new(TestModel::new(|call| match call.ask.id.turn {
        1 => Behaviour::HandsOnAfter(Duration::from_secs(1)),
        _ => Behaviour::HandsOn,
    }));
    let id = bench.hub.start(setup(2)).await.unwrap();
    let you = || "you".parse().unwrap();
    bench.hub.say(id, you(), "Mind the budget.".into()).await.unwrap();
    let empty = bench.hub.say(id, you(), " ".into()).await;
    assert_eq!(empty, Err(Rejected::EmptyMessage.into()));
    let stranger = bench.hub.say(id, "bob".parse().unwrap(), "Hi".into()).await;
    assert_eq!(stranger, Err(Rejected::NotInCast("bob".parse().unwrap()).into()));
    bench.hub.wait(id).await.unwrap();
    assert!(texts(&bench.hub.conversation(id).await.unwrap()).contains(&"you: Mind the budget.".to_owned()));
    assert!(bench.model.prompts()[1].contains("you: Mind the budget."), "the next speaker reads it");
    let late = bench.hub.say(id, you(), "Too late.".into()).await;
    assert_eq!(late, Err(Rejected::Ended(Reason::CAP_REACHED).into()));
}

#[tokio::test(start_paused = true)]
async fn a_hub_runs_so_many_sessions_and_no_more() {
    let model = TestModel::new(|_| Behaviour::Hangs { after: "" });
    let bench =
        Bench::with(model, Arc::new(MemoryJournal::default()), HubSettings { max_live: 2, ..HubSettings::default() });
    let first = bench.hub.start(setup(1)).await.unwrap();
    bench.hub.start(setup(1)).await.unwrap();
    assert_eq!(bench.hub.start(setup(1)).await, Err(HubError::Busy(2)));
    bench.hub.stop(first).await.unwrap();
    bench.hub.start(setup(1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_has_one_owner_and_others_cannot_run_it() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(100))));
    let id = bench.hub.start(setup(3)).await.unwrap();
    let mut watch = bench.hub.subscribe(id, Seq(1));
    assert!(matches!(watch.next().await, Ok(Some(Published::Record(_)))), "its first call is under way");
    let other = bench.next_process(TestModel::handing_on());
    assert_eq!(other.hub.attend().await.unwrap(), [], "it was not left");
    assert_eq!(other.hub.resume(id, Change::default()).await, Err(HubError::Elsewhere));
    let outcome = other.hub.outcome(&other.hub.conversation(id).await.unwrap()).await.unwrap();
    assert_eq!(outcome.status, Status::Running);

    let mut elsewhere = other.hub.subscribe(id, Seq::START);
    let asked = tokio::time::Instant::now();
    assert_eq!(other.hub.stop(id).await, Ok(Reason::CANCELLED));
    assert!(asked.elapsed() < Duration::from_secs(2), "its owner looks every second");
    assert_eq!((bench.hub.running(), bench.model.dropped(), other.model.calls()), (0, 1, 0));
    let mut heard = 0;
    while let Some(published) = elsewhere.next().await.unwrap() {
        heard += usize::from(matches!(published, Published::Record(_)));
    }
    assert_eq!(heard, bench.hub.records(id).await.unwrap().len(), "who watches elsewhere hears it to its end");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_only_seemed_gone_finds_that_another_goes_on() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(100))));
    let id = bench.hub.start(setup(3)).await.unwrap();
    let mut watch = bench.hub.subscribe(id, Seq(1));
    assert!(matches!(watch.next().await, Ok(Some(Published::Record(_)))), "its first call is under way");
    // The node is taken for gone while its process is still there.
    let owner = bench.ports.nodes.owned(bench.hub.node()).await.unwrap();
    assert_eq!(owner.len(), 1);
    bench.ports.nodes.keep_alive(bench.hub.node(), Duration::ZERO).await.unwrap();
    let other = bench.next_process(TestModel::handing_on());
    assert_eq!(other.hub.attend().await.unwrap(), [id]);
    other.hub.wait(id).await.unwrap();
    assert_eq!(other.reason(id).await, Some(Reason::CAP_REACHED));
    let after = other.hub.records(id).await.unwrap();
    assert_eq!(bench.hub.wait(id).await, Ok(()), "the first lets go by itself");
    assert_eq!((bench.model.dropped(), bench.hub.running()), (1, 0), "and drops its call");
    assert_eq!(bench.hub.records(id).await.unwrap(), after);
    // Who watched the first hears what the other did.
    let mut heard = 2;
    while let Some(published) = watch.next().await.unwrap() {
        heard += usize::from(matches!(published, Published::Record(_)));
    }
    assert_eq!(heard, after.len());
}

#[tokio::test(start_paused = true)]
async fn an_unknown_session_is_said_to_be_one() {
    let bench = Bench::new(TestModel::handing_on());
    let id = SessionId::from_random([1; 16]);
    assert_eq!(bench.hub.resume(id, Change::default()).await, Err(HubError::NoSuchSession(id)));
    assert_eq!(bench.hub.stop(id).await, Err(HubError::NoSuchSession(id)));
    let ports = Ports { clock: Arc::new(TokioClock::default()), ..bench.ports.clone() };
    assert_eq!(Hub::new(ports, HubSettings::default()).running(), 0);
}

/// A journal whose appends take a while, as those of a disk do.
struct Unhurried(Arc<MemoryJournal>);

#[async_trait]
impl Journal for Unhurried {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        sleep(Duration::from_millis(5)).await;
        self.0.append(session, records, node).await?;
        sleep(Duration::from_millis(5)).await;
        Ok(())
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        self.0.read(session, after, limit).await
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        self.0.search(search).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        self.0.find(id_prefix, limit).await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        self.0.delete(session).await
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        self.0.forks(of).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_caller_leaves_runs_all_the_same() {
    let bench = Bench::new(TestModel::handing_on());
    let store = Arc::new(MemoryJournal::default());
    let ports = Ports { journal: Arc::new(Unhurried(store.clone())), nodes: store.clone(), ..bench.ports.clone() };
    let hub = Hub::new(ports, HubSettings::default());
    let forked = bench.run(setup(2)).await;
    store.append(forked, bench.ports.journal.read_all(forked).await.unwrap(), NODE).await.unwrap();
    for patience in 0..12 {
        let leaves = Duration::from_millis(patience);
        // Each of these is dropped in the middle, after another while each time.
        let _ = timeout(leaves, hub.start(setup(2))).await;
        let _ = timeout(leaves, hub.start_all(vec![setup(1), setup(2)])).await;
        let new_id = SessionId::from_random([patience as u8; 16]);
        let _ = timeout(leaves, hub.fork(forked, Seq(3), new_id, Change::default())).await;
    }
    // The clock is the test's: this is long after the last of them.
    sleep(Duration::from_secs(60)).await;
    assert_eq!(hub.running(), 0);
    let sessions = store.sessions(usize::MAX).await.unwrap();
    assert!(sessions.iter().all(|summary| summary.status() == Status::Ended), "nobody's session is left behind");
    assert!(store.sessions(usize::MAX).await.unwrap().len() > 4 * 8, "they were begun");
}

#[tokio::test(start_paused = true)]
async fn places_are_taken_before_anything_is_waited_for() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1))));
    let store = Arc::new(MemoryJournal::default());
    let ports = Ports { journal: Arc::new(Unhurried(store.clone())), nodes: store, ..bench.ports.clone() };
    let hub = Hub::new(ports, HubSettings { max_live: 3, ..HubSettings::default() });
    let started = join_all((0..20).map(|_| hub.start(setup(1)))).await;
    assert_eq!(started.iter().filter(|started| started.is_ok()).count(), 3);
    assert_eq!(started.iter().filter(|started| **started == Err(HubError::Busy(3))).count(), 17);
    for id in started.into_iter().flatten() {
        hub.wait(id).await.unwrap();
    }
    assert_eq!(join_all((0..3).map(|_| hub.start(setup(1)))).await.iter().filter(|started| started.is_ok()).count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_panics_fails_its_ask_and_gives_its_place_back() {
    let model = TestModel::new(|call| match call.ask.id.attempt {
        1 => panic!("a bug in a connector"),
        _ => Behaviour::HandsOn,
    });
    let settings = HubSettings { max_live: 1, ..HubSettings::default() };
    let bench = Bench::with(model, Arc::new(MemoryJournal::default()), settings);
    for _ in 0..3 {
        let id = bench.run(setup(1)).await;
        assert_eq!((bench.reason(id).await, bench.hub.running()), (Some(Reason::FAILED), 0));
        let failure = bench.hub.conversation(id).await.unwrap().stage().failures()[0].failure.message.clone();
        assert!(failure.contains("a bug"), "{failure}");
        bench.hub.resume(id, Change::default()).await.unwrap();
        bench.hub.wait(id).await.unwrap();
        assert_eq!(bench.reason(id).await, Some(Reason::CAP_REACHED));
    }
}

/// A clock that breaks when it is asked for the `at`th time.
struct Broken {
    clock: TokioClock,
    asked: AtomicU32,
    at: u32,
}

impl Clock for Broken {
    fn now(&self) -> Timestamp {
        assert!(self.asked.fetch_add(1, Ordering::SeqCst) != self.at, "a bug in a clock");
        self.clock.now()
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_loop_panics_ends_and_says_so() {
    let bench = Bench::new(TestModel::handing_on());
    let mut broken = 0;
    for at in 2..40 {
        let clock = Arc::new(Broken { clock: TokioClock::default(), asked: AtomicU32::new(0), at });
        let hub =
            Hub::new(Ports { clock, ..bench.ports.clone() }, HubSettings { max_live: 1, ..HubSettings::default() });
        let Ok(id) = hub.start(setup(2)).await else { continue };
        broken += u32::from(hub.wait(id).await.is_err());
        if bench.reason(id).await == Some(Reason::FAILED) {
            bench.hub.resume(id, Change::default()).await.unwrap();
            bench.hub.wait(id).await.unwrap();
        }
        assert_eq!((bench.reason(id).await, hub.running()), (Some(Reason::CAP_REACHED), 0), "the clock broke at {at}");
    }
    assert!(broken > 3, "in the loop itself, and not in the format: {broken}");
}
