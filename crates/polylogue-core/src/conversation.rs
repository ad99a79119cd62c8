//! The machine: what to do next, what an input means, and the fold of the journal.
//!
//! Nothing is remembered that the journal does not say. So running, resuming after a crash, forking and
//! replaying are one code path: fold the records there are, then ask what is next.

use std::{any::Any, sync::Arc};

use crate::{
    ask::Ask,
    event::{Event, Lost, Origin, Record, VERSION},
    format::{AnyRules, Decision, Happened, Hearing, Place, Reaction, Rules, Wants},
    id::{AskId, LineId, PersonId, Seq},
    ledger::{Usage, estimate_tokens},
    line::Line,
    reason::Reason,
    setup::{BadSetup, Change, Note, Setup},
    stage::Stage,
    step::{Answer, Awaited, Cut, Halt, Input, Rejected, Step},
    time::Timestamp,
};

/// A session as its journal makes it.
#[derive(Debug)]
pub struct Conversation {
    stage: Stage,
    rules: Box<dyn AnyRules>,
}

impl Clone for Conversation {
    fn clone(&self) -> Conversation {
        Conversation { stage: self.stage.clone(), rules: self.rules.boxed() }
    }
}

impl PartialEq for Conversation {
    fn eq(&self, other: &Conversation) -> bool {
        self.stage == other.stage && self.rules.is_same(&*other.rules)
    }
}

impl Conversation {
    pub const MAX_MESSAGE_CHARS: usize = 20_000;

    /// A new session, and the first record of its journal.
    pub fn start(setup: Setup, at: Timestamp) -> Result<(Conversation, Record), BadSetup> {
        setup.check()?;
        let event = Event::Started { version: VERSION, setup: Arc::new(setup) };
        let first = Record { seq: Seq::START.next(), at, event };
        match Conversation::from_first(&first) {
            Ok(conversation) => {
                conversation.rules.try_templates(&conversation.stage)?;
                Ok((conversation, first))
            }
            Err(NotAJournal::BadSetup(problem)) => Err(problem),
            Err(NotAJournal::Empty | NotAJournal::Gap { .. }) => unreachable!("the record is a first one"),
        }
    }

    /// The session that these records, from the first, make.
    pub fn replay<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Conversation, NotAJournal> {
        let mut records = records.into_iter();
        let mut conversation = Conversation::from_first(records.next().ok_or(NotAJournal::Empty)?)?;
        for record in records {
            if record.seq != conversation.stage.head().next() {
                return Err(NotAJournal::Gap { after: conversation.stage.head() });
            }
            conversation.apply(record);
        }
        Ok(conversation)
    }

    fn from_first(first: &Record) -> Result<Conversation, NotAJournal> {
        let Event::Started { setup, .. } = &first.event else { return Err(NotAJournal::Empty) };
        let mut stage = Stage::new(setup.clone(), first)?;
        let rules = setup.format.rules(&mut stage, first);
        Ok(Conversation { stage, rules })
    }

    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// The rules as their format knows them, for its own views; `None` for another format.
    pub(crate) fn rules<R: Rules>(&self) -> Option<&R> {
        (&*self.rules as &dyn Any).downcast_ref()
    }

    /// Where an ask stands in what the format counts, in words: `round 2 of 6`.
    pub fn counter(&self, ask: &AskId) -> String {
        self.rules.counter(ask)
    }

    /// The phase that a turn belongs to, where the format's phases have names.
    pub fn phase(&self, turn: u32) -> Option<Arc<str>> {
        self.rules.phase(turn)
    }

    /// After how many rounds or beats it ends at the latest, where its format counts them.
    pub fn bound(&self) -> Option<u32> {
        self.rules.bound()
    }

    /// How the reply to an ask reads while it arrives; `None` where nobody is to hear it.
    pub fn hearing(&self, ask: &AskId) -> Option<Hearing> {
        self.rules.hearing(&self.stage, ask)
    }

    /// Where the clip of a line lies within the session's folder: folders, then the file's name without its
    /// ending. Empty where the format has no wish.
    pub fn clip_place(&self, line: &Line) -> Vec<String> {
        self.rules.clip_place(&self.stage, line)
    }

    /// What is to be done, whether or not it is under way already. Safe to call at any time, any number
    /// of times: it changes nothing.
    pub fn next(&self) -> Vec<Step> {
        if self.stage.ended().is_some() || !self.stage.unread().is_empty() {
            return Vec::new();
        }
        let mut steps: Vec<Step> = self.stage.wanted_clips().map(Step::Speak).collect();
        steps.extend(self.stage.wanted_narrations().map(Step::Narrate));
        match self.rules.wants(&self.stage) {
            Wants::End(reason) => self.end_when_idle(reason, &mut steps),
            Wants::Turns { asks, people } => {
                if self.ask_within_limits(asks, None, &mut steps) {
                    steps.extend(people.into_iter().map(Step::AwaitHuman));
                }
            }
            Wants::Epilogue(places, reason) => {
                self.ask_within_limits(places, Some(reason), &mut steps);
            }
        }
        steps
    }

    /// The people who are waited for, whatever else goes on.
    pub fn awaited(&self) -> Vec<Awaited> {
        if self.stage.ended().is_some() || !self.stage.unread().is_empty() {
            return Vec::new();
        }
        match self.rules.wants(&self.stage) {
            Wants::Turns { people, .. } => people,
            Wants::Epilogue(..) | Wants::End(_) => Vec::new(),
        }
    }

    /// What a person who is waited for is asked, where their format asks more than to go on.
    pub fn asked(&self, who: &PersonId) -> Option<String> {
        self.rules.asked(&self.stage, who)
    }

    /// The asks as far as the limits let them, and whether they let all of them. What is under way may finish; nothing
    /// new begins, and it ends with the limit's reason, unless it has one of its own already.
    fn ask_within_limits(&self, places: Vec<Place>, over: Option<Reason>, steps: &mut Vec<Step>) -> bool {
        let mut committed = self.stage.committed();
        for place in places {
            let ask = self.ask(self.stage.ask_at(place));
            if !self.stage.is_open(&ask.id)
                && let Err(limit) = self.stage.commit(&ask, &mut committed)
            {
                self.end_when_idle(over.unwrap_or(limit), steps);
                return false;
            }
            steps.push(Step::Ask(ask));
        }
        true
    }

    /// The format writes the request. What holds for every ask is added: the session's seed, and more room for an
    /// answer that broke off for want of it.
    fn ask(&self, id: AskId) -> Ask {
        let mut request = self.rules.request(&self.stage, &id);
        request.sampling.seed = Some(self.stage.setup().seed);
        if self.stage.has_more_room(&id) {
            request.sampling.max_output_tokens = Some(request.more_output_tokens());
        }
        Ask { id, request }
    }

    fn end_when_idle(&self, reason: Reason, steps: &mut Vec<Step>) {
        if steps.is_empty() && !self.stage.anything_open() {
            steps.push(Step::End(reason));
        }
    }

    /// What is recorded when a step is taken up.
    pub fn begin(&self, step: &Step) -> Vec<Event> {
        match step {
            Step::Ask(ask) if !self.stage.is_open(&ask.id) => vec![Event::Asked {
                ask: ask.id.clone(),
                digest: ask.request.digest(),
                estimate: self.stage.estimate(ask),
            }],
            Step::Ask(_) | Step::Speak(_) | Step::Narrate(_) | Step::AwaitHuman(_) => Vec::new(),
            Step::End(reason) => vec![self.ended(*reason)],
        }
    }

    /// What an input means. Decides, changes nothing.
    pub fn on(&self, input: Input) -> Result<Vec<Event>, Rejected> {
        if let Some(what) = self.stage.unread().first() {
            return Err(Rejected::Unread(what.clone()));
        }
        if let Input::ResumePressed { change } = input {
            return self.on_resume(change);
        }
        if let Input::HumanSaid { who, text, origin: Origin { key: Some(key), .. } } = &input
            && let Some(said) = self.stage.said_with(key)
        {
            // Said before: once is enough, whatever has become of the session since.
            return if said == (who, &**text) { Ok(Vec::new()) } else { Err(Rejected::KeyUsed) };
        }
        if let Some(reason) = self.stage.ended() {
            return match input {
                Input::HumanSaid { who, text, origin } => {
                    self.on_human_after(reason, who, text, origin, Change::default())
                }
                Input::Reopened { who, text, change } => {
                    self.on_human_after(reason, who, text, Origin::default(), change)
                }
                Input::Proposed { decision } => self.on_proposal(&decision),
                _ => Err(Rejected::Ended(reason)),
            };
        }
        match input {
            Input::Answered { ask, answer } => self.on_answer(ask, answer),
            Input::AskFailed { ask, failure, usage, retries } => {
                self.must_be_open(&ask)?;
                let follows = self.rules.on(&self.stage, Happened::Failed { ask: &ask, failure: &failure })?;
                Ok(followed(Event::AskFailed { ask, failure, usage, retries }, follows.events))
            }
            Input::ClipMade { line, clip } => {
                self.must_want_clip(line)?;
                let follows = self.rules.on(&self.stage, Happened::Clipped { line, is_made: true })?;
                Ok(followed(Event::ClipMade { line, clip }, follows.events))
            }
            Input::ClipFailed { line, error } => {
                self.must_want_clip(line)?;
                let follows = self.rules.on(&self.stage, Happened::Clipped { line, is_made: false })?;
                Ok(followed(Event::ClipFailed { line, error }, follows.events))
            }
            Input::Narrated { of, clip } => {
                self.must_want_narration(of)?;
                Ok(vec![Event::Narrated { of, clip }])
            }
            Input::NotNarrated { of, error } => {
                self.must_want_narration(of)?;
                Ok(vec![Event::NarrationFailed { of, error }])
            }
            Input::HumanSaid { who, text, origin } => self.on_human(who, text, origin),
            Input::Reopened { who, text, .. } => self.on_human(who, text, Origin::default()),
            Input::Absent(awaited) => self.on_absence(&awaited),
            Input::Proposed { decision } => self.on_proposal(&decision),
            Input::Halted { why, cut } => Ok(self.on_halt(why, cut)),
            Input::ResumePressed { .. } => unreachable!("handled above"),
        }
    }

    /// Folds one record: the only thing that changes a conversation.
    pub fn apply(&mut self, record: &Record) {
        self.stage.apply(record);
        self.rules.apply(&mut self.stage, record);
    }

    fn on_answer(&self, ask: AskId, answer: Answer) -> Result<Vec<Event>, Rejected> {
        self.must_be_open(&ask)?;
        let mut usage = answer.usage.unwrap_or_else(|| self.estimate(&ask, &answer.text));
        usage += answer.wasted;
        let Answer { text, retries, is_full, drafts, .. } = answer;
        let reaction = self.rules.on(&self.stage, Happened::Answered { ask: &ask, text: &text, is_full })?;
        let repairs = reaction.repairs;
        let is_edited = false;
        let answered = Event::Answered { ask, text, usage, retries, repairs, is_full, is_edited, drafts };
        Ok(followed(answered, reaction.events))
    }

    /// What it means that an agent's line reads so: its format writes the reply that brings these words, and reads it
    /// like any other. `ask` is what the reply answers.
    pub(crate) fn on_edit(&self, ask: AskId, line: &Line, reply: &str, words: &str) -> Result<Vec<Event>, Rejected> {
        Self::must_be_words(words, Self::MAX_MESSAGE_CHARS)?;
        let text: Arc<str> = self.rules.reworded(line, reply, words).into();
        let (usage, retries, is_full, is_edited) = (Usage::default(), 0, false, true);
        let Reaction { repairs, events } =
            self.rules.on(&self.stage, Happened::Answered { ask: &ask, text: &text, is_full })?;
        let drafts = None;
        Ok(followed(Event::Answered { ask, text, usage, retries, repairs, is_full, is_edited, drafts }, events))
    }

    /// What it means that a person's line reads so. They spoke here before, so they may.
    pub(crate) fn on_human_edit(&self, who: PersonId, words: &str, origin: Origin) -> Result<Vec<Event>, Rejected> {
        self.must_be_sayable(&who, words)?;
        self.on_words(who, words.into(), origin)
    }

    /// How a line reads with other words, as its speaker would have written it.
    pub(crate) fn reworded(&self, line: &Line, reply: &str, words: &str) -> String {
        self.rules.reworded(line, reply, words)
    }

    /// What it means that the agents are told this.
    pub(crate) fn on_note(&self, note: &Note) -> Result<Vec<Event>, Rejected> {
        self.rules.noted(&self.stage, note)
    }

    fn on_human(&self, who: PersonId, text: Arc<str>, origin: Origin) -> Result<Vec<Event>, Rejected> {
        self.must_be_sayable(&who, &text)?;
        self.rules.may_speak(&self.stage, &who)?;
        self.on_words(who, text, origin)
    }

    /// What a person's words mean: a line, or the answer of somebody who plays a part.
    fn on_words(&self, who: PersonId, text: Arc<str>, origin: Origin) -> Result<Vec<Event>, Rejected> {
        let follows = self.rules.on(&self.stage, Happened::Heard { who: &who, text: &text })?;
        let ask = self.rules.turn_of(&self.stage, &who);
        Ok(followed(Event::HumanSpoke { who, text, origin, ask }, follows.events))
    }

    /// Only who is waited for can be passed over: the words of a person who was faster count.
    fn on_absence(&self, awaited: &Awaited) -> Result<Vec<Event>, Rejected> {
        let is_awaited = match self.rules.wants(&self.stage) {
            Wants::Turns { people, .. } => people.contains(awaited),
            Wants::Epilogue(..) | Wants::End(_) => false,
        };
        if !is_awaited {
            return Err(Rejected::NotAwaited(awaited.who.clone()));
        }
        Ok(self.rules.on(&self.stage, Happened::Absent { who: &awaited.who })?.events)
    }

    fn on_proposal(&self, decision: &Decision) -> Result<Vec<Event>, Rejected> {
        Ok(self.rules.on(&self.stage, Happened::Proposed(decision))?.events)
    }

    /// A person speaks when all is over: some formats begin again with that.
    fn on_human_after(
        &self,
        reason: Reason,
        who: PersonId,
        text: Arc<str>,
        origin: Origin,
        mut change: Change,
    ) -> Result<Vec<Event>, Rejected> {
        self.rules.may_reopen(&self.stage, reason)?;
        self.must_be_sayable(&who, &text)?;
        change.must_rewrite_nothing()?;
        self.check_change(&change)?;
        // A new message is spoken as the session was set up, unless the person says otherwise.
        let speech = change.speech.unwrap_or(self.stage.setup().speech);
        change.speech = (speech != self.stage.speaks()).then_some(speech);
        let resumed = Event::Resumed { version: VERSION, change, lost: Vec::new() };
        Ok(vec![resumed, Event::HumanSpoke { who, text, origin, ask: None }])
    }

    fn must_be_sayable(&self, who: &PersonId, text: &str) -> Result<(), Rejected> {
        match self.stage.cast().people().contains(who) {
            true => Self::must_be_words(text, Self::MAX_MESSAGE_CHARS),
            false => Err(Rejected::NotInCast(who.clone())),
        }
    }

    pub(crate) fn must_be_words(text: &str, most: usize) -> Result<(), Rejected> {
        let chars = text.chars().count();
        if text.trim().is_empty() {
            Err(Rejected::EmptyMessage)
        } else if chars > most {
            Err(Rejected::TooLong(chars, most))
        } else {
            Ok(())
        }
    }

    fn on_halt(&self, why: Halt, mut cut: Vec<Cut>) -> Vec<Event> {
        let reason = match (why, self.rules.wants(&self.stage)) {
            (Halt::StopPressed, _) => Reason::CANCELLED,
            // It had come to its own end: only clips and memories were still being made.
            (Halt::TimeIsUp | Halt::DayIsSpent, Wants::End(reason) | Wants::Epilogue(_, reason)) => reason,
            (Halt::DayIsSpent, Wants::Turns { .. }) => Reason::LIMIT_USD,
            (Halt::TimeIsUp, Wants::Turns { .. }) => Reason::LIMIT_SECONDS,
        };
        let mut events = Vec::with_capacity(cut.len() + 1);
        for Lost { ask, usage: at_most } in self.stage.lost() {
            let known = cut.iter().position(|cut| cut.ask == ask).map(|at| cut.swap_remove(at));
            let (partial, usage) = match known {
                Some(Cut { partial, usage, .. }) => {
                    let usage = usage.unwrap_or_else(|| self.estimate(&ask, &partial));
                    (partial, usage)
                }
                // The process that sent it is gone.
                None => (Arc::default(), at_most),
            };
            events.push(Event::AskCut { ask, partial, usage });
        }
        let mut ended = self.ended(reason);
        if let (Halt::DayIsSpent, Reason::LIMIT_USD, Event::Ended { notice: Some(notice), .. }) =
            (why, reason, &mut ended)
        {
            // The format names the session's own limit, which is not in the way.
            let own = self.stage.limit_in_words(reason).unwrap_or_default();
            *notice = notice.replace(&own, "what all sessions together may cost in a day is spent").into();
        }
        events.push(ended);
        events
    }

    /// Whether a session could have been set up so. What a resume or a fork changes is held to the same bounds.
    pub(crate) fn check_change(&self, change: &Change) -> Result<(), BadSetup> {
        change.check(self.stage.cast())?;
        match (change.max_rounds, self.rules.most()) {
            (Some(rounds), Some(most)) if !(1..=most).contains(&rounds) => Err(BadSetup::Rounds(rounds, most)),
            _ => Ok(()),
        }
    }

    fn on_resume(&self, change: Change) -> Result<Vec<Event>, Rejected> {
        change.must_rewrite_nothing()?;
        self.check_change(&change)?;
        if let Some(reason) = self.stage.ended()
            && !(reason == Reason::LIMIT_USD && self.can_pay())
        {
            self.rules.may_resume(&self.stage, reason, &change)?;
        }
        let follows = self.goes_on(&change);
        // Whoever resumes a session is alone with it: what is open was sent by a process that is gone.
        let lost = self.stage.lost().collect();
        Ok(followed(Event::Resumed { version: VERSION, change, lost }, follows))
    }

    /// Whether the session's own limits leave room for what is next: then it was ended by what all sessions together
    /// may cost in a day, and that is another day's question.
    fn can_pay(&self) -> bool {
        let mut committed = self.stage.committed();
        match self.rules.wants(&self.stage) {
            Wants::Turns { asks, .. } if !asks.is_empty() => asks.into_iter().all(|place| {
                let ask = self.ask(self.stage.ask_at(place));
                self.stage.commit(&ask, &mut committed).is_ok()
            }),
            Wants::Turns { .. } | Wants::Epilogue(..) | Wants::End(_) => false,
        }
    }

    /// What follows from a resume or a fork with this change.
    pub(crate) fn goes_on(&self, change: &Change) -> Vec<Event> {
        self.rules.goes_on(&self.stage, change)
    }

    fn ended(&self, reason: Reason) -> Event {
        Event::Ended { reason, notice: self.rules.notice(&self.stage, reason) }
    }

    /// The usage of a call whose provider did not say: all that was sent, and what came.
    fn estimate(&self, ask: &AskId, reply: &str) -> Usage {
        let sent = self.stage.estimate_of(ask).unwrap_or_default();
        Usage { output: estimate_tokens(reply), estimated: true, ..sent }
    }

    fn must_be_open(&self, ask: &AskId) -> Result<(), Rejected> {
        if self.stage.is_open(ask) { Ok(()) } else { Err(Rejected::NotAsked(ask.clone())) }
    }

    fn must_want_narration(&self, of: Seq) -> Result<(), Rejected> {
        if self.stage.wanted_narrations().any(|wanted| wanted == of) { Ok(()) } else { Err(Rejected::NotToNarrate(of)) }
    }

    fn must_want_clip(&self, line: LineId) -> Result<(), Rejected> {
        if self.stage.wanted_clips().any(|wanted| wanted == line) { Ok(()) } else { Err(Rejected::NoSuchClip(line)) }
    }
}

/// An event, and what follows from it.
fn followed(event: Event, follows: Vec<Event>) -> Vec<Event> {
    let mut events = Vec::with_capacity(1 + follows.len());
    events.push(event);
    events.extend(follows);
    events
}

/// Records that are no session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAJournal {
    #[error("the journal does not begin with the start of a session")]
    Empty,
    #[error("the journal has a gap after record {after}")]
    Gap { after: Seq },
    #[error(transparent)]
    BadSetup(#[from] BadSetup),
}
