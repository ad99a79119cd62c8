//! Places for calls at providers, as far as all processes of a store share them.
//!
//! A process borrows places in bulk and fills them by itself, first come, first served. It asks the store when somebody
//! waits, when places are to be given back, and otherwise once a second, to hear what others want. Whoever made no call
//! for a second gives all back. What is held is certain for as long as its lease, by this process's own clock: where
//! the store cannot be reached for so long, no further call begins.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::port::{Bound, Grant, NodeId, Quotas, Wish};

/// How often the store is asked while nothing presses.
const BEAT: Duration = Duration::from_secs(1);

/// How long is waited at least between one question and the next.
const PAUSE: Duration = Duration::from_millis(100);

/// How long the store has to take back what a process that ends has borrowed.
const PARTING: Duration = Duration::from_secs(2);

/// What a process has borrowed, by provider.
pub(crate) struct Places {
    quotas: Arc<dyn Quotas>,
    node: NodeId,
    lease: Duration,
    pools: Mutex<BTreeMap<Arc<str>, Arc<Pool>>>,
}

impl Places {
    pub(crate) fn new(quotas: Arc<dyn Quotas>, node: NodeId, lease: Duration) -> Places {
        Places { quotas, node, lease, pools: Mutex::default() }
    }

    /// A place for one call. Those who wait get theirs in the order in which they came.
    pub(crate) async fn take(&self, bound: Bound) -> Place {
        let pool = lock(&self.pools).entry(bound.provider.clone()).or_insert_with(|| self.pool(&bound)).clone();
        pool.take(bound.at_once).await
    }

    fn pool(&self, bound: &Bound) -> Arc<Pool> {
        Arc::new(Pool {
            provider: bound.provider.clone(),
            quotas: self.quotas.clone(),
            node: self.node,
            lease: self.lease,
            state: Mutex::default(),
            pressed: Notify::new(),
        })
    }

    /// Gives everything back that no call needs any more.
    pub(crate) async fn give_back(&self) {
        let pools: Vec<Arc<Pool>> = lock(&self.pools).values().cloned().collect();
        for pool in pools {
            pool.state().peak = 0;
            // Where it cannot be said, the lease ends by itself.
            if timeout(PARTING, pool.ask()).await.is_err() {
                return;
            }
        }
    }
}

/// One provider's places.
struct Pool {
    provider: Arc<str>,
    quotas: Arc<dyn Quotas>,
    node: NodeId,
    lease: Duration,
    state: Mutex<State>,
    /// The store is to be asked before the next beat.
    pressed: Notify,
}

#[derive(Default)]
struct State {
    /// How many places there are for all processes.
    of: u32,
    held: u32,
    /// How many of those may be filled.
    fair: u32,
    /// Until when they are certain.
    until: Option<Instant>,
    busy: u32,
    waiting: VecDeque<oneshot::Sender<Place>>,
    /// The most that were busy or waiting since the store was last asked.
    peak: u32,
    /// Whether a task asks the store.
    is_kept: bool,
}

impl State {
    fn has_lapsed(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    fn may_begin(&self) -> bool {
        self.busy < self.held.min(self.fair) && !self.has_lapsed()
    }

    /// How many have a use for a place now.
    fn demand(&mut self) -> u32 {
        self.waiting.retain(|waiter| !waiter.is_closed());
        self.busy.saturating_add(u32::try_from(self.waiting.len()).unwrap_or(u32::MAX))
    }

    /// Whether the store is to be asked soon: somebody waits, or something is to be given back.
    fn is_pressing(&mut self) -> bool {
        self.demand() > self.busy || self.busy.max(self.fair) < self.held
    }
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    async fn take(self: &Arc<Self>, of: u32) -> Place {
        let (waiter, place) = oneshot::channel();
        {
            let mut state = self.state();
            state.of = of;
            state.waiting.push_back(waiter);
            state.peak = state.demand().max(state.peak);
            if !state.is_kept {
                state.is_kept = true;
                tokio::spawn(keep(self.clone()));
            }
        }
        self.serve();
        if self.state().is_pressing() {
            self.pressed.notify_one();
        }
        match place.await {
            Ok(place) => place,
            // Only a pool that is gone drops those who wait, and this caller holds it.
            Err(_) => std::future::pending().await,
        }
    }

    /// Hands out what may be filled.
    fn serve(self: &Arc<Self>) {
        loop {
            let waiter = {
                let mut state = self.state();
                state.demand();
                if !state.may_begin() {
                    return;
                }
                let Some(waiter) = state.waiting.pop_front() else { return };
                state.busy += 1;
                waiter
            };
            // Who has left in this moment gives it back by that.
            drop(waiter.send(Place { pool: self.clone() }));
        }
    }

    fn release(self: &Arc<Self>) {
        {
            let mut state = self.state();
            state.busy -= 1;
            if state.is_pressing() {
                self.pressed.notify_one();
            }
        }
        self.serve();
    }

    /// What to ask of the store. Until it has answered, no more is filled than what is kept.
    fn wish(&self) -> Wish {
        let mut state = self.state();
        if state.has_lapsed() {
            // Others may have what was held here, but for the calls that are under way.
            state.held = state.busy;
            state.fair = state.busy;
        }
        let demand = state.demand();
        let wants = std::mem::replace(&mut state.peak, demand).max(demand);
        if wants == 0 {
            state.fair = 0;
        }
        let keeps = state.busy.max(state.fair.min(state.held));
        Wish { provider: self.provider.clone(), of: state.of, keeps, wants }
    }

    async fn ask(self: &Arc<Self>) -> bool {
        let (asked, wish) = (Instant::now(), self.wish());
        match self.quotas.hold(self.node, wish, self.lease).await {
            Ok(Grant { held, fair }) => {
                let mut state = self.state();
                (state.held, state.fair) = (held, fair);
                state.until = asked.checked_add(self.lease);
                drop(state);
                self.serve();
                true
            }
            Err(error) => {
                tracing::debug!(provider = %self.provider, %error, "places for calls cannot be borrowed now");
                false
            }
        }
    }

    /// Whether there is nothing left to look after. Then nobody does, until the next call.
    fn is_over(&self) -> bool {
        let mut state = self.state();
        let is_over = state.held == 0 && state.demand() == 0;
        state.is_kept &= !is_over;
        is_over
    }
}

/// Asks the store for as long as there is anything to hold.
async fn keep(pool: Arc<Pool>) {
    loop {
        let asked = Instant::now();
        let was_heard = pool.ask().await;
        if pool.is_over() {
            return;
        }
        sleep(if was_heard { PAUSE } else { BEAT }).await;
        if !pool.state().is_pressing() {
            tokio::select! {
                biased;
                () = pool.pressed.notified() => {}
                () = sleep_until(asked + BEAT) => {}
            }
        }
    }
}

/// A place that a call has, free again when it is dropped.
pub(crate) struct Place {
    pool: Arc<Pool>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.pool.release();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
