//! The one loop that runs every session: take up what is next, record it, wait for what happens, record that.
//!
//! What happened and what is begun because of it go to the journal in one append, and are published after it.
//! So nobody sees what is not on disk, and a turn costs one write.

use std::{collections::BTreeMap, future::pending, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use polylogue_core::{
    Conversation, Cut, Event, Halt, Input, Record, Rejected, Step,
    ask::Ask,
    event::{CallFailure, FailureKind, Origin},
    format::Remark,
    id::{AskId, LineId, PersonId},
    line::Speaker,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::yield_now,
    time::sleep,
};

use crate::{
    call::{Patience, Performance, Retries},
    live::Publisher,
    port::{Clock, Deltas, Journal, JournalError, Model, Rooms, Speech, Store, Voice},
    purse::{Purse, Tab},
};

/// What the engine acts through.
#[derive(Clone)]
pub struct Ports {
    pub model: Arc<dyn Model>,
    pub voice: Arc<dyn Voice>,
    pub journal: Arc<dyn Journal>,
    pub rooms: Arc<dyn Rooms>,
    pub clock: Arc<dyn Clock>,
}

impl Ports {
    /// The ports of an engine that keeps everything in one store.
    pub fn new(model: Arc<dyn Model>, voice: Arc<dyn Voice>, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Ports {
        Ports { model, voice, journal: store.clone(), rooms: store, clock }
    }
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}

/// What somebody wants of a running session.
pub(crate) enum Command {
    Stop,
    Say { who: PersonId, text: Arc<str>, origin: Origin, taken: oneshot::Sender<Result<(), Rejected>> },
}

/// A session being run.
pub(crate) struct Drive {
    pub(crate) conversation: Conversation,
    pub(crate) ports: Ports,
    pub(crate) retries: Retries,
    pub(crate) publisher: Publisher,
}

/// What happened while the loop waited.
enum Happened {
    Input(Input),
    Halt(Halt),
    Command(Command),
    /// Nobody holds the session any more: it stays as the journal has it, to be resumed.
    Abandoned,
}

impl Drive {
    /// Runs the session until it ends, waits for a person only, is abandoned, or cannot be recorded any further.
    /// Returns it as it was left.
    pub(crate) async fn run(mut self, mut commands: mpsc::Receiver<Command>) -> Result<Conversation, JournalError> {
        // A caller that wants to watch from the beginning comes first.
        yield_now().await;
        if commands.is_closed() {
            return Ok(self.conversation);
        }
        let mut under_way = UnderWay::default();
        let mut batch = Vec::new();
        loop {
            let steps = self.take_up(&under_way, &mut batch);
            self.commit(&mut batch).await?;
            if self.conversation.stage().ended().is_some() {
                return Ok(self.conversation);
            }
            // A person may take days: until then nobody has to run it, and their words begin it anew.
            if under_way.is_empty() && matches!(steps.as_slice(), [Step::AwaitHuman(_)]) {
                return Ok(self.conversation);
            }
            for step in steps {
                self.perform(step, &mut under_way);
            }
            match self.wait(&mut under_way, &mut commands).await {
                Happened::Input(input) => {
                    self.take(input, &mut batch);
                    // What else is done by now goes into the same append: replies to six come together.
                    under_way.purse.set(self.conversation.stage().allowance());
                    while let Some(input) = under_way.next().now_or_never() {
                        self.take(input, &mut batch);
                        under_way.purse.set(self.conversation.stage().allowance());
                    }
                }
                Happened::Halt(why) => self.halt(why, &mut under_way, &mut batch),
                Happened::Command(Command::Stop) => self.halt(Halt::StopPressed, &mut under_way, &mut batch),
                Happened::Command(Command::Say { who, text, origin, taken }) => {
                    let heard = self.decide(Input::HumanSaid { who, text, origin }, &mut batch);
                    if heard.is_ok() {
                        self.commit(&mut batch).await?;
                    }
                    // The caller may have left; the words are recorded all the same.
                    let _ = taken.send(heard);
                }
                Happened::Abandoned => return Ok(self.conversation),
            }
        }
    }

    /// Begins the steps that are not under way, and returns them to be performed once that is recorded.
    fn take_up(&mut self, under_way: &UnderWay, batch: &mut Vec<Arc<Record>>) -> Vec<Step> {
        let mut steps = self.conversation.next();
        steps.retain(|step| !under_way.contains(step));
        for step in &steps {
            for event in self.conversation.begin(step) {
                self.record(event, batch);
            }
        }
        steps
    }

    fn perform(&self, step: Step, under_way: &mut UnderWay) {
        match step {
            Step::Ask(ask) => {
                let id = ask.id.clone();
                let tab = self.tab(&id, &under_way.purse);
                under_way.add(Doing::Ask(id), self.ask(ask, tab.clone()), Some(tab));
            }
            Step::Speak(line) => under_way.add(Doing::Speak(line), self.speak(line, &under_way.purse), None),
            Step::AwaitHuman(_) | Step::End(_) => {}
        }
    }

    /// What an ask that is recorded may run up, and where its text goes.
    fn tab(&self, ask: &AskId, purse: &Purse) -> Tab {
        let stage = self.conversation.stage();
        let (publisher, watched) = (self.publisher.clone(), ask.clone());
        let deltas = Deltas::new(move |text| publisher.delta(&watched, text));
        Tab::new(stage.estimate_of(ask).unwrap_or_default(), stage.price_of(&ask.agent), deltas, purse)
    }

    fn ask(&self, ask: Ask, tab: Tab) -> BoxFuture<'static, Input> {
        let (model, retries) = (self.ports.model.clone(), self.retries);
        let patience = Patience::new(self.conversation.stage().limits(), &*model, &ask.request.model);
        let (publisher, id) = (self.publisher.clone(), ask.id.clone());
        let waiting = move |what: Option<&str>| publisher.waiting(&id, what);
        let (id, ran_up) = (ask.id.clone(), tab.clone());
        let work = Performance { model, ask, tab, patience, retries, waiting }.run();
        let broken = move || {
            let message = "the model's connector broke inside, which is a bug: the log says where".to_owned();
            let failure = CallFailure { kind: FailureKind::Unavailable, message };
            let usage = ran_up.cut(id.clone()).usage.unwrap_or_default();
            Input::AskFailed { ask: id, failure, usage, retries: 0 }
        };
        unbroken(work, broken).boxed()
    }

    fn speak(&self, id: LineId, purse: &Purse) -> BoxFuture<'static, Input> {
        let (stage, voice) = (self.conversation.stage(), self.ports.voice.clone());
        let Some(line) = stage.transcript().get(id).cloned() else { return pending().boxed() };
        let agents = stage.cast().agents();
        let seat = agents.iter().position(|agent| line.speaker == Speaker::Agent(agent.name.clone()));
        let profile = line.voice.clone().or_else(|| agents[seat?].voice.clone());
        let tone = line.delivery.tone.clone();
        let (seat, place) = (seat.unwrap_or_default(), self.conversation.clip_place(&line));
        let budget = purse.budget(stage.kept_for_text());
        let speech = Speech { session: stage.setup().id, line, profile, seat, tone, place, budget };
        let work = async move {
            match voice.speak(&speech).await {
                Ok(clip) => Input::ClipMade { line: id, clip },
                Err(error) => Input::ClipFailed { line: id, error: error.to_string() },
            }
        };
        let broken = move || {
            let error = "the speech engine broke inside, which is a bug: the log says where".to_owned();
            Input::ClipFailed { line: id, error }
        };
        unbroken(work, broken).boxed()
    }

    async fn wait(&self, under_way: &mut UnderWay, commands: &mut mpsc::Receiver<Command>) -> Happened {
        under_way.purse.set(self.conversation.stage().allowance());
        let deadline = self.conversation.stage().deadline();
        let time_left = deadline.map(|deadline| Duration::from_millis(deadline.since(self.ports.clock.now())));
        let time_is_up = async {
            match time_left {
                Some(time_left) => sleep(time_left).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            command = commands.recv() => command.map_or(Happened::Abandoned, Happened::Command),
            input = under_way.next() => Happened::Input(input),
            () = time_is_up => Happened::Halt(Halt::TimeIsUp),
        }
    }

    /// Drops everything under way at once, and keeps what had arrived.
    fn halt(&mut self, why: Halt, under_way: &mut UnderWay, batch: &mut Vec<Arc<Record>>) {
        let cut = under_way.drop_all();
        self.take(Input::Halted { why, cut }, batch);
    }

    fn take(&mut self, input: Input, batch: &mut Vec<Arc<Record>>) {
        if let Err(rejected) = self.decide(input, batch) {
            tracing::debug!(session = %self.conversation.stage().setup().id, %rejected, "an input came too late");
        }
    }

    fn decide(&mut self, input: Input, batch: &mut Vec<Arc<Record>>) -> Result<(), Rejected> {
        for event in self.conversation.on(input)? {
            self.record(event, batch);
        }
        Ok(())
    }

    fn record(&mut self, event: Event, batch: &mut Vec<Arc<Record>>) {
        self.log(&event);
        let stage = self.conversation.stage();
        // A clock that was set back must not make the journal run backwards.
        let at = self.ports.clock.now().max(stage.last_at());
        let record = Record { seq: stage.head().next(), at, event };
        self.conversation.apply(&record);
        batch.push(Arc::new(record));
    }

    fn log(&self, event: &Event) {
        let Some(Remark { is_warning, text }) = event.remark() else { return };
        let session = self.conversation.stage().setup().id;
        match is_warning {
            true => tracing::warn!(%session, "{text}"),
            false => tracing::info!(%session, "{text}"),
        }
    }

    async fn commit(&self, batch: &mut Vec<Arc<Record>>) -> Result<(), JournalError> {
        if batch.is_empty() {
            return Ok(());
        }
        let records = std::mem::take(batch);
        self.ports.journal.append(self.conversation.stage().setup().id, records.clone()).await?;
        self.publisher.records(records);
        Ok(())
    }
}

/// What came of the work, also when it panicked: then only this step has failed.
async fn unbroken(work: impl Future<Output = Input>, broken: impl FnOnce() -> Input) -> Input {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| broken())
}

/// What is being done, by its place in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    Ask(AskId),
    Speak(LineId),
}

impl Doing {
    fn of(step: &Step) -> Option<Doing> {
        match step {
            Step::Ask(ask) => Some(Doing::Ask(ask.id.clone())),
            Step::Speak(line) => Some(Doing::Speak(*line)),
            Step::AwaitHuman(_) | Step::End(_) => None,
        }
    }
}

/// The steps under way. Dropping it drops them.
#[derive(Default)]
struct UnderWay {
    futures: FuturesUnordered<BoxFuture<'static, (Doing, Input)>>,
    tabs: BTreeMap<Doing, Option<Tab>>,
    purse: Purse,
}

impl UnderWay {
    fn contains(&self, step: &Step) -> bool {
        !self.tabs.is_empty() && Doing::of(step).is_some_and(|doing| self.tabs.contains_key(&doing))
    }

    fn is_empty(&self) -> bool {
        self.futures.is_empty()
    }

    fn add(&mut self, doing: Doing, work: BoxFuture<'static, Input>, tab: Option<Tab>) {
        self.tabs.insert(doing.clone(), tab);
        self.futures.push(async move { (doing, work.await) }.boxed());
    }

    /// The next one that is done; waits for ever when there is none.
    async fn next(&mut self) -> Input {
        match self.futures.next().await {
            Some((doing, input)) => {
                self.tabs.remove(&doing);
                input
            }
            None => pending().await,
        }
    }

    fn drop_all(&mut self) -> Vec<Cut> {
        self.futures.clear();
        let cut = std::mem::take(&mut self.tabs).into_iter().filter_map(|(doing, tab)| match (doing, tab) {
            (Doing::Ask(ask), Some(tab)) => Some(tab.cut(ask)),
            (Doing::Ask(_) | Doing::Speak(_), _) => None,
        });
        cut.collect()
    }
}
