//! What is being written and not recorded yet: kept for as long as the ask is open, so that whoever listens gets what
//! is new since it last looked, however late it looks. Nothing queues up, and nothing is lost but the moments between.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
};

use polylogue_core::{
    Event, Record,
    format::Hearing,
    id::{AskId, Seq},
};
use tokio::sync::watch;

use super::{Channel, Open, Published};
use crate::port::{Deltas, Spoken};

/// An ask that is open, as those who watch see it.
#[derive(Debug)]
pub(super) struct Arriving {
    source: Source,
    pub(super) waits_for: Option<Arc<str>>,
    words: Arc<str>,
}

/// Where the words come from.
#[derive(Debug)]
enum Source {
    /// The ask is performed here. There is no hearing where nobody is to hear the words.
    Here {
        deltas: Deltas,
        hearing: Option<Hearing>,
        /// Which state of the text the words were read from.
        read_at: u64,
    },
    /// Another process performs it, and sends pieces of a text with this mark.
    Elsewhere { mark: Option<u64> },
}

impl Arriving {
    pub(super) fn new(deltas: Deltas, hearing: Option<Hearing>) -> Arriving {
        Arriving { source: Source::Here { deltas, hearing, read_at: 0 }, waits_for: None, words: "".into() }
    }

    /// An ask of which nothing has been heard yet.
    pub(super) fn elsewhere() -> Arriving {
        Arriving { source: Source::Elsewhere { mark: None }, waits_for: None, words: "".into() }
    }

    pub(super) fn is_here(&self) -> bool {
        matches!(self.source, Source::Here { .. })
    }

    /// The words as they stand. They are read once, however many listen.
    pub(super) fn words(&mut self) -> Arc<str> {
        if let Source::Here { deltas, hearing: Some(hearing), read_at } = &mut self.source
            && *read_at != deltas.changes()
        {
            (*read_at, self.words) = deltas.read(|changes, text| (changes, hearing.words(text).into()));
        }
        self.words.clone()
    }

    /// Adds a piece that was written elsewhere. Tells whether it fits what is there; if not, a piece is missing.
    pub(super) fn hear(&mut self, spoken: Spoken) -> bool {
        let Source::Elsewhere { mark } = &mut self.source else { return true };
        self.waits_for = spoken.waits_for;
        let known = if *mark == Some(spoken.mark) { &*self.words } else { "" };
        let Some(before) = known.get(..spoken.from) else { return false };
        // An answer to somebody else may begin before what is known here, and is never shorter.
        if *mark != Some(spoken.mark) || before.len() + spoken.text.len() > known.len() {
            self.words = format!("{before}{}", spoken.text).into();
        }
        *mark = Some(spoken.mark);
        true
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
    /// The last record that the listener has heard, where it is to hear every record before the words that follow it.
    heard: Option<Seq>,
}

impl Ear {
    pub(super) fn new(channel: Arc<Channel>) -> Ear {
        let stirred = channel.stirred.subscribe();
        let met = channel.open().asks.keys().cloned().collect();
        if channel.ears.fetch_add(1, Ordering::SeqCst) == 0 {
            channel.first_ear.notify_one();
        }
        let (words, waits, over) = Default::default();
        Ear { channel, stirred, met, words, waits, over, heard: None }
    }

    /// The same for a listener who has heard the records up to this place. Here records are told before the words that
    /// follow them; from elsewhere they may come later.
    pub(super) fn after(mut self, heard: Seq) -> Ear {
        self.heard = Some(heard);
        self
    }

    /// A record that the listener has heard.
    pub(crate) fn on(&mut self, record: &Record) {
        self.heard = self.heard.map(|_| record.seq);
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
            let mut open = self.channel.open();
            open.closed = open.closed.max(record.seq);
            match open.asks.get(ask) {
                Some(arriving) if arriving.is_here() => drop(self.over.insert(ask.clone())),
                // Nobody here says that it is over.
                Some(_) => drop(open.asks.remove(ask)),
                None => {}
            }
        }
    }

    /// What is new since the listener last looked.
    pub(crate) fn next(&mut self) -> Option<Published> {
        self.stirred.mark_unchanged();
        let mut open = self.channel.open();
        let Open { asks, heard_at, .. } = &mut *open;
        let is_behind = self.heard.is_some_and(|heard| heard < *heard_at);
        for (ask, arriving) in asks.iter_mut().filter(|(ask, _)| !self.over.contains(*ask)) {
            if is_behind && !arriving.is_here() {
                continue;
            }
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

    /// Hears the session wherever it runs.
    pub(crate) fn listen_elsewhere(&self) {
        self.channel.listen_elsewhere();
    }

    /// Whether anybody runs the session here.
    pub(crate) fn is_run(&self) -> bool {
        self.channel.is_run()
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.channel.ears.fetch_sub(1, Ordering::SeqCst);
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
        | Event::Narrated { .. }
        | Event::NarrationFailed { .. }
        | Event::HumanSpoke { .. }
        | Event::Decided(_)
        | Event::Ended { .. } => None,
    }
}
