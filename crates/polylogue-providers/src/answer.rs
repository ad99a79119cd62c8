//! One answer as it comes in: the text so far, held to the stop sequences, and how it ended.

use polylogue_core::ledger::Usage;
use polylogue_runtime::port::{CallError, Deltas, Reply};

use crate::connector::Reported;

/// How a model came to the end of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    /// The output limit was reached.
    OutputFull,
    /// The context was full, with or without some text before.
    ContextFull,
    Refused(String),
}

/// What has been heard of one answer.
pub(crate) struct Answer<'a> {
    deltas: &'a Deltas,
    stops: &'a [String],
    text: String,
    /// The end of what came that may be the beginning of a stop sequence.
    held: String,
    stopped: bool,
    /// All bytes of text, also those past a stop: they are billed.
    heard_bytes: usize,
    usage: Option<Usage>,
    end: Option<End>,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(deltas: &'a Deltas, stops: &'a [String]) -> Self {
        Answer {
            deltas,
            stops,
            text: String::new(),
            held: String::new(),
            stopped: false,
            heard_bytes: 0,
            usage: None,
            end: None,
        }
    }

    /// More text. Vendors that take stop sequences never send one; for the others they are applied here. What
    /// comes after a stop is read on but not kept, because only the end of the stream says what it cost.
    pub(crate) fn text(&mut self, piece: &str) {
        self.heard_bytes += piece.len();
        if let Some(usage) = self.usage {
            self.bill(usage);
        }
        if piece.is_empty() {
            return;
        }
        if self.stopped {
            return self.deltas.overhear(piece);
        }
        self.held.push_str(piece);
        let stop = self.stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| self.held.find(stop)).min();
        let ready = match stop {
            Some(at) => {
                self.stopped = true;
                at
            }
            None => self.held.len() - self.may_begin_a_stop(),
        };
        let ready: String = self.held.drain(..ready).collect();
        self.emit(&ready);
        if self.stopped {
            self.deltas.overhear(&self.held);
        }
    }

    /// The length of the longest end of the held text that is the beginning of a stop sequence.
    fn may_begin_a_stop(&self) -> usize {
        let longest = |stop: &String| {
            (1..stop.len())
                .rev()
                .filter(|length| stop.is_char_boundary(*length))
                .find(|length| self.held.ends_with(&stop[..*length]))
        };
        self.stops.iter().filter_map(longest).max().unwrap_or(0)
    }

    fn emit(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.deltas.push(text);
        }
    }

    /// Thinking that the provider shows: it is billed, and it is no part of the text.
    pub(crate) fn thought(&mut self, piece: &str) {
        self.heard_bytes += piece.len();
        if let Some(usage) = self.usage {
            self.bill(usage);
        }
        self.deltas.overhear(piece);
    }

    /// Something came, if only a sign that the provider is still there.
    pub(crate) fn alive(&self) {
        self.deltas.alive();
    }

    /// What the provider says was used so far.
    pub(crate) fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
        self.bill(usage);
    }

    /// What a provider reports of the usage, which is nothing when no token was counted: some servers send zeros
    /// for "I do not know". What makes no sense is estimated, and so is all that was reported before it.
    pub(crate) fn reported(&mut self, reported: Reported<impl Into<Usage>>) {
        match reported {
            Reported::Nothing => {}
            Reported::Counts(counts) => {
                let usage: Usage = counts.into();
                if usage.total() > 0 {
                    self.usage(usage);
                }
            }
            Reported::Nonsense => {
                tracing::debug!("the provider reports a usage that counts no tokens: it is estimated");
                self.usage = None;
            }
        }
    }

    /// Keeps the bill current, so that it stands when the stream is cut or the call is dropped. Before the end
    /// the provider has counted only part of the output: what came is counted from the text.
    fn bill(&self, usage: Usage) {
        let heard = self.heard_bytes.div_ceil(4) as u64;
        if self.end.is_some() || heard <= usage.output {
            self.deltas.bill(usage);
        } else {
            self.deltas.bill(Usage { output: heard, estimated: true, ..usage });
        }
    }

    pub(crate) fn end(&mut self, end: End) {
        self.end = Some(end);
        if let Some(usage) = self.usage {
            self.bill(usage);
        }
    }

    /// Whether a stop sequence has come: nothing after it is kept.
    #[cfg(feature = "local")]
    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The reply, or why there is none. A stream that broke off is never a reply, and neither is silence.
    pub(crate) fn finish(mut self) -> Result<Reply, CallError> {
        let end = self.end.take().ok_or_else(broke_off)?;
        if let End::Refused(why) = end {
            return Err(CallError::Refused(why));
        }
        if !self.stopped {
            let held = std::mem::take(&mut self.held);
            self.emit(&held);
        }
        if !self.text.trim().is_empty() {
            // What a stop sequence ended is whole.
            let is_full = end == End::OutputFull && !self.stopped;
            return Ok(Reply { text: self.text.into(), usage: self.usage, is_full, drafts: None });
        }
        Err(match end {
            End::OutputFull => CallError::Unavailable(
                "the model used all the output that it is allowed for thinking and said nothing: raise the agent's \
                 output limit"
                    .to_owned(),
            ),
            End::ContextFull => CallError::ContextTooLong("no room was left for an answer".to_owned()),
            End::Complete | End::Refused(_) => CallError::BadResponse("the model said nothing".to_owned()),
        })
    }
}

/// The error of a stream that stopped before its end.
pub(crate) fn broke_off() -> CallError {
    CallError::Network("the answer broke off in the middle".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stops: &[&str], pieces: &[&str], expected: &str) {
        let stops: Vec<String> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let deltas = Deltas::unwatched();
        let mut answer = Answer::new(&deltas, &stops);
        for piece in pieces {
            answer.text(piece);
        }
        answer.end(End::Complete);
        let reply = answer.finish().unwrap();
        assert_eq!(&*reply.text, expected, "{stops:?} {pieces:?}");
        assert_eq!(deltas.take().text, expected, "what was shown is what was kept");
    }

    #[test]
    fn stop_sequences_hold_wherever_the_pieces_are_cut() {
        check(&[], &["Hello", " there"], "Hello there");
        check(&["END"], &["Hello E", "N", "D there"], "Hello ");
        check(&["END"], &["Hello E", "N", "ough"], "Hello ENough");
        check(&["END"], &["Hello EN"], "Hello EN");
        check(&["\n\n", "Bob:"], &["One\n", "two\nBo", "b: no\n\n"], "One\ntwo\n");
        check(&["é!"], &["caf", "é", "! more"], "caf");
        check(&["", "."], &["a.b"], "a");
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        let deltas = Deltas::unwatched();
        let ended = |text: &str, end: Option<End>| {
            let mut answer = Answer::new(&deltas, &[]);
            answer.text(text);
            if let Some(end) = end {
                answer.end(end);
            }
            answer.finish()
        };
        assert!(matches!(ended("half", None), Err(CallError::Network(_))));
        assert!(matches!(ended(" \n", Some(End::Complete)), Err(CallError::BadResponse(_))));
        assert!(matches!(ended("", Some(End::OutputFull)), Err(CallError::Unavailable(_))));
        assert!(matches!(ended("", Some(End::ContextFull)), Err(CallError::ContextTooLong(_))));
        assert!(matches!(ended("I", Some(End::Refused("no".into()))), Err(CallError::Refused(_))));
        assert!(ended("cut", Some(End::OutputFull)).is_ok());
    }

    #[test]
    fn the_bill_stands_when_a_stream_is_cut() {
        let deltas = Deltas::unwatched();
        let mut answer = Answer::new(&deltas, &[]);
        answer.usage(Usage { input: 10, output: 1, ..Usage::default() });
        answer.text("twelve bytes");
        drop(answer);
        let usage = Usage { input: 10, output: 3, estimated: true, ..Usage::default() };
        assert_eq!(deltas.take().usage, Some(usage));
    }
}
