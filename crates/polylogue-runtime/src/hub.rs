//! The sessions that are live in this process: start, stop, watch, speak, resume, fork.

mod room;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use polylogue_core::{
    Conversation, Event, Halt, Input, NotAJournal, Reason, Record, Rejected, Setup,
    event::Origin,
    format::Decision,
    id::{PersonId, Seq, SessionId},
    projection::{self, CannotFork},
    room::RoomId,
    setup::{BadSetup, Change},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use crate::{
    call::Retries,
    drive::{Command, Drive, Ports},
    live::{Publisher, Subscription},
    port::JournalError,
    room::{Bell, Bells},
};

/// Sessions that are kept folded after they were left.
const MAX_LEFT: usize = 64;

/// How many records are read at a time.
const PAGE: usize = 1_000;

/// Commands that may wait for a session; a caller beyond that waits in turn.
const COMMANDS: usize = 8;

/// How often words find a session that begins or ends in the very moment before they are given up.
const SAY_TRIES: usize = 8;

/// Bounds and habits of a hub.
#[derive(Clone, Copy, Debug)]
pub struct HubSettings {
    /// Sessions that run at once.
    pub max_live: usize,
    pub retries: Retries,
}

impl Default for HubSettings {
    fn default() -> Self {
        HubSettings { max_live: 10_000, retries: Retries::default() }
    }
}

#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    ports: Ports,
    settings: HubSettings,
    live: Mutex<HashMap<SessionId, Live>>,
    /// A permit for each session that may run. It is taken before the first await and gives itself back.
    places: Arc<Semaphore>,
    /// Sessions that have run here lately, as they were left, the newest last. When somebody goes on with one, its
    /// journal need not be folded again.
    left: Mutex<VecDeque<Conversation>>,
    bells: Arc<Bells>,
}

/// A handle on a running session. Dropping the hub's one abandons the session: it can be resumed later.
struct Live {
    commands: mpsc::Sender<Command>,
    publisher: Publisher,
    room: Option<RoomId>,
    done: watch::Receiver<Option<Result<(), JournalError>>>,
    _place: OwnedSemaphorePermit,
}

/// Takes a session out of the list of those that run, whatever ended its loop.
struct Leaving {
    inner: Arc<Inner>,
    id: SessionId,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.inner.live().remove(&self.id);
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("live", &self.inner.live().len()).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HubError {
    #[error("there is no session {0}")]
    NoSuchSession(SessionId),
    #[error("the session is running already")]
    Running,
    #[error("the session is not running: resume it first")]
    NotRunning,
    #[error("{0} sessions are running, which is the limit: try again when one has ended")]
    Busy(usize),
    #[error(transparent)]
    BadSetup(#[from] BadSetup),
    #[error(transparent)]
    Rejected(#[from] Rejected),
    #[error(transparent)]
    CannotFork(#[from] CannotFork),
    #[error(transparent)]
    NotAJournal(#[from] NotAJournal),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A session as it was read: one reading serves everything that a caller wants to know of it.
#[derive(Clone, Debug)]
pub struct Opened {
    pub records: Vec<Record>,
    pub conversation: Conversation,
}

/// A session by its id, or as the caller has read it already.
#[derive(Clone, Debug)]
pub enum Known {
    Id(SessionId),
    Read(Box<Conversation>),
}

impl From<SessionId> for Known {
    fn from(id: SessionId) -> Known {
        Known::Id(id)
    }
}

impl From<Conversation> for Known {
    fn from(conversation: Conversation) -> Known {
        Known::Read(Box::new(conversation))
    }
}

impl Known {
    fn id(&self) -> SessionId {
        match self {
            Known::Id(id) => *id,
            Known::Read(conversation) => conversation.stage().setup().id,
        }
    }
}

impl Hub {
    /// Must be used inside a tokio runtime: sessions run as its tasks.
    pub fn new(ports: Ports, settings: HubSettings) -> Hub {
        Hub {
            inner: Arc::new(Inner {
                places: Arc::new(Semaphore::new(settings.max_live.min(Semaphore::MAX_PERMITS))),
                ports,
                settings,
                live: Mutex::default(),
                left: Mutex::default(),
                bells: Arc::default(),
            }),
        }
    }

    /// Starts a session. When this returns, its setup is on disk.
    pub async fn start(&self, setup: Setup) -> Result<SessionId, HubError> {
        let (hub, place) = (self.clone(), self.reserve(1)?);
        to_its_end(async move { hub.begin(setup, place).await }).await
    }

    /// Starts several sessions, or none when there is no room for all of them.
    pub async fn start_all(&self, setups: Vec<Setup>) -> Result<Vec<SessionId>, HubError> {
        let (hub, mut places) = (self.clone(), self.reserve(setups.len())?);
        // What cannot work is found before anything begins.
        setups.iter().try_for_each(Setup::check)?;
        to_its_end(async move {
            let mut ids = Vec::with_capacity(setups.len());
            for setup in setups {
                let place = places.split(1).expect("a place was reserved for each");
                ids.push(hub.begin(setup, place).await?);
            }
            Ok(ids)
        })
        .await
    }

    async fn begin(&self, setup: Setup, place: OwnedSemaphorePermit) -> Result<SessionId, HubError> {
        let (conversation, first) = Conversation::start(setup, self.inner.ports.clock.now())?;
        let id = conversation.stage().setup().id;
        self.inner.ports.journal.append(id, vec![Arc::new(first)]).await?;
        self.ring(&conversation);
        self.run(conversation, place)?;
        Ok(id)
    }

    /// Goes on with a session that was stopped, that met a limit, or whose process ended.
    pub async fn resume(&self, session: impl Into<Known>, change: Change) -> Result<(), HubError> {
        self.begin_with(session.into(), Input::ResumePressed { change }).await.map(|_| ())
    }

    /// Goes on with every session that had not ended when its process did. Those that wait for a person do that
    /// without anybody's help.
    pub async fn resume_unfinished(&self) -> Result<Vec<SessionId>, HubError> {
        let mut resumed = Vec::new();
        for id in self.inner.ports.journal.unfinished().await? {
            match self.resume(id, Change::default()).await {
                Ok(()) => resumed.push(id),
                Err(HubError::Running) => {}
                Err(error) => tracing::warn!(session = %id, %error, "a session cannot be resumed"),
            }
        }
        Ok(resumed)
    }

    /// A new session `new_id` that goes on from record `at` of session `id`.
    pub async fn fork(&self, id: SessionId, at: Seq, new_id: SessionId, change: Change) -> Result<(), HubError> {
        let (hub, place) = (self.clone(), self.reserve(1)?);
        let records = self.records(id).await?;
        let now = self.inner.ports.clock.now();
        let (conversation, journal) = projection::fork(&records, at, new_id, change, now)?;
        to_its_end(async move {
            hub.inner.ports.journal.append(new_id, journal.into_iter().map(Arc::new).collect()).await?;
            hub.run(conversation, place)
        })
        .await
    }

    /// Stops a session: what is under way is dropped at once, what had arrived is kept. Returns when that
    /// is on disk, and why the session has ended. One that had ended already stays as it is.
    pub async fn stop(&self, id: SessionId) -> Result<Reason, HubError> {
        let commands = self.inner.live().get(&id).map(|live| live.commands.clone());
        if let Some(commands) = commands {
            // It may end by itself in this moment, or begin to wait for a person; then it has not heard.
            let _ = commands.send(Command::Stop).await;
            self.wait(id).await?;
        }
        let mut conversation = self.conversation(id).await?;
        if let Some(reason) = conversation.stage().ended() {
            return Ok(reason);
        }
        let events = conversation.on(Input::Halted { why: Halt::StopPressed, cut: Vec::new() })?;
        self.append(&mut conversation, events).await?;
        Ok(conversation.stage().ended().unwrap_or(Reason::CANCELLED))
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
        let id = known.id();
        for _ in 0..SAY_TRIES {
            let commands = self.inner.live().get(&id).map(|live| live.commands.clone());
            if let Some(commands) = commands {
                let (taken, heard) = oneshot::channel();
                let said = Command::Say { who: who.clone(), text: text.clone(), origin: origin.clone(), taken };
                if commands.send(said).await.is_ok()
                    && let Ok(heard) = heard.await
                {
                    return Ok(heard?);
                }
                // It ended, or began to wait for a person, and has not heard. What it leaves is on disk then.
                self.wait(id).await?;
                known = Known::Id(id);
            }
            let input = Input::HumanSaid { who: who.clone(), text: text.clone(), origin: origin.clone() };
            match self.begin_with(std::mem::replace(&mut known, Known::Id(id)), input.clone()).await {
                // Somebody's words have begun it in this moment: it hears now.
                Err(HubError::Running) => {}
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

    /// Has the session's format decide this, where it lets others decide it: who takes part in a session that has
    /// not begun, for example.
    pub async fn propose(&self, session: impl Into<Known>, decision: Decision) -> Result<(), HubError> {
        let conversation = self.read(session.into()).await?;
        // One that has only just begun to wait lets go in a moment.
        if conversation.stage().is_waiting() {
            self.wait(conversation.stage().setup().id).await?;
        }
        self.begin_with(conversation.into(), Input::Proposed { decision }).await.map(|_| ())
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

    /// Everything after a place of the journal: what is recorded, then what happens.
    pub fn subscribe(&self, id: SessionId, after: Seq) -> Subscription {
        let watch = self.inner.live().get(&id).map(|live| live.publisher.watch());
        Subscription::new(self.inner.ports.journal.clone(), id, after, watch)
    }

    /// Waits until the session is not running here any more.
    pub async fn wait(&self, id: SessionId) -> Result<(), HubError> {
        self.ending(id).await
    }

    /// The end of a session that runs now, to be waited for later: how the loop that runs it came to its end.
    pub fn ending(&self, id: SessionId) -> impl Future<Output = Result<(), HubError>> + Send + use<> {
        let done = self.inner.live().get(&id).map(|live| live.done.clone());
        async move {
            let Some(mut done) = done else { return Ok(()) };
            let outcome = done.wait_for(Option::is_some).await.map(|outcome| outcome.clone());
            match outcome {
                Ok(Some(Err(error))) => Err(error.into()),
                // A loop that was abandoned has nothing to tell.
                Ok(Some(Ok(())) | None) | Err(_) => Ok(()),
            }
        }
    }

    /// The session as its journal makes it.
    pub async fn conversation(&self, id: SessionId) -> Result<Conversation, HubError> {
        let left = self.inner.left().iter().rfind(|left| left.stage().setup().id == id).cloned();
        if let Some(left) = left {
            return self.caught_up(left).await;
        }
        let records = self.inner.ports.journal.read_all(id).await?;
        if records.is_empty() {
            return Err(HubError::NoSuchSession(id));
        }
        Ok(Conversation::replay(records.iter().map(|record| &**record))?)
    }

    /// The same session with what has been recorded since: another process may have gone on with it.
    async fn caught_up(&self, mut conversation: Conversation) -> Result<Conversation, HubError> {
        let (id, head) = (conversation.stage().setup().id, conversation.stage().head());
        self.records_after(id, head).await?.iter().for_each(|record| conversation.apply(record));
        Ok(conversation)
    }

    /// The session with its whole journal.
    pub async fn open(&self, id: SessionId) -> Result<Opened, HubError> {
        let records = self.records(id).await?;
        let conversation = Conversation::replay(&records)?;
        Ok(Opened { records, conversation })
    }

    /// The session as it stands, for somebody who goes on with it.
    async fn read(&self, known: Known) -> Result<Conversation, HubError> {
        let id = match known {
            Known::Id(id) => id,
            Known::Read(conversation) => return Ok(*conversation),
        };
        match self.inner.take_left(id) {
            Some(left) => self.caught_up(left).await,
            None => self.conversation(id).await,
        }
    }

    /// What a session has recorded after this place.
    pub async fn records_after(&self, id: SessionId, mut after: Seq) -> Result<Vec<Record>, HubError> {
        let mut records = Vec::new();
        loop {
            let page = self.inner.ports.journal.read(id, after, PAGE).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map_or(after, |last| last.seq);
            records.extend(page.into_iter().map(Arc::unwrap_or_clone));
            if is_last {
                return Ok(records);
            }
        }
    }

    /// The whole journal of a session.
    pub async fn records(&self, id: SessionId) -> Result<Vec<Record>, HubError> {
        let records = self.records_after(id, Seq::START).await?;
        if records.is_empty() { Err(HubError::NoSuchSession(id)) } else { Ok(records) }
    }

    pub fn is_running(&self, id: SessionId) -> bool {
        self.inner.live().contains_key(&id)
    }

    pub fn running(&self) -> usize {
        self.inner.live().len()
    }

    /// Lets go of every session. They stay unfinished in the journal, to be resumed by the next process.
    pub fn abandon(&self) {
        self.inner.live().clear();
    }

    /// Runs a session that is not running, because of this. Returns the place before what follows from it.
    /// Of several who do so at once one is in time: the journal fences the others off.
    async fn begin_with(&self, session: Known, input: Input) -> Result<Seq, HubError> {
        if self.inner.live().contains_key(&session.id()) {
            return Err(HubError::Running);
        }
        let place = self.reserve(1)?;
        let mut conversation = self.read(session).await?;
        let (before, was_left) = (conversation.stage().head(), is_left_running(&conversation));
        let is_said = matches!(input, Input::HumanSaid { .. } | Input::Reopened { .. });
        let events = conversation.on(input)?;
        if events.is_empty() {
            return Ok(before);
        }
        if is_said && was_left {
            return Err(HubError::NotRunning);
        }
        let hub = self.clone();
        to_its_end(async move {
            hub.append(&mut conversation, events).await?;
            if conversation.stage().ended().is_none() { hub.run(conversation, place) } else { Ok(()) }
        })
        .await?;
        Ok(before)
    }

    /// Places for so many sessions, or none of them.
    fn reserve(&self, sessions: usize) -> Result<OwnedSemaphorePermit, HubError> {
        let busy = || HubError::Busy(self.inner.settings.max_live);
        let sessions = u32::try_from(sessions).map_err(|_| busy())?;
        self.inner.places.clone().try_acquire_many_owned(sessions).map_err(|_| busy())
    }

    fn ring(&self, conversation: &Conversation) {
        if let Some(bell) = self.bell(conversation) {
            bell.ring();
        }
    }

    /// The bell of the room that a session answers in.
    fn bell(&self, conversation: &Conversation) -> Option<Bell> {
        let call = conversation.stage().setup().room.as_ref()?;
        Some(Bell::new(self.inner.bells.clone(), call.room.clone()))
    }

    async fn append(&self, conversation: &mut Conversation, events: Vec<Event>) -> Result<(), HubError> {
        let mut records = Vec::with_capacity(events.len());
        for event in events {
            let stage = conversation.stage();
            let at = self.inner.ports.clock.now().max(stage.last_at());
            let record = Record { seq: stage.head().next(), at, event };
            conversation.apply(&record);
            records.push(Arc::new(record));
        }
        self.inner.ports.journal.append(conversation.stage().setup().id, records).await?;
        self.ring(conversation);
        Ok(())
    }

    fn run(&self, conversation: Conversation, place: OwnedSemaphorePermit) -> Result<(), HubError> {
        let id = conversation.stage().setup().id;
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let (report, done) = watch::channel(None);
        let publisher = Publisher::new(self.bell(&conversation));
        let room = conversation.stage().setup().room.as_ref().map(|call| call.room.clone());
        {
            let mut live = self.inner.live();
            if live.contains_key(&id) {
                return Err(HubError::Running);
            }
            live.insert(id, Live { commands, publisher: publisher.clone(), room, done, _place: place });
        }
        let (ports, retries) = (self.inner.ports.clone(), self.inner.settings.retries);
        let drive = Drive { conversation, ports, retries, publisher };
        let inner = self.inner.clone();
        tokio::spawn(async move {
            let leaving = Leaving { inner: inner.clone(), id };
            let outcome = drive.run(receiver).await;
            // It is kept before it is let go, so that the next one finds it.
            let outcome = match outcome {
                Ok(conversation) => {
                    inner.leave(conversation);
                    Ok(())
                }
                Err(error) => {
                    tracing::info!(session = %id, %error, "a session cannot go on");
                    Err(error)
                }
            };
            drop(leaving);
            report.send_replace(Some(outcome));
        });
        Ok(())
    }
}

/// Whether agents are to be asked, and their process is gone or is another one.
fn is_left_running(conversation: &Conversation) -> bool {
    let stage = conversation.stage();
    stage.ended().is_none() && !stage.is_waiting()
}

/// Does what must not be left half done when the caller goes away: what is on disk is also run.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, HubError>> + Send + 'static,
) -> Result<T, HubError> {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The process ends; what was written is resumed by the next.
        Err(_) => Err(HubError::NotRunning),
    }
}

impl Inner {
    fn leave(&self, conversation: Conversation) {
        let mut left = self.left();
        if left.len() == MAX_LEFT {
            left.pop_front();
        }
        left.push_back(conversation);
    }

    fn take_left(&self, id: SessionId) -> Option<Conversation> {
        let mut left = self.left();
        let at = left.iter().rposition(|conversation| conversation.stage().setup().id == id)?;
        left.remove(at)
    }

    fn left(&self) -> MutexGuard<'_, VecDeque<Conversation>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<SessionId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
