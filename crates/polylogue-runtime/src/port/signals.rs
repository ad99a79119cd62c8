//! Signals between processes: small, quick, and free to be lost.
//!
//! A signal only says "look now". Whoever waits for one looks into the store after a while by itself, so a signal that
//! is lost costs a moment and nothing else. Nothing here waits, and nothing queues up without a bound.

use std::{any::Any, fmt, future::pending, sync::Arc};

use polylogue_core::{
    id::{AskId, Seq, SessionId},
    room::RoomId,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{LetterId, NodeId};

/// What a signal is about: those who listen to a topic hear its signals.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// All nodes.
    Nodes,
    Node(NodeId),
    Session(SessionId),
    Room(RoomId),
    Letter(LetterId),
}

/// The topic as a subject of dots and words, the same in every process.
impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topic::Nodes => f.write_str("nodes"),
            Topic::Node(node) => write!(f, "node.{node}"),
            Topic::Session(session) => write!(f, "session.{session}"),
            Topic::Room(room) => write!(f, "room.{room}"),
            Topic::Letter(letter) => write!(f, "letter.{letter}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "camelCase")]
pub enum Signal {
    /// There is something new: a letter or a stop for a node, an answer to a letter, a record in a room.
    Look,
    /// A session's journal has come so far.
    News { head: Seq },
    /// Somebody watches a session elsewhere and wants to hear the words that are being written.
    Wanted { session: SessionId },
    /// What is being written in a session.
    Words(Words),
}

/// The asks of a session that are open, and what is new of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Words {
    /// How far the journal had come: asks that it closes are not in here.
    pub head: Seq,
    /// Every ask that is open. One that is not in here any more is over.
    pub asks: Vec<Spoken>,
}

/// What is new of an open ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spoken {
    pub ask: AskId,
    /// Drawn by chance whenever the text begins anew: pieces with the same mark belong together.
    pub mark: u64,
    /// How many bytes of the text come before this piece.
    pub from: usize,
    pub text: Arc<str>,
    /// What the ask waits for while no model works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<Arc<str>>,
}

/// Carries signals between processes.
pub trait Signals: Send + Sync {
    /// Sends a signal to those who listen now, if it can be done at once.
    fn send(&self, topic: &Topic, signal: Signal);

    /// Everything that is sent on a topic from now on, for as long as the result is held.
    fn listen(&self, topic: Topic) -> Signalled;
}

/// What comes in on a topic. A listener who is slow misses what does not fit its queue.
pub struct Signalled {
    signals: mpsc::Receiver<Signal>,
    /// Ends the listening when it is dropped, after the queue.
    _subscription: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Signalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signalled").finish_non_exhaustive()
    }
}

impl Signalled {
    /// Signals that wait for a listener at most.
    pub const QUEUE: usize = 64;

    pub fn new(signals: mpsc::Receiver<Signal>, subscription: impl Any + Send + Sync) -> Signalled {
        Signalled { signals, _subscription: Box::new(subscription) }
    }

    /// Forgets what has come in, for somebody who is about to look anyway.
    pub fn drain(&mut self) {
        while self.signals.try_recv().is_ok() {}
    }

    /// The next signal. Where none can come any more this waits for ever, as for one that was lost.
    pub async fn next(&mut self) -> Signal {
        match self.signals.recv().await {
            Some(signal) => signal,
            None => pending().await,
        }
    }
}
