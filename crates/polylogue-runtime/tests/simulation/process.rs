//! A process of the run: a hub, and ports that end with the process.
//!
//! A process that is killed gets no further than its next port: whatever it waits for there never comes. What is in its
//! memory has no effect on anybody from then on, which is all that can be seen of a crash from outside. One that is
//! frozen gets no further until it is thawed, and does not know that time has gone by.

use std::{
    future::pending,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use polylogue_core::Timestamp;
use polylogue_runtime::{
    Hub, HubSettings, Ports,
    port::{Clock, Signal, Signalled, Signals, Topic},
};
use tokio::{
    sync::{Notify, Semaphore},
    task::yield_now,
    time::sleep,
};

use crate::{model::Actor, store::Faulty, voice::Speaker, world::World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Alive,
    Frozen,
    Dead,
}

pub(crate) struct Process {
    pub(crate) number: usize,
    pub(crate) world: Arc<World>,
    life: Mutex<Life>,
    changed: Notify,
    /// Whether it cannot reach the store.
    is_cut_off: AtomicBool,
    /// Whether anything has ever come between it and its sessions: then calls of its may be lost.
    was_troubled: AtomicBool,
    /// Places in front of its model.
    pub(crate) seats: Arc<Semaphore>,
    hub: Mutex<Option<Hub>>,
    /// Sessions that it may run at once.
    pub(crate) max_live: usize,
    /// By how much its clock is wrong.
    skew_ms: u64,
}

/// Places in front of each process's model.
pub(crate) const SEATS: usize = 3;

impl Process {
    pub(crate) fn begin(world: &Arc<World>, number: usize, settings: HubSettings) -> Arc<Process> {
        let process = Arc::new(Process {
            number,
            world: world.clone(),
            life: Mutex::new(Life::Alive),
            changed: Notify::new(),
            is_cut_off: AtomicBool::new(false),
            was_troubled: AtomicBool::new(false),
            seats: Arc::new(Semaphore::new(SEATS)),
            hub: Mutex::default(),
            max_live: settings.max_live,
            skew_ms: world.chance.number(0..5_000),
        });
        let (model, voice) = (Arc::new(Actor(process.clone())), Arc::new(Speaker(process.clone())));
        let store = Arc::new(Faulty { store: world.store.clone(), process: process.clone() });
        let ports = Ports::new(model, voice, store, Arc::new(Watch(process.clone())));
        let ports = Ports { signals: Arc::new(Wire(process.clone())), ..ports };
        *lock(&process.hub) = Some(Hub::new(ports, settings));
        process
    }

    pub(crate) fn hub(&self) -> Hub {
        lock(&self.hub).clone().expect("a process has a hub until the run is over")
    }

    /// The hub holds the ports, which hold the process: at the end they let go of each other.
    pub(crate) fn end(&self) {
        lock(&self.hub).take();
    }

    pub(crate) fn life(&self) -> Life {
        *lock(&self.life)
    }

    pub(crate) fn turn(&self, life: Life) {
        self.trouble();
        *lock(&self.life) = life;
        self.changed.notify_waiters();
    }

    pub(crate) fn trouble(&self) {
        self.was_troubled.store(true, Ordering::SeqCst);
    }

    pub(crate) fn was_troubled(&self) -> bool {
        self.was_troubled.load(Ordering::SeqCst)
    }

    pub(crate) fn cut_off(&self, is_cut_off: bool) {
        self.trouble();
        self.is_cut_off.store(is_cut_off, Ordering::SeqCst);
    }

    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::SeqCst)
    }

    /// Waits until it is dead.
    pub(crate) async fn died(&self) {
        self.until(|life| life == Life::Dead).await;
    }

    /// A port is passed: it takes its time, and a process that is gone by then gets no further.
    pub(crate) async fn pass(&self) {
        let (chance, faults) = (&self.world.chance, self.world.faults());
        if chance.happens(faults.slow) {
            match chance.below(3) {
                0 => yield_now().await,
                1 => sleep(chance.millis(0..20)).await,
                _ => sleep(chance.millis(0..1_500)).await,
            }
        }
        self.until(|life| life != Life::Frozen).await;
        if self.life() == Life::Dead {
            pending().await
        }
    }

    async fn until(&self, is_so: impl Fn(Life) -> bool) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if is_so(self.life()) {
                return;
            }
            changed.await;
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The clock of a process.
struct Watch(Arc<Process>);

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000 + self.0.world.elapsed_ms() + self.0.skew_ms)
    }
}

/// Signals to and from a process, some of which are lost.
struct Wire(Arc<Process>);

impl Signals for Wire {
    fn send(&self, topic: &Topic, signal: Signal) {
        let world = &self.0.world;
        if self.0.life() == Life::Alive && !world.chance.happens(world.faults().signal_lost) {
            world.wire.send(topic, signal);
        }
    }

    fn listen(&self, topic: Topic) -> Signalled {
        self.0.world.wire.listen(topic)
    }
}
