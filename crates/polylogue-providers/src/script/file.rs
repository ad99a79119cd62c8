//! The YAML file of a script.

use std::{io, path::Path, time::Duration};

use polylogue_core::{
    ask::Ask,
    id::{AgentId, Purpose},
    ledger::Usage,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The largest script that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Only the recorded requests are answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) strict: bool,
    /// A file beside the script that gets a line for every call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<String>,
    pub(super) replies: Vec<Entry>,
}

/// A reply and when it is given: the first entry of which all conditions hold.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) purpose: Option<Purpose>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) attempt: Option<u32>,
    /// A text that the prompt contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) contains: Option<String>,
    /// The whole request, in strict scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<String>,

    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub(super) delay: Span,
    /// Between two words, as if the reply were being written.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub(super) pace: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fail: Option<Failing>,
    #[serde(default)]
    pub(super) reply: ScriptedReply,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Usage>,
    /// The reply broke off at the output limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) full: bool,
}

impl Entry {
    pub(super) fn fits(&self, ask: &Ask) -> bool {
        let Entry { agent, purpose, turn, attempt, contains, .. } = self;
        agent.as_ref().is_none_or(|agent| *agent == ask.id.agent)
            && purpose.is_none_or(|purpose| purpose == ask.id.purpose)
            && turn.is_none_or(|turn| turn == ask.id.turn)
            && attempt.is_none_or(|attempt| attempt == ask.id.attempt)
            && contains.as_ref().is_none_or(|text| ask.request.prompt.contains(text.as_str()))
    }
}

/// A text is sent as it is; anything else is sent as JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct ScriptedReply(pub(super) Value);

impl Default for ScriptedReply {
    fn default() -> Self {
        ScriptedReply(Value::String(String::new()))
    }
}

impl ScriptedReply {
    pub(super) fn text(&self) -> String {
        match &self.0 {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failing {
    pub(super) kind: FailureName,
    /// So many tries fail, then the reply comes; without it, all fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) times: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry_after: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FailureName {
    Timeout,
    RateLimited,
    Overloaded,
    Unauthorized,
    Refused,
    ContextTooLong,
    Network,
    BadResponse,
}

/// A time span, written `250ms` or `1.5s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

impl Span {
    const MAX_SECONDS: f64 = 86_400.0;

    fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    fn parse(text: &str) -> Option<Span> {
        let (number, unit) = match text.strip_suffix("ms") {
            Some(number) => (number, 0.001),
            None => (text.strip_suffix('s')?, 1.0),
        };
        let seconds = number.trim().parse::<f64>().ok()? * unit;
        (0.0..=Self::MAX_SECONDS).contains(&seconds).then(|| Span(Duration::from_secs_f64(seconds)))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Span::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is no time: write 250ms or 1.5s")))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{}ms", self.0.as_millis()))
    }
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadScript {
    #[error("the script {path} cannot be read: {}", kind(.source))]
    Io { path: String, source: io::Error },
    #[error("the script {path} does not parse: {problem}")]
    Syntax { path: String, problem: String },
    #[error("the script {path} is larger than {MAX_BYTES} bytes")]
    TooLarge { path: String },
}

fn kind(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        kind => kind.to_string(),
    }
}

impl File {
    pub(super) fn read(path: &Path) -> Result<File, BadScript> {
        let name = || path.display().to_string();
        let io = |source| BadScript::Io { path: name(), source };
        if std::fs::metadata(path).map_err(io)?.len() > MAX_BYTES {
            return Err(BadScript::TooLarge { path: name() });
        }
        let text = std::fs::read_to_string(path).map_err(io)?;
        let parsed: Result<File, _> = serde_saphyr::from_str(&text);
        parsed.map_err(|error| {
            let place = error.location().map(|at| format!(" (line {}, column {})", at.line(), at.column()));
            let problem = error.without_snippet().to_string();
            let first_line = problem.lines().next().unwrap_or_default();
            BadScript::Syntax { path: name(), problem: format!("{first_line}{}", place.unwrap_or_default()) }
        })
    }

    /// Writes the file whole or not at all.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_saphyr::to_string(self).map_err(io::Error::other)?;
        let unfinished = path.with_extension("yaml.unfinished");
        std::fs::write(&unfinished, text)?;
        std::fs::rename(unfinished, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_as_people_write_them() {
        for (text, ms) in [
            ("250ms", Some(250)),
            ("1.5s", Some(1500)),
            ("0s", Some(0)),
            ("30", None),
            ("-1s", None),
            ("x", None),
            ("1e9s", None),
        ] {
            assert_eq!(Span::parse(text), ms.map(|ms| Span(Duration::from_millis(ms))), "{text}");
        }
    }
}
