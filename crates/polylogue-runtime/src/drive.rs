//! The one loop that runs every session: take up what is next, record it, wait for what happens, record that.
//!
//! What happened and what is begun because of it go to the journal in one append, and are published after it.
//! So nobody sees what is not on disk, and a turn costs one write.

mod broken;
mod persist;
mod speak;
mod under_way;

use std::{collections::VecDeque, future::pending, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use polylogue_core::{
    Awaited, Conversation, Cut, Event, Halt, Input, Reason, Record, Rejected, Step, Timestamp,
    ask::Ask,
    event::{CallFailure, FailureKind},
    format::Remark,
    id::{AskId, Seq},
    ledger::Usage,
    money::Money,
};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::yield_now,
    time::sleep,
};

use self::{
    broken::{Broken, Brought, or_broken, unbroken},
    persist::{Recorded, is_lost, persist},
    under_way::{Doing, UnderWay},
};
use crate::{
    call::{Patience, Performance, Retries},
    live::Publisher,
    places::Places,
    port::{JournalError, NodeId, Ports},
    purse::{Purse, Tab},
    spending::Spending,
    tenure::Tenure,
};

/// What somebody wants of a running session.
pub(crate) enum Command {
    Stop,
    Say(Said),
    /// Another process may have gone on with the session: find out.
    LookUp,
}

/// What somebody outside says to a session that runs: a person's words, or what is to be decided.
pub(crate) struct Said {
    pub(crate) input: Input,
    /// Is told what becomes of them, once that is on disk.
    pub(crate) taken: oneshot::Sender<Result<(), Rejected>>,
}

/// Who runs a session.
pub(crate) struct Owner {
    pub(crate) node: NodeId,
    pub(crate) tenure: Tenure,
    pub(crate) places: Option<Arc<Places>>,
    pub(crate) calls: Arc<Semaphore>,
    pub(crate) spending: Spending,
}

/// A session being run.
pub(crate) struct Drive {
    conversation: Conversation,
    ports: Ports,
    owner: Owner,
    retries: Retries,
    publisher: Publisher,
    under_way: UnderWay,
    /// What is decided and not yet recorded.
    batch: Vec<Arc<Record>>,
    /// What happened while something was being recorded.
    arrived: VecDeque<Happened>,
    /// The person whose time is up next.
    awaited: Option<Awaited>,
    /// The place of the last record, on disk or in the batch.
    head: Seq,
    /// What the session has cost as far as the day's dollars know of it.
    counted: Money,
}

/// How a loop came to its end.
pub(crate) enum Parting {
    /// The session has ended, waits for a person, or was let go of: it is as its journal has it.
    AsRecorded(Box<Conversation>),
    /// The session has ended because its format broke: what is in memory is of no use.
    Broken { head: Seq },
    /// Another process goes on with it.
    Lost,
}

/// What happened while the loop waited.
enum Happened {
    Input(Input),
    Halt(Halt, Vec<Cut>),
    Say(Said),
    LookUp,
    /// Nobody holds the session any more: it stays as the journal has it, to be resumed.
    Abandoned,
}

/// What follows for the loop from something that happened.
enum Taken {
    GoOn,
    LetGo,
    /// The format broke over it.
    Broke,
}

/// Why the loop stops in the middle of what it does.
enum Stop {
    /// Another process has written the session.
    Lost,
    Failed(JournalError),
}

impl From<JournalError> for Stop {
    fn from(error: JournalError) -> Stop {
        match error {
            JournalError::Fenced { .. } | JournalError::Owned => Stop::Lost,
            JournalError::Unreadable(_) | JournalError::Unavailable(_) | JournalError::Failed(_) => Stop::Failed(error),
        }
    }
}

impl Drive {
    pub(crate) fn new(
        conversation: Conversation,
        ports: Ports,
        owner: Owner,
        retries: Retries,
        publisher: Publisher,
    ) -> Drive {
        let head = conversation.stage().head();
        let counted = conversation.stage().ledger().known_cost();
        let (under_way, batch, arrived, awaited) = Default::default();
        Drive { conversation, ports, owner, retries, publisher, under_way, batch, arrived, awaited, head, counted }
    }

    /// Runs the session until it ends, waits for a person only, is abandoned or taken over, or cannot be recorded any
    /// further.
    pub(crate) async fn run(mut self, commands: &mut mpsc::Receiver<Command>) -> Result<Parting, JournalError> {
        // A caller that wants to watch from the beginning comes first.
        yield_now().await;
        if commands.is_closed() {
            return Ok(Parting::AsRecorded(Box::new(self.conversation)));
        }
        match self.run_on(commands).await {
            Ok(Some(head)) => Ok(Parting::Broken { head }),
            Ok(None) => Ok(Parting::AsRecorded(Box::new(self.conversation))),
            Err(Stop::Lost) => Ok(Parting::Lost),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// The loop itself. Tells the place of the end where the format broke.
    async fn run_on(&mut self, commands: &mut mpsc::Receiver<Command>) -> Result<Option<Seq>, Stop> {
        loop {
            let Ok(steps) = self.take_up() else { return self.break_off().await.map(Some) };
            self.commit(commands).await?;
            if self.conversation.stage().ended().is_some() {
                return Ok(None);
            }
            // A person may take days: until then nobody has to run it. Their words begin it anew, or the end of their time.
            let is_idle = self.under_way.is_empty() && self.arrived.is_empty();
            let only_people = steps.iter().all(|step| matches!(step, Step::AwaitHuman(_)));
            if is_idle && only_people && !steps.is_empty() {
                return Ok(None);
            }
            self.awaited = first_to_go(&steps);
            self.perform_all(steps);
            let mut next = match self.arrived.pop_front() {
                None => Some(self.wait(commands).await),
                arrived => arrived,
            };
            // What else happened by now goes into the same append: replies to six come together.
            while let Some(happened) = next {
                match self.take(happened, commands).await? {
                    Taken::GoOn => {}
                    Taken::LetGo => return Ok(None),
                    Taken::Broke => return self.break_off().await.map(Some),
                }
                self.under_way.purse.set(self.conversation.stage().allowance());
                next = self.arrived.pop_front().or_else(|| self.under_way.next().now_or_never().map(Happened::Input));
            }
        }
    }

    async fn take(&mut self, happened: Happened, commands: &mut mpsc::Receiver<Command>) -> Result<Taken, Stop> {
        match happened {
            Happened::Input(input) => Ok(self.take_input(input)),
            Happened::Halt(why, cut) => Ok(self.take_input(Input::Halted { why, cut })),
            Happened::Say(Said { input, taken }) => {
                let Ok(heard) = self.decide(input) else { return Ok(Taken::Broke) };
                if heard.is_ok() {
                    self.commit(commands).await?;
                }
                // The caller may have left; the words are recorded all the same.
                let _ = taken.send(heard);
                Ok(Taken::GoOn)
            }
            Happened::LookUp => self.look_up().await.map(|()| Taken::GoOn),
            Happened::Abandoned => Ok(Taken::LetGo),
        }
    }

    /// Finds out whether the session is still this process's own.
    async fn look_up(&mut self) -> Result<(), Stop> {
        let id = self.conversation.stage().setup().id;
        // While only people are waited for nobody owns it.
        let is_owned_here = !self.conversation.stage().is_waiting();
        let is_lost = is_lost(&self.ports, id, self.head, self.owner.node, is_owned_here).await;
        if is_lost { Err(Stop::Lost) } else { Ok(()) }
    }

    /// Performs the steps that were taken up. When stop was pressed while they were recorded, none of them is begun.
    fn perform_all(&mut self, steps: Vec<Step>) {
        let halt = self.arrived.iter_mut().find_map(|happened| match happened {
            Happened::Halt(_, cut) => Some(cut),
            _ => None,
        });
        let Some(cut) = halt else { return steps.into_iter().for_each(|step| self.perform(step)) };
        // They were not sent, so they cost nothing.
        cut.extend(steps.into_iter().filter_map(|step| match step {
            Step::Ask(ask) => Some(Cut { ask: ask.id, partial: "".into(), usage: Some(Usage::default()) }),
            Step::Speak(_) | Step::Narrate(_) | Step::AwaitHuman(_) | Step::End(_) => None,
        }));
    }

    /// Begins the steps that are not under way, and returns them to be performed once that is recorded. When the day's
    /// dollars are spent nobody is asked any more: what is under way may finish, and then it ends.
    fn take_up(&mut self) -> Result<Vec<Step>, Broken> {
        unbroken(|| {
            let mut steps = self.conversation.next();
            steps.retain(|step| !self.under_way.contains(step));
            let asks = steps.iter().any(|step| matches!(step, Step::Ask(_)));
            if asks && self.owner.spending.is_spent_with(self.uncounted()) {
                steps.retain(|step| !matches!(step, Step::Ask(_)));
                if self.under_way.is_empty() && steps.is_empty() {
                    let halted = self.conversation.on(Input::Halted { why: Halt::DayIsSpent, cut: Vec::new() });
                    halted.unwrap_or_default().into_iter().for_each(|event| self.record(event));
                }
            }
            for step in &steps {
                for event in self.conversation.begin(step) {
                    self.record(event);
                }
            }
            steps
        })
    }

    fn perform(&mut self, step: Step) {
        match step {
            Step::Ask(ask) => {
                let id = ask.id.clone();
                let tab = self.tab(&id, &self.under_way.purse);
                let work = self.ask(ask, tab.clone());
                self.under_way.add(Doing::Ask(id), work, Some(tab));
            }
            Step::Speak(line) => {
                let work = self.speak(line, &self.under_way.purse);
                self.under_way.add(Doing::Speak(line), work, None);
            }
            Step::Narrate(of) => {
                let work = self.narrate(of, &self.under_way.purse);
                self.under_way.add(Doing::Narrate(of), work, None);
            }
            Step::AwaitHuman(_) | Step::End(_) => {}
        }
    }

    /// What an ask that is recorded may run up, and where its text goes.
    fn tab(&self, ask: &AskId, purse: &Purse) -> Tab {
        let stage = self.conversation.stage();
        let deltas = self.publisher.arriving(ask, self.conversation.hearing(ask));
        Tab::new(stage.estimate_of(ask).unwrap_or_default(), stage.price_of(&ask.agent), deltas, purse)
    }

    fn ask(&self, ask: Ask, tab: Tab) -> BoxFuture<'static, Input> {
        let (model, retries) = (self.ports.model.clone(), self.retries);
        let Owner { tenure, places, calls, .. } = &self.owner;
        let (tenure, places, calls) = (tenure.clone(), places.clone(), calls.clone());
        let patience = Patience::new(self.conversation.stage().limits(), &*model, &ask.request.model);
        let (publisher, id) = (self.publisher.clone(), ask.id.clone());
        let waiting = move |what: Option<&str>| publisher.waiting(&id, what);
        let (id, ran_up) = (ask.id.clone(), tab.clone());
        let work = Performance { model, ask, tab, patience, retries, tenure, places, calls, waiting }.run();
        let broken = move || {
            let message = "the model's connector broke inside, which is a bug: the log says where".to_owned();
            let failure = CallFailure { kind: FailureKind::Unavailable, message };
            let usage = ran_up.cut(id.clone()).usage.unwrap_or_default();
            Input::AskFailed { ask: id, failure, usage, retries: 0 }
        };
        or_broken(work, broken).boxed()
    }

    async fn wait(&mut self, commands: &mut mpsc::Receiver<Command>) -> Happened {
        self.under_way.purse.set(self.conversation.stage().allowance());
        let deadline = self.conversation.stage().deadline();
        let time_left = deadline.map(|deadline| Duration::from_millis(deadline.since(self.ports.clock.now())));
        let time_is_up = async {
            match time_left {
                Some(time_left) => sleep(time_left).await,
                None => pending().await,
            }
        };
        let (awaited, now) = (self.awaited.clone(), self.ports.clock.now());
        let patience_is_over = async {
            match awaited {
                Some(Awaited { who, until: Some(until) }) => {
                    sleep(Duration::from_millis(until.since(now))).await;
                    Awaited { who, until: Some(until) }
                }
                Some(Awaited { until: None, .. }) | None => pending().await,
            }
        };
        tokio::select! {
            biased;
            command = commands.recv() => self.heard(command),
            input = self.under_way.next() => Happened::Input(input),
            awaited = patience_is_over => Happened::Input(Input::Absent(awaited)),
            () = time_is_up => Happened::Halt(Halt::TimeIsUp, self.under_way.drop_all()),
        }
    }

    /// What a command means. A stop drops everything under way at once, and keeps what had arrived.
    fn heard(&mut self, command: Option<Command>) -> Happened {
        match command {
            Some(Command::Stop) => Happened::Halt(Halt::StopPressed, self.under_way.drop_all()),
            Some(Command::Say(said)) => Happened::Say(said),
            Some(Command::LookUp) => Happened::LookUp,
            None => Happened::Abandoned,
        }
    }

    /// Takes an input. Where the format breaks over what it means, the step that it came of has failed.
    fn take_input(&mut self, input: Input) -> Taken {
        let brought = Brought::by(&input);
        let decided = unbroken(|| self.conversation.on(input)).or_else(|broken| {
            let failed = brought.ok_or(broken)?.failed(self.conversation.stage());
            unbroken(|| self.conversation.on(failed))
        });
        match decided.and_then(|decided| self.record_decided(decided)) {
            Err(Broken) => return Taken::Broke,
            Ok(Ok(())) => {}
            Ok(Err(rejected)) => {
                tracing::debug!(session = %self.conversation.stage().setup().id, %rejected, "an input came too late");
            }
        }
        Taken::GoOn
    }

    fn decide(&mut self, input: Input) -> Result<Result<(), Rejected>, Broken> {
        let decided = unbroken(|| self.conversation.on(input))?;
        self.record_decided(decided)
    }

    fn record_decided(&mut self, decided: Result<Vec<Event>, Rejected>) -> Result<Result<(), Rejected>, Broken> {
        match decided {
            Ok(events) => unbroken(|| events.into_iter().for_each(|event| self.record(event))).map(Ok),
            Err(rejected) => Ok(Err(rejected)),
        }
    }

    fn record(&mut self, event: Event) {
        self.log(&event);
        let record = Record { seq: self.head.next(), at: self.now(), event };
        self.conversation.apply(&record);
        self.add(record);
    }

    fn add(&mut self, record: Record) {
        self.head = record.seq;
        self.batch.push(Arc::new(record));
    }

    /// The time for the next record. A clock that was set back must not make the journal run backwards.
    fn now(&self) -> Timestamp {
        self.ports.clock.now().max(self.conversation.stage().last_at())
    }

    fn log(&self, event: &Event) {
        let Some(Remark { is_warning, text }) = event.remark() else { return };
        let session = self.conversation.stage().setup().id;
        match is_warning {
            true => tracing::warn!(%session, "{text}"),
            false => tracing::info!(%session, "{text}"),
        }
    }

    /// Ends a session whose format broke, without asking the format. Tells the place of the end.
    async fn break_off(&mut self) -> Result<Seq, Stop> {
        let cut = self.under_way.drop_all();
        let halted = unbroken(|| self.conversation.on(Input::Halted { why: Halt::StopPressed, cut }));
        let halted = halted.unwrap_or_else(|Broken| Ok(Vec::new())).unwrap_or_default();
        // What was sent is paid for. The end is not the stop's.
        let cut = halted.into_iter().filter(|event| matches!(event, Event::AskCut { .. }));
        let at = self.conversation.stage().last_at();
        for event in cut.chain([broken_off()]) {
            self.add(Record { seq: self.head.next(), at, event });
        }
        let records = std::mem::take(&mut self.batch);
        let (journal, id) = (self.ports.journal.clone(), self.conversation.stage().setup().id);
        persist(&*journal, id, &records, self.owner.node).await?;
        self.publisher.records(records);
        Ok(self.head)
    }

    /// Records what is in the batch, then shows it. What happens meanwhile is kept: a store in trouble can take minutes.
    async fn commit(&mut self, commands: &mut mpsc::Receiver<Command>) -> Result<(), Stop> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let records = std::mem::take(&mut self.batch);
        if self.record_all(&records, commands).await? == Recorded::Found {
            self.look_up().await?;
        }
        self.publisher.records(records);
        self.owner.spending.add(self.uncounted());
        self.counted = self.conversation.stage().ledger().known_cost();
        Ok(())
    }

    /// What the session has cost and the day's dollars do not know of.
    fn uncounted(&self) -> Money {
        self.conversation.stage().ledger().known_cost().minus(self.counted)
    }

    async fn record_all(
        &mut self,
        records: &[Arc<Record>],
        commands: &mut mpsc::Receiver<Command>,
    ) -> Result<Recorded, JournalError> {
        let (journal, id, node) = (self.ports.journal.clone(), self.conversation.stage().setup().id, self.owner.node);
        let recording = persist(&*journal, id, records, node);
        tokio::pin!(recording);
        let (mut is_held, mut is_certain) = (true, true);
        loop {
            let happened = tokio::select! {
                biased;
                recorded = &mut recording => return recorded,
                command = commands.recv(), if is_held => self.heard(command),
                input = self.under_way.next(), if is_certain => Happened::Input(input),
            };
            match happened {
                // Whether it can be recorded tells it. Until then no call begins.
                Happened::LookUp => is_certain = false,
                // Whatever else has come is of no use any more.
                Happened::Abandoned => {
                    is_held = false;
                    self.arrived.push_front(happened);
                }
                happened => self.arrived.push_back(happened),
            }
        }
    }
}

/// The end of a session that broke inside.
pub(crate) fn broken_off() -> Event {
    let notice = "The conversation broke inside, which is a bug: the log says where.";
    Event::Ended { reason: Reason::FAILED, notice: Some(notice.into()) }
}

/// Of the people who are waited for, the one whose time is up first.
fn first_to_go(steps: &[Step]) -> Option<Awaited> {
    let awaited = steps.iter().filter_map(|step| match step {
        Step::AwaitHuman(awaited) if awaited.until.is_some() => Some(awaited),
        Step::Ask(_) | Step::Speak(_) | Step::Narrate(_) | Step::AwaitHuman(_) | Step::End(_) => None,
    });
    awaited.min_by_key(|awaited| awaited.until).cloned()
}
