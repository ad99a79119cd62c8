//! What is being written and not recorded yet: kept for as long as the ask is open, so that whoever listens gets what
//! is new since it last looked, however late it looks. Nothing queues up, and nothing is lost but the moments between.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use polylogue_core::{Event, Record, format::Hearing, id::AskId};
use tokio::sync::watch;

use super::{Channel, Published};
use crate::port::Deltas;

/// An ask that is open, as those who watch see it.
#[derive(Debug)]
pub(super) struct Arriving {
    deltas: Deltas,
    /// `None` where nobody is to hear the words.
    hearing: Option<Hearing>,
    pub(super) waits_for: Option<Arc<str>>,
    /// The words, and which state of the text they were read from.
    words: (u64, Arc<str>),
}

impl Arriving {
    pub(super) fn new(deltas: Deltas, hearing: Option<Hearing>) -> Arriving {
        Arriving { deltas, hearing, waits_for: None, words: (0, "".into()) }
    }

    /// The words as they stand. They are read once, however many listen.
    fn words(&mut self) -> Arc<str> {
        let Some(hearing) = &self.hearing else { return self.words.1.clone() };
        if self.words.0 != self.deltas.changes() {
            self.words = self.deltas.read(|changes, text| (changes, hearing.words(text).into()));
        }
        self.words.1.clone()
    }
}

/// What one listener has been told of the asks that are open.
#[derive(Debug)]
pub(crate) struct Ear {
    channel: Arc<Channel>,
    stirred: watch::Receiver<()>,
    /// Asks that were under way when the listener came.
    met: BTreeSet<AskId>,
    /// The words that were told. An ask that is not in here begins with all that there is of it.
    words: BTreeMap<AskId, Arc<str>>,
    waits: BTreeMap<AskId, Arc<str>>,
    /// Asks that are over by the journal, though the channel does not know yet.
    over: BTreeSet<AskId>,
}

impl Ear {
    pub(super) fn new(channel: Arc<Channel>) -> Ear {
        let stirred = channel.stirred.subscribe();
        let met = channel.open().keys().cloned().collect();
        let (words, waits, over) = Default::default();
        Ear { channel, stirred, met, words, waits, over }
    }

    /// A record that the listener has heard.
    pub(crate) fn on(&mut self, record: &Record) {
        if let Event::Asked { ask, .. } = &record.event {
            self.over.remove(ask);
            if !self.met.contains(ask) {
                self.words.insert(ask.clone(), "".into());
            }
        }
        if let Some(ask) = closed_by(&record.event) {
            self.met.remove(ask);
            self.words.remove(ask);
            self.waits.remove(ask);
            if self.channel.open().contains_key(ask) {
                self.over.insert(ask.clone());
            }
        }
    }

    /// What is new since the listener last looked.
    pub(crate) fn next(&mut self) -> Option<Published> {
        self.stirred.mark_unchanged();
        let mut open = self.channel.open();
        for (ask, arriving) in open.iter_mut().filter(|(ask, _)| !self.over.contains(*ask)) {
            if self.waits.get(ask) != arriving.waits_for.as_ref() {
                let what = arriving.waits_for.clone();
                match &what {
                    Some(what) => self.waits.insert(ask.clone(), what.clone()),
                    None => self.waits.remove(ask),
                };
                return Some(Published::Waiting { ask: ask.clone(), what });
            }
            let words = arriving.words();
            let told = self.words.get(ask);
            if told.map_or("", |told| told) == &*words {
                continue;
            }
            let more = told.and_then(|told| words.strip_prefix(&**told)).map(Arc::from);
            let (ask, is_restart) = (ask.clone(), more.is_none());
            self.words.insert(ask.clone(), words.clone());
            return Some(Published::Delta { ask, text: more.unwrap_or(words), is_restart });
        }
        None
    }

    /// Waits until there may be something new.
    pub(crate) async fn stirred(&mut self) {
        // The channel is held here, so its sender is there.
        let _ = self.stirred.changed().await;
    }

    /// Whether anybody runs the session here.
    pub(crate) fn is_run(&self) -> bool {
        self.channel.is_run()
    }
}

/// The ask that is over with this event.
pub(super) fn closed_by(event: &Event) -> Option<&AskId> {
    match event {
        Event::Answered { ask, .. } | Event::AskFailed { ask, .. } | Event::AskCut { ask, .. } => Some(ask),
        Event::Started { .. }
        | Event::Forked { .. }
        | Event::Resumed { .. }
        | Event::Asked { .. }
        | Event::LineSpoken { .. }
        | Event::LineCut { .. }
        | Event::ClipMade { .. }
        | Event::ClipFailed { .. }
        | Event::HumanSpoke { .. }
        | Event::Decided(_)
        | Event::Ended { .. } => None,
    }
}
