//! Signals within one process: to its one hub, or between several.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::mpsc;

use crate::port::{Signal, Signalled, Signals, Topic};

/// Carries signals between the hubs that share it.
#[derive(Debug, Default)]
pub struct Nearby {
    listeners: Arc<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners(Mutex<HashMap<Topic, Vec<mpsc::Sender<Signal>>>>);

impl Listeners {
    fn lock(&self) -> MutexGuard<'_, HashMap<Topic, Vec<mpsc::Sender<Signal>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Signals for Nearby {
    fn send(&self, topic: &Topic, signal: Signal) {
        for listener in self.listeners.lock().get(topic).into_iter().flatten() {
            // One who is slow misses it.
            let _ = listener.try_send(signal.clone());
        }
    }

    fn listen(&self, topic: Topic) -> Signalled {
        let (sender, receiver) = mpsc::channel(Signalled::QUEUE);
        self.listeners.lock().entry(topic.clone()).or_default().push(sender);
        Signalled::new(receiver, Subscription { listeners: self.listeners.clone(), topic })
    }
}

/// Takes those who have left a topic off the list.
struct Subscription {
    listeners: Arc<Listeners>,
    topic: Topic,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut listeners = self.listeners.lock();
        if let Some(there) = listeners.get_mut(&self.topic) {
            there.retain(|listener| !listener.is_closed());
            if there.is_empty() {
                listeners.remove(&self.topic);
            }
        }
    }
}
