//! One request to a model, complete: what a connector turns into its vendor's wire form.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    id::AskId,
    ledger::{Usage, estimate_tokens},
    reply::Shape,
    setup::{ModelRef, Sampling},
};

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
    pub system: Arc<str>,
    /// What this agent was told and said before, oldest first.
    pub thread: Thread,
    /// What it is told now.
    pub prompt: Arc<str>,
    /// The form of the reply; `None` for plain text.
    pub shape: Option<Arc<Shape>>,
    /// The form of a reply that is no JSON, as a Lark grammar. Models that decode by a grammar are held to it;
    /// for all others it says nothing that the prompt does not say. A shape goes before it.
    pub grammar: Option<Arc<str>>,
    pub sampling: Sampling,
}

impl Request {
    /// Output tokens that are allowed when an agent names no limit of its own.
    pub const DEFAULT_OUTPUT_TOKENS: u32 = 2_048;

    pub fn max_output_tokens(&self) -> u32 {
        self.sampling.max_output_tokens.unwrap_or(Self::DEFAULT_OUTPUT_TOKENS)
    }

    /// The most that this request can use: all of its input and all of the output it is allowed.
    pub fn estimate(&self) -> Usage {
        Usage {
            input: estimate_tokens(&self.system) + self.thread.tokens + estimate_tokens(&self.prompt),
            output: self.max_output_tokens().into(),
            estimated: true,
            ..Usage::default()
        }
    }

    pub fn digest(&self) -> Digest {
        let mut digest = self.thread.digest;
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
        write!(f, "--- user\n{}\n", self.prompt.trim_end())
    }
}

/// Who said a message of a thread, as models know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub text: Arc<str>,
}

/// An agent's side of the conversation. Shared with requests under way, so a turn costs the same
/// however long the thread has become.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    messages: Arc<Vec<Message>>,
    tokens: u64,
    digest: Digest,
}

impl Thread {
    pub fn push(&mut self, role: Role, text: Arc<str>) {
        self.tokens += estimate_tokens(&text);
        self.digest.add(&text);
        Arc::make_mut(&mut self.messages).push(Message { role, text });
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

/// A fingerprint of a request, to see later whether a rebuilt one is the one that was sent.
/// It guards against change, not against malice (64-bit FNV-1a).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Adds a text and its end, so that `ab` + `c` is not `a` + `bc`.
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
    fn a_digest_keeps_texts_apart() {
        let of = |texts: &[&str]| {
            let mut digest = Digest::default();
            texts.iter().for_each(|text| digest.add(text));
            digest
        };
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
    }
}
