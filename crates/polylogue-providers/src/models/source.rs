//! Where each provider is, with which key, and what is missing before it can be asked.

use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::{BadSettings, Provider, State};
use crate::{
    anthropic::{self, Anthropic},
    connector::{Connector, Dialect},
    gemini::Gemini,
    http::{Endpoint, Http, base_url},
    ollama::Ollama,
    openai::OpenAi,
    secret::Secret,
    settings::{Kind, ProviderSettings},
};

/// A provider that needs no configuration.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    kind: Kind,
    base_url: &'static str,
    /// The variables that the vendor's own client reads, the first first.
    keys: &'static [&'static str],
    addresses: &'static [&'static str],
}

impl BuiltIn {
    pub(super) fn needs_key(&self) -> bool {
        !self.keys.is_empty()
    }
}

pub(super) const BUILT_IN: [BuiltIn; 5] = [
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

/// Where a provider is and with which key, before it is connected.
pub(super) struct Source {
    name: String,
    kind: Kind,
    base: String,
    pub(super) key: Option<Secret>,
    /// What has to be set before it can be used.
    missing: Option<String>,
}

impl Source {
    pub(super) fn of_built_in(
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
        // A user who gives another address may well have a server without keys.
        let missing = variable
            .filter(|_| key.is_none() && address.is_none())
            .map(|variable| format!("{} needs a key: set {variable}", built_in.name));
        let kind = own.map_or(built_in.kind, |own| own.kind);
        let base = address.unwrap_or_else(|| built_in.base_url.to_owned());
        let base = if kind == Kind::Ollama { ollama_address(&base) } else { base };
        Ok(Source { name: built_in.name.to_owned(), kind, base, key, missing })
    }

    pub(super) fn of_own(
        name: &str,
        own: &ProviderSettings,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Source, BadSettings> {
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

    /// Where Ollama is, if this is one: it can be asked what it runs.
    pub(super) fn ollama(&self) -> Result<Option<Endpoint>, BadSettings> {
        (self.kind == Kind::Ollama).then(|| self.endpoint()).transpose()
    }

    pub(super) fn connect(self, http: &Http) -> Result<Provider, BadSettings> {
        let kind = self.kind.as_str();
        if let Some(missing) = self.missing {
            return Ok(Provider::unbounded(kind, State::Missing(missing)));
        }
        let endpoint = self.endpoint()?;
        let dialect: Box<dyn Dialect> = match self.kind {
            Kind::OpenAi => Box::new(OpenAi { is_vendor: self.name == "openai" }),
            Kind::Anthropic => Box::new(Anthropic),
            Kind::Gemini => Box::new(Gemini),
            Kind::Ollama => Box::new(Ollama),
        };
        let base = endpoint.base.clone();
        let connector = Arc::new(Connector::new(dialect, endpoint, http.clone()));
        Ok(Provider::unbounded(kind, State::Ready(connector)).at(&base))
    }

    /// The address, and what goes with every request.
    fn endpoint(&self) -> Result<Endpoint, BadSettings> {
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
        if self.kind == Kind::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
        }
        Ok(Endpoint { base, headers, key: self.key.clone() })
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
}
