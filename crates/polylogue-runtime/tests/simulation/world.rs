//! One run: what its processes share, and its course from the seed to the verdict.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};
use polylogue_core::{
    Record,
    id::{Seq, SessionId},
    money::Money,
};
use polylogue_runtime::{
    HubSettings, MemoryJournal, Nearby, Retries,
    port::{Journal, NodeId, Nodes, Quotas, Search, Summary, Wish},
};
use tokio::time::{Instant, sleep};

use crate::{
    chance::{Chance, Faults},
    chaos, clients,
    process::{Life, Process, SEATS, lock},
    provider::{NAME, Provider},
    setups,
    truth::{self, Told},
};

pub(crate) struct World {
    pub(crate) chance: Chance,
    /// What goes wrong until all is well.
    faults: Faults,
    is_well: AtomicBool,
    /// Whether the store serves nobody.
    is_out: AtomicBool,
    pub(crate) store: Arc<MemoryJournal>,
    pub(crate) wire: Arc<Nearby>,
    pub(crate) provider: Provider,
    pub(crate) told: Mutex<Told>,
    /// How many calls the provider is to get at once.
    pub(crate) bound: Option<u32>,
    pub(crate) lease: Duration,
    per_day: Option<Money>,
    /// Every process there ever was, by its number.
    processes: Mutex<Vec<Arc<Process>>>,
    began: Instant,
    violations: Mutex<Vec<String>>,
    notes: Option<Mutex<Vec<String>>>,
}

/// What came of a run: the same for the same seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Of all that was recorded and drawn.
    pub(crate) digest: u64,
    pub(crate) sessions: usize,
    pub(crate) records: usize,
    pub(crate) tries: usize,
    pub(crate) seconds: u64,
    pub(crate) violations: Vec<String>,
    /// What happened, where it is told.
    pub(crate) notes: Vec<String>,
}

/// How long all may take to come to rest once all is well.
const REST: Duration = Duration::from_secs(3_600);

/// The run of a seed.
pub(crate) fn run(seed: u64, is_told: bool) -> Verdict {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread");
    runtime.block_on(async {
        let world = World::new(seed, is_told);
        world.play().await;
        let verdict = world.verdict();
        lock(&world.processes).iter().for_each(|process| process.end());
        lock(&world.processes).clear();
        verdict
    })
}

impl World {
    fn new(seed: u64, is_told: bool) -> Arc<World> {
        let chance = Chance::new(seed);
        Arc::new(World {
            faults: Faults::drawn(&chance),
            is_well: AtomicBool::new(false),
            is_out: AtomicBool::new(false),
            store: Arc::default(),
            wire: Arc::default(),
            provider: Provider::default(),
            told: Mutex::default(),
            bound: chance.happens(250).then(|| chance.number(1..4) as u32),
            lease: Duration::from_secs(chance.number(3..12)),
            per_day: chance.happens(50).then(|| Money::from_usd(0.005)),
            processes: Mutex::default(),
            began: Instant::now(),
            violations: Mutex::default(),
            notes: is_told.then(Mutex::default),
            chance,
        })
    }

    async fn play(self: &Arc<Self>) {
        for _ in 0..=self.chance.below(3) {
            chaos::begin(self).await;
        }
        let mut tasks = vec![tokio::spawn(chaos::reign(self.clone()))];
        for _ in 0..=self.chance.below(3) {
            tasks.push(tokio::spawn(clients::live(self.clone())));
        }
        for ended in join_all(tasks).await {
            ended.expect("what plays a run does not panic");
        }
        self.all_is_well();
        // Whoever else is gone, this one goes on with what is left.
        let last = Process::begin(self, self.processes().len(), HubSettings { max_live: 64, ..self.settings() });
        self.admit(last.clone());
        last.hub().attend().await.expect("all is well");
        self.come_to_rest("after the faults").await;
        self.fill_every_place(&last).await;
        self.come_to_rest("at the end").await;
        truth::check(self);
        self.check_places().await;
    }

    fn all_is_well(&self) {
        self.is_well.store(true, Ordering::SeqCst);
        self.is_out.store(false, Ordering::SeqCst);
        self.note(|| "all is well from here on".to_owned());
        for process in self.processes() {
            if process.is_cut_off() {
                process.cut_off(false);
            }
            if process.life() == Life::Frozen {
                process.turn(Life::Alive);
            }
        }
    }

    /// Waits until every session has ended or waits for a person, nobody owns one and nobody runs one.
    async fn come_to_rest(&self, when: &str) {
        let until = Instant::now() + REST;
        loop {
            sleep(Duration::from_secs(2)).await;
            let restless = self.restless();
            if restless.is_empty() {
                return;
            }
            if Instant::now() >= until {
                restless.into_iter().for_each(|what| self.violated(format!("{when}: {what}")));
                return;
            }
        }
    }

    fn restless(&self) -> Vec<String> {
        let mut restless = Vec::new();
        for summary in self.summaries() {
            let is_over = summary.reason.is_some() || summary.is_waiting;
            if !is_over && !summary.is_left_alone() {
                restless.push(format!("{} has not come to an end: nobody may run it", summary.id));
            }
        }
        for process in self.processes() {
            for session in self.owned(process.hub().node()) {
                let is_left_alone = |summary: &Summary| summary.id == session && summary.is_left_alone();
                if !self.summaries().iter().any(is_left_alone) {
                    restless.push(format!("{session} is still owned by process {}", process.number));
                }
            }
            let running = process.hub().running();
            if process.life() == Life::Alive && running > 0 {
                restless.push(format!("process {} still runs {running} sessions", process.number));
            }
        }
        restless
    }

    /// As many sessions can run as there are places: none was kept by one that is over.
    async fn fill_every_place(&self, last: &Process) {
        let alive: Vec<_> = self.processes().into_iter().filter(|process| process.life() == Life::Alive).collect();
        let Some(process) = self.chance.pick(&alive).filter(|process| process.number != last.number) else { return };
        if self.per_day.is_some() {
            return;
        }
        let setups: Vec<_> = (0..process.max_live).map(|_| setups::drawn(&self.chance)).collect();
        let ids: Vec<SessionId> = setups.iter().map(|setup| setup.id).collect();
        // Where its own places do not suffice, another process takes the sessions.
        let before = self.owned(last.hub().node()).len();
        if let Err(error) = process.hub().start_all(setups).await {
            self.violated(format!("process {} has not all its places any more: {error}", process.number));
        }
        if self.owned(last.hub().node()).len() > before {
            self.violated(format!("process {} handed sessions over though it runs none", process.number));
        }
        lock(&self.told).started.extend(ids);
    }

    /// What was lent for calls is given back: seats in front of models, and places at the provider.
    async fn check_places(&self) {
        sleep(self.lease + Duration::from_secs(5)).await;
        for process in self.processes().iter().filter(|process| process.life() == Life::Alive) {
            let free = process.seats.available_permits();
            if free != SEATS {
                self.violated(format!("process {}: {free} of {SEATS} seats are free at the end", process.number));
            }
        }
        let Some(of) = self.bound else { return };
        let wish = Wish { provider: NAME.into(), of, keeps: 0, wants: of };
        let grant = self.store.hold(NodeId::from_bytes([0xee; 16]), wish, self.lease).await.expect("all is well");
        if grant.held != of {
            self.violated(format!("{} of {of} places at the provider are free at the end", grant.held));
        }
    }

    fn verdict(&self) -> Verdict {
        let mut hasher = DefaultHasher::new();
        let (mut sessions, mut records) = (0, 0);
        for summary in self.summaries() {
            sessions += 1;
            for record in self.records(summary.id) {
                records += 1;
                (record.at.0, record.event.encode()).hash(&mut hasher);
            }
        }
        (self.chance.number(0..u64::MAX), self.elapsed_ms()).hash(&mut hasher);
        Verdict {
            digest: hasher.finish(),
            sessions,
            records,
            tries: self.provider.tries().len(),
            seconds: self.elapsed_ms() / 1_000,
            violations: lock(&self.violations).clone(),
            notes: self.notes.as_ref().map(|notes| lock(notes).clone()).unwrap_or_default(),
        }
    }

    pub(crate) fn settings(&self) -> HubSettings {
        let chance = &self.chance;
        HubSettings {
            max_live: 1 + chance.below(5),
            retries: Retries {
                max: chance.number(0..4) as u32,
                first_wait: Duration::from_millis(200),
                longest_wait: Duration::from_secs(5),
            },
            lease: self.lease,
            shares_places: self.bound.is_some(),
            per_day: self.per_day,
            ..HubSettings::default()
        }
    }

    pub(crate) fn faults(&self) -> Faults {
        if self.is_well.load(Ordering::SeqCst) { Faults::default() } else { self.faults.clone() }
    }

    pub(crate) fn is_out(&self) -> bool {
        self.is_out.load(Ordering::SeqCst)
    }

    pub(crate) fn set_out(&self, is_out: bool) {
        self.is_out.store(is_out, Ordering::SeqCst);
        self.processes().iter().for_each(|process| process.trouble());
    }

    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    pub(crate) fn processes(&self) -> Vec<Arc<Process>> {
        lock(&self.processes).clone()
    }

    pub(crate) fn admit(&self, process: Arc<Process>) {
        lock(&self.processes).push(process);
    }

    /// One that a client can reach.
    pub(crate) fn some_process(&self) -> Option<Arc<Process>> {
        let open: Vec<_> = self.processes().into_iter().filter(|process| process.life() != Life::Dead).collect();
        self.chance.pick(&open)
    }

    /// Whether nothing has ever come between a process and its sessions.
    pub(crate) fn is_sound(&self, process: usize) -> bool {
        lock(&self.processes).get(process).is_none_or(|process| !process.was_troubled())
    }

    /// What the store has, whatever is between it and the processes.
    pub(crate) fn records(&self, session: SessionId) -> Vec<Arc<Record>> {
        let read = self.store.read(session, Seq::START, usize::MAX).now_or_never();
        read.expect("it is in memory").expect("it does not fail")
    }

    pub(crate) fn owned(&self, node: NodeId) -> Vec<SessionId> {
        let owned = self.store.owned(node).now_or_never().expect("it is in memory").expect("it does not fail");
        owned.into_iter().map(|owned| owned.session).collect()
    }

    pub(crate) fn summaries(&self) -> Vec<Summary> {
        let search = Search { limit: usize::MAX, ..Search::default() };
        self.store.search(&search).now_or_never().expect("it is in memory").expect("it does not fail")
    }

    /// No more calls at once than the provider is to get.
    pub(crate) fn check_bound(&self) {
        let Some(bound) = self.bound else { return };
        let calls = self.provider.calls_at_once(|process| self.is_sound(process));
        if calls > bound as usize {
            self.violated(format!("{calls} calls are under way at once, and the provider is to get {bound}"));
        }
    }

    pub(crate) fn violated(&self, what: String) {
        self.note(|| format!("VIOLATED: {what}"));
        lock(&self.violations).push(format!("{what} ({} ms)", self.elapsed_ms()));
    }

    pub(crate) fn note(&self, what: impl FnOnce() -> String) {
        if let Some(notes) = &self.notes {
            lock(notes).push(format!("{:>9} {}", self.elapsed_ms(), what()));
        }
    }
}
