//! Reads a scene file: JSON, YAML or TOML, by the ending of its name.

use std::{io::stdin, path::Path};

use serde_json::Value;

use crate::{failure::Failure, words};

/// The largest scene file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// The file as a value. What it says is looked at elsewhere.
pub(crate) fn read(path: &Path) -> Result<Value, Failure> {
    if path == Path::new("-") {
        let text = words::from(&mut stdin().lock(), "standard input")?;
        // JSON has better errors, and what is no JSON may be YAML.
        let parse = if text.trim_start().starts_with('{') { json } else { yaml };
        return parse(&text).map_err(|problem| Failure::config(format!("the scene on standard input: {problem}")));
    }
    let bad = |problem: String| Failure::config(format!("the scene file {}: {problem}", path.display()));
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let parse: fn(&str) -> Result<Value, String> = match ending.as_deref() {
        Some("json") => json,
        Some("yaml" | "yml") => yaml,
        Some("toml") => toml,
        _ => return Err(bad("its name ends with none of .json, .yaml, .yml and .toml".to_owned())),
    };
    let text = text_of(path, MAX_BYTES).map_err(bad)?;
    parse(&text).map_err(bad)
}

/// The text of a file, or why there is none.
pub(super) fn text_of(path: &Path, max_bytes: u64) -> Result<String, String> {
    let kind = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "file not found".to_owned(),
        kind => kind.to_string(),
    };
    let file = std::fs::File::open(path).map_err(kind)?;
    if file.metadata().map_err(kind)?.is_dir() {
        return Err("it is a folder".to_owned());
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(file, max_bytes + 1), &mut bytes).map_err(kind)?;
    decoded(bytes, max_bytes)
}

/// Bytes as text, within bounds and without the mark that some editors put first.
pub(super) fn decoded(bytes: Vec<u8>, max_bytes: u64) -> Result<String, String> {
    if bytes.len() as u64 > max_bytes {
        return Err(format!("larger than {max_bytes} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("does not parse as JSON: {error}"))
}

pub(super) fn yaml(text: &str) -> Result<Value, String> {
    // A name such as `y` or `No` is a text here, as it is to people.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let problem = error.without_snippet().to_string();
        let first_line = problem.lines().next().unwrap_or_default();
        let place = error.location().filter(|_| !first_line.contains(" at line "));
        let place = place.map(|at| format!(" (line {}, column {})", at.line(), at.column()));
        let advice = error.location().and_then(|at| unquoted(text, usize::try_from(at.line()).ok()?));
        format!("does not parse as YAML: {first_line}{}{}", place.unwrap_or_default(), advice.unwrap_or_default())
    })
}

/// What to do about words with a colon in them, which YAML takes for another field.
fn unquoted(text: &str, line: usize) -> Option<String> {
    // The parser may notice it only on the line after.
    let lines = [line.checked_sub(1), line.checked_sub(2)].into_iter().flatten();
    lines.filter_map(|at| text.lines().nth(at)).find_map(|line| {
        let (field, words) = line.trim().trim_start_matches("- ").split_once(": ")?;
        let is_plain = !words.trim_start().starts_with(['"', '\'', '|', '>', '{', '[', '#']);
        let has_colon = words.contains(": ") || words.trim_end().ends_with(':');
        let quoted = words.trim().replace('\\', "\\\\").replace('"', "\\\"");
        (is_plain && has_colon).then(|| format!("; words with a colon need quotes: {field}: \"{quoted}\""))
    })
}

fn toml(text: &str) -> Result<Value, String> {
    ::toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let place = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        format!("does not parse as TOML: {}{place}", error.message().replace('\n', ", "))
    })
}
