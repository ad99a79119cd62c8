//! Calls at once: however many hubs there are, a provider gets no more than it is to get, and everybody gets some.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{Reason, Tenant, money::Money, setup::ModelRef};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{Bound, Call, CallError, Day, Grant, JournalError, Model, NoVoice, NodeId, Quotas, Reply, Store, Wish},
};
use tokio::time::{Instant, sleep};

use crate::support::{Behaviour, TestModel, TokioClock, setup};

const LEASE: Duration = Duration::from_secs(10);

/// A provider that counts how many calls it has at once.
struct Provider {
    at_once: u32,
    now: AtomicU32,
    most: AtomicU32,
    replies: Arc<TestModel>,
    takes: Box<dyn Fn() -> Duration + Send + Sync>,
}

impl Provider {
    fn new(at_once: u32, takes: impl Fn() -> Duration + Send + Sync + 'static) -> Arc<Provider> {
        let replies = TestModel::new(|_| Behaviour::HandsOn);
        let (now, most) = Default::default();
        Arc::new(Provider { at_once, now, most, replies, takes: Box::new(takes) })
    }

    fn most(&self) -> u32 {
        self.most.load(Ordering::SeqCst)
    }
}

/// A call that is under way at the provider.
struct UnderWay<'a>(&'a Provider);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Model for Provider {
    fn bound(&self, model: &ModelRef) -> Option<Bound> {
        Some(Bound { provider: model.provider.clone(), at_once: self.at_once })
    }

    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let _under_way = UnderWay(self);
        sleep((self.takes)()).await;
        self.replies.answer(call).await
    }
}

/// The store's quotas as one hub reaches them.
struct Line {
    store: Arc<MemoryJournal>,
    is_cut: AtomicBool,
    questions: AtomicU32,
}

impl Line {
    fn to(store: &Arc<MemoryJournal>) -> Arc<Line> {
        Arc::new(Line { store: store.clone(), is_cut: AtomicBool::new(false), questions: AtomicU32::new(0) })
    }
}

#[async_trait]
impl Quotas for Line {
    async fn hold(&self, node: NodeId, wish: Wish, lease: Duration) -> Result<Grant, JournalError> {
        self.questions.fetch_add(1, Ordering::SeqCst);
        match self.is_cut.load(Ordering::SeqCst) {
            true => Err(JournalError::Unavailable("the line is cut".to_owned())),
            false => self.store.hold(node, wish, lease).await,
        }
    }

    async fn spend(&self, day: Day, whose: Option<&Tenant>, cost: Money) -> Result<Money, JournalError> {
        self.store.spend(day, whose, cost).await
    }
}

fn hub(provider: &Arc<Provider>, line: &Arc<Line>) -> Hub {
    let store: Arc<dyn Store> = line.store.clone();
    let ports = Ports::new(provider.clone(), Arc::new(NoVoice), store, Arc::new(TokioClock::default()));
    let settings = HubSettings { lease: LEASE, shares_places: true, ..HubSettings::default() };
    Hub::new(Ports { quotas: line.clone(), ..ports }, settings)
}

#[tokio::test(start_paused = true)]
async fn all_hubs_together_make_so_many_calls_at_once_and_no_more() {
    for (seed, of) in [(1, 1), (2, 2), (3, 3), (4, 7), (5, 20)] {
        let chance = Mutex::new(fastrand::Rng::with_seed(seed));
        let takes = move || Duration::from_millis(chance.lock().unwrap().u64(1..1_500));
        let provider = Provider::new(of, takes);
        let store = Arc::new(MemoryJournal::default());
        let hubs = [(); 3].map(|()| hub(&provider, &Line::to(&store)));
        let mut chance = fastrand::Rng::with_seed(seed + 100);
        let mut running = Vec::new();
        for _ in 0..30 {
            let hub = &hubs[chance.usize(..hubs.len())];
            running.push((hub, hub.start(setup(3)).await.unwrap()));
            sleep(Duration::from_millis(chance.u64(..700))).await;
            if chance.u8(..10) == 0 {
                let (hub, id) = &running[chance.usize(..running.len())];
                hub.stop(*id).await.unwrap();
            }
        }
        for (hub, id) in running {
            hub.wait(id).await.unwrap();
            let reason = hub.conversation(id).await.unwrap().stage().ended();
            assert!([Some(Reason::CAP_REACHED), Some(Reason::CANCELLED)].contains(&reason), "{of}: {reason:?}");
        }
        assert!(provider.most() <= of, "{} calls at once of {of}", provider.most());
        assert!(of > 7 || provider.most() == of, "places were left empty: {} of {of}", provider.most());
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_with_little_to_do_is_not_starved_by_one_with_much() {
    for of in [1, 3] {
        let provider = Provider::new(of, || Duration::from_secs(1));
        let store = Arc::new(MemoryJournal::default());
        let [busy, other, third] = [(); 3].map(|()| hub(&provider, &Line::to(&store)));
        for _ in 0..20 {
            busy.start(setup(30)).await.unwrap();
        }
        sleep(Duration::from_secs(5)).await;
        let ids = [(&other, other.start(setup(3)).await.unwrap()), (&third, third.start(setup(3)).await.unwrap())];
        for (hub, id) in ids {
            hub.wait(id).await.unwrap();
            assert_eq!(hub.conversation(id).await.unwrap().stage().ended(), Some(Reason::CAP_REACHED));
        }
        assert_eq!(busy.running(), 20, "the others did not wait until all was done");
        assert_eq!(provider.most(), of);
        busy.leave().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_places_of_a_hub_that_is_cut_off_come_back_and_it_begins_no_further_call() {
    let slow = Provider::new(2, || Duration::from_secs(50));
    let quick = Provider::new(2, || Duration::from_millis(10));
    let store = Arc::new(MemoryJournal::default());
    let line = Line::to(&store);
    let (gone, here) = (hub(&slow, &line), hub(&quick, &Line::to(&store)));
    gone.start(setup(3)).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(slow.most(), 1);
    line.is_cut.store(true, Ordering::SeqCst);
    let cut = Instant::now();

    // It holds both places, which are its own until its time is up.
    let id = here.start(setup(2)).await.unwrap();
    here.wait(id).await.unwrap();
    assert_eq!(here.conversation(id).await.unwrap().stage().ended(), Some(Reason::CAP_REACHED));
    assert!(cut.elapsed() >= LEASE - Duration::from_secs(2), "after {:?}", cut.elapsed());
    assert_eq!(slow.now.load(Ordering::SeqCst), 1, "its call is still under way");
    gone.start(setup(1)).await.unwrap();
    sleep(Duration::from_secs(20)).await;
    assert_eq!(slow.most(), 1, "it may have no place any more");
    line.is_cut.store(false, Ordering::SeqCst);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(slow.most(), 2, "until it has asked again");
}

#[tokio::test(start_paused = true)]
async fn a_hub_alone_asks_the_store_once_a_second_and_not_at_all_when_idle() {
    let provider = Provider::new(8, || Duration::from_millis(20));
    let line = Line::to(&Arc::default());
    let hub = hub(&provider, &line);
    let began = Instant::now();
    let ids = hub.start_all((0..6).map(|_| setup(200)).collect()).await.unwrap();
    for id in ids {
        hub.wait(id).await.unwrap();
    }
    let asked = line.questions.load(Ordering::SeqCst);
    assert!(provider.replies.calls() == 1_200 && provider.most() == 6);
    assert!(u64::from(asked) <= began.elapsed().as_secs() + 2, "{asked} times in {:?}", began.elapsed());
    sleep(Duration::from_secs(60)).await;
    let idle = line.questions.load(Ordering::SeqCst) - asked;
    assert!(idle <= 4, "{idle} times to give everything back");
}
