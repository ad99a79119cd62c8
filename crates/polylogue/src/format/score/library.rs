//! The scores that there are: those of a folder, and those that come along. A score of one's own goes before one of the
//! same name that comes along.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use polylogue_core::format::score::{Problem, SHIPPED, Score, read_text};

use crate::{config::Config, failure::Failure};

/// The largest score that is read.
const MAX_BYTES: u64 = 256 * 1024;
/// Files of a folder that are looked at.
const MAX_FILES: usize = 500;

/// A score with where it is from.
pub(super) struct Listed {
    pub(super) name: String,
    /// The file that it is in; `None` for one that comes along.
    pub(super) path: Option<PathBuf>,
    pub(super) text: String,
    pub(super) score: Result<Arc<Score>, Vec<Problem>>,
}

/// All of them, by their names.
pub(super) fn all(config: &Config) -> Vec<Listed> {
    let mut listed: Vec<Listed> =
        files(&config.scores()).into_iter().filter_map(|path| from_file(&path).ok()).collect();
    for (name, text) in SHIPPED {
        if !listed.iter().any(|own| own.name == *name) {
            listed.push(of_text((*name).to_owned(), None, (*text).to_owned()));
        }
    }
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    listed
}

/// The score of this name. A name that ends with `.yaml` is a file's.
pub(super) fn find(wanted: &str, config: &Config) -> Result<Listed, Failure> {
    if is_file(Path::new(wanted)) {
        return from_file(Path::new(wanted))
            .map_err(|problem| Failure::config(format!("the score {wanted}: {problem}")));
    }
    named(wanted, config)
}

/// The same, where no file of this machine can be named.
pub(super) fn named(wanted: &str, config: &Config) -> Result<Listed, Failure> {
    let mut all = all(config);
    if let Some(at) = all.iter().position(|listed| listed.name == wanted) {
        return Ok(all.swap_remove(at));
    }
    let near = all.iter().map(|listed| (strsim::damerau_levenshtein(wanted, &listed.name), &listed.name)).min();
    let meant = near.filter(|(distance, _)| *distance <= 2).map(|(_, name)| format!(", did you mean `{name}`?"));
    let names: Vec<&str> = all.iter().map(|listed| listed.name.as_str()).collect();
    let known = meant.unwrap_or_else(|| format!(": there are {}", names.join(", ")));
    Err(Failure::request(format!("there is no score `{wanted}`{known}")))
}

impl Listed {
    /// The score itself, or everything that is wrong with it.
    pub(super) fn good(self) -> Result<Arc<Score>, Failure> {
        let place = self.path.map_or(self.name, |path| path.display().to_string());
        self.score.map_err(|problems| bad(&place, &problems))
    }
}

/// Everything that is wrong with a score, a line each.
pub(super) fn bad(place: &str, problems: &[Problem]) -> Failure {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let failure = Failure::config(format!("the score {place} cannot be played:\n  {}", lines.join("\n  ")));
    failure.with("problems", serde_json::to_value(problems).unwrap_or_default())
}

fn is_file(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    matches!(ending.as_deref(), Some("yaml" | "yml" | "json"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.take(MAX_FILES).flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(|path| is_file(path)).collect();
    files.sort();
    files
}

pub(super) fn from_file(path: &Path) -> Result<Listed, String> {
    let text = text_of(path)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(of_text(stem, Some(path.to_owned()), text))
}

fn text_of(path: &Path) -> Result<String, String> {
    let kind = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => "file not found".to_owned(),
        kind => kind.to_string(),
    };
    let mut text = String::new();
    File::open(path).map_err(kind)?.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(kind)?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(format!("larger than {MAX_BYTES} bytes")),
        false => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
    }
}

fn of_text(stem: String, path: Option<PathBuf>, text: String) -> Listed {
    let score = read_text(&text).map(Arc::new);
    let name = score.as_ref().map_or(stem, |score| score.name.to_string());
    Listed { name, path, text, score }
}
