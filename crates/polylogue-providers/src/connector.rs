//! One exchange with a model, the same for every vendor: send, learn what the model refuses, read, bill.
//!
//! A [`Dialect`] knows a vendor's wire form and nothing else; everything that happens around it is here.

use async_trait::async_trait;
use polylogue_core::ask::Request;
use polylogue_runtime::port::{Call, CallError, Model, Reply};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    answer::{Answer, broke_off},
    fault::{Fault, Lesson},
    frames::{Frame, Frames, Framing},
    http::{Body, Endpoint, Failure, Http},
    params::{Names, Params, Refusals},
};

/// How many parameters one call may find refused before it gives up.
const MAX_LESSONS: usize = 6;

/// A vendor's wire form.
pub(crate) trait Dialect: Send + Sync {
    /// What this model is known not to take.
    fn refused(&self, model: &str) -> Params;

    /// The names by which a server may refuse a parameter.
    fn names(&self) -> Names;

    /// What to leave out so that the request may go through after this fault.
    fn refuses(&self, fault: &Fault, without: Params) -> Option<Lesson> {
        fault.refuses(self.names(), without)
    }

    fn outgoing(&self, request: &Request, without: Params) -> Outgoing;

    /// A reader for one answer that comes in this form.
    fn reader(&self, framing: Framing) -> Box<dyn Reader>;
}

/// A request on the wire.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outgoing {
    /// What follows the base address.
    pub(crate) path: String,
    pub(crate) body: Value,
    /// The form in which the answer will come.
    pub(crate) framing: Framing,
}

/// Reads a vendor's answer, whole or in pieces.
pub(crate) trait Reader: Send {
    /// One document of a stream, or the whole answer of a server that does not stream.
    fn read(&mut self, document: Value, answer: &mut Answer<'_>) -> Result<(), Unreadable>;
}

/// Why a document of an answer could not be taken.
pub(crate) enum Unreadable {
    /// It says that something went wrong.
    Error(Value),
    /// It is nothing that this vendor sends.
    Malformed(String),
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        Unreadable::Malformed(error.to_string())
    }
}

/// A provider that is ready to be asked.
pub(crate) struct Connector {
    dialect: Box<dyn Dialect>,
    endpoint: Endpoint,
    http: Http,
    refusals: Refusals,
}

impl Connector {
    pub(crate) fn new(dialect: Box<dyn Dialect>, endpoint: Endpoint, http: Http) -> Self {
        Connector { dialect, endpoint, http, refusals: Refusals::default() }
    }

    async fn send(&self, request: &Request) -> Result<(Body, Framing), CallError> {
        let model = &*request.model.model;
        let mut without = self.dialect.refused(model).and(self.refusals.of(model, Instant::now()));
        for _ in 0..MAX_LESSONS {
            let outgoing = self.dialect.outgoing(request, without);
            let fault = match self.http.post(&self.endpoint, &outgoing.path, &outgoing.body).await {
                Ok(body) => return Ok((body, outgoing.framing)),
                Err(Failure::Fault(fault)) => fault,
                Err(Failure::Call(error)) => return Err(error),
            };
            let Some(lesson) = self.dialect.refuses(&fault, without) else { return Err(fault.into()) };
            let Lesson { param, is_of_the_model } = lesson;
            tracing::info!(model = %request.model, ?param, is_of_the_model, "the model refuses a parameter: leaving it out");
            if is_of_the_model {
                self.refusals.remember(model, param, Instant::now());
            }
            without = without.with(param);
        }
        Err(CallError::Rejected("the model refuses one parameter after another".to_owned()))
    }

    async fn read(&self, mut body: Body, framing: Framing, answer: &mut Answer<'_>) -> Result<(), CallError> {
        let mut reader = self.dialect.reader(framing);
        if body.is_json && framing == Framing::Events {
            let whole = body.whole().await?;
            let document = serde_json::from_slice(&whole).map_err(|error| malformed(&error.to_string()))?;
            return self.take(&mut *reader, document, answer);
        }
        let mut frames = Frames::new(framing);
        loop {
            match body.piece().await {
                Ok(Some(piece)) => {
                    answer.alive();
                    for frame in frames.push(piece.as_ref()).map_err(|error| malformed(&error.to_string()))? {
                        self.frame(&mut *reader, &frame, answer)?;
                    }
                    if answer.has_ended() {
                        body.is_nearly_over();
                    }
                }
                Ok(None) => break,
                // The model had finished: what is lost is at most its bill.
                Err(_) if answer.has_ended() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let rest = frames.finish().map_err(|error| malformed(&error.to_string()))?;
        match rest {
            // Half a frame at the end of a stream is a cut, whatever it looks like.
            Some(rest) => self.frame(&mut *reader, &rest, answer).map_err(|error| match error {
                CallError::BadResponse(_) => broke_off(),
                error => error,
            }),
            None => Ok(()),
        }
    }

    fn frame(&self, reader: &mut dyn Reader, frame: &Frame, answer: &mut Answer<'_>) -> Result<(), CallError> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" || frame.name == "ping" {
            return Ok(());
        }
        let document = serde_json::from_str(data).map_err(|error| malformed(&error.to_string()))?;
        self.take(reader, document, answer)
    }

    fn take(&self, reader: &mut dyn Reader, document: Value, answer: &mut Answer<'_>) -> Result<(), CallError> {
        reader.read(document, answer).map_err(|problem| match problem {
            Unreadable::Error(error) => Fault::from_json(0, &error, self.endpoint.key.as_ref()).into(),
            Unreadable::Malformed(problem) => malformed(&problem),
        })
    }
}

#[async_trait]
impl Model for Connector {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let request = &call.ask.request;
        let (body, framing) = self.send(request).await?;
        call.deltas.alive();
        let mut answer = Answer::new(&call.deltas, &request.sampling.stop);
        self.read(body, framing, &mut answer).await?;
        answer.finish()
    }
}

fn malformed(problem: &str) -> CallError {
    CallError::BadResponse(format!("it is not what this provider sends ({problem})"))
}

/// What an answer says about its usage. The answer is good whatever it says there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Reported<T> {
    #[default]
    Nothing,
    Counts(T),
    /// Something that counts no tokens: a negative number, a fraction, a text.
    Nonsense,
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Reported<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::Null => Reported::Nothing,
            said => serde_json::from_value(said).map_or(Reported::Nonsense, Reported::Counts),
        })
    }
}

/// A count of tokens that can be believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct Count(u64);

impl Count {
    /// No model reads or writes as much at once.
    const MOST: u64 = 1 << 40;
}

impl TryFrom<u64> for Count {
    type Error = &'static str;
    fn try_from(count: u64) -> Result<Count, Self::Error> {
        if count <= Self::MOST { Ok(Count(count)) } else { Err("more tokens than there can be") }
    }
}

/// The counts of tokens that an answer reports, as the ledger has them.
pub(crate) fn tokens(count: Option<Count>) -> u64 {
    count.unwrap_or_default().0
}
