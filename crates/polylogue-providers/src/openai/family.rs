//! Which OpenAI models take what, by the names that the vendor gives them.

/// What a model of OpenAI takes. A model that is not theirs is `Unknown`, wherever it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Thinks before it answers: no `temperature`, no `stop`, an effort.
    Reasoning,
    Chat,
    Unknown,
}

impl Family {
    pub(crate) fn of(model: &str) -> Family {
        let name = bare(model);
        if name.starts_with("gpt-oss") {
            return Family::Unknown;
        }
        let generation = |rest: &str| -> Option<u32> {
            rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
        };
        if let Some(generation) = name.strip_prefix("gpt-").and_then(generation) {
            let is_chat = generation < 5 || name.contains("-chat");
            return if is_chat { Family::Chat } else { Family::Reasoning };
        }
        if name.starts_with("codex-") || name.strip_prefix('o').and_then(generation).is_some() {
            return Family::Reasoning;
        }
        if name.starts_with("chatgpt-") { Family::Chat } else { Family::Unknown }
    }
}

/// Whether `response_format` takes a schema. What is not known is tried: a refusal is learned from.
pub(crate) fn has_schema_mode(model: &str) -> bool {
    const WITHOUT: [&str; 6] = ["gpt-3.5", "gpt-4-", "gpt-4o-2024-05-13", "chatgpt-4o", "o1-mini", "o1-preview"];
    let name = bare(model);
    name != "gpt-4" && !WITHOUT.iter().any(|without| name.starts_with(without))
}

/// The models for which low effort is not to be had.
pub(crate) fn only_thinks_hard(model: &str) -> bool {
    let name = bare(model);
    name.contains("-pro") || name.contains("deep-research") || name.starts_with("o1-")
}

/// The vendor's own name of a model: without OpenRouter's vendor and without the mark of a tuned one.
fn bare(model: &str) -> &str {
    let name = model.rsplit_once('/').map_or(model, |(_, name)| name);
    name.strip_prefix("ft:").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_family() {
        use Family::{Chat, Reasoning, Unknown};
        for (model, family, schema) in [
            ("gpt-6.1-terra", Reasoning, true),
            ("gpt-6-astra", Reasoning, true),
            ("gpt-5-mini", Reasoning, true),
            ("openai/gpt-5.5", Reasoning, true),
            ("o3", Reasoning, true),
            ("o4-mini-2025-04-16", Reasoning, true),
            ("gpt-5.2-chat-latest", Chat, true),
            ("gpt-4o", Chat, true),
            ("ft:gpt-4o-mini:me::1", Chat, true),
            ("gpt-4.1-nano", Chat, true),
            ("gpt-4-turbo", Chat, false),
            ("gpt-4", Chat, false),
            ("gpt-3.5-turbo", Chat, false),
            ("gpt-4o-2024-05-13", Chat, false),
            ("gpt-oss-20b", Unknown, true),
            ("qwen3-8b", Unknown, true),
            ("olmo-2", Unknown, true),
            ("smollm2", Unknown, true),
        ] {
            assert_eq!((Family::of(model), has_schema_mode(model)), (family, schema), "{model}");
        }
        assert!(only_thinks_hard("gpt-5.2-pro") && only_thinks_hard("o3-deep-research") && !only_thinks_hard("o3"));
    }
}
