//! What every format stands on: cast, transcript, ledger, limits, the asks that are open, the time spent.
//! Folded from the journal, never stored.

mod limits;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub use self::limits::Allowance;
use crate::{
    event::{Event, Lost, Record},
    format::Place,
    id::{AgentId, AskId, LineId, PersonId, Seq, SessionId},
    ledger::{Ledger, Usage},
    line::{ClipState, Delivery, Line, LineKind, Speaker, Transcript},
    money::{Money, Price},
    narration::{self, Narration, Narrations},
    prompt::Templates,
    reason::Reason,
    setup::{BadSetup, Cast, Change, Limits, Setup},
    text::language::{self, Language},
    time::Timestamp,
};

/// The common state of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    setup: Arc<Setup>,
    cast: Cast,
    limits: Limits,
    templates: Templates,
    head: Seq,
    transcript: Transcript,
    ledger: Ledger,
    open: Vec<Open>,
    /// The most that an ask was expected to cost so far.
    dearest_ask: Money,
    /// Asks at a place that came to nothing.
    spent_attempts: BTreeMap<Place, u32>,
    /// Places where an answer broke off at the output limit.
    full: BTreeSet<Place>,
    /// Whether lines become clips.
    speaks: bool,
    wanted_clips: BTreeSet<LineId>,
    /// Who said what with a key, by the key.
    keys: BTreeMap<Arc<str>, (PersonId, Arc<str>)>,
    /// What the narrator reads, where the format has one.
    narrations: Narrations,
    failures: Vec<Failure>,
    forked_from: Option<(SessionId, Seq)>,
    started_at: Timestamp,
    last_at: Timestamp,
    active_ms: u64,
    /// Whether a person is waited for, and nothing else.
    is_waiting: bool,
    ended: Option<Reason>,
    /// What a newer version wrote and this one cannot read, each once.
    unread: Vec<String>,
}

/// An ask that was sent and has no answer yet.
#[derive(Clone, Debug, PartialEq)]
struct Open {
    ask: AskId,
    estimate: Usage,
    cost: Money,
}

/// A line as it is said, before it has its place.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) speaker: Speaker,
    pub(crate) kind: LineKind,
    pub(crate) text: Arc<str>,
    pub(crate) ask: Option<AskId>,
    pub(crate) to: Option<AgentId>,
    pub(crate) voice: Option<Arc<str>>,
    pub(crate) delivery: Delivery,
}

impl Words {
    pub(crate) fn of(speaker: Speaker, kind: LineKind, text: Arc<str>) -> Words {
        Words { speaker, kind, text, ask: None, to: None, voice: None, delivery: Delivery::default() }
    }
}

/// A call that failed for good.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub seq: Seq,
    pub ask: AskId,
    pub failure: crate::event::CallFailure,
}

impl Stage {
    /// The stage before anything has happened on it.
    pub(crate) fn new(setup: Arc<Setup>, started: &Record) -> Result<Stage, BadSetup> {
        let at = started.at;
        let mut stage = Stage {
            cast: setup.cast.clone(),
            limits: setup.limits,
            templates: Templates::new(&setup.templates)?,
            head: Seq::START.next(),
            transcript: Transcript::default(),
            ledger: Ledger::default(),
            open: Vec::new(),
            dearest_ask: Money::ZERO,
            spent_attempts: BTreeMap::new(),
            full: BTreeSet::new(),
            speaks: setup.speech,
            wanted_clips: BTreeSet::new(),
            narrations: Narrations::default(),
            keys: BTreeMap::new(),
            failures: Vec::new(),
            forked_from: None,
            started_at: at,
            last_at: at,
            active_ms: 0,
            is_waiting: false,
            ended: None,
            unread: Vec::new(),
            setup,
        };
        stage.note_unread(started);
        Ok(stage)
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The cast as it is now: a resumed or forked session may have other models than it was set up with.
    pub fn cast(&self) -> &Cast {
        &self.cast
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn head(&self) -> Seq {
        self.head
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    pub fn forked_from(&self) -> Option<(SessionId, Seq)> {
        self.forked_from
    }

    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    pub fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// Why the session ended; `None` while it can go on.
    pub fn ended(&self) -> Option<Reason> {
        self.ended
    }

    /// What a newer version wrote and this one cannot read, in words. Such a session is shown and not gone on with.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Milliseconds that the session has been running, the pauses left out.
    pub fn active_ms(&self) -> u64 {
        self.active_ms
    }

    /// Whether the session waits for a person: nobody's time runs then, and nobody is asked.
    pub fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// When the session's time is up, if nothing happens before; a person may take as long as they like.
    pub fn deadline(&self) -> Option<Timestamp> {
        let left_ms = self.limits.max_seconds.saturating_mul(1000).saturating_sub(self.active_ms);
        (!self.is_waiting).then(|| self.last_at.plus_ms(left_ms))
    }

    /// Who said what with this key.
    pub(crate) fn said_with(&self, key: &str) -> Option<(&PersonId, &str)> {
        self.keys.get(key).map(|(who, text)| (who, &**text))
    }

    pub(crate) fn templates(&self) -> &Templates {
        &self.templates
    }

    /// Whether lines become clips from here on.
    pub fn speaks(&self) -> bool {
        self.speaks
    }

    /// The clips that are to be made. Those of a session that has fallen silent wait until it speaks again.
    pub(crate) fn wanted_clips(&self) -> impl Iterator<Item = LineId> + '_ {
        self.wanted_clips.iter().copied().filter(|_| self.speaks)
    }

    /// What the narrator reads, in the order of the records that it tells of.
    pub fn narrations(&self) -> &[Narration] {
        self.narrations.all()
    }

    /// What the narrator reads of this record.
    pub fn narration(&self, of: Seq) -> Option<&Narration> {
        self.narrations.get(of)
    }

    /// What is still to be read, like the clips that are to be made.
    pub(crate) fn wanted_narrations(&self) -> impl Iterator<Item = Seq> + '_ {
        self.narrations.wanted().filter(|_| self.speaks)
    }

    /// The narrator tells this of a record, in a session that speaks.
    pub(crate) fn narrate(&mut self, of: Seq, turn: Option<u32>, text: &str) {
        if self.speaks {
            self.narrations.tell(of, turn, text);
        }
    }

    /// In which language a text of this session is spoken.
    pub fn language_of(&self, text: &str) -> Language {
        let said = self.transcript.lines().iter().rev().filter(|line| line.kind.is_spoken() || line.ask.is_none());
        let personas = self.cast.agents().iter().filter_map(|agent| agent.persona.as_deref());
        language::of_line(self.setup.format.language(), text, said.map(|line| &*line.text).chain(personas))
    }

    pub(crate) fn is_open(&self, ask: &AskId) -> bool {
        self.open.iter().any(|open| open.ask == *ask)
    }

    pub(crate) fn anything_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The asks that are open, at the most that each can have used. They are lost if their process is gone.
    pub(crate) fn lost(&self) -> impl Iterator<Item = Lost> {
        self.open.iter().map(|open| Lost { ask: open.ask.clone(), usage: open.estimate })
    }

    /// What an open ask was expected to use at most when it was sent.
    pub fn estimate_of(&self, ask: &AskId) -> Option<Usage> {
        self.open.iter().find(|open| open.ask == *ask).map(|open| open.estimate)
    }

    /// What an agent's model charges now; `None` when nobody knows.
    pub fn price_of(&self, agent: &AgentId) -> Option<Price> {
        self.cast.agent(agent).and_then(|agent| agent.price)
    }

    pub(crate) fn ask_at(&self, place: Place) -> AskId {
        let attempt = self.spent_attempts.get(&place).copied().unwrap_or(0) + 1;
        AskId { purpose: place.purpose, turn: place.turn, agent: place.agent, attempt }
    }

    /// Whether an ask has a higher output limit, because an earlier answer at its place broke off.
    pub(crate) fn has_more_room(&self, ask: &AskId) -> bool {
        !self.full.is_empty() && self.full.contains(&Place::of(ask))
    }

    pub(crate) fn apply(&mut self, record: &Record) {
        self.keep_time(record);
        self.head = record.seq;
        self.note_unread(record);
        match &record.event {
            Event::Started { .. } | Event::Decided(_) => {}
            Event::Forked { from, at, change, .. } => {
                // What was spent before the fork was spent by the other session.
                self.ledger = Ledger::default();
                self.active_ms = 0;
                self.started_at = record.at;
                self.forked_from = Some((*from, *at));
                self.keys.clear();
                self.go_on(change);
            }
            Event::Resumed { change, lost, .. } => {
                // By the prices under which they were sent.
                lost.iter().for_each(|lost| self.charge(&lost.ask, &lost.usage));
                self.go_on(change);
            }
            Event::Asked { ask, estimate, .. } => {
                self.close(ask);
                let cost = self.cost_of(&ask.agent, estimate);
                self.dearest_ask = self.dearest_ask.max(cost);
                self.open.push(Open { ask: ask.clone(), estimate: *estimate, cost });
            }
            Event::Answered { ask, usage, is_full, is_edited, .. } => {
                if *is_full {
                    self.full.insert(Place::of(ask));
                }
                self.close(ask);
                // No model was asked for a person's words.
                if !is_edited {
                    self.charge(ask, usage);
                }
            }
            Event::AskFailed { ask, failure, usage, .. } => {
                self.failures.push(Failure { seq: record.seq, ask: ask.clone(), failure: failure.clone() });
                self.give_up(ask, usage);
            }
            Event::AskCut { ask, usage, .. } => self.give_up(ask, usage),
            Event::LineSpoken { speaker, kind, text, ask, to, voice, delivery } => {
                self.say(
                    record,
                    Words {
                        ask: ask.clone(),
                        to: to.clone(),
                        voice: voice.clone(),
                        delivery: delivery.clone(),
                        ..Words::of(speaker.clone(), *kind, text.clone())
                    },
                );
            }
            Event::LineCut { line, after, by } => self.transcript.cut(*line, after, by, record.seq),
            Event::ClipMade { line, clip } => {
                self.wanted_clips.remove(line);
                let speaker = self.transcript.get(*line).and_then(|line| line.speaker.name().parse().ok());
                if let (Some(bill), Some(speaker)) = (clip.billed, speaker) {
                    self.ledger.charge_speech(&speaker, bill.cost);
                }
                self.transcript.set_clip(*line, ClipState::Made(clip.clone()));
            }
            Event::ClipFailed { line, .. } => {
                self.wanted_clips.remove(line);
                self.transcript.set_clip(*line, ClipState::Failed);
            }
            Event::Narrated { of, clip } => {
                if let Some(bill) = clip.billed {
                    self.ledger.charge_speech(&narration::account(), bill.cost);
                }
                self.narrations.set(*of, ClipState::Made(clip.clone()));
            }
            Event::NarrationFailed { of, .. } => self.narrations.set(*of, ClipState::Failed),
            Event::HumanSpoke { who, text, origin, ask } => {
                if let Some(key) = &origin.key {
                    self.keys.insert(key.clone(), (who.clone(), text.clone()));
                }
                if ask.is_none() {
                    self.say(record, Words::of(Speaker::Person(who.clone()), LineKind::USER, text.clone()));
                }
            }
            Event::Ended { reason, notice } => {
                self.ended = Some(*reason);
                if let Some(notice) = notice {
                    self.say(record, Words::of(Speaker::Router, LineKind::ROUTER, notice.clone()));
                }
            }
        }
    }

    /// Adds a line at the place of the record that says it.
    pub(crate) fn say(&mut self, record: &Record, words: Words) {
        let Words { speaker, kind, text, ask, to, voice, delivery } = words;
        let id = self.transcript.next_id();
        let wanted = self.speaks && kind.is_spoken();
        if wanted {
            self.wanted_clips.insert(id);
        }
        let clip = if wanted { ClipState::Wanted } else { ClipState::Unspoken };
        let (seq, at) = (record.seq, record.at);
        let (cut_after, cut_at, cut_by) = (None, None, None);
        self.transcript.push(Line {
            id,
            seq,
            at,
            speaker,
            kind,
            to,
            text,
            ask,
            voice,
            delivery,
            cut_after,
            cut_at,
            cut_by,
            clip,
        });
    }

    /// The first person of the cast says this with the record that starts the session.
    pub(crate) fn open_with(&mut self, started: &Record, text: &Arc<str>) {
        if let Some(person) = self.cast.people().first().cloned() {
            self.say(started, Words::of(Speaker::Person(person), LineKind::USER, text.clone()));
        }
    }

    fn note_unread(&mut self, record: &Record) {
        if let Some(what) = record.event.unread()
            && !self.unread.contains(&what)
        {
            self.unread.push(what);
        }
    }

    /// The format says whether it waits for a person.
    pub(crate) fn set_waiting(&mut self, is_waiting: bool) {
        self.is_waiting = is_waiting;
    }

    /// Others take part from here on.
    pub(crate) fn set_cast(&mut self, cast: Cast) {
        self.cast = cast;
    }

    /// An ask was answered with what cannot be used: the next one at its place is another attempt.
    pub(crate) fn spend_attempt(&mut self, ask: &AskId) {
        *self.spent_attempts.entry(Place::of(ask)).or_insert(0) += 1;
    }

    fn keep_time(&mut self, record: &Record) {
        match record.event {
            // Between the last event before and one of these, nobody was running the session.
            Event::Started { .. } | Event::Resumed { .. } | Event::Forked { .. } => {}
            _ if self.is_waiting => {}
            _ => self.active_ms += record.at.since(self.last_at),
        }
        self.last_at = record.at;
    }

    /// Nothing is under way any more, and what ended is open again.
    fn go_on(&mut self, change: &Change) {
        self.open.clear();
        self.ended = None;
        if let Some(limits) = change.limits {
            self.limits = limits;
        }
        self.speaks = change.speech.unwrap_or(self.speaks);
        self.cast.go_on(change);
    }

    fn give_up(&mut self, ask: &AskId, usage: &Usage) {
        self.close(ask);
        if usage.total() > 0 {
            self.charge(ask, usage);
        }
        self.spend_attempt(ask);
    }

    fn close(&mut self, ask: &AskId) {
        self.open.retain(|open| open.ask != *ask);
    }

    fn charge(&mut self, ask: &AskId, usage: &Usage) {
        self.ledger.charge(ask, *usage, self.price_of(&ask.agent).as_ref());
    }

    fn cost_of(&self, agent: &AgentId, usage: &Usage) -> Money {
        self.price_of(agent).map(|price| price.of(usage)).unwrap_or_default()
    }
}
