//! Which parameter a server says that it does not take, told by what vendors and servers really write.
//!
//! A text that happens to hold a parameter's name and the words "not supported" somewhere is no refusal of it: the name
//! has to stand where the sentence has what is refused. A value that is out of its range is no refusal either.

use super::Fault;
use crate::params::{Names, Param, Params};

/// What a request is to do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lesson {
    pub(crate) param: Param,
    /// Whether the model does not take it at all. Otherwise it does not like what this request has in it.
    pub(crate) is_of_the_model: bool,
}

impl Lesson {
    pub(crate) fn of_the_model(param: Param) -> Lesson {
        Lesson { param, is_of_the_model: true }
    }
}

/// The codes that say so of what the error names as its `param`.
const CODES: [&str; 4] = ["unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"];

/// What stands before the name of what is refused.
const BEFORE: [&str; 12] = [
    // OpenAI, and Azure in its older versions.
    "unsupported parameter: ",
    "unsupported value: ",
    "unknown parameter: ",
    "unrecognized request argument supplied: ",
    "unrecognized request arguments supplied: ",
    // Gemini.
    "unknown name ",
    // Anthropic, Groq, Ollama.
    "does not support ",
    "doesnt support ",
    // xAI.
    "does not support parameter ",
    "argument not supported on this model: ",
    // LiteLLM.
    "does not support parameters: ",
    // Servers in Python.
    "unexpected keyword argument ",
];

/// What stands behind it.
const BEHIND: [&str; 8] = [
    " is not supported",
    " are not supported",
    " not supported",
    " is unsupported",
    " is not enabled",
    " is deprecated",
    " does not support",
    " has been removed",
];

/// What stands behind the path of what is refused: Anthropic and Mistral, and vLLM as Python prints it.
const BEHIND_PATHS: [&str; 3] =
    [": extra inputs are not permitted", "), msg: extra inputs are not permitted", ": not supported"];

/// Words that may stand between the beginning of a sentence and the name, or between the name and the verdict.
const FILLERS: [&str; 10] =
    ["the", "a", "parameter", "parameters", "param", "argument", "property", "field", "because", "option"];

/// Sentences that do not name it in such a way, and what they are about.
const SENTENCES: [(&str, &str, bool); 9] = [
    // FastAPI and llama-cpp-python, where only older values are known.
    ("response_format.type: input should be", "response_format", true),
    ("(body, response_format, type), msg: input should be", "response_format", true),
    // llama.cpp.
    ("response_format type must be one of", "response_format", true),
    // DeepSeek.
    ("response_format type is unavailable", "response_format", true),
    // Gemini.
    ("this model only works in thinking mode", "thinking", true),
    // Servers that know only texts, and no blocks of content.
    ("content: input should be a valid string", "content", true),
    // What is wrong is this schema: another may be taken.
    ("invalid schema for response_format", "response_format", false),
    ("output_config.format.schema: ", "output_config.format", false),
    ("the specified schema produces a constraint", "responsejsonschema", false),
];

impl Fault {
    /// What to leave out so that the request may go through, if the fault is that something is not taken.
    pub(crate) fn refuses(&self, names: Names, without: Params) -> Option<Lesson> {
        let said = plain(&self.message);
        if !self.is_about_the_request(&said) {
            return None;
        }
        let (params, is_of_the_model) = self.by_code(names).or_else(|| by_sentence(&said, names))?;
        let param = params.iter().copied().find(|param| !without.has(*param))?;
        Some(Lesson { param, is_of_the_model })
    }

    /// Some servers answer a request that they cannot take with an error of their own.
    fn is_about_the_request(&self, said: &str) -> bool {
        const OF_SERVERS: [&str; 4] =
            ["validation error", "unsupportedparams", "unexpected keyword argument", "system role not supported"];
        matches!(self.status, 400 | 422) || self.status >= 500 && OF_SERVERS.iter().any(|part| said.contains(part))
    }

    fn by_code(&self, names: Names) -> Option<(&'static [Param], bool)> {
        let is_refusal = self.words.iter().any(|word| CODES.contains(&word.as_str()));
        let params = self.param.as_deref().filter(|_| is_refusal).and_then(|param| within(&plain(param), names));
        params.map(|params| (params, true))
    }
}

fn by_sentence(said: &str, names: Names) -> Option<(&'static [Param], bool)> {
    let mut sentences = SENTENCES.iter().filter(|(sentence, ..)| said.contains(sentence));
    let sentence = sentences.find_map(|(_, about, is_of_the_model)| Some((within(about, names)?, *is_of_the_model)));
    let behind = |verdict: &&str| said.match_indices(*verdict).find_map(|(at, _)| at_the_end(&said[..at], names));
    let before = |verdict: &&str| {
        said.match_indices(*verdict).find_map(|(at, verdict)| at_the_beginning(&said[at + verdict.len()..], names))
    };
    let path =
        |verdict: &&str| said.match_indices(*verdict).find_map(|(at, _)| within(path_at_the_end(&said[..at]), names));
    let of_the_model = BEHIND_PATHS
        .iter()
        .find_map(path)
        .or_else(|| BEFORE.iter().find_map(before))
        .or_else(|| BEHIND.iter().find_map(behind));
    sentence.or_else(|| of_the_model.map(|params| (params, true)))
}

/// `a.b.c`, or `(body, a, b` as Python prints it.
fn path_at_the_end(said: &str) -> &str {
    match (said.rfind('('), said.rfind("loc: (")) {
        (Some(at), Some(_)) => &said[at..],
        _ => said.rsplit(' ').next().unwrap_or(said),
    }
}

/// The params of the name with which this begins.
fn at_the_beginning(said: &str, names: Names) -> Option<&'static [Param]> {
    let mut said = said;
    while let Some(rest) = FILLERS.iter().find_map(|filler| said.strip_prefix(filler)?.strip_prefix(' ')) {
        said = rest;
    }
    let said = said.trim_start_matches(['[', '{', '(']);
    longest(names.iter().filter(|(name, _)| {
        let name = plain(name);
        said.strip_prefix(&*name).is_some_and(|rest| !rest.starts_with(is_word))
    }))
}

/// The params of the name with which this ends, if its sentence has nothing else before it.
fn at_the_end(said: &str, names: Names) -> Option<&'static [Param]> {
    let from = [". ", "; ", ", ", ": ", "\n"].iter().filter_map(|end| Some(said.rfind(end)? + end.len())).max();
    let said = &said[from.unwrap_or(0)..];
    let said = said.split_once(" of type ").map_or(said, |(said, _)| said);
    let said = said.strip_suffix(" parameter").unwrap_or(said);
    longest(names.iter().filter(|(name, _)| {
        let before = said.strip_suffix(&*plain(name));
        before.is_some_and(|before| {
            let last = before.trim_end().rsplit(' ').next().unwrap_or_default();
            last.is_empty() || before.ends_with('.') || FILLERS.contains(&last)
        })
    }))
}

/// The params of the name that is a part of this path; of those that begin first, the longest.
fn within(path: &str, names: Names) -> Option<&'static [Param]> {
    let place = |name: &str| {
        path.match_indices(name)
            .map(|(at, _)| at)
            .find(|at| !path[..*at].ends_with(is_word) && !path[at + name.len()..].starts_with(is_word))
    };
    let found = names.iter().filter_map(|(name, params)| Some((place(&plain(name))?, name.len(), *params)));
    found.min_by_key(|(at, length, _)| (*at, usize::MAX - length)).map(|(.., params)| params)
}

fn longest<'a>(found: impl Iterator<Item = &'a (&'static str, &'static [Param])>) -> Option<&'static [Param]> {
    found.max_by_key(|(name, _)| name.len()).map(|(_, params)| *params)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A message without quotes and capitals.
fn plain(text: &str) -> String {
    text.to_lowercase().replace(['\'', '"', '`', '’'], "")
}

#[cfg(test)]
mod tests;
