//! The side that runs a session which somebody watches elsewhere: the words are sent there as they are written, for as
//! long as somebody says that they are wanted.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use polylogue_core::id::{AskId, SessionId};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::{Channel, Channels};
use crate::port::{Signal, Spoken, Topic, Words};

/// How long words are gathered before they are sent.
const GATHERING: Duration = Duration::from_millis(50);

/// How long words are sent after somebody has said that they are wanted.
const WANTED_FOR: Duration = Duration::from_secs(15);

/// That the words of a session are wanted elsewhere.
#[derive(Debug)]
pub(super) struct Wanted {
    until: Instant,
    /// Whether somebody needs all that there is, and not just what is new.
    is_whole: bool,
}

impl Channels {
    /// Somebody watches this session elsewhere. If it runs here, its words are sent from now on.
    pub(crate) fn wanted(&self, session: SessionId) {
        let channel = self.lock().get(&session).and_then(Weak::upgrade);
        let Some(channel) = channel.filter(|channel| channel.is_run()) else { return };
        let wanted = Wanted { until: Instant::now() + WANTED_FOR, is_whole: true };
        if channel.wanted().replace(wanted).is_none() {
            tokio::spawn(forward(Arc::downgrade(&channel), channel.stirred.subscribe()));
        } else {
            channel.stirred.send_modify(|()| {});
        }
    }
}

/// What was sent of each ask: the mark of its text, the text, and what the ask waited for.
type Sent = BTreeMap<AskId, (u64, Arc<str>, Option<Arc<str>>)>;

async fn forward(channel: Weak<Channel>, mut stirred: watch::Receiver<()>) {
    let mut sent = Sent::new();
    loop {
        {
            let Some(channel) = channel.upgrade() else { return };
            let mut wanted = channel.wanted();
            let is_wanted = |wanted: &&mut Wanted| channel.is_run() && wanted.until > Instant::now();
            let Some(still) = wanted.as_mut().filter(is_wanted) else {
                *wanted = None;
                return;
            };
            let is_whole = std::mem::take(&mut still.is_whole);
            drop(wanted);
            // What stirs from now on is sent the next time.
            stirred.mark_unchanged();
            if let Some(words) = channel.spoken(&mut sent, is_whole) {
                channel.channels.signals.send(&Topic::Session(channel.session), Signal::Words(words));
            }
        }
        sleep(GATHERING).await;
        // Where nothing stirs for so long it is looked whether anybody still wants to hear.
        if let Ok(Err(_)) = timeout(WANTED_FOR, stirred.changed()).await {
            return;
        }
    }
}

impl Channel {
    /// What is new of the asks that are open, or all of it; nothing when nothing is new.
    fn spoken(&self, sent: &mut Sent, is_whole: bool) -> Option<Words> {
        let mut open = self.open();
        let head = open.head;
        let mut is_new = is_whole || open.asks.len() != sent.len();
        let mut now_sent = Sent::new();
        let mut asks = Vec::with_capacity(open.asks.len());
        for (ask, arriving) in &mut open.asks {
            let (words, waits_for) = (arriving.words(), arriving.waits_for.clone());
            let before = sent.get(ask).filter(|(_, before, _)| words.starts_with(&**before));
            let mark = before.map_or_else(|| fastrand::u64(..), |(mark, ..)| *mark);
            let from = before.filter(|_| !is_whole).map_or(0, |(_, before, _)| before.len());
            is_new |= before.is_none_or(|(_, before, waited)| before.len() < words.len() || *waited != waits_for);
            asks.push(Spoken {
                ask: ask.clone(),
                mark,
                from,
                text: words[from..].into(),
                waits_for: waits_for.clone(),
            });
            now_sent.insert(ask.clone(), (mark, words, waits_for));
        }
        *sent = now_sent;
        is_new.then_some(Words { head, asks })
    }
}
