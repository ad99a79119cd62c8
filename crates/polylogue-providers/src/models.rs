//! Every model that can be asked from here, behind the one port: the provider's name says which.

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;
use polylogue_core::setup::ModelRef;
use polylogue_runtime::port::{Call, CallError, Model, Reply};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::{
    anthropic::{self, Anthropic},
    command::Command,
    connector::{Connector, Dialect},
    gemini::Gemini,
    http::{Endpoint, Http, base_url},
    ollama::Ollama,
    openai::OpenAi,
    secret::Secret,
    settings::{Kind, Limits, ProviderSettings, Settings},
};

/// Names that are not for a provider of one's own.
const RESERVED: [&str; 3] = ["command", "local", "script"];

/// A provider that needs no configuration.
struct BuiltIn {
    name: &'static str,
    kind: Kind,
    base_url: &'static str,
    /// The variables that the vendor's own client reads, the first first.
    keys: &'static [&'static str],
    addresses: &'static [&'static str],
}

const BUILT_IN: [BuiltIn; 5] = [
    BuiltIn {
        name: "openai",
        kind: Kind::OpenAi,
        base_url: "https://api.openai.com/v1",
        keys: &["OPENAI_API_KEY"],
        addresses: &["OPENAI_BASE_URL"],
    },
    BuiltIn {
        name: "anthropic",
        kind: Kind::Anthropic,
        base_url: "https://api.anthropic.com",
        keys: &["ANTHROPIC_API_KEY"],
        addresses: &["ANTHROPIC_BASE_URL"],
    },
    BuiltIn {
        name: "gemini",
        kind: Kind::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        addresses: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
    },
    BuiltIn {
        name: "openrouter",
        kind: Kind::OpenAi,
        base_url: "https://openrouter.ai/api/v1",
        keys: &["OPENROUTER_API_KEY"],
        addresses: &["OPENROUTER_BASE_URL"],
    },
    BuiltIn {
        name: "ollama",
        kind: Kind::Ollama,
        base_url: "http://127.0.0.1:11434",
        keys: &[],
        addresses: &["OLLAMA_HOST"],
    },
];

/// The port for all models. Unknown providers and missing keys are told when they are asked for.
#[derive(Clone, Default)]
pub struct Models {
    providers: BTreeMap<String, Provider>,
}

/// One provider and whether it can be used.
#[derive(Clone)]
pub(crate) struct Provider {
    pub(crate) kind: &'static str,
    pub(crate) state: State,
}

#[derive(Clone)]
pub(crate) enum State {
    Ready(Arc<dyn Model>),
    /// What a person has to do first.
    Missing(String),
}

/// Why the settings for models cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    #[error("the address of provider `{0}` cannot be used: write it as http://host:port/path")]
    Address(String),
    #[error("a provider cannot be called `{0}`: choose another name")]
    Name(String),
    #[error("provider `{0}` has no address: give it a base_url")]
    NoAddress(String),
    #[error("the key of provider `{0}` cannot be sent: it has characters that a key cannot have")]
    Key(String),
    #[error("command `{0}` names no program")]
    NoProgram(String),
    #[error("the HTTP client cannot be set up: {0}")]
    Client(#[from] reqwest::Error),
}

impl Models {
    /// From what the configuration says. `env` is the only way in which the environment is read.
    pub fn new(
        settings: &Settings,
        limits: Limits,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<Models, BadSettings> {
        let env = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        let http = Http::new(limits, &env)?;
        let mut models = Models { providers: BTreeMap::new() };
        let mut keys = Vec::new();
        for built_in in &BUILT_IN {
            let own = settings.providers.get(built_in.name);
            let source = Source::of_built_in(built_in, own, &env)?;
            keys.extend(source.key.clone());
            models.providers.insert(built_in.name.to_owned(), source.connect(&http)?);
        }
        for (name, own) in &settings.providers {
            if RESERVED.contains(&name.as_str()) || name.is_empty() || name.contains('/') {
                return Err(BadSettings::Name(name.clone()));
            }
            if !models.providers.contains_key(name) {
                let source = Source::of_own(name, own, &env)?;
                keys.extend(source.key.clone());
                models.providers.insert(name.clone(), source.connect(&http)?);
            }
        }
        for (name, command) in &settings.commands {
            if command.program.trim().is_empty() {
                return Err(BadSettings::NoProgram(name.clone()));
            }
            let model = Arc::new(Command::new(command.clone(), keys.clone()));
            let provider = Provider { kind: "command", state: State::Ready(model) };
            models.providers.insert(format!("command/{name}"), provider);
        }
        Ok(models)
    }

    /// Adds a provider that is made elsewhere: scripted replies, the embedded model.
    #[must_use]
    pub fn with(mut self, provider: &'static str, model: Arc<dyn Model>) -> Models {
        self.providers.insert(provider.to_owned(), Provider { kind: provider, state: State::Ready(model) });
        self
    }

    /// Whether the model's provider can be used as things are, or what to do first.
    pub fn check(&self, model: &ModelRef) -> Result<(), CallError> {
        self.find(model).map(|_| ())
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = (&str, &Provider)> {
        self.providers.iter().map(|(name, provider)| (name.as_str(), provider))
    }

    fn find(&self, model: &ModelRef) -> Result<&Arc<dyn Model>, CallError> {
        let provider = match &*model.provider {
            "command" => self.providers.get(&model.to_string()),
            name => self.providers.get(name),
        };
        match provider {
            Some(Provider { state: State::Ready(model), .. }) => Ok(model),
            Some(Provider { state: State::Missing(what), .. }) => Err(CallError::Unavailable(what.clone())),
            None => Err(CallError::Unavailable(format!(
                "there is no provider for `{model}`: the providers here are {}",
                self.providers.keys().cloned().collect::<Vec<_>>().join(", ")
            ))),
        }
    }
}

#[async_trait]
impl Model for Models {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        self.find(&call.ask.request.model)?.answer(call).await
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").field("providers", &self.providers.keys()).finish()
    }
}

/// Where a provider is and with which key, before it is connected.
struct Source {
    name: String,
    kind: Kind,
    base: String,
    key: Option<Secret>,
    /// What has to be set before it can be used.
    missing: Option<String>,
}

impl Source {
    fn of_built_in(
        built_in: &BuiltIn,
        own: Option<&ProviderSettings>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Source, BadSettings> {
        let first = |names: &[&str]| names.iter().find_map(|name| env(name));
        let address = own.and_then(|own| own.base_url.clone()).or_else(|| first(built_in.addresses));
        let key = match own.and_then(|own| own.api_key_env.as_deref()) {
            Some(name) => env(name),
            None => first(built_in.keys),
        };
        let key = key.and_then(|key| Secret::new(&key));
        let variable = own.and_then(|own| own.api_key_env.as_deref()).or(built_in.keys.first().copied());
        // Whoever gives another address may well have a server without keys.
        let missing = variable
            .filter(|_| key.is_none() && address.is_none())
            .map(|variable| format!("{} needs a key: set {variable}", built_in.name));
        let kind = own.map_or(built_in.kind, |own| own.kind);
        let base = address.unwrap_or_else(|| built_in.base_url.to_owned());
        let base = if kind == Kind::Ollama { ollama_address(&base) } else { base };
        Ok(Source { name: built_in.name.to_owned(), kind, base, key, missing })
    }

    fn of_own(name: &str, own: &ProviderSettings, env: &dyn Fn(&str) -> Option<String>) -> Result<Source, BadSettings> {
        let built_in = BUILT_IN.iter().find(|built_in| built_in.kind == own.kind && own.api_key_env.is_some());
        let base = own.base_url.clone().or_else(|| built_in.map(|built_in| built_in.base_url.to_owned()));
        let base = base.ok_or_else(|| BadSettings::NoAddress(name.to_owned()))?;
        let key = own.api_key_env.as_deref().and_then(env).and_then(|key| Secret::new(&key));
        let missing = own
            .api_key_env
            .as_deref()
            .filter(|_| key.is_none())
            .map(|variable| format!("{name} needs a key: set {variable}"));
        Ok(Source { name: name.to_owned(), kind: own.kind, base, key, missing })
    }

    fn connect(self, http: &Http) -> Result<Provider, BadSettings> {
        let kind = self.kind.as_str();
        if let Some(missing) = self.missing {
            return Ok(Provider { kind, state: State::Missing(missing) });
        }
        let base = base_url(&self.base).ok_or_else(|| BadSettings::Address(self.name.clone()))?;
        // The vendors' clients disagree on whether the version belongs to the address.
        let base = match self.kind {
            Kind::Anthropic => base.strip_suffix("/v1").unwrap_or(&base).to_owned(),
            Kind::Gemini => base.strip_suffix("/v1beta").unwrap_or(&base).to_owned(),
            Kind::Ollama => base.strip_suffix("/v1").unwrap_or(&base).to_owned(),
            Kind::OpenAi => base,
        };
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let bearer = format!("Bearer {}", key.reveal());
            let pairs: &[(HeaderName, &str)] = match self.kind {
                Kind::OpenAi | Kind::Ollama => &[(AUTHORIZATION, &bearer)],
                // The current client sends the first, older servers of the protocol read the second.
                Kind::Anthropic => &[(AUTHORIZATION, &bearer), (HeaderName::from_static("x-api-key"), key.reveal())],
                Kind::Gemini => &[(HeaderName::from_static("x-goog-api-key"), key.reveal())],
            };
            for (name, value) in pairs {
                let mut value = HeaderValue::from_str(value).map_err(|_| BadSettings::Key(self.name.clone()))?;
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        let dialect: Box<dyn Dialect> = match self.kind {
            Kind::OpenAi => Box::new(OpenAi { is_vendor: self.name == "openai" }),
            Kind::Anthropic => {
                headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
                Box::new(Anthropic)
            }
            Kind::Gemini => Box::new(Gemini),
            Kind::Ollama => Box::new(Ollama),
        };
        let endpoint = Endpoint { base, headers, key: self.key };
        Ok(Provider { kind, state: State::Ready(Arc::new(Connector::new(dialect, endpoint, http.clone()))) })
    }
}

/// `OLLAMA_HOST` may lack the scheme and the port, and may be the address that Ollama listens on.
fn ollama_address(text: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let (host, path) = rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ if scheme == "https" => (host, "443"),
        _ => (host, "11434"),
    };
    let name = if matches!(name, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { name };
    format!("{scheme}://{name}:{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_found_however_its_host_is_written() {
        for (text, expected) in [
            ("127.0.0.1", "http://127.0.0.1:11434"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            (":9000", "http://127.0.0.1:9000"),
            ("http://box:1234/", "http://box:1234"),
            ("https://ollama.example", "https://ollama.example:443"),
            ("[::1]:11434", "http://[::1]:11434"),
            ("https://example.com/ollama", "https://example.com:443/ollama"),
        ] {
            assert_eq!(ollama_address(text), expected);
        }
    }

    #[test]
    fn what_is_missing_is_told_by_its_name() {
        let settings: Settings = toml::from_str(
            "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key_env = \"LAB_KEY\"",
        )
        .unwrap();
        let models = Models::new(&settings, Limits::default(), |_| None).unwrap();
        for (model, told) in [
            ("openai/gpt-4o", "OPENAI_API_KEY"),
            ("anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
            ("gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
            ("openrouter/openai/gpt-4o", "OPENROUTER_API_KEY"),
            ("lab/qwen3-8b", "LAB_KEY"),
            ("attic/qwen3-8b", "anthropic, gemini, lab, ollama, openai, openrouter"),
            ("command/coder", "no provider for `command/coder`"),
        ] {
            let error = models.check(&model.parse().unwrap()).unwrap_err().to_string();
            assert!(error.contains(told), "{model}: {error}");
        }
        assert!(models.check(&"ollama/llama3.2".parse().unwrap()).is_ok());
    }

    #[test]
    fn settings_that_cannot_work_are_refused_at_once() {
        for (toml, expected) in [
            ("[providers.lab]\nkind = \"openai\"", "no address"),
            ("[providers.lab]\nkind = \"openai\"\nbase_url = \"lab:8000\"", "cannot be used"),
            ("[providers.script]\nkind = \"openai\"\nbase_url = \"http://x\"", "choose another name"),
            ("[commands.coder]\nprogram = \" \"", "no program"),
        ] {
            let settings: Settings = toml::from_str(toml).unwrap();
            let error = Models::new(&settings, Limits::default(), |_| None).unwrap_err().to_string();
            assert!(error.contains(expected), "{toml}: {error}");
        }
        let bad_key = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-line\nbreak".to_owned());
        let error = Models::new(&Settings::default(), Limits::default(), bad_key).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("sk-line"));
    }
}
