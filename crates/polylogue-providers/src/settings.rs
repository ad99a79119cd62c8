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
    /// In dollars per million tokens, by `provider/model` or `provider/*`.
    pub prices: BTreeMap<String, Price>,
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
            "#,
        )
        .unwrap();
        assert_eq!(settings.providers["lab"].kind, Kind::OpenAi);
        assert_eq!(settings.commands["coder"].timeout_seconds, None);
        assert_eq!(settings.prices["lab/qwen3-8b"].output, 0.4);
        assert!(toml::from_str::<Settings>("[providers.lab]\nkind = \"openai\"\nbase-url = \"x\"").is_err());
        assert!(toml::from_str::<Settings>("[providers.lab]\nkind = \"cohere\"").is_err());
    }
}
