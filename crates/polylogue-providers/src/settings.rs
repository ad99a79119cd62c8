//! What the binary's configuration says about models: `[providers.NAME]`, `[commands.NAME]`, `[prices."…"]`.

use std::{collections::BTreeMap, num::NonZeroUsize, time::Duration};

use polylogue_core::money::Price;
use serde::Deserialize;

/// Everything about models that a configuration can say. All of it is optional.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    pub providers: BTreeMap<String, ProviderSettings>,
    pub commands: BTreeMap<String, CommandSettings>,
    /// By `provider/model` or `provider/*`.
    pub prices: BTreeMap<String, OwnPrice>,
}

/// What somebody says that a model costs: in dollars per million tokens, or per million characters that it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "RawPrice")]
pub enum OwnPrice {
    Tokens(Price),
    Characters(f64),
}

impl OwnPrice {
    pub(crate) fn of_tokens(&self) -> Option<Price> {
        match self {
            OwnPrice::Tokens(price) => Some(*price),
            OwnPrice::Characters(_) => None,
        }
    }

    pub(crate) fn of_characters(&self) -> Option<f64> {
        match self {
            OwnPrice::Characters(price) => Some(*price),
            OwnPrice::Tokens(_) => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrice {
    input: Option<f64>,
    output: Option<f64>,
    cached: Option<f64>,
    cache_write: Option<f64>,
    characters: Option<f64>,
}

impl TryFrom<RawPrice> for OwnPrice {
    type Error = &'static str;
    fn try_from(raw: RawPrice) -> Result<Self, Self::Error> {
        let RawPrice { input, output, cached, cache_write, characters } = raw;
        match (input, output, characters) {
            (Some(input), Some(output), None) => Ok(OwnPrice::Tokens(Price { input, output, cached, cache_write })),
            (None, None, Some(characters)) => Ok(OwnPrice::Characters(characters)),
            _ => Err("a price has `input` and `output`, or `characters`"),
        }
    }
}

/// A provider of one's own, or another address or key for a built-in one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    pub kind: Kind,
    #[serde(default)]
    pub base_url: Option<String>,
    /// The environment variable that holds the key. A server without keys needs none.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Calls at once; who comes later waits for a place.
    #[serde(default)]
    pub max_concurrent: Option<NonZeroUsize>,
}

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Chat completions: OpenAI, OpenRouter, vLLM, llama.cpp, LM Studio, LiteLLM and many more.
    OpenAi,
    /// Messages.
    Anthropic,
    /// generateContent.
    Gemini,
    /// Ollama's own `/api/chat`.
    Ollama,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::OpenAi => "openai",
            Kind::Anthropic => "anthropic",
            Kind::Gemini => "gemini",
            Kind::Ollama => "ollama",
        }
    }
}

/// An external program that answers: one JSON request on its standard input, one JSON reply on its output.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSettings {
    pub program: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// The variables of the environment that it is given, besides those that every program needs.
    #[serde(default)]
    pub env: Vec<String>,
    /// How long it may run; without it, as long as any model may be silent before its first word.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

/// The limits of one exchange with a server. How long an answer is waited for is not among them: the runtime knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub connect: Duration,
    /// Bytes of one answer, as they come over the wire.
    pub max_response_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connect: Duration::from_secs(10), max_response_bytes: 8 * 1024 * 1024 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_s_example_is_understood_and_a_typo_is_not() {
        let settings: Settings = toml::from_str(
            r#"
            [providers.lab]
            kind = "openai"
            base_url = "http://127.0.0.1:8000/v1"
            api_key_env = "LAB_KEY"

            [commands.coder]
            program = "claude"
            args = ["-p", "--output-format", "json"]

            [prices."lab/qwen3-8b"]
            input = 0.1
            output = 0.4

            [prices."elevenlabs/*"]
            characters = 90.0
            "#,
        )
        .unwrap();
        assert_eq!(settings.providers["lab"].kind, Kind::OpenAi);
        assert_eq!(settings.commands["coder"].timeout_seconds, None);
        let price = Price { input: 0.1, output: 0.4, ..Price::FREE };
        assert_eq!(settings.prices["lab/qwen3-8b"], OwnPrice::Tokens(price));
        assert_eq!(settings.prices["elevenlabs/*"], OwnPrice::Characters(90.0));
        assert!(toml::from_str::<Settings>("[prices.\"lab/*\"]\ninput = 1.0").is_err());
        assert!(toml::from_str::<Settings>("[providers.lab]\nkind = \"openai\"\nbase-url = \"x\"").is_err());
        assert!(toml::from_str::<Settings>("[providers.lab]\nkind = \"cohere\"").is_err());
    }
}
