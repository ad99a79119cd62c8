//! From what people write to a model: bare names, the built-in agents, and which models are about to end.
//!
//! The tables are dated. They are taken from the vendors' own clients: `openai` 3.49, `anthropic` 2.8.

use jiff::civil::{Date, date};
use polylogue_core::setup::{BadSetup, ModelRef};

/// Day of the tables below.
pub const AS_OF: Date = date(2026, 11, 15);

/// An agent that needs no configuration: its vendor's current general model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    pub agent: &'static str,
    pub provider: &'static str,
    pub model: &'static str,
}

pub const BUILT_IN: [BuiltIn; 2] = [
    BuiltIn { agent: "gpt", provider: "openai", model: "gpt-6.1-terra" },
    BuiltIn { agent: "claude", provider: "anthropic", model: "claude-sonnet-5-5" },
];

impl BuiltIn {
    pub fn named(agent: &str) -> Option<BuiltIn> {
        BUILT_IN.into_iter().find(|built_in| built_in.agent.eq_ignore_ascii_case(agent))
    }

    pub fn model_ref(&self) -> ModelRef {
        ModelRef { provider: self.provider.into(), model: self.model.into() }
    }
}

/// The models that Claude Code calls by one word, in the files of its agents.
const CLAUDE_CODE: [(&str, &str); 3] =
    [("sonnet", "claude-sonnet-5-5"), ("opus", "claude-opus-5-5"), ("haiku", "claude-haiku-5-5")];

/// The model that Claude Code means by this word.
pub fn claude_code(word: &str) -> Option<ModelRef> {
    let (_, model) = CLAUDE_CODE.iter().find(|(known, _)| known.eq_ignore_ascii_case(word.trim()))?;
    Some(ModelRef { provider: "anthropic".into(), model: (*model).into() })
}

/// The model that a text names: `provider/model`, a bare name of a vendor's model, or a built-in agent.
pub fn resolve(text: &str) -> Result<ModelRef, BadSetup> {
    let text = text.trim();
    if let Some(built_in) = BuiltIn::named(text) {
        return Ok(built_in.model_ref());
    }
    if text.contains('/') {
        return text.parse();
    }
    let provider = vendor(text).ok_or_else(|| BadSetup::Model(text.to_owned()))?;
    Ok(ModelRef { provider: provider.into(), model: text.into() })
}

/// The vendor of a model with this name.
fn vendor(model: &str) -> Option<&'static str> {
    let is_o_series = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_o_series || ["gpt-", "chatgpt-", "codex-"].iter().any(|prefix| model.starts_with(prefix)) {
        Some("openai")
    } else if model.starts_with("claude-") {
        Some("anthropic")
    } else if model.starts_with("gemini-") {
        Some("gemini")
    } else {
        None
    }
}

/// The announced end of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub on: Date,
    /// What to use instead, at the same vendor.
    pub instead: &'static str,
}

impl Ending {
    /// The end that the vendor of this model has announced, if any.
    pub fn of(model: &ModelRef) -> Option<Ending> {
        let built_in = BUILT_IN.into_iter().find(|built_in| built_in.provider == &*model.provider)?;
        let endings: &[(Date, &[&str])] = match built_in.provider {
            "openai" => &OPENAI,
            _ => &ANTHROPIC,
        };
        let (on, _) = endings.iter().find(|(_, names)| names.contains(&&*model.model))?;
        Some(Ending { on: *on, instead: built_in.model })
    }

    /// What to tell the person, on this day.
    pub fn warning(&self, model: &ModelRef, today: Date) -> String {
        let verb = if self.on < today { "ended" } else { "ends" };
        format!("{model} {verb} on {}: its vendor recommends a newer model, such as {}", self.on, self.instead)
    }
}

const OPENAI: [(Date, &[&str]); 8] = [
    (date(2026, 7, 23), &["gpt-5.1-codex", "gpt-5.1-chat-latest", "gpt-5-chat-latest"]),
    (date(2026, 8, 10), &["gpt-5.3-chat-latest", "gpt-5.2-chat-latest"]),
    (date(2026, 9, 28), &["gpt-3.5-turbo-1106"]),
    (
        date(2026, 10, 23),
        &[
            "gpt-4.1-nano",
            "gpt-4.1-nano-2025-04-14",
            "o4-mini",
            "o4-mini-2025-04-16",
            "o3-mini",
            "o3-mini-2025-01-31",
            "o1",
            "o1-2024-12-17",
            "gpt-4o-2024-05-13",
            "gpt-4-turbo",
            "gpt-4-turbo-2024-04-09",
            "gpt-4",
            "gpt-4-0613",
            "gpt-3.5-turbo",
            "gpt-3.5-turbo-0125",
        ],
    ),
    (
        date(2026, 12, 11),
        &[
            "gpt-5",
            "gpt-5-mini",
            "gpt-5-nano",
            "gpt-5-2025-08-07",
            "gpt-5-mini-2025-08-07",
            "gpt-5-nano-2025-08-07",
            "o3",
            "o3-2025-04-16",
        ],
    ),
    (
        date(2027, 1, 14),
        &[
            "gpt-4.1",
            "gpt-4.1-mini",
            "gpt-4.1-2025-04-14",
            "gpt-4.1-mini-2025-04-14",
            "gpt-4o",
            "gpt-4o-2024-11-20",
            "gpt-4o-2024-08-06",
            "gpt-4o-mini",
            "gpt-4o-mini-2024-07-18",
        ],
    ),
    (date(2027, 4, 1), &["gpt-5.4-nano", "gpt-5.4-nano-2026-03-17", "gpt-5.1", "gpt-5.1-2025-11-13"]),
    (date(2026, 2, 17), &["chatgpt-4o-latest"]),
];

const ANTHROPIC: [(Date, &[&str]); 4] = [
    (
        date(2026, 2, 19),
        &[
            "claude-3-7-sonnet-latest",
            "claude-3-7-sonnet-20250219",
            "claude-3-5-haiku-latest",
            "claude-3-5-haiku-20241022",
        ],
    ),
    (
        date(2026, 6, 15),
        &["claude-opus-4-0", "claude-opus-4-20250514", "claude-sonnet-4-0", "claude-sonnet-4-20250514"],
    ),
    (date(2026, 6, 30), &["claude-mythos-preview"]),
    (date(2026, 11, 30), &["claude-sonnet-4-5", "claude-sonnet-4-5-20250929"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_models() {
        for (text, expected) in [
            ("gpt", Some("openai/gpt-6.1-terra")),
            ("Claude", Some("anthropic/claude-sonnet-5-5")),
            ("gpt-4o", Some("openai/gpt-4o")),
            ("o4-mini", Some("openai/o4-mini")),
            ("o3", Some("openai/o3")),
            ("chatgpt-4o-latest", Some("openai/chatgpt-4o-latest")),
            ("claude-sonnet-4-5", Some("anthropic/claude-sonnet-4-5")),
            ("gemini-2.5-pro", Some("gemini/gemini-2.5-pro")),
            ("openrouter/openai/gpt-4o", Some("openrouter/openai/gpt-4o")),
            ("lab/qwen3-8b", Some("lab/qwen3-8b")),
            ("olmo", None),
            ("", None),
            ("lab/", None),
        ] {
            let resolved = resolve(text).ok().map(|model| model.to_string());
            assert_eq!(resolved.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn claude_code_calls_models_by_one_word() {
        for (word, expected) in [
            ("sonnet", Some("anthropic/claude-sonnet-5-5")),
            ("Opus ", Some("anthropic/claude-opus-5-5")),
            ("haiku", Some("anthropic/claude-haiku-5-5")),
            ("inherit", None),
            ("gpt-4o", None),
        ] {
            assert_eq!(claude_code(word).map(|model| model.to_string()).as_deref(), expected, "{word}");
        }
    }

    #[test]
    fn a_model_about_to_end_gets_a_warning() {
        let of = |text: &str| Ending::of(&resolve(text).unwrap());
        let sonnet = resolve("claude-sonnet-4-5").unwrap();
        let ending = Ending::of(&sonnet).unwrap();
        let text = ending.warning(&sonnet, AS_OF);
        assert!(text.starts_with("anthropic/claude-sonnet-4-5 ends on 2026-11-30"), "{text}");
        assert!(text.ends_with("claude-sonnet-5-5"), "{text}");
        assert!(ending.warning(&sonnet, date(2026, 12, 1)).contains("ended on"));
        assert_eq!(of("gpt-4o").unwrap().on, date(2027, 1, 14));
        assert_eq!((of("gpt"), of("claude"), of("lab/gpt-4o"), of("gemini-2.5-pro")), (None, None, None, None));
    }
}
