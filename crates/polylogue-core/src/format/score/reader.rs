//! From what is written to a score: everything that is wrong is said at once, each with its line, its phase and what
//! was probably meant.

mod kinds;
mod names;
mod node;
mod parts;
mod sound;
mod yaml;

use std::{collections::BTreeMap, fmt, sync::Arc};

pub use self::node::{Content, Key, Node};
use self::parts::Reader;
pub(super) use self::sound::check_times;
use super::language::Score;

/// Something that is wrong with a score.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScoreProblem")]
pub struct Problem {
    /// From 1, where the text is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Arc<str>>,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, &self.phase) {
            (Some(line), Some(phase)) => write!(f, "line {line}, phase `{phase}`: ")?,
            (Some(line), None) => write!(f, "line {line}: ")?,
            (None, Some(phase)) => write!(f, "phase `{phase}`: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)
    }
}

/// Where in the text something stands: by what it is called, its line and its phase.
type Places = BTreeMap<String, (u32, Option<Arc<str>>)>;

/// Reads a score. It can be played with everything between the fewest and the most seats.
pub fn read(node: &Node) -> Result<Score, Vec<Problem>> {
    let mut reader = Reader::default();
    let score = reader.score(node);
    let Reader { mut problems, places, .. } = reader;
    if let Some(score) = &score {
        problems.extend(sound::problems(score, &places, problems.is_empty()));
    }
    problems.sort();
    problems.dedup();
    match score {
        Some(score) if problems.is_empty() => Ok(score),
        Some(_) | None => Err(problems),
    }
}

/// Reads the text of a score, YAML or JSON.
pub fn read_text(text: &str) -> Result<Score, Vec<Problem>> {
    read(&yaml::tree(text).map_err(|problem| vec![problem])?)
}

/// The one of these that was probably meant, in words that end a sentence's clause.
pub(super) fn meant<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = known
        .map(|known| (strsim::damerau_levenshtein(&written.to_lowercase(), known), known))
        .filter(|(distance, known)| *distance <= (known.chars().count() / 3).max(1))
        .min();
    near.map(|(_, known)| format!(": did you mean `{known}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_word() {
        let meant = |written| meant(written, ["prompt", "who", "sees"].into_iter());
        assert_eq!(meant("promt"), ": did you mean `prompt`?");
        assert_eq!(meant("Sees"), ": did you mean `sees`?");
        assert_eq!(meant("blind"), "");
    }
}
