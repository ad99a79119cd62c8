//! What a person says into a session that runs here: keys on a terminal, or the lines of a file or another program.
//!
//! Nothing is read before a person is first waited for, and what comes while nobody is waits its turn.

use std::{
    io::{BufRead, IsTerminal, Read, stderr, stdin},
    thread,
};

use tokio::sync::mpsc;

use crate::view::{Typed, Typing, can_be_held};

/// Pieces of the input that may wait.
const PIECES: usize = 4;

/// The longest line of another program that is taken as one, in bytes.
const MAX_LINE: u64 = 64 * 1024;

/// How many bytes of keys are read at a time.
const KEYS: usize = 256;

pub(crate) struct Keyboard {
    /// Whether single keys are read, and shown by whoever takes them.
    has_keys: bool,
    pieces: Option<mpsc::Receiver<Vec<u8>>>,
    typing: Typing,
    /// Whole lines that nobody has taken yet, the last first.
    whole: Vec<Typed>,
}

/// What a person does.
pub(crate) enum Pressed {
    /// The line that is being typed has changed.
    Draft,
    Whole(Typed),
}

impl Keyboard {
    /// Standard input. Single keys are read only where they can be shown.
    pub(crate) fn of_stdin(shows_keys: bool) -> Keyboard {
        let has_keys = shows_keys && stdin().is_terminal() && stderr().is_terminal() && can_be_held();
        Keyboard { has_keys, pieces: None, typing: Typing::default(), whole: Vec::new() }
    }

    pub(crate) fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// What is typed and not sent.
    pub(crate) fn draft(&self) -> &str {
        self.typing.text()
    }

    /// The next that a person does. It can be dropped and asked for again: nothing is lost.
    pub(crate) async fn next(&mut self) -> Pressed {
        if let Some(whole) = self.whole.pop() {
            return Pressed::Whole(whole);
        }
        let has_keys = self.has_keys;
        let pieces = self.pieces.get_or_insert_with(|| listen(has_keys));
        let Some(piece) = pieces.recv().await else { return Pressed::Whole(Typed::End) };
        if !has_keys {
            let line = String::from_utf8_lossy(&piece).trim().to_owned();
            return Pressed::Whole(Typed::Line(line));
        }
        self.whole = self.typing.take(&piece);
        self.whole.reverse();
        self.whole.pop().map_or(Pressed::Draft, Pressed::Whole)
    }
}

/// Reads standard input on a thread of its own, because nothing else can be waited for meanwhile. It ends with the
/// process.
fn listen(has_keys: bool) -> mpsc::Receiver<Vec<u8>> {
    let (sender, pieces) = mpsc::channel(PIECES);
    thread::spawn(move || {
        let mut input = stdin().lock();
        loop {
            let mut piece = Vec::new();
            let read = if has_keys {
                piece.resize(KEYS, 0);
                input.read(&mut piece)
            } else {
                input.by_ref().take(MAX_LINE).read_until(b'\n', &mut piece)
            };
            match read {
                Ok(bytes) if bytes > 0 => piece.truncate(bytes),
                // What cannot be read has ended.
                Ok(_) | Err(_) => return,
            }
            if sender.blocking_send(piece).is_err() {
                return;
            }
        }
    });
    pieces
}
