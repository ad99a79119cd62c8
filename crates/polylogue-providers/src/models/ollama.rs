//! The Ollama that may run beside this program: whether it does, and with which model one can talk.
//!
//! It is asked only when its model would play, and only what it has: nothing is loaded or fetched there.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use polylogue_core::setup::ModelRef;
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use crate::http::{Endpoint, Http};

/// How long it has to take a connection. Where nobody listens on this machine, that is known at once.
const CONNECT: Duration = Duration::from_millis(500);

/// How long it may take to say what it has.
const ANSWER: Duration = Duration::from_secs(3);

/// For how long an answer holds, in a program that runs on.
const FRESH: Duration = Duration::from_secs(10);

/// How many of its models are looked at.
const MOST: usize = 16;

pub(super) struct Neighbour {
    provider: &'static str,
    http: Http,
    endpoint: Endpoint,
    seen: Mutex<Option<Seen>>,
}

/// What was found, and when.
struct Seen {
    at: Instant,
    /// `None` where nobody answered.
    answer: Option<Answer>,
}

/// What Ollama has.
enum Answer {
    Model(ModelRef),
    /// Nothing that one can talk to.
    Nothing,
}

/// `GET /api/tags`.
#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    #[serde(default)]
    details: Details,
    /// Set for a model that runs elsewhere, at Ollama's own service.
    #[serde(default)]
    remote_host: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    family: String,
}

/// `POST /api/show`, of which older versions say nothing about capabilities.
#[derive(Deserialize)]
struct Shown {
    capabilities: Option<Vec<String>>,
}

impl Neighbour {
    pub(super) fn new(provider: &'static str, http: Http, endpoint: Endpoint) -> Neighbour {
        Neighbour { provider, http, endpoint, seen: Mutex::default() }
    }

    pub(super) fn found(&self) -> Option<ModelRef> {
        match self.lock().as_ref()?.answer.as_ref()? {
            Answer::Model(model) => Some(model.clone()),
            Answer::Nothing => None,
        }
    }

    /// Whether it runs and has nothing that one can talk to.
    pub(super) fn has_nothing(&self) -> bool {
        self.lock().as_ref().is_some_and(|seen| matches!(seen.answer, Some(Answer::Nothing)))
    }

    pub(super) async fn look(&self) {
        if self.lock().as_ref().is_some_and(|seen| seen.at.elapsed() < FRESH) {
            return;
        }
        let answer = match self.endpoint.is_listened_on(CONNECT).await {
            true => timeout(ANSWER, self.ask()).await.ok().flatten(),
            false => None,
        };
        *self.lock() = Some(Seen { at: Instant::now(), answer });
    }

    /// The first model that one can talk to, in Ollama's own order: the newest first.
    async fn ask(&self) -> Option<Answer> {
        let tags: Tags = self.http.get(&self.endpoint, "/api/tags").await?;
        for tag in tags.models.iter().filter(|tag| tag.may_talk()).take(MOST) {
            let mut shown = self.http.post(&self.endpoint, "/api/show", &json!({"model": tag.name})).await.ok()?;
            let shown: Shown = serde_json::from_slice(&shown.whole().await.ok()?).ok()?;
            if shown.capabilities.is_none_or(|can| can.iter().any(|what| what == "completion")) {
                let model = tag.name.strip_suffix(":latest").unwrap_or(&tag.name);
                return Some(Answer::Model(ModelRef { provider: self.provider.into(), model: model.into() }));
            }
        }
        Some(Answer::Nothing)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tag {
    /// Whether it can be more than numbers for a search, and stays on the machine that was named.
    fn may_talk(&self) -> bool {
        !self.details.family.contains("bert") && !self.name.contains("embed") && self.remote_host.is_none()
    }
}
