//! Asks to send, and models that are reached at a loopback server.

use std::sync::{Arc, Mutex};

use polylogue_core::{
    ask::{Ask, Request, Role, Thread},
    format::collaboration::purpose,
    id::AskId,
    setup::Sampling,
    text::reply::{Field, Shape},
};
use polylogue_providers::{Limits, Models, Settings};
use polylogue_runtime::port::{Call, Deltas};

/// The key that every test sends, and that must never be seen anywhere else.
pub(crate) const KEY: &str = "sk-test-THIS-IS-THE-KEY-0123456789";

/// Models whose built-in providers are all at this address.
pub(crate) fn models_at(base: &str, limits: Limits) -> Models {
    let base = base.to_owned();
    let env = move |name: &str| match name {
        "OPENAI_BASE_URL" | "OPENROUTER_BASE_URL" => Some(format!("{base}/v1")),
        "ANTHROPIC_BASE_URL" | "GEMINI_BASE_URL" | "OLLAMA_HOST" => Some(base.clone()),
        "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" | "GEMINI_API_KEY" | "OPENROUTER_API_KEY" | "LAB_KEY" => {
            Some(KEY.to_owned())
        }
        _ => None,
    };
    let lab = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}/v1\"\napi_key_env = \"LAB_KEY\"",
        env("OLLAMA_HOST").unwrap()
    );
    let settings: Settings = toml::from_str(&lab).unwrap();
    Models::new(&settings, limits, env).unwrap()
}

/// A small request to a model.
pub(crate) fn request(model: &str) -> Request {
    Request {
        model: model.parse().unwrap(),
        system: "You are Ada.".into(),
        thread: thread(&[(Role::User, "Good morning."), (Role::Assistant, "Morning, Bob.")]),
        prompt: "What is a home?".into(),
        shape: None,
        grammar: None,
        plan: None,
        sampling: Sampling::default(),
    }
}

pub(crate) fn thread(messages: &[(Role, &str)]) -> Thread {
    let mut thread = Thread::default();
    for (role, text) in messages {
        thread.push(*role, (*text).into());
    }
    thread
}

/// The envelope of a collaboration, more or less.
pub(crate) fn shape() -> Arc<Shape> {
    Arc::new(Shape::Object(vec![
        Field::required("message", Shape::Text { max_chars: None }),
        Field::optional(
            "handoff",
            Shape::Object(vec![
                Field::required("to", Shape::Choice(vec!["gpt".into(), "claude".into()])),
                Field::required("task", Shape::Text { max_chars: Some(500) }),
            ]),
        ),
        Field::optional("final", Shape::Bool),
    ]))
}

pub(crate) fn call(request: Request) -> Call {
    call_watched(request, |_| {})
}

pub(crate) fn call_watched(request: Request, watch: impl Fn(&str) + Send + Sync + 'static) -> Call {
    let id = AskId { purpose: purpose::CONTRIBUTE, turn: 1, agent: "ada".parse().unwrap(), attempt: 1 };
    Call { ask: Ask { id, request }, retry: 0, deltas: Deltas::new(watch) }
}

/// The pieces of text that were shown, in order.
#[derive(Clone, Default)]
pub(crate) struct Shown(Arc<Mutex<Vec<String>>>);

impl Shown {
    pub(crate) fn push(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}
