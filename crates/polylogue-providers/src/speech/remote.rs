//! Asking a vendor for speech: one request, bounded in time, size and tries, whose failures are told apart.

use std::{fmt, time::Duration};

use bytes::Bytes;
use reqwest::{Client, RequestBuilder, Response, StatusCode, header, redirect::Policy};
use serde_json::Value;

use super::{
    engine::{EngineError, EngineName},
    sound::Sound,
};
use crate::Secret;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// A connection that brings nothing for so long is given up.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// One request, from the first byte to the last.
const TIME_LIMIT: Duration = Duration::from_secs(180);
const TRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// A vendor that wants a longer pause is taken at its word: the clip fails now.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Twenty minutes of speech.
const MAX_BYTES: usize = 64 << 20;

/// What a vendor sent, of whatever kind it says that it is.
#[derive(Debug)]
pub(super) struct Audio {
    pub(super) kind: String,
    pub(super) bytes: Bytes,
}

/// A vendor's service.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    engine: EngineName,
    /// There is none where the system has no certificates to trust.
    client: Result<Client, String>,
    key: Option<Secret>,
}

impl Remote {
    pub(super) fn new(engine: EngineName, key: Option<Secret>) -> Remote {
        let client = crate::tls::client()
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE_LIMIT)
            .timeout(TIME_LIMIT)
            // A key in a header of its own would go along to wherever a redirect points.
            .redirect(Policy::none())
            .build();
        Remote { engine, client: client.map_err(|error| error.to_string()), key }
    }

    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(Secret::reveal)
    }

    /// Sends a request until it brings sound, for at most three times.
    pub(super) async fn ask(
        &self,
        request: impl Fn(&Client) -> RequestBuilder + Send + Sync,
        read: impl Fn(&Audio) -> Result<Sound, String> + Send + Sync,
    ) -> Result<Sound, EngineError> {
        let client = self.client.as_ref().map_err(|problem| self.network(problem))?;
        let mut pause = FIRST_PAUSE;
        for tries_left in (0..TRIES).rev() {
            let outcome = self.once(request(client), &read).await;
            let Err(error) = outcome else { return outcome };
            let wait = error.retry_after().unwrap_or(pause);
            if tries_left == 0 || !error.is_passing() || wait > LONGEST_PAUSE {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
            pause *= 2;
        }
        Err(self.network("it was never tried"))
    }

    async fn once(
        &self,
        request: RequestBuilder,
        read: &(impl Fn(&Audio) -> Result<Sound, String> + Send + Sync),
    ) -> Result<Sound, EngineError> {
        let engine = self.engine;
        let response = request.send().await.map_err(|error| self.network(error.without_url()))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let header = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = header.unwrap_or("").to_ascii_lowercase();
        let bytes = self.body(response).await?;
        let no_speech = |message: String| EngineError::NoSpeech { engine, message };
        if bytes.is_empty() {
            return Err(self.network("the answer is empty"));
        }
        if kind.starts_with("text/") || kind.contains("json") || kind.contains("html") || bytes.starts_with(b"<") {
            let what = if bytes.starts_with(b"<") || kind.contains("html") { "a web page" } else { "text" };
            return Err(no_speech(format!("it is {what}")));
        }
        let sound = read(&Audio { kind, bytes }).map_err(no_speech)?;
        match sound.peak() {
            0.0 => Err(no_speech("it is silent".to_owned())),
            _ => Ok(sound),
        }
    }

    async fn body(&self, mut response: Response) -> Result<Bytes, EngineError> {
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| self.network(error.without_url()))? {
            if body.len() + bytes.len() > MAX_BYTES {
                return Err(EngineError::Failed { engine: self.engine, message: "the clip is too long".to_owned() });
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body.into())
    }

    async fn refusal(&self, response: Response) -> EngineError {
        let (engine, status) = (self.engine, response.status());
        let seconds = response.headers().get(header::RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
        let retry_after = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let body = self.body(response).await.unwrap_or_default();
        let mut message = explanation(&body).unwrap_or_else(|| "it did not say why".to_owned());
        if let Some(key) = &self.key {
            message = key.scrub(&message);
        }
        let message = message.chars().filter(|c| !c.is_control()).take(200).collect();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => EngineError::Unauthorized { engine, message },
            StatusCode::TOO_MANY_REQUESTS => EngineError::RateLimited { engine, retry_after, message },
            status if status.is_server_error() => {
                EngineError::Overloaded { engine, status: status.as_u16(), retry_after, message }
            }
            status => EngineError::Rejected { engine, status: status.as_u16(), message },
        }
    }

    fn network(&self, error: impl fmt::Display) -> EngineError {
        EngineError::Network { engine: self.engine, message: error.to_string() }
    }
}

/// What the vendors' error objects say, wherever they put it.
fn explanation(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let places = ["/error/message", "/detail/message", "/detail/0/msg", "/detail", "/message", "/error"];
    places.iter().find_map(|place| value.pointer(place)?.as_str()).map(str::to_owned)
}

#[cfg(test)]
pub(super) mod tests;
