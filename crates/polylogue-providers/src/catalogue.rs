//! What can think here: what `polylogue models list` shows, and the question that `doctor --live` asks.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::civil::Date;
use polylogue_core::{
    ask::{Ask, Request, Thread},
    id::{AskId, Purpose},
    money::Price,
    setup::{ModelRef, Sampling},
    text::reply::{self, Field, Shape},
};
use polylogue_runtime::port::{Call, CallError, Deltas, Model};
use serde::Serialize;

use crate::{
    anthropic, gemini,
    models::{Models, State},
    openai,
    prices::Prices,
    resolve::{BUILT_IN, Ending},
};

/// One provider and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    pub provider: String,
    /// The protocol it speaks.
    pub kind: &'static str,
    /// What to do before it can be used; `None` when it can.
    pub missing: Option<String>,
    /// The models that the vendor lists. A server of one's own has its own, which nobody here knows.
    pub models: Vec<Listed>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    pub model: ModelRef,
    /// `None` when nobody knows.
    pub price: Option<Price>,
    /// Whether it has a schema mode for structured replies; without, it gets instructions.
    pub has_schema_mode: bool,
    /// The day on which its vendor ends it.
    pub ends: Option<Date>,
    /// The built-in agent that this model plays.
    pub plays: Option<&'static str>,
}

/// Every provider, configured or built in, in the order of their names.
pub fn list(models: &Models, prices: &Prices) -> Vec<Listing> {
    let listing = |(name, provider): (&str, &crate::models::Provider)| {
        let listed = |model: &str| {
            let model = ModelRef { provider: name.into(), model: model.into() };
            let plays = BUILT_IN.into_iter().find(|built_in| models.model_of(*built_in) == model);
            listed(model, plays.map(|built_in| built_in.agent), prices)
        };
        let missing = match &provider.state {
            State::Ready(_) => None,
            State::Local(local) => local.check(&local.usual().model).err().map(|error| error.to_string()),
            State::Missing(what) => Some(what.clone()),
        };
        let known = match &provider.state {
            State::Local(local) => local.names().map(listed).collect(),
            State::Ready(_) | State::Missing(_) => {
                let found = models.of_ollama().filter(|found| &*found.provider == name);
                let found = found.iter().map(|found| listed(&found.model));
                found.chain(known_of(name).iter().copied().map(listed)).collect()
            }
        };
        Listing { provider: name.to_owned(), kind: provider.kind, missing, models: known }
    };
    models.providers().map(listing).collect()
}

fn listed(model: ModelRef, plays: Option<&'static str>, prices: &Prices) -> Listed {
    let has_schema_mode = match &*model.provider {
        "openai" => openai::has_schema_mode(&model.model),
        "anthropic" => anthropic::has_schema_mode(&model.model),
        // They decode by a grammar.
        "local" | "ollama" => true,
        _ => gemini::has_schema_mode(&model.model),
    };
    Listed { price: prices.of(&model), has_schema_mode, ends: Ending::of(&model).map(|ending| ending.on), plays, model }
}

/// The general models that the vendors' clients name (`openai` 3.49, `anthropic` 2.8, `google-genai` 3.1).
fn known_of(provider: &str) -> &'static [&'static str] {
    match provider {
        "openai" => &[
            "gpt-6-astra",
            "gpt-6.1-sol",
            "gpt-6.1-terra",
            "gpt-6-sol",
            "gpt-6-luna",
            "gpt-5.6-sol",
            "gpt-5.6-terra",
            "gpt-5.6-luna",
            "gpt-5.5",
            "gpt-5.4",
            "gpt-5.4-mini",
            "gpt-5.2",
            "gpt-4.1",
            "gpt-4o",
            "gpt-4o-mini",
        ],
        "anthropic" => &[
            "claude-fable-5-2",
            "claude-mythos-5-2",
            "claude-haiku-5-5",
            "claude-sonnet-5-5",
            "claude-opus-5-5",
            "claude-sonnet-5",
            "claude-opus-5",
            "claude-opus-4-8",
            "claude-sonnet-4-6",
            "claude-haiku-4-5",
            "claude-sonnet-4-5",
        ],
        "gemini" => &[
            "gemini-4-argon",
            "gemini-3.8-flash",
            "gemini-3.5-flash",
            "gemini-3.5-flash-lite",
            "gemini-3.1-pro-preview",
            "gemini-2.5-pro",
            "gemini-2.5-flash",
        ],
        _ => &[],
    }
}

/// How long an address has to answer.
const KNOCK: Duration = Duration::from_secs(1);

/// Whether somebody answers where a provider of this machine or its network is, with its address either way. `None`
/// for a provider elsewhere, whom only a question would show to be there.
pub async fn answers(models: &Models, provider: &str) -> Option<Result<String, String>> {
    let url = reqwest::Url::parse(models.private_address(provider)?).ok()?;
    let (host, port) = (url.host_str()?.trim_matches(['[', ']']), url.port_or_known_default()?);
    let knocked = tokio::time::timeout(KNOCK, tokio::net::TcpStream::connect((host, port))).await;
    // Without a name and a password that the address may carry.
    let address = format!("{}://{}:{port}", url.scheme(), url.host_str()?);
    Some(if matches!(knocked, Ok(Ok(_))) { Ok(address) } else { Err(address) })
}

/// What one question to a model showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    pub model: ModelRef,
    /// From sending the first question to the end of its answer.
    pub round_trip: Duration,
    pub structured: Structured,
    pub caching: Caching,
}

/// How well the model kept to the shape that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Structured {
    Exact,
    Repaired,
    Failed,
}

/// Whether the same head was read from the provider's cache the second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Caching {
    Worked {
        cached_tokens: u64,
    },
    NotSeen,
    /// The provider reports no usage.
    Unknown,
}

/// How long a model may take for the questions of a probe.
const PROBE_LIMIT: Duration = Duration::from_secs(120);

/// Asks a model the same cheap question twice: the second time shows whether its head was cached.
pub async fn probe(models: &dyn Model, model: &ModelRef) -> Result<Probe, CallError> {
    let too_slow = |_| CallError::Timeout(format!("no answer within {} s", PROBE_LIMIT.as_secs()));
    tokio::time::timeout(PROBE_LIMIT, ask_twice(models, model)).await.map_err(too_slow)?
}

async fn ask_twice(models: &dyn Model, model: &ModelRef) -> Result<Probe, CallError> {
    let shape = question_shape();
    let call = call(model);
    let sent = Instant::now();
    let first = models.answer(&call).await?;
    let round_trip = sent.elapsed();
    let reading = reply::read(&first.text, &shape);
    let structured = match reading.value {
        Ok(_) if reading.repairs.is_empty() => Structured::Exact,
        Ok(_) => Structured::Repaired,
        Err(_) => Structured::Failed,
    };
    let second = models.answer(&call).await?;
    let caching = match second.usage {
        None => Caching::Unknown,
        Some(usage) if usage.cached > 0 => Caching::Worked { cached_tokens: usage.cached },
        Some(_) => Caching::NotSeen,
    };
    Ok(Probe { model: model.clone(), round_trip, structured, caching })
}

fn question_shape() -> Shape {
    Shape::Object(vec![Field::required("answer", Shape::Choice(vec!["yes".into(), "no".into()]))])
}

pub(crate) fn call(model: &ModelRef) -> Call {
    // Vendors cache heads of about a thousand tokens and more.
    let rules = "You are being tested for a moment. Answer the question that you are asked with yes or no, in the \
                 form that you are told. Say nothing else. The next line repeats this rule and adds nothing to it.\n";
    let request = Request {
        model: model.clone(),
        system: rules.repeat(30).into(),
        thread: Thread::default(),
        prompt: "Is the sky above the ground?".into(),
        shape: Some(Arc::new(question_shape())),
        grammar: None,
        plan: None,
        sampling: Sampling { max_output_tokens: Some(512), ..Sampling::default() },
    };
    let agent = "doctor".parse().expect("a plain word is a name");
    let id = AskId { purpose: Purpose::new("contribute"), turn: 1, agent, attempt: 1 };
    Call { ask: Ask { id, request }, retry: 0, deltas: Deltas::unwatched() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Limits, Settings};

    #[test]
    fn the_list_says_what_is_usable_and_what_to_do() {
        let env = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-test".to_owned());
        let models = Models::new(&Settings::default(), Limits::default(), env).unwrap();
        let listings = list(&models, &Prices::default());
        let of = |name: &str| listings.iter().find(|listing| listing.provider == name).unwrap();
        assert_eq!(of("openai").missing, None);
        assert_eq!(of("anthropic").missing.as_deref(), Some("anthropic needs a key: set ANTHROPIC_API_KEY"));
        let gpt = of("openai").models.iter().find(|listed| listed.plays == Some("gpt")).unwrap();
        assert_eq!((gpt.model.to_string().as_str(), gpt.ends), ("openai/gpt-6.1-terra", None));
        for listed in ["openai", "anthropic", "gemini"].iter().flat_map(|name| &of(name).models) {
            assert!(listed.has_schema_mode, "{}", listed.model);
        }
        let json = serde_json::to_value(&listings).unwrap();
        assert_eq!(json[0]["models"].as_array().unwrap().last().unwrap()["ends"], "2026-11-30");
        assert!(!json.to_string().contains("sk-test"));
    }
}
