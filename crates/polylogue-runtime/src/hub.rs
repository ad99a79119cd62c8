//! The sessions that are live in this process: start, stop, watch, speak, resume, fork.

mod broken;
mod claim;
mod error;
mod kept;
mod letters;
mod node;
mod reading;
mod retention;
mod room;

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use futures_util::FutureExt;
use polylogue_core::{
    Awaited, Conversation, Event, Halt, Input, Reason, Record, Rejected, Setup, Tenant,
    event::Origin,
    format::Decision,
    id::{PersonId, Seq, SessionId},
    money::Money,
    projection,
    room::RoomCall,
    setup::Change,
};
use tokio::{
    sync::{Semaphore, oneshot},
    time::{Instant, sleep},
};

use self::{
    claim::{Claim, Claims},
    kept::Kept,
    letters::InHand,
};
pub use self::{
    error::HubError,
    reading::{Known, Opened},
};
use crate::{
    call::Retries,
    drive::{Command, Drive, Owner, Parting, Said},
    live::{Channels, Publisher, Subscription, Task},
    places::Places,
    port::{JournalError, LetterId, Living, NodeId, Owned, Ports, Signal, Topic},
    room::{Bell, Bells},
    spending::Spending,
    tenure::Tenure,
};

/// How often somebody tries to reach a session that begins or ends in that very moment.
const TRIES: usize = 8;

/// How long another process has to stop a session that somebody wants stopped here.
const STOPPING: Duration = Duration::from_secs(10);

/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(100);

/// Bounds and habits of a hub.
#[derive(Clone, Debug)]
pub struct HubSettings {
    /// Sessions that run at once.
    pub max_live: usize,
    /// Calls of models at once, of all sessions and providers together. Further ones wait for their turn.
    pub max_calls: usize,
    pub retries: Retries,
    /// How long this process counts as alive after it has said so: what it runs is taken over after that. It says so
    /// several times as often.
    pub lease: Duration,
    /// Whether bounds of calls at once hold for all processes of the store together ([`crate::port::Model::bound`]).
    pub shares_places: bool,
    /// What all sessions of the store may cost in a day, whoever runs them.
    pub per_day: Option<Money>,
    /// What the sessions of a tenant may cost in a day, for those who have a limit of their own.
    pub per_day_of: BTreeMap<Tenant, Money>,
}

impl Default for HubSettings {
    fn default() -> Self {
        HubSettings {
            max_live: 10_000,
            max_calls: Semaphore::MAX_PERMITS,
            retries: Retries::default(),
            lease: Duration::from_secs(30),
            shares_places: false,
            per_day: None,
            per_day_of: BTreeMap::new(),
        }
    }
}

#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    ports: Ports,
    settings: HubSettings,
    /// This process, as others see it.
    node: NodeId,
    /// When the store last heard that the node is alive.
    checked_in: Mutex<Option<Instant>>,
    /// For how long it may take itself for the owner of what it runs.
    tenure: Tenure,
    /// What it has borrowed of the places that all processes share.
    places: Option<Arc<Places>>,
    /// A permit for each call that may be under way.
    calls: Arc<Semaphore>,
    spending: Spending,
    /// Whether a task keeps the node known.
    stays_known: AtomicBool,
    is_leaving: AtomicBool,
    claims: Arc<Claims>,
    kept: Kept,
    in_hand: InHand,
    channels: Arc<Channels>,
    /// Hears what others want of all nodes.
    wanting: OnceLock<Task>,
    bells: Arc<Bells>,
}

impl Inner {
    fn checked_in(&self) -> MutexGuard<'_, Option<Instant>> {
        self.checked_in.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("running", &self.running()).finish_non_exhaustive()
    }
}

impl Hub {
    /// Must be used inside a tokio runtime: sessions run as its tasks.
    pub fn new(ports: Ports, settings: HubSettings) -> Hub {
        let channels = Arc::new(Channels::new(ports.signals.clone()));
        let (node, lease) = (NodeId::random(), settings.lease);
        let places = settings.shares_places.then(|| Arc::new(Places::new(ports.quotas.clone(), node, lease)));
        let spending = Spending::new(&settings, &ports.quotas, &ports.clock);
        let claims = Arc::new(Claims::new(settings.max_live));
        let calls = Arc::new(Semaphore::new(settings.max_calls.min(Semaphore::MAX_PERMITS)));
        Hub {
            inner: Arc::new(Inner {
                ports,
                settings,
                node,
                checked_in: Mutex::default(),
                tenure: Tenure::default(),
                places,
                calls,
                spending,
                stays_known: AtomicBool::new(false),
                is_leaving: AtomicBool::new(false),
                claims,
                kept: Kept::default(),
                in_hand: InHand::default(),
                channels,
                wanting: OnceLock::new(),
                bells: Arc::default(),
            }),
        }
    }

    /// Starts a session. When this returns, its setup is on disk.
    pub async fn start(&self, setup: Setup) -> Result<SessionId, HubError> {
        let claim = match self.inner.claims.claim_a_place(setup.id) {
            Err(HubError::Busy(most)) => {
                let id = setup.id;
                return self.hand_over(vec![setup], most).await.map(|_| id);
            }
            claim => claim?,
        };
        let hub = self.clone();
        to_its_end(async move { hub.begin(setup, claim).await }).await
    }

    /// Starts several sessions, or none when there is no room for all of them.
    pub async fn start_all(&self, setups: Vec<Setup>) -> Result<Vec<SessionId>, HubError> {
        // What cannot work is found before anything begins.
        setups.iter().try_for_each(Setup::check)?;
        let claims = &self.inner.claims;
        let mut places = match claims.reserve(setups.len()) {
            Err(HubError::Busy(most)) => return self.hand_over(setups, most).await,
            places => places?,
        };
        let claimed = setups.iter().map(|setup| claims.claim(setup.id, places.split(1)));
        let claimed = claimed.collect::<Result<Vec<Claim>, HubError>>()?;
        let hub = self.clone();
        to_its_end(async move {
            let mut ids = Vec::with_capacity(setups.len());
            for (setup, claim) in setups.into_iter().zip(claimed) {
                ids.push(hub.begin(setup, claim).await?);
            }
            Ok(ids)
        })
        .await
    }

    async fn begin(&self, setup: Setup, claim: Claim) -> Result<SessionId, HubError> {
        self.inner.spending.of(setup.tenant.as_ref()).check().await?;
        self.be_known().await?;
        let (conversation, first) = Conversation::start(setup, self.inner.ports.clock.now())?;
        let id = claim.session;
        self.write(&conversation, vec![Arc::new(first)]).await?;
        self.run(conversation, claim);
        Ok(id)
    }

    /// Begins sessions for which there is no place here, where another node has room for all of them: it owns them
    /// from their first record on, and finds them when it next looks.
    async fn hand_over(&self, setups: Vec<Setup>, most: usize) -> Result<Vec<SessionId>, HubError> {
        let Ok(sessions) = u32::try_from(setups.len()) else { return Err(HubError::Busy(most)) };
        let node = self.inner.ports.nodes.book(sessions, self.inner.node).await?;
        let node = node.ok_or(HubError::Busy(most))?;
        let hub = self.clone();
        to_its_end(async move {
            let ports = &hub.inner.ports;
            let mut ids = Vec::with_capacity(setups.len());
            for setup in setups {
                let (conversation, first) = Conversation::start(setup, ports.clock.now())?;
                let (id, records) = (conversation.stage().setup().id, vec![Arc::new(first)]);
                ports.journal.append(id, records.clone(), node).await?;
                hub.publisher(&conversation).records(records);
                ids.push(id);
            }
            ports.signals.send(&Topic::Node(node), Signal::Look);
            Ok(ids)
        })
        .await
    }

    /// Goes on with a session that was stopped, that met a limit, or whose process ended.
    pub async fn resume(&self, session: impl Into<Known>, change: Change) -> Result<(), HubError> {
        self.begin_with(session.into(), Input::ResumePressed { change }).await.map(|_| ())
    }

    /// A new session `new_id` that goes on from record `at` of session `id`.
    pub async fn fork(&self, id: SessionId, at: Seq, new_id: SessionId, change: Change) -> Result<(), HubError> {
        let claim = self.inner.claims.claim_a_place(new_id)?;
        let hub = self.clone();
        to_its_end(async move {
            let records = hub.records(id).await?;
            hub.inner.spending.of(tenant_of(&records)).check().await?;
            let now = hub.inner.ports.clock.now();
            let (conversation, journal) = projection::fork(&records, at, new_id, change, now)?;
            hub.be_known().await?;
            hub.write(&conversation, journal.into_iter().map(Arc::new).collect()).await?;
            hub.run(conversation, claim);
            Ok(())
        })
        .await
    }

    /// Stops a session: what is under way is dropped at once, what had arrived is kept. Returns when that
    /// is on disk, and why the session has ended. One that had ended already stays as it is.
    pub async fn stop(&self, id: SessionId) -> Result<Reason, HubError> {
        for _ in 0..TRIES {
            if let Some(commands) = self.inner.claims.commands(id) {
                // It may end by itself in this moment, or begin to wait for a person; then it has not heard.
                let _ = commands.send(Command::Stop).await;
                self.wait(id).await?;
            }
            let claim = match self.inner.claims.claim(id, None) {
                Err(HubError::Running) => continue,
                claim => claim?,
            };
            let hub = self.clone();
            match to_its_end(async move { hub.stop_left(claim).await }).await {
                // Its process goes on with it, and has to be told.
                Err(HubError::Elsewhere) => return self.stop_elsewhere(id).await,
                Err(HubError::Journal(JournalError::Fenced { .. })) => {}
                other => return other,
            }
        }
        Err(HubError::Running)
    }

    /// Stops a session that nobody runs.
    async fn stop_left(&self, claim: Claim) -> Result<Reason, HubError> {
        let mut conversation = self.conversation(claim.session).await?;
        if let Some(reason) = conversation.stage().ended() {
            return Ok(reason);
        }
        let events = conversation.on(Input::Halted { why: Halt::StopPressed, cut: Vec::new() })?;
        self.append(&mut conversation, events).await?;
        self.give_up(owned(&conversation)).await;
        Ok(conversation.stage().ended().unwrap_or(Reason::CANCELLED))
    }

    /// Has a session stopped that another process runs.
    async fn stop_elsewhere(&self, id: SessionId) -> Result<Reason, HubError> {
        let ports = &self.inner.ports;
        let mut news = ports.signals.listen(Topic::Session(id));
        if let Some(owner) = ports.nodes.ask_to_stop(id).await? {
            ports.signals.send(&Topic::Node(owner), Signal::Look);
        }
        let mut conversation = self.conversation(id).await?;
        let asked = Instant::now();
        while asked.elapsed() < STOPPING {
            tokio::select! {
                biased;
                _ = news.next() => {}
                () = sleep(LOOK) => {}
            }
            // Words that are still being written are no news.
            news.drain();
            conversation = self.caught_up(conversation).await?;
            if let Some(reason) = conversation.stage().ended() {
                return Ok(reason);
            }
        }
        Err(HubError::NotStopped)
    }

    /// Removes a session and all that was made of it. One that runs, here or elsewhere, has to be stopped first.
    pub async fn delete(&self, id: SessionId) -> Result<(), HubError> {
        let mut claim = self.inner.claims.claim(id, None);
        // One that has ended lets go in a moment, when its files are made.
        if matches!(claim, Err(HubError::Running)) && self.conversation(id).await?.stage().ended().is_some() {
            self.wait(id).await?;
            claim = self.inner.claims.claim(id, None);
        }
        let (hub, claim) = (self.clone(), claim?);
        to_its_end(async move {
            let was_there = hub.inner.ports.journal.delete(claim.session).await?;
            hub.inner.kept.take(claim.session);
            if was_there { Ok(()) } else { Err(HubError::NoSuchSession(claim.session)) }
        })
        .await
    }

    /// A person's words to a session that runs, or that waits for them. When this returns, they are on disk.
    pub async fn say(&self, id: SessionId, who: PersonId, text: Arc<str>) -> Result<(), HubError> {
        self.say_from(id, who, text, Origin::default()).await
    }

    /// The same, with how the words came in.
    pub async fn say_from(
        &self,
        session: impl Into<Known>,
        who: PersonId,
        text: Arc<str>,
        origin: Origin,
    ) -> Result<(), HubError> {
        let mut known = session.into();
        let (id, mut origin) = (known.id(), origin);
        for _ in 0..TRIES {
            let input = Input::HumanSaid { who: who.clone(), text: text.clone(), origin: origin.clone() };
            let was_running = self.is_running(id);
            if let Some(heard) = self.tell(id, &input).await {
                return Ok(heard?);
            }
            if was_running {
                // It ended, or began to wait for a person, and has not heard. What it leaves is on disk then.
                self.wait(id).await?;
                known = Known::Id(id);
            }
            match self.begin_with(std::mem::replace(&mut known, Known::Id(id)), input.clone()).await {
                // Somebody's words have begun it in this moment: it hears now.
                Err(HubError::Running) => {}
                // With a key they can be said again, should it not be known whether they were heard.
                Err(HubError::Elsewhere) => {
                    let key = origin.key.get_or_insert_with(|| LetterId::random().to_string().into()).clone();
                    let origin = Origin { key: Some(key), ..origin.clone() };
                    let input = Input::HumanSaid { who: who.clone(), text: text.clone(), origin };
                    if let Some(heard) = self.write_to_owner(id, &input, Seq::START, false).await? {
                        return Ok(heard?);
                    }
                }
                Err(HubError::Journal(JournalError::Fenced { .. })) => return self.too_late(id, who, input).await,
                other => return other.map(|_| ()),
            }
        }
        Err(HubError::Running)
    }

    /// Somebody else's words were faster. Unless they were the same, these are for a turn that is over: they do
    /// not become the next one's.
    async fn too_late(&self, id: SessionId, who: PersonId, input: Input) -> Result<(), HubError> {
        match self.conversation(id).await?.on(input) {
            Ok(events) if events.is_empty() => Ok(()),
            Err(rejected @ Rejected::KeyUsed) => Err(rejected.into()),
            Ok(_) | Err(_) => Err(Rejected::NotYourTurn(who).into()),
        }
    }

    /// Tells a session that runs here something, and what becomes of it once that is on disk. Nothing when no session
    /// has heard it.
    async fn tell(&self, id: SessionId, input: &Input) -> Option<Result<(), Rejected>> {
        let commands = self.inner.claims.commands(id)?;
        let (taken, heard) = oneshot::channel();
        commands.send(Command::Say(Said { input: input.clone(), taken })).await.ok()?;
        heard.await.ok()
    }

    /// Has the session's format decide this, where it lets others decide it: who takes part in a session that has
    /// not begun, what happens in the world of one that is being played.
    pub async fn propose(&self, session: impl Into<Known>, decision: Decision) -> Result<(), HubError> {
        let mut known = session.into();
        let id = known.id();
        let input = Input::Proposed { decision: decision.clone() };
        // The place from which on another process may have decided it.
        let mut written_after = None;
        for _ in 0..TRIES {
            let conversation = self.read(std::mem::replace(&mut known, Known::Id(id))).await?;
            if let Some(after) = written_after
                && self.has_decided(id, after, &decision).await?
            {
                return Ok(());
            }
            // One that has only just begun to wait lets go in a moment.
            if conversation.stage().is_waiting() {
                self.wait(id).await?;
            } else if let Some(heard) = self.tell(id, &input).await {
                return Ok(heard?);
            }
            let head = conversation.stage().head();
            match self.begin_with(conversation.into(), input.clone()).await {
                Err(HubError::Elsewhere) => {}
                // Somebody has gone on with it in this moment.
                Err(HubError::Journal(JournalError::Fenced { .. })) => continue,
                other => return other.map(|_| ()),
            }
            let is_again = written_after.is_some();
            let after = *written_after.get_or_insert(head);
            if let Some(heard) = self.write_to_owner(id, &input, after, is_again).await? {
                return Ok(heard?);
            }
        }
        Err(HubError::Running)
    }

    /// Goes on without a person whose time is up, or who is gone. Nothing happens where they have spoken meanwhile, or
    /// somebody else has gone on already.
    pub async fn pass_over(&self, id: SessionId, awaited: Awaited) -> Result<(), HubError> {
        let input = Input::Absent(awaited);
        for _ in 0..TRIES {
            if self.tell(id, &input).await.is_some() {
                return Ok(());
            }
            self.wait(id).await?;
            match self.begin_with(id.into(), input.clone()).await {
                Err(HubError::Running) => {}
                Err(HubError::Rejected(_) | HubError::Elsewhere) => return Ok(()),
                Err(HubError::Journal(JournalError::Fenced { .. } | JournalError::Owned)) => return Ok(()),
                other => return other.map(|_| ()),
            }
        }
        Err(HubError::Running)
    }

    /// A person's words to a session that is over, where its format begins again with them, and what is different
    /// from there on. Returns the place before what follows from them.
    pub async fn reopen(
        &self,
        session: impl Into<Known>,
        who: PersonId,
        text: Arc<str>,
        change: Change,
    ) -> Result<Seq, HubError> {
        self.begin_with(session.into(), Input::Reopened { who, text, change }).await
    }

    /// Everything after a place of the journal: what is recorded, then what happens, to the session's last event.
    pub fn subscribe(&self, id: SessionId, after: Seq) -> Subscription {
        Subscription::new(self.inner.ports.journal.clone(), &self.inner.channels, id, after)
    }

    /// Waits until the session is not running here any more.
    pub async fn wait(&self, id: SessionId) -> Result<(), HubError> {
        self.ending(id).await
    }

    /// The end of a session that runs now, to be waited for later: how the loop that runs it came to its end.
    pub fn ending(&self, id: SessionId) -> impl Future<Output = Result<(), HubError>> + Send + use<> {
        let done = self.inner.claims.done(id);
        async move {
            let Some(done) = done else { return Ok(()) };
            done.until(Option::clone).await.map_err(HubError::from)
        }
    }

    /// This process, as the store knows it.
    pub fn node(&self) -> NodeId {
        self.inner.node
    }

    pub fn is_running(&self, id: SessionId) -> bool {
        self.inner.claims.contains(id)
    }

    /// The processes that share the store and are alive.
    pub async fn nodes(&self) -> Result<Vec<Living>, HubError> {
        Ok(self.inner.ports.nodes.living().await?)
    }

    pub fn running(&self) -> usize {
        self.inner.claims.running()
    }

    /// Runs a session that is not running, because of this. Returns the place before what follows from it. Of several
    /// who do so at once, one gets the session; the others are told that it runs.
    async fn begin_with(&self, session: Known, input: Input) -> Result<Seq, HubError> {
        let claim = self.inner.claims.claim_a_place(session.id())?;
        let hub = self.clone();
        to_its_end(async move {
            let conversation = hub.read(session).await?;
            // Agents are asked because of it.
            hub.spending_of(&conversation).check().await?;
            hub.run_because(conversation, input, claim).await
        })
        .await
    }

    /// Records what this means for a session that is not running, and runs it.
    async fn run_because(&self, mut conversation: Conversation, input: Input, claim: Claim) -> Result<Seq, HubError> {
        let before = conversation.stage().head();
        let was_left = conversation.stage().ended().is_none() && !conversation.stage().is_waiting();
        let is_said = matches!(input, Input::HumanSaid { .. } | Input::Reopened { .. });
        let is_proposed = matches!(input, Input::Proposed { .. });
        let events = conversation.on(input)?;
        if events.is_empty() {
            return Ok(before);
        }
        // Agents are to be asked, and their process is gone or is another one.
        if (is_said || is_proposed) && was_left {
            if self.inner.ports.nodes.is_owned(claim.session).await? {
                return Err(HubError::Elsewhere);
            } else if is_said {
                return Err(HubError::NotRunning);
            }
        }
        self.append(&mut conversation, events).await?;
        // What was decided for a session that was left is there for whoever goes on with it.
        let is_run = conversation.stage().ended().is_none() && !(is_proposed && was_left);
        if is_run {
            self.run(conversation, claim);
        } else {
            self.give_up(owned(&conversation)).await;
        }
        Ok(before)
    }

    fn publisher(&self, conversation: &Conversation) -> Publisher {
        let setup = conversation.stage().setup();
        let bell = |call: &RoomCall| Bell::new(self.inner.bells.clone(), call.room.clone());
        let room = setup.room.as_ref().map(|call| (call, bell(call)));
        Publisher::new(&self.inner.channels, setup.id, room)
    }

    async fn append(&self, conversation: &mut Conversation, events: Vec<Event>) -> Result<(), HubError> {
        self.be_known().await?;
        let paid_before = conversation.stage().ledger().known_cost();
        let mut records = Vec::with_capacity(events.len());
        for event in events {
            let stage = conversation.stage();
            let at = self.inner.ports.clock.now().max(stage.last_at());
            let record = Record { seq: stage.head().next(), at, event };
            conversation.apply(&record);
            records.push(Arc::new(record));
        }
        self.write(conversation, records).await?;
        // Calls that are lost are paid for when the session goes on.
        self.spending_of(conversation).add(conversation.stage().ledger().known_cost().minus(paid_before));
        Ok(())
    }

    /// Records this, then shows it.
    async fn write(&self, conversation: &Conversation, records: Vec<Arc<Record>>) -> Result<(), HubError> {
        let id = conversation.stage().setup().id;
        self.inner.ports.journal.append(id, records.clone(), self.inner.node).await?;
        self.publisher(conversation).records(records);
        Ok(())
    }

    /// The dollars that a session is paid from.
    fn spending_of(&self, conversation: &Conversation) -> Spending {
        self.inner.spending.of(conversation.stage().setup().tenant.as_ref())
    }

    fn run(&self, conversation: Conversation, mut claim: Claim) {
        claim.runs();
        let publisher = self.publisher(&conversation);
        let (ports, retries) = (self.inner.ports.clone(), self.inner.settings.retries);
        let Inner { node, tenure, places, calls, .. } = &*self.inner;
        let (tenure, places, calls) = (tenure.clone(), places.clone(), calls.clone());
        let spending = self.spending_of(&conversation);
        let owner = Owner { node: *node, tenure, places, calls, spending };
        let drive = Drive::new(conversation, ports, owner, retries, publisher);
        let hub = self.clone();
        tokio::spawn(async move {
            let ran = AssertUnwindSafe(drive.run(&mut claim.commands)).catch_unwind().await;
            let ran = match ran {
                Ok(ran) => ran,
                Err(_) => {
                    hub.break_off(claim.session).await;
                    Err(JournalError::Failed("it broke inside, which is a bug".to_owned()))
                }
            };
            let outcome = match ran {
                Ok(parting) => {
                    hub.part(claim.session, parting).await;
                    Ok(())
                }
                Err(error) => {
                    tracing::error!(session = %claim.session, %error, "a session cannot go on");
                    Err(error)
                }
            };
            hub.inner.spending.tell_the_rest().await;
            claim.end(outcome);
        });
    }

    /// Keeps what may be gone on with, and gives up what is over.
    async fn part(&self, session: SessionId, parting: Parting) {
        match parting {
            Parting::AsRecorded(conversation) => {
                let over = conversation.stage().ended().map(|_| owned(&conversation));
                // It is kept before it is let go, so that the next one finds it.
                self.inner.kept.keep(*conversation);
                if let Some(over) = over {
                    self.give_up(over).await;
                }
            }
            Parting::Broken { head } => self.give_up(Owned { session, head, is_to_stop: false }).await,
            Parting::Lost => tracing::warn!(%session, "another process goes on with the session"),
        }
    }
}

/// Who the session of these records belongs to.
fn tenant_of(records: &[Record]) -> Option<&Tenant> {
    match &records.first()?.event {
        Event::Started { setup, .. } => setup.tenant.as_ref(),
        _ => None,
    }
}

/// A session as its owner knows it.
fn owned(conversation: &Conversation) -> Owned {
    let stage = conversation.stage();
    Owned { session: stage.setup().id, head: stage.head(), is_to_stop: false }
}

/// Does what must not be left half done when the caller goes away: what is on disk is also run.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, HubError>> + Send + 'static,
) -> Result<T, HubError> {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(error) if error.is_panic() => Err(HubError::Broken),
        // The process ends; what was written is resumed by the next.
        Err(_) => Err(HubError::NotRunning),
    }
}
