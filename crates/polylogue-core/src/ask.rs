//! One request to a model, complete: what a connector turns into its vendor's wire form.

mod plan;

use std::{fmt, ops::Deref, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    id::AskId,
    ledger::{Usage, estimate_tokens},
    setup::{ModelRef, Sampling},
    text::reply::Shape,
};

pub use self::plan::{Choice, Part, Pick, Plan, Walk, Words};

/// A request and the place in the conversation that it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub id: AskId,
    pub request: Request,
}

/// What a model is sent. `system` and `thread` only ever grow at their end, so prompt caches hit.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub model: ModelRef,
    /// Persona and rules: the fixed head.
    pub system: Text,
    /// What this agent was told and said before, oldest first.
    pub thread: Thread,
    /// What it is told now.
    pub prompt: Text,
    /// The form of the reply; `None` for plain text.
    pub shape: Option<Arc<Shape>>,
    /// The form of a reply that is no JSON, as a Lark grammar. Models that decode by a grammar are held to it;
    /// for all others it says nothing that the prompt does not say. A shape goes before it.
    pub grammar: Option<Arc<str>>,
    /// How a small model comes to the reply, one thing after the other. It goes before shape and grammar.
    pub plan: Option<Arc<Plan>>,
    pub sampling: Sampling,
}

impl Request {
    /// Output tokens that are allowed when an agent names no limit of its own.
    pub const DEFAULT_OUTPUT_TOKENS: u32 = 2_048;

    pub fn max_output_tokens(&self) -> u32 {
        self.sampling.max_output_tokens.unwrap_or(Self::DEFAULT_OUTPUT_TOKENS)
    }

    /// The output tokens for another try at an answer that broke off: up to four times as many while that is little,
    /// since many models have a limit of their own.
    pub(crate) fn more_output_tokens(&self) -> u32 {
        const LITTLE: u32 = 4_096;
        let now = self.max_output_tokens();
        now.saturating_mul(4).min(LITTLE).max(now.saturating_mul(2))
    }

    /// The most that this request can use: all of its input, the form of the reply included, and all of the output
    /// that it is allowed.
    pub fn estimate(&self) -> Usage {
        let form = match (&self.plan, &self.shape) {
            (Some(plan), _) => plan.tokens(),
            (None, Some(shape)) => shape.tokens(),
            (None, None) => 0,
        };
        Usage {
            input: self.system.tokens + self.thread.tokens + self.prompt.tokens + form,
            output: self.max_output_tokens().into(),
            estimated: true,
            ..Usage::default()
        }
    }

    pub fn digest(&self) -> Digest {
        self.thread.digest.with(self.system.digest).with(self.prompt.digest)
    }

    /// Whether this is the request that was recorded with this digest. Journals that were written before texts had
    /// digests of their own have one of all bytes in a row.
    pub fn has_digest(&self, recorded: Digest) -> bool {
        recorded == self.digest() || recorded == self.digest_of_all_bytes()
    }

    fn digest_of_all_bytes(&self) -> Digest {
        let mut digest = Digest::default();
        self.thread.messages().iter().for_each(|message| digest.add(&message.text));
        digest.add(&self.system);
        digest.add(&self.prompt);
        digest
    }
}

/// The whole request as text, for people and for scripts that were recorded from it.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--- system\n{}\n", self.system.trim_end())?;
        for message in self.thread.messages() {
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            write!(f, "--- {role}\n{}\n", message.text.trim_end())?;
        }
        write!(f, "--- user\n{}\n", self.prompt.trim_end())?;
        for ask in self.plan.iter().flat_map(|plan| plan.asks()) {
            write!(f, "--- user, after its answer\n{}\n", ask.trim_end())?;
        }
        Ok(())
    }
}

/// Who said a message of a thread, as models know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MessageRole")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThreadMessage")]
pub struct Message {
    pub role: Role,
    pub text: Arc<str>,
}

/// A text that is sent, with what is counted of it. Both are counted once, however often the text is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    text: Arc<str>,
    tokens: u64,
    digest: Digest,
}

impl Text {
    pub fn shared(&self) -> Arc<str> {
        self.text.clone()
    }
}

impl From<Arc<str>> for Text {
    fn from(text: Arc<str>) -> Text {
        Text { tokens: estimate_tokens(&text), digest: Digest::of(&text), text }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Arc::<str>::from(text).into()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Arc::<str>::from(text).into()
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

/// An agent's side of the conversation. Requests under way share it, so a turn costs the same however long the
/// thread has become.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    messages: Arc<Vec<Message>>,
    tokens: u64,
    digest: Digest,
}

impl Thread {
    pub fn push(&mut self, role: Role, text: Text) {
        let Text { text, tokens, digest } = text;
        self.tokens += tokens;
        self.digest = self.digest.with(digest);
        Arc::make_mut(&mut self.messages).push(Message { role, text });
    }

    /// A thread that shows how it is done: what is asked and what is answered in turn, with a line of dashes between
    /// them.
    pub(crate) fn example(text: &str) -> Thread {
        let mut thread = Thread::default();
        let mut said = text.split("\n---\n").map(str::trim);
        while let (Some(asked), Some(answered)) = (said.next(), said.next()) {
            thread.push(Role::User, asked.into());
            thread.push(Role::Assistant, answered.into());
        }
        thread
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

/// A fingerprint of a request, to see later whether a rebuilt one is the one that was sent.
/// It guards against change, not against malice (64-bit FNV-1a).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct Digest(u64);

/// As hexadecimal: a JSON reader elsewhere may hold numbers of 53 bits only.
impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        format!("{:016x}", digest.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = std::num::ParseIntError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        u64::from_str_radix(&text, 16).map(Digest)
    }
}

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// The digest of one text, eight bytes at a time.
    pub fn of(text: &str) -> Digest {
        let mut digest = Digest(text.len() as u64);
        let mut words = text.as_bytes().chunks_exact(8);
        for word in &mut words {
            digest = digest.with(Digest(u64::from_le_bytes(word.try_into().expect("a word has eight bytes"))));
        }
        let mut rest = [0; 8];
        rest[..words.remainder().len()].copy_from_slice(words.remainder());
        digest.with(Digest(u64::from_le_bytes(rest)))
    }

    /// This digest and another after it. Their order counts.
    #[must_use]
    pub fn with(self, next: Digest) -> Digest {
        let product = u128::from(self.0 ^ 0x9e37_79b9_7f4a_7c15) * u128::from(next.0 ^ 0xd6e8_feb8_6659_fd93);
        Digest((product as u64) ^ ((product >> 64) as u64) ^ self.0.rotate_left(23))
    }

    /// Adds a text and its end byte by byte, so that `ab` + `c` is not `a` + `bc`.
    pub fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_in_flight_is_not_disturbed_by_growth() {
        let mut thread = Thread::default();
        thread.push(Role::User, "one".into());
        let in_flight = thread.clone();
        thread.push(Role::Assistant, "two".into());
        assert_eq!(in_flight.messages().len(), 1);
        assert_eq!(thread.messages().len(), 2);
        assert_ne!(in_flight.digest, thread.digest);
    }

    #[test]
    fn an_example_is_asked_and_answered_in_turn() {
        let thread = Thread::example("One?\n---\nYes.\n---\nTwo\nlines?\n---\n No. \n---\nNobody answers this.");
        let said: Vec<(Role, &str)> = thread.messages().iter().map(|message| (message.role, &*message.text)).collect();
        let (user, assistant) = (Role::User, Role::Assistant);
        assert_eq!(said, [(user, "One?"), (assistant, "Yes."), (user, "Two\nlines?"), (assistant, "No.")]);
        assert!(Thread::example("").messages().is_empty());
    }

    #[test]
    fn a_digest_keeps_texts_apart() {
        let of = |texts: &[&str]| {
            let mut digest = Digest::default();
            texts.iter().for_each(|text| digest.add(text));
            digest
        };
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
        let texts =
            ["", "\0", "a", "a\0", "ab", "ba", "abcdefgh", "abcdefg", "abcdefghi", "ABCDEFGH", "abcdefghabcdefgh"];
        for (at, one) in texts.iter().enumerate() {
            for other in &texts[at + 1..] {
                assert_ne!(Digest::of(one), Digest::of(other), "{one:?} and {other:?}");
                let both = |first, second| Digest::default().with(Digest::of(first)).with(Digest::of(second));
                assert_ne!(both(one, other), both(other, one), "{one:?} and {other:?}");
            }
        }
    }
}
