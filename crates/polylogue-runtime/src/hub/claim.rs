//! The sessions that run here, or are about to: each has one claim, which gives itself back.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use polylogue_core::id::SessionId;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc},
    time::Instant,
};

use super::HubError;
use crate::{bulletin::Bulletin, drive::Command, port::JournalError};

/// Commands that may wait for a session; a caller beyond that waits in turn.
const COMMANDS: usize = 8;

/// How a loop came to its end; `None` while it runs.
pub(super) type Done = Bulletin<Option<Result<(), JournalError>>>;

/// All claims of a hub.
#[derive(Debug)]
pub(super) struct Claims {
    live: Mutex<BTreeMap<SessionId, Live>>,
    /// A permit for each session that may run.
    places: Arc<Semaphore>,
    max_live: usize,
    /// Whether the hub looks for sessions that others have left, also when it runs none.
    attends: AtomicBool,
    /// Until when nothing is taken over, though the hub attends.
    waits_until: Mutex<Option<Instant>>,
    /// Rung when a session is claimed, and when the hub begins to attend.
    claimed: Notify,
    /// Rung when a session is let go of.
    freed: Notify,
}

/// A handle on a session that runs, or is about to. Dropping it abandons the session: it can be resumed later.
#[derive(Debug)]
struct Live {
    commands: mpsc::Sender<Command>,
    done: Arc<Done>,
    /// Since when it runs; set once it does.
    running_since: Option<Instant>,
}

/// A place in the hub for one session, from before anything is waited for until its loop has ended.
#[derive(Debug)]
pub(super) struct Claim {
    claims: Arc<Claims>,
    pub(super) session: SessionId,
    /// What others want of the session.
    pub(super) commands: mpsc::Receiver<Command>,
    done: Arc<Done>,
    outcome: Result<(), JournalError>,
    place: Option<OwnedSemaphorePermit>,
}

impl Claims {
    pub(super) fn new(max_live: usize) -> Claims {
        let places = Arc::new(Semaphore::new(max_live.min(Semaphore::MAX_PERMITS)));
        let (live, attends, waits_until, claimed, freed) = Default::default();
        Claims { live, places, max_live, attends, waits_until, claimed, freed }
    }

    /// Places for so many sessions, or none of them.
    pub(super) fn reserve(&self, sessions: usize) -> Result<OwnedSemaphorePermit, HubError> {
        let busy = || HubError::Busy(self.max_live);
        let sessions = u32::try_from(sessions).map_err(|_| busy())?;
        self.places.clone().try_acquire_many_owned(sessions).map_err(|_| busy())
    }

    /// How many places are free.
    pub(super) fn room(&self) -> u32 {
        u32::try_from(self.places.available_permits()).unwrap_or(u32::MAX)
    }

    /// As many places as are free, up to so many.
    pub(super) fn reserve_up_to(&self, sessions: usize) -> Option<OwnedSemaphorePermit> {
        let free = self.places.available_permits().min(sessions);
        self.reserve(free).ok().filter(|place| place.num_permits() > 0)
    }

    /// The only claim on a session, with a place to run it. That it runs already is told before that there is no place.
    pub(super) fn claim_a_place(self: &Arc<Self>, session: SessionId) -> Result<Claim, HubError> {
        let place = self.reserve(1);
        if self.contains(session) {
            return Err(HubError::Running);
        }
        self.claim(session, Some(place?))
    }

    /// The only claim on a session. Whoever stops one needs no place.
    pub(super) fn claim(
        self: &Arc<Self>,
        session: SessionId,
        place: Option<OwnedSemaphorePermit>,
    ) -> Result<Claim, HubError> {
        let mut live = self.live();
        if live.contains_key(&session) {
            return Err(HubError::Running);
        }
        let (sender, commands) = mpsc::channel(COMMANDS);
        let done = Arc::new(Done::new(None));
        live.insert(session, Live { commands: sender, done: done.clone(), running_since: None });
        self.claimed.notify_one();
        // A loop that was abandoned has nothing to tell.
        Ok(Claim { claims: self.clone(), session, commands, done, outcome: Ok(()), place })
    }

    pub(super) fn contains(&self, session: SessionId) -> bool {
        self.live().contains_key(&session)
    }

    /// How many run.
    pub(super) fn running(&self) -> usize {
        self.live().values().filter(|live| live.running_since.is_some()).count()
    }

    pub(super) fn commands(&self, session: SessionId) -> Option<mpsc::Sender<Command>> {
        self.live().get(&session).map(|live| live.commands.clone())
    }

    pub(super) fn done(&self, session: SessionId) -> Option<Arc<Done>> {
        self.live().get(&session).map(|live| live.done.clone())
    }

    /// The sessions that have been running here since before this moment.
    pub(super) fn running_before(&self, moment: Instant) -> Vec<SessionId> {
        let is_older = |live: &Live| live.running_since.is_some_and(|since| since < moment);
        self.live().iter().filter(|(_, live)| is_older(live)).map(|(session, _)| *session).collect()
    }

    /// From now on there is always something to look after.
    pub(super) fn attend(&self) {
        self.attends.store(true, Ordering::SeqCst);
        self.claimed.notify_one();
    }

    pub(super) fn attends(&self) -> bool {
        self.attends.load(Ordering::SeqCst)
    }

    /// Nothing is taken over for so long.
    pub(super) fn wait_before_taking_over(&self, wait: Duration) {
        *self.waits_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + wait);
    }

    /// Whether what others have left is to be taken over now.
    pub(super) fn may_take_over(&self) -> bool {
        let waits_until = *self.waits_until.lock().unwrap_or_else(PoisonError::into_inner);
        self.attends() && waits_until.is_none_or(|until| Instant::now() >= until)
    }

    /// Waits until there is something to look after.
    pub(super) async fn anything_to_look_after(&self) {
        while self.live().is_empty() && !self.attends() {
            self.claimed.notified().await;
        }
    }

    /// Waits until a session is let go of.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Lets go of every session, and tells how to wait for the end of each.
    pub(super) fn let_go(&self) -> Vec<Arc<Done>> {
        std::mem::take(&mut *self.live()).into_values().map(|live| live.done).collect()
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<SessionId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// The session runs from now on.
    pub(super) fn runs(&self) {
        if let Some(live) = self.claims.live().get_mut(&self.session) {
            live.running_since = Some(Instant::now());
        }
    }

    /// Lets go of the session, which ended so.
    pub(super) fn end(mut self, outcome: Result<(), JournalError>) {
        self.outcome = outcome;
    }
}

/// Gives the place back, then tells those who wait how it ended.
impl Drop for Claim {
    fn drop(&mut self) {
        let mut live = self.claims.live();
        // Where all were let go of, somebody may have claimed it anew.
        if live.get(&self.session).is_some_and(|live| Arc::ptr_eq(&live.done, &self.done)) {
            live.remove(&self.session);
        }
        drop(live);
        drop(self.place.take());
        self.claims.freed.notify_one();
        self.done.set(Some(std::mem::replace(&mut self.outcome, Ok(()))));
    }
}
