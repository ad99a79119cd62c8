//! The hub as a node: it says that it is alive, does what others want of its sessions, and goes on with what was left.

use std::{
    collections::HashSet,
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use polylogue_core::{Conversation, Input, id::SessionId, setup::Change};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc::error::TrySendError},
    time::{Instant, sleep_until, timeout},
};

use super::{
    Hub, HubError, Inner,
    claim::{Claim, Claims},
};
use crate::{
    drive::Command,
    live::{Channels, Task},
    port::{JournalError, Owned, Signal, Signalled, Topic},
};

/// How often a node looks what is wanted of it, and what others have left. What nobody signals is done within a second,
/// the doing included.
const BEAT: Duration = Duration::from_millis(800);

/// How often a node says within its lease that it is alive.
const RENEWALS: u32 = 6;

/// Sessions that are taken over at a time.
const MAX_AT_ONCE: usize = 32;

/// How long the sessions of a process that ends have to let go, and the store to hear of it.
const PARTING: Duration = Duration::from_secs(2);

impl Hub {
    /// Goes on with what other processes have left, now and from then on. Tells the sessions that it went on with at
    /// once; those beyond its places follow as places come free.
    pub async fn attend(&self) -> Result<Vec<SessionId>, HubError> {
        self.be_known().await?;
        self.inner.claims.attend();
        Ok(self.take_over().await?.sessions)
    }

    /// Whether the store can be written: found out by saying that this process is alive, unless it has just done so.
    pub async fn can_write(&self) -> Result<(), JournalError> {
        let has_just = self.inner.checked_in().is_some_and(|at| at.elapsed() < BEAT);
        if has_just { Ok(()) } else { self.check_in().await }
    }

    async fn check_in(&self) -> Result<(), JournalError> {
        let (inner, lease, asked) = (&self.inner, self.inner.settings.lease, Instant::now());
        let had_lapsed = inner.ports.nodes.keep_alive(inner.node, lease).await?;
        if had_lapsed {
            // Others may only seem to be gone as this process did: they get the time to say that they are not.
            inner.claims.wait_before_taking_over(lease);
        }
        // What it ran in between may be another's by now: then it looks first.
        let has_held = inner.tenure.is_new() || (inner.tenure.is_certain() && !had_lapsed);
        if has_held || inner.claims.running_before(asked).is_empty() {
            inner.tenure.renew(asked, lease);
        }
        *inner.checked_in() = Some(asked);
        Ok(())
    }

    /// Lets go of every session, and of being a node. What was unfinished stays so in the journal, and another
    /// process can take it over at once.
    pub async fn leave(&self) {
        self.inner.is_leaving.store(true, Ordering::SeqCst);
        let endings = self.inner.claims.let_go();
        let all_ended = async {
            for ending in endings {
                let _ = ending.until(Option::clone).await;
            }
        };
        if timeout(PARTING, all_ended).await.is_err() {
            tracing::warn!("some sessions did not let go in time");
        }
        if let Some(places) = &self.inner.places {
            places.give_back().await;
        }
        if self.inner.checked_in().take().is_none() {
            return;
        }
        let problem = match timeout(PARTING, self.inner.ports.nodes.depart(self.inner.node)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the store cannot be written at the moment".to_owned(),
        };
        tracing::warn!(problem, "others will notice only later that this process has ended");
    }

    /// Makes sure that this process is known as a node, before it records anything.
    pub(super) async fn be_known(&self) -> Result<(), HubError> {
        let inner = &self.inner;
        let is_known = inner.checked_in().is_some_and(|at| at.elapsed() < inner.settings.lease / 2);
        if !is_known {
            self.check_in().await?;
        }
        if !inner.stays_known.swap(true, Ordering::SeqCst) {
            let signalled = inner.ports.signals.listen(Topic::Node(inner.node));
            tokio::spawn(stay_known(Arc::downgrade(inner), inner.claims.clone(), signalled));
            let (wanted, channels) = (inner.ports.signals.listen(Topic::Nodes), inner.channels.clone());
            inner.wanting.get_or_init(|| Task::spawn(hear_what_is_wanted(wanted, channels)));
        }
        Ok(())
    }

    /// Goes on with what was left, as far as there are places.
    async fn take_over(&self) -> Result<Taken, HubError> {
        let inner = &self.inner;
        let mut sessions = Vec::new();
        let is_all = loop {
            let Some(mut places) = inner.claims.reserve_up_to(MAX_AT_ONCE) else { break false };
            let left = inner.ports.nodes.take_over(inner.node, places.num_permits()).await?;
            if left.is_empty() {
                break true;
            }
            for owned in left {
                if self.adopt(owned, places.split(1)).await {
                    sessions.push(owned.session);
                }
            }
        };
        if !sessions.is_empty() {
            tracing::info!(sessions = sessions.len(), "going on with sessions that were left");
        }
        Ok(Taken { sessions, is_all })
    }

    /// Sees to a session that this node owns and nobody runs. Tells whether it runs now.
    async fn adopt(&self, owned: Owned, place: Option<OwnedSemaphorePermit>) -> bool {
        // One that is claimed is seen to by whoever claimed it.
        let Ok(claim) = self.inner.claims.claim(owned.session, place) else { return false };
        let hub = self.clone();
        // What is wrong with one, a panic included, is no matter of the others.
        let problem = match tokio::spawn(async move { hub.go_on(owned, claim).await }).await {
            Ok(Ok(runs)) => return runs,
            // That is not the session's fault: the next beat tries again.
            Ok(Err(HubError::Journal(JournalError::Unavailable(_)))) => return false,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it broke inside, which is a bug".to_owned(),
        };
        tracing::error!(session = %owned.session, problem, "a session that was left cannot be resumed");
        self.give_up(owned).await;
        false
    }

    /// Goes on with one that was left, or makes what is missing of one that has ended. Tells which.
    async fn go_on(&self, owned: Owned, claim: Claim) -> Result<bool, HubError> {
        let conversation = self.conversation(owned.session).await?;
        if conversation.stage().ended().is_some() {
            self.inner.ports.journal.settle(owned.session).await;
            self.give_up(owned).await;
            return Ok(false);
        }
        let overdue = overdue(&conversation);
        if overdue.is_none() && conversation.stage().is_waiting() {
            // Somebody has spoken in this moment, and others are waited for.
            self.give_up(owned).await;
            return Ok(false);
        }
        let why = overdue.unwrap_or(Input::ResumePressed { change: Change::default() });
        self.run_because(conversation, why, claim).await?;
        Ok(true)
    }

    /// Gives a session up. Where that cannot be written now, the next beat does it.
    pub(super) async fn give_up(&self, owned: Owned) {
        let Owned { session, head, .. } = owned;
        if let Err(error) = self.inner.ports.nodes.give_up(self.inner.node, session, head).await {
            tracing::debug!(%session, %error, "a session is given up later");
        }
    }

    /// Does what others want of the sessions here, and finds out which are not this node's any more.
    async fn look_after(&self) -> Result<(), JournalError> {
        let inner = &self.inner;
        let checked_in = *inner.checked_in();
        let running = inner.claims.running_before(Instant::now());
        let owned = inner.ports.nodes.owned(inner.node).await?;
        for owned in &owned {
            match inner.claims.commands(owned.session) {
                Some(commands) if owned.is_to_stop => drop(commands.try_send(Command::Stop)),
                Some(_) => {}
                // Its loop is letting go of it, and may still be about to send a call: it is given up with the node.
                None if inner.is_leaving.load(Ordering::SeqCst) => {}
                // Nobody runs it: its loop has failed, or it has ended and could not be given up then.
                None if inner.claims.attends() => {
                    if let Some(place) = inner.claims.reserve_up_to(1) {
                        self.adopt(*owned, Some(place)).await;
                    }
                }
                None => self.give_up(*owned).await,
            }
        }
        let owned: HashSet<SessionId> = owned.iter().map(|owned| owned.session).collect();
        let mut are_told = true;
        for session in running.into_iter().filter(|session| !owned.contains(session)) {
            if let Some(commands) = inner.claims.commands(session) {
                are_told &= !matches!(commands.try_send(Command::LookUp), Err(TrySendError::Full(_)));
            }
        }
        // Whoever has lost a session has been told, and hears that before anything else.
        if let Some(checked_in) = checked_in.filter(|_| are_told) {
            inner.tenure.renew(checked_in, inner.settings.lease);
        }
        self.take_up_letters().await
    }
}

/// That the time of somebody who is waited for is up, where that is all that is waited for. Whether it is, the store has
/// found by its own clock.
fn overdue(conversation: &Conversation) -> Option<Input> {
    let stage = conversation.stage();
    let mut awaited = conversation.awaited().into_iter().filter(|awaited| awaited.until.is_some());
    awaited.next().filter(|_| stage.is_waiting()).map(Input::Absent)
}

/// What a node went on with.
struct Taken {
    sessions: Vec<SessionId>,
    /// Whether there were places for all that was left.
    is_all: bool,
}

/// Has the words of sessions here sent to where they are wanted.
async fn hear_what_is_wanted(mut wanted: Signalled, channels: Arc<Channels>) {
    loop {
        if let Signal::Wanted { session } = wanted.next().await {
            channels.wanted(session);
        }
    }
}

/// Why a node does something now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Beat,
    /// A place has come free, which is for the next session that was left.
    Freed,
    /// Somebody wants something of its sessions.
    Signalled,
}

/// Says that the process is alive and looks after its sessions, for as long as there is a hub. In a box, because it
/// begins sessions, and to begin one leads back here.
fn stay_known(hub: Weak<Inner>, claims: Arc<Claims>, mut signalled: Signalled) -> BoxFuture<'static, ()> {
    async move {
        let (mut is_all, mut room_told) = (true, None);
        let mut beat = Instant::now() + BEAT;
        loop {
            // Who runs nothing need not be known.
            claims.anything_to_look_after().await;
            let why = tokio::select! {
                biased;
                () = sleep_until(beat) => Why::Beat,
                () = claims.freed(), if !is_all => Why::Freed,
                _ = signalled.next() => Why::Signalled,
            };
            if why == Why::Beat {
                beat = Instant::now() + BEAT;
            }
            let Some(inner) = hub.upgrade() else { return };
            if inner.is_leaving.load(Ordering::SeqCst) {
                return;
            }
            let hub = Hub { inner };
            let lease = hub.inner.settings.lease;
            let silent_for = hub.inner.checked_in().map_or(lease, |at| at.elapsed());
            if silent_for >= lease / RENEWALS
                && let Err(error) = hub.check_in().await
            {
                tracing::error!(%error, "this process cannot say that it is alive");
            }
            if why != Why::Freed {
                // What is signalled from now on is looked after later.
                signalled.drain();
                if let Err(error) = hub.look_after().await {
                    tracing::debug!(%error, "what others want of the sessions here cannot be read");
                }
            }
            if why == Why::Beat && claims.may_take_over() && room_told != Some(claims.room()) {
                let room = claims.room();
                match hub.inner.ports.nodes.tell_room(hub.inner.node, room).await {
                    Ok(()) => room_told = Some(room),
                    Err(error) => tracing::debug!(%error, "others do not hear how much room there is"),
                }
            }
            if why == Why::Beat
                && let Err(error) = hub.inner.spending.tell().await
            {
                tracing::debug!(%error, "what was spent is told later");
            }
            if why != Why::Signalled && claims.may_take_over() {
                match hub.take_over().await {
                    Ok(taken) => is_all = taken.is_all,
                    Err(error) => tracing::debug!(%error, "what was left cannot be taken over"),
                }
            }
        }
    }
    .boxed()
}
