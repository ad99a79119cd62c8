//! Who runs a session, and what becomes of it when the store is in trouble, the format breaks or the process is gone.

mod fragile;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use polylogue_core::{
    Event, Reason, Record, Setup, Timestamp,
    event::VERSION,
    id::{Seq, SessionId},
    projection::Status,
    setup::{Change, FormatSetup},
};
use polylogue_runtime::{
    Hub, HubError, HubSettings, Listener, MemoryJournal, Overheard, Ports, Published,
    port::{Call, CallError, Journal, JournalError, Living, MAX_TAKEOVERS, NodeId, Nodes, Owned, Search, Summary},
};
use tokio::time::{Instant, sleep};

use self::fragile::{Breaks, Fragile};
use crate::support::{Behaviour, Bench, TestModel, setup};

/// A store that can be in trouble: appends fail, or are done without anybody being told.
#[derive(Default)]
struct Troubled {
    store: Arc<MemoryJournal>,
    is_locked: AtomicBool,
    is_mute: AtomicBool,
    /// Whether it can be written and not read.
    is_blind: AtomicBool,
    /// Whether this process cannot reach it at all.
    is_cut_off: AtomicBool,
    refused: AtomicUsize,
}

impl Troubled {
    fn lock(&self, is_locked: bool) {
        self.is_locked.store(is_locked, Ordering::SeqCst);
    }

    fn reach(&self) -> Result<(), JournalError> {
        match self.is_cut_off.load(Ordering::SeqCst) {
            true => Err(JournalError::Unavailable("nobody answers".to_owned())),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Journal for Troubled {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        let trouble = || JournalError::Unavailable("another program keeps it locked".to_owned());
        self.reach()?;
        if self.is_locked.load(Ordering::SeqCst) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(trouble());
        }
        self.store.append(session, records, node).await?;
        if self.is_mute.load(Ordering::SeqCst) { Err(trouble()) } else { Ok(()) }
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        match self.is_blind.load(Ordering::SeqCst) {
            true => Err(JournalError::Unavailable("it cannot be read".to_owned())),
            false => self.store.read(session, after, limit).await,
        }
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        self.store.search(search).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        self.store.find(id_prefix, limit).await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        self.store.delete(session).await
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        self.store.forks(of).await
    }
}

/// A hub on a store that can be in trouble.
fn troubled(model: Arc<TestModel>) -> (Bench, Arc<Troubled>) {
    let store = Arc::new(Troubled::default());
    let bench = Bench::new(model);
    let nodes = Arc::new(NodesOf(store.clone()));
    let ports = Ports { journal: store.clone(), nodes, ..bench.ports };
    let hub = Hub::new(ports.clone(), HubSettings::default());
    (Bench { hub, ports, model: bench.model }, store)
}

struct NodesOf(Arc<Troubled>);

#[async_trait]
impl Nodes for NodesOf {
    async fn keep_alive(&self, node: NodeId, lease: Duration) -> Result<bool, JournalError> {
        self.0.reach()?;
        self.0.store.keep_alive(node, lease).await
    }

    async fn depart(&self, node: NodeId) -> Result<(), JournalError> {
        self.0.store.depart(node).await
    }

    async fn take_over(&self, node: NodeId, limit: usize) -> Result<Vec<Owned>, JournalError> {
        self.0.reach()?;
        self.0.store.take_over(node, limit).await
    }

    async fn owned(&self, node: NodeId) -> Result<Vec<Owned>, JournalError> {
        self.0.reach()?;
        self.0.store.owned(node).await
    }

    async fn give_up(&self, node: NodeId, session: SessionId, head: Seq) -> Result<(), JournalError> {
        self.0.store.give_up(node, session, head).await
    }

    async fn ask_to_stop(&self, session: SessionId) -> Result<Option<NodeId>, JournalError> {
        self.0.store.ask_to_stop(session).await
    }

    async fn tell_room(&self, node: NodeId, room: u32) -> Result<(), JournalError> {
        self.0.store.tell_room(node, room).await
    }

    async fn book(&self, sessions: u32, other_than: NodeId) -> Result<Option<NodeId>, JournalError> {
        self.0.store.book(sessions, other_than).await
    }

    async fn living(&self) -> Result<Vec<Living>, JournalError> {
        self.0.store.living().await
    }

    async fn is_owned(&self, session: SessionId) -> Result<bool, JournalError> {
        self.0.store.is_owned(session).await
    }
}

const ROUNDS: u32 = 4;

#[tokio::test(start_paused = true)]
async fn a_store_in_trouble_is_waited_for_and_nothing_is_asked_again() {
    let (bench, store) = troubled(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(7))));
    let ids = join_all((0..50).map(|_| bench.hub.start(setup(ROUNDS)))).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(bench.model.calls(), 50);
    store.lock(true);
    // The replies come in this time, and stay in memory.
    sleep(Duration::from_secs(60)).await;
    assert!(store.refused.load(Ordering::SeqCst) >= 50 * 10, "it is tried again and again");
    assert_eq!((bench.model.calls(), bench.hub.running()), (50, 50), "nothing new is asked meanwhile");
    let refused = bench.hub.start(setup(1)).await;
    assert!(matches!(refused, Err(HubError::Journal(JournalError::Unavailable(_)))), "nothing can begin: {refused:?}");
    store.lock(false);
    for id in ids.into_iter().flatten() {
        bench.hub.wait(id).await.unwrap();
        assert_eq!(bench.reason(id).await, Some(Reason::CAP_REACHED));
    }
    assert_eq!(bench.model.calls(), 50 * ROUNDS, "no reply that had arrived was asked for again");
    assert_eq!(bench.hub.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_while_the_store_is_in_trouble_and_a_stop_ends_it_at_once() {
    // The reply comes in pieces, each within the time limit of the one before.
    let (bench, store) = troubled(TestModel::new(|_| Behaviour::Hangs { after: r#"{"message": "half a"# }));
    let id = bench.hub.start(setup(1)).await.unwrap();
    let mut watch = bench.hub.subscribe(id, Seq::START);
    while !matches!(watch.next().await.unwrap(), Some(Published::Delta { .. })) {}
    store.lock(true);
    let hub = bench.hub.clone();
    let said = tokio::spawn(async move { hub.say(id, "you".parse().unwrap(), "Hello?".into()).await });
    sleep(Duration::from_secs(2)).await;
    let hub = bench.hub.clone();
    let stopped = tokio::spawn(async move { hub.stop(id).await });
    sleep(Duration::from_millis(10)).await;
    assert_eq!(bench.model.dropped(), 1, "the request is gone, though that cannot be recorded yet");
    store.lock(false);
    assert_eq!(stopped.await.unwrap(), Ok(Reason::CANCELLED));
    assert_eq!(said.await.unwrap(), Ok(()), "what was said before the stop is recorded");
    let records = bench.hub.records(id).await.unwrap();
    assert!(
        records
            .iter()
            .any(|record| matches!(&record.event, Event::AskCut { partial, .. } if partial.ends_with("half a")))
    );
}

#[tokio::test(start_paused = true)]
async fn who_may_have_lost_a_session_sends_nothing_more_for_it() {
    // The first try is told to come again when the lease is long over.
    let retry_after = Some(Duration::from_secs(25));
    let busy = move |call: &Call| match call.retry {
        0 => Behaviour::Fails(CallError::Overloaded { retry_after, message: String::new() }),
        _ => Behaviour::HandsOn,
    };
    for is_taken_over in [true, false] {
        let store = Arc::new(Troubled::default());
        let bench = Bench::new(TestModel::new(busy));
        let nodes = Arc::new(NodesOf(store.clone()));
        let ports = Ports { journal: store.clone(), nodes, ..bench.ports };
        let settings = HubSettings { lease: Duration::from_secs(10), ..HubSettings::default() };
        let hub = Hub::new(ports.clone(), settings.clone());
        let id = hub.start(setup(1)).await.unwrap();
        sleep(Duration::from_secs(2)).await;
        assert_eq!(bench.model.calls(), 1);
        store.is_cut_off.store(true, Ordering::SeqCst);
        let other = TestModel::handing_on();
        let node = NodesOf(Arc::new(Troubled { store: store.store.clone(), ..Troubled::default() }));
        let node = Arc::new(node);
        let ports = Ports { model: other.clone(), journal: node.0.clone(), nodes: node, ..ports };
        let elsewhere = Hub::new(ports, settings);
        if is_taken_over {
            elsewhere.attend().await.unwrap();
        }
        sleep(Duration::from_secs(60)).await;
        assert_eq!(bench.model.calls(), 1, "the lease is over, so it is not tried again");
        assert_eq!(other.calls(), u32::from(is_taken_over));
        store.is_cut_off.store(false, Ordering::SeqCst);
        hub.wait(id).await.unwrap();
        // Who finds that it has lost the session lets go of it; who finds that it has not goes on.
        assert_eq!(bench.model.calls(), if is_taken_over { 1 } else { 2 });
        let records = store.store.read_all(id).await.unwrap();
        assert!(matches!(records.last().map(|last| &last.event), Some(Event::Ended { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn an_append_that_worked_without_a_word_is_not_made_twice() {
    let (bench, store) = troubled(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1))));
    let id = bench.hub.start(setup(ROUNDS)).await.unwrap();
    store.is_mute.store(true, Ordering::SeqCst);
    bench.hub.wait(id).await.unwrap();
    assert_eq!((bench.reason(id).await, bench.model.calls()), (Some(Reason::CAP_REACHED), ROUNDS));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_let_go_of_a_store_is_gone_on_with_when_it_can_be() {
    let (bench, store) = troubled(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1))));
    bench.hub.attend().await.unwrap();
    let id = bench.hub.start(setup(2)).await.unwrap();
    store.lock(true);
    assert!(matches!(bench.hub.wait(id).await, Err(HubError::Journal(JournalError::Unavailable(_)))));
    assert_eq!(bench.hub.running(), 0);
    store.lock(false);
    let mut watch = bench.hub.subscribe(id, Seq::START);
    while watch.next().await.unwrap().is_some() {}
    assert_eq!(bench.reason(id).await, Some(Reason::CAP_REACHED));
}

#[tokio::test(start_paused = true)]
async fn who_is_full_begins_sessions_at_a_node_with_room_for_all_of_them() {
    let slow = || TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(60)));
    let settings = |max_live| HubSettings { max_live, ..HubSettings::default() };
    let here = Bench::with(slow(), Arc::new(MemoryJournal::default()), settings(1));
    let there = Bench { model: slow(), ..here.next_process(slow()) };
    let ports = Ports { model: there.model.clone(), ..there.ports };
    let there = Bench { hub: Hub::new(ports.clone(), settings(3)), ports, model: there.model };
    let mut ids = vec![here.hub.start(setup(1)).await.unwrap()];
    let busy = here.hub.start(setup(1)).await;
    assert_eq!(busy, Err(HubError::Busy(1)), "nobody else is there");
    there.hub.attend().await.unwrap();
    sleep(Duration::from_secs(3)).await;
    ids.extend(here.hub.start_all(vec![setup(1), setup(1)]).await.unwrap());
    let busy = here.hub.start_all(vec![setup(1), setup(1)]).await;
    assert_eq!(busy, Err(HubError::Busy(1)), "there is no room for both");
    ids.push(here.hub.start(setup(1)).await.unwrap());
    sleep(Duration::from_secs(3)).await;
    assert_eq!((here.hub.running(), there.hub.running()), (1, 3));
    assert_eq!((here.model.calls(), there.model.calls()), (1, 3));
    for id in ids {
        let mut watch = here.hub.subscribe(id, Seq::START);
        while watch.next().await.unwrap().is_some() {}
        assert_eq!(here.reason(id).await, Some(Reason::CAP_REACHED));
    }
}

#[tokio::test(start_paused = true)]
async fn an_append_that_was_done_is_found_also_when_the_store_cannot_be_read_at_once() {
    let (bench, store) = troubled(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1))));
    let id = bench.hub.start(setup(2)).await.unwrap();
    // The first answer is recorded, and nobody is told.
    store.is_mute.store(true, Ordering::SeqCst);
    sleep(Duration::from_secs(2)).await;
    store.is_blind.store(true, Ordering::SeqCst);
    store.is_mute.store(false, Ordering::SeqCst);
    sleep(Duration::from_secs(10)).await;
    store.is_blind.store(false, Ordering::SeqCst);
    assert_eq!(bench.hub.wait(id).await, Ok(()));
    assert_eq!((bench.reason(id).await, bench.model.calls()), (Some(Reason::CAP_REACHED), 2));
}

#[tokio::test(start_paused = true)]
async fn who_has_lost_a_session_sends_no_call_though_the_other_has_recorded_nothing_yet() {
    let overloaded = || {
        let retry_after = Some(Duration::from_secs(5));
        Behaviour::Fails(CallError::Overloaded { retry_after, message: String::new() })
    };
    let bench = Bench::new(TestModel::new(move |_| overloaded()));
    let id = bench.hub.start(setup(1)).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    let (nodes, other) = (&bench.ports.nodes, NodeId::random());
    nodes.keep_alive(other, Duration::from_secs(60)).await.unwrap();
    nodes.keep_alive(bench.hub.node(), Duration::ZERO).await.unwrap();
    let taken = nodes.take_over(other, 9).await.unwrap();
    assert_eq!(taken.iter().map(|owned| owned.session).collect::<Vec<_>>(), [id]);
    sleep(Duration::from_secs(20)).await;
    assert_eq!((bench.model.calls(), bench.hub.running()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn of_many_who_resume_at_once_one_runs_it() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1))));
    for _ in 0..50 {
        let id = bench.hub.start(setup(2)).await.unwrap();
        bench.hub.stop(id).await.unwrap();
        let before = bench.model.calls();
        let resumed = join_all((0..8).map(|_| bench.hub.resume(id, Change::default()))).await;
        assert_eq!(resumed.iter().filter(|resumed| resumed.is_ok()).count(), 1);
        assert!(resumed.iter().all(|resumed| matches!(resumed, Ok(()) | Err(HubError::Running))), "{resumed:?}");
        bench.hub.wait(id).await.unwrap();
        assert_eq!((bench.reason(id).await, bench.model.calls() - before), (Some(Reason::CAP_REACHED), 2));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_left_beyond_the_places_follows_as_they_come_free() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(30))));
    let ids: Vec<SessionId> =
        join_all((0..24).map(|_| bench.hub.start(setup(1)))).await.into_iter().flatten().collect();
    bench.hub.leave().await;
    let settings = HubSettings { max_live: 5, ..HubSettings::default() };
    let model = TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1)));
    let ports = Ports { model: model.clone(), ..bench.ports.clone() };
    let next = Hub::new(ports, settings);
    assert_eq!(next.attend().await.unwrap().len(), 5);
    let began = Instant::now();
    for id in ids {
        let mut watch = next.subscribe(id, Seq::START);
        while watch.next().await.unwrap().is_some() {}
    }
    assert!(began.elapsed() < Duration::from_secs(8), "five at a time, a second each: {:?}", began.elapsed());
    assert_eq!((model.calls(), next.running()), (24, 0));
}

#[tokio::test(start_paused = true)]
async fn who_attends_notices_what_is_left_later() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(100))));
    let next = bench.next_process(TestModel::handing_on());
    assert_eq!(next.hub.attend().await.unwrap(), []);
    sleep(Duration::from_secs(60)).await;
    let id = bench.hub.start(setup(1)).await.unwrap();
    let mut watch = next.hub.subscribe(id, Seq::START);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(next.hub.running(), 0);
    bench.hub.leave().await;
    let left = Instant::now();
    while watch.next().await.unwrap().is_some() {}
    assert!(left.elapsed() < Duration::from_secs(3), "it looks every second: {:?}", left.elapsed());
    assert_eq!(next.reason(id).await, Some(Reason::CAP_REACHED));
}

#[tokio::test(start_paused = true)]
async fn who_slept_lets_the_others_wake_up_first() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(30))));
    let id = bench.hub.start(setup(1)).await.unwrap();
    let server = bench.next_process(TestModel::handing_on());
    server.hub.attend().await.unwrap();
    sleep(Duration::from_secs(2)).await;
    // The machine sleeps, and both leases are over when it wakes up. The server is the first to say that it is there.
    for hub in [&bench.hub, &server.hub] {
        bench.ports.nodes.keep_alive(hub.node(), Duration::ZERO).await.unwrap();
    }
    server.hub.can_write().await.unwrap();
    sleep(Duration::from_secs(20)).await;
    assert_eq!((server.hub.running(), server.model.calls()), (0, 0), "the session was not left");
    bench.hub.wait(id).await.unwrap();
    assert_eq!((bench.reason(id).await, bench.model.calls()), (Some(Reason::CAP_REACHED), 1));
}

/// Writes down whose files it was told to make again.
#[derive(Default)]
struct Settled(Mutex<Vec<SessionId>>);

#[async_trait]
impl Listener for Settled {
    async fn heard(&self, _: SessionId, _: &[Arc<Record>]) {}

    async fn settle(&self, session: SessionId) {
        self.0.lock().unwrap().push(session);
    }
}

#[tokio::test(start_paused = true)]
async fn who_takes_over_makes_what_the_dead_could_not() {
    let bench = Bench::new(TestModel::handing_on());
    let seen_to = bench.run(setup(1)).await;
    // This one's process died right after its last record.
    let unseen = setup(1);
    let (id, gone) = (unseen.id, NodeId::random());
    bench.ports.nodes.keep_alive(gone, Duration::ZERO).await.unwrap();
    let records = bench.hub.records(seen_to).await.unwrap().into_iter().map(|record| match record.event {
        Event::Started { version, .. } => {
            Record { event: Event::Started { version, setup: Arc::new(unseen.clone()) }, ..record }
        }
        _ => record,
    });
    bench.ports.journal.append(id, records.map(Arc::new).collect(), gone).await.unwrap();
    let settled = Arc::new(Settled::default());
    let journal = Arc::new(Overheard::new(bench.ports.journal.clone(), vec![settled.clone()]));
    let hub = Hub::new(Ports { journal, ..bench.ports.clone() }, HubSettings::default());
    assert_eq!(hub.attend().await.unwrap(), [], "nothing is to be run");
    sleep(Duration::from_secs(10)).await;
    assert_eq!(*settled.0.lock().unwrap(), [id], "once, and only of the one that lacks them");
}

#[tokio::test(start_paused = true)]
async fn a_format_that_breaks_ends_its_session_with_a_reason() {
    for (breaks, reason) in [
        (Breaks::Nowhere, Reason::COMPLETED),
        // The step that it breaks over has failed; what that means is the format's to say.
        (Breaks::OnAnswers, Reason::COMPLETED),
        (Breaks::OnEverything, Reason::FAILED),
        (Breaks::InWants, Reason::FAILED),
        (Breaks::InApply, Reason::FAILED),
    ] {
        let settings = HubSettings { max_live: 1, ..HubSettings::default() };
        let bench = Bench::with(TestModel::handing_on(), Arc::new(MemoryJournal::default()), settings);
        let broken = Setup { format: FormatSetup::new(Fragile { breaks }), ..setup(1) };
        let id = bench.hub.start(broken).await.unwrap();
        bench.hub.wait(id).await.unwrap();
        let last = bench.hub.records(id).await.unwrap().pop().unwrap();
        assert!(matches!(last.event, Event::Ended { reason: ended, .. } if ended == reason), "{breaks:?}: {last:?}");
        assert_eq!(bench.hub.running(), 0, "{breaks:?}");
        if matches!(breaks, Breaks::OnAnswers | Breaks::OnEverything) {
            let usage = bench.hub.conversation(id).await.unwrap().stage().ledger().total().usage;
            assert!(
                usage.estimated && usage.input > 0 && usage.output > 0,
                "what it broke over is paid for: {usage:?}"
            );
        }
        assert_eq!(bench.reason(bench.run(setup(1)).await).await, Some(Reason::CAP_REACHED), "the place is free");
    }
}

#[tokio::test(start_paused = true)]
async fn what_breaks_whoever_takes_it_over_is_left_alone_in_the_end() {
    let bench = Bench::new(TestModel::handing_on());
    let broken = Setup { format: FormatSetup::new(Fragile { breaks: Breaks::InFold }), ..setup(1) };
    let (id, gone) = (broken.id, NodeId::random());
    let started = Event::Started { version: VERSION, setup: Arc::new(broken) };
    let first = Record { seq: Seq(1), at: Timestamp(1), event: started };
    bench.ports.journal.append(id, vec![Arc::new(first)], gone).await.unwrap();
    assert_eq!(bench.hub.attend().await.unwrap(), []);
    sleep(Duration::from_secs(60)).await;
    let listed = bench.ports.journal.sessions(9).await.unwrap().remove(0);
    assert_eq!((listed.status(), listed.takeovers, listed.is_left_alone()), (Status::Left, MAX_TAKEOVERS, true));
    assert_eq!(bench.hub.running(), 0);
    assert_eq!(bench.hub.resume(id, Change::default()).await, Err(HubError::Broken), "and who tries is told");
}
