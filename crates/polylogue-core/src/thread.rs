//! What a format keeps of an agent's thread while it folds: what the agent was told, not yet as text, and what it
//! answered.
//!
//! Folding renders nothing. A text is written when a request needs it and is kept from then on, so that a session
//! that goes on writes every text once, and a journal that is only read writes none.

use std::sync::{Arc, OnceLock};

use crate::ask::{Role, Text, Thread};

/// A text, or something else, that is written when it is first needed. It follows from the state around it, so two of
/// them never make two states differ.
#[derive(Clone, Debug)]
pub(crate) struct Kept<T = Text>(OnceLock<T>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept(OnceLock::new())
    }
}

impl<T: Clone> Kept<T> {
    pub(crate) fn get(&self, write: impl FnOnce() -> T) -> T {
        self.0.get_or_init(write).clone()
    }

    /// What it follows from has changed.
    pub(crate) fn clear(&mut self) {
        self.0.take();
    }
}

impl<T> PartialEq for Kept<T> {
    fn eq(&self, _: &Kept<T>) -> bool {
        true
    }
}

/// Something an agent is told: `what` says what to write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told<T> {
    pub(crate) what: T,
    text: Kept,
}

impl<T> Told<T> {
    pub(crate) fn new(what: T) -> Told<T> {
        Told { what, text: Kept::default() }
    }

    /// The same with a text that may be written already.
    pub(crate) fn with(what: T, text: Kept) -> Told<T> {
        Told { what, text }
    }

    pub(crate) fn text(&self, write: impl FnOnce(&T) -> Text) -> Text {
        self.text.get(|| write(&self.what))
    }
}

/// An agent's past: what it was told and what it answered, in turn. It only grows at its end.
#[derive(Clone, Debug)]
pub(crate) struct Past<T> {
    /// The part that is written.
    written: Thread,
    /// What comes after that, to be written when somebody asks for it.
    unwritten: Vec<(Told<T>, Arc<str>)>,
    /// All of it as text, once somebody has asked for it.
    whole: OnceLock<Thread>,
    exchanges: usize,
}

impl<T> Default for Past<T> {
    fn default() -> Self {
        Past { written: Thread::default(), unwritten: Vec::new(), whole: OnceLock::new(), exchanges: 0 }
    }
}

/// What was told follows from the journal; what was answered is compared.
impl<T> PartialEq for Past<T> {
    fn eq(&self, other: &Past<T>) -> bool {
        self.exchanges == other.exchanges && self.answers().eq(other.answers())
    }
}

impl<T> Past<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.exchanges == 0
    }

    pub(crate) fn push(&mut self, told: Told<T>, answer: Arc<str>) {
        if let Some(whole) = self.whole.take() {
            self.written = whole;
            self.unwritten.clear();
        }
        self.exchanges += 1;
        match told.text.0.get() {
            Some(text) if self.unwritten.is_empty() => push(&mut self.written, text.clone(), answer),
            _ => self.unwritten.push((told, answer)),
        }
    }

    /// All of it as text.
    pub(crate) fn thread(&self, write: impl Fn(&T) -> Text) -> Thread {
        if self.unwritten.is_empty() {
            return self.written.clone();
        }
        let whole = || {
            let mut thread = self.written.clone();
            for (told, answer) in &self.unwritten {
                push(&mut thread, told.text(&write), answer.clone());
            }
            thread
        };
        self.whole.get_or_init(whole).clone()
    }

    fn answers(&self) -> impl Iterator<Item = &Arc<str>> {
        let written = self.written.messages().iter().filter(|message| message.role == Role::Assistant);
        written.map(|message| &message.text).chain(self.unwritten.iter().map(|(_, answer)| answer))
    }
}

fn push(thread: &mut Thread, told: Text, answer: Arc<str>) {
    thread.push(Role::User, told);
    thread.push(Role::Assistant, answer.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_late_is_what_would_have_been_written_at_once() {
        let write = |n: &u32| Text::from(format!("told {n}"));
        let (mut live, mut read) = (Past::default(), Past::default());
        for n in 1..=5 {
            let told = Told::new(n);
            told.text(write);
            let before = live.thread(write);
            assert_eq!(before.messages().len(), 2 * (n as usize - 1));
            live.push(told, format!("answer {n}").into());
            read.push(Told::new(n), format!("answer {n}").into());
        }
        assert_eq!(live, read);
        assert!(live.unwritten.is_empty() && read.written.messages().is_empty());
        assert_eq!(live.thread(write), read.thread(write));
        // A thread that was read goes on as one that was live.
        let told = Told::new(6);
        told.text(write);
        read.push(told, "answer 6".into());
        assert!(read.unwritten.is_empty());
        assert_eq!(read.thread(write).messages().len(), 12);
    }
}
