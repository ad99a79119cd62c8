//! What somebody who asks over HTTP may name as a model.
//!
//! The agents of the configuration and the built-in ones are for everybody who may ask. Beyond them it is an allowlist:
//! the models that the operator has opened (`[server] models`), or, where the server has no tokens and is for this
//! machine alone, all but its programs and the files of scripts.

use polylogue_core::setup::ModelRef;
use polylogue_providers::resolve::resolve;
use polylogue_server::{Code, Refusal};

use crate::{agents, config::Config, failure::Failure};

/// Providers that start programs or read files of this machine: they are open only where they are named.
const OF_THIS_MACHINE: [&str; 2] = ["command", "script"];

/// The models that are open to requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// All but those of this machine's programs and files.
    Usual,
    Only(Vec<Pattern>),
}

/// `provider/model`, or `provider/*` for all of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    provider: String,
    /// `None` for all.
    model: Option<String>,
}

impl Opened {
    /// What `[server] models` opens; where it says nothing, a server with tokens opens no more than its agents.
    pub(crate) fn of(config: &Config, has_tokens: bool) -> Result<Opened, Failure> {
        match &config.server.models {
            Some(patterns) => {
                patterns.iter().map(|text| Pattern::read(text)).collect::<Result<_, _>>().map(Opened::Only)
            }
            None if has_tokens => Ok(Opened::Only(Vec::new())),
            None => Ok(Opened::Usual),
        }
    }

    pub(crate) fn admits(&self, model: &ModelRef) -> bool {
        match self {
            Opened::Usual => !is_of_this_machine(model),
            Opened::Only(patterns) => patterns.iter().any(|pattern| pattern.matches(model)),
        }
    }

    /// Whether a request may name this agent or model. What is neither is somebody else's to complain about.
    pub(crate) fn check(&self, name: &str, config: &Config) -> Result<(), Refusal> {
        let names = agents::names(config);
        if names.contains(&name) {
            return Ok(());
        }
        match resolve(name) {
            Ok(model) => self.check_model(&model, &names),
            Err(_) => Ok(()),
        }
    }

    fn check_model(&self, model: &ModelRef, agents: &[&str]) -> Result<(), Refusal> {
        match self.admits(model) {
            true => Ok(()),
            false => Err(Refusal::new(Code::InvalidConfig, closed(model, agents))),
        }
    }
}

/// Why a request may not name this model. What programs and files there are here is nobody's business.
pub(crate) fn closed(model: &ModelRef, agents: &[&str]) -> String {
    let names = agents.join(", ");
    match is_of_this_machine(model) {
        true => format!("there is no agent `{model}`: the agents here are {names}"),
        false => format!(
            "requests may not name the model {model} here: name one of the agents ({names}), or have the server's \
             operator add it to `models` under [server]"
        ),
    }
}

fn is_of_this_machine(model: &ModelRef) -> bool {
    OF_THIS_MACHINE.contains(&&*model.provider)
}

impl Pattern {
    fn read(text: &str) -> Result<Pattern, Failure> {
        let parts = text.trim().split_once('/').filter(|(provider, model)| {
            !provider.is_empty()
                && !model.is_empty()
                && !provider.contains('*')
                && !model.trim_end_matches('*').contains('*')
        });
        match parts {
            Some((provider, "*")) => Ok(Pattern { provider: provider.to_owned(), model: None }),
            Some((provider, model)) if !model.contains('*') => {
                Ok(Pattern { provider: provider.to_owned(), model: Some(model.to_owned()) })
            }
            _ => Err(Failure::config(format!(
                "[server] models: `{text}` names no models: write \"openai/gpt-4o\", or \"openai/*\" for all of a provider"
            ))),
        }
    }

    fn matches(&self, model: &ModelRef) -> bool {
        self.provider == *model.provider && self.model.as_deref().is_none_or(|name| name == &*model.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(models: Option<&[&str]>, has_tokens: bool) -> Result<Opened, String> {
        let mut config = Config::default();
        config.server.models = models.map(|models| models.iter().map(|text| (*text).to_owned()).collect());
        Opened::of(&config, has_tokens).map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn what_is_open_is_what_the_operator_opened() {
        for (models, has_tokens, open, closed) in [
            (None, false, vec!["openai/gpt-4o", "local/x", "lab/y"], vec!["command/coder", "script/a.yaml"]),
            (None, true, vec![], vec!["openai/gpt-4o", "command/coder", "script/a.yaml"]),
            (Some(&["openai/*", "lab/y"][..]), true, vec!["openai/gpt-4o", "lab/y"], vec!["lab/z", "command/coder"]),
            (Some(&["command/coder"][..]), false, vec!["command/coder"], vec!["command/other", "openai/gpt-4o"]),
            (Some(&[][..]), false, vec![], vec!["openai/gpt-4o"]),
        ] {
            let opened = opened(models, has_tokens).unwrap();
            for (names, is_open) in [(open, true), (closed, false)] {
                for name in names {
                    assert_eq!(opened.admits(&name.parse().unwrap()), is_open, "{name} with {models:?}, {has_tokens}");
                }
            }
        }
    }

    #[test]
    fn a_pattern_names_a_provider() {
        for bad in ["*", "openai", "openai/", "/gpt", "*/gpt", "openai/gpt-*", "openai/**"] {
            let problem = opened(Some(&[bad]), false).unwrap_err();
            assert!(problem.contains(bad) && problem.contains("openai/*"), "{problem}");
        }
    }
}
