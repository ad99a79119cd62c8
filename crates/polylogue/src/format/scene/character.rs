//! A character in Markdown, with or without the front matter that Claude Code writes.
//!
//! Only `name`, `description`, `model` and `voice` of the front matter mean something here; tools, colours and
//! whatever else stands there is for other programs.

use std::path::{Path, PathBuf};

use polylogue_core::{format::scene::titled, id::AgentId};
use serde_json::{Map, Value};

use super::file;

/// The longest name that a character is shown with.
const MAX_NAME_CHARS: usize = 64;

/// What stands in headings before a name, and is none.
const LABELS: [&str; 5] = ["character", "agent", "name", "persona", "profile"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Character {
    pub(crate) id: AgentId,
    /// How it is called in the scene.
    pub(crate) name: String,
    /// Who it is, in the author's words.
    pub(crate) persona: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) voice: Option<String>,
    /// What it is for, in its author's words.
    pub(crate) description: Option<String>,
    /// Where its file lies, if it is one of this machine.
    pub(crate) folder: Option<PathBuf>,
}

impl Character {
    /// One of whom nothing is known but the name.
    pub(crate) fn unwritten(id: AgentId) -> Character {
        let (persona, model, voice, description, folder) = Default::default();
        Character { name: shown(id.as_str()), id, persona, model, voice, description, folder }
    }

    pub(crate) fn read(id: AgentId, text: &str, folder: Option<&Path>) -> Result<Character, String> {
        let (front, body) = parted(text);
        let front = front.map(front_matter).unwrap_or_default();
        let field = |name: &str| {
            let text = front.get(name).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let body = body.trim();
        let persona = if body.is_empty() { field("description") } else { Some(body.to_owned()) };
        if persona.is_none() {
            return Err("the file is empty".to_owned());
        }
        let name = field("name").or_else(|| heading(body)).map(|name| shown(&name)).filter(|name| !name.is_empty());
        Ok(Character {
            name: name.unwrap_or_else(|| shown(id.as_str())),
            id,
            persona,
            model: field("model"),
            voice: field("voice"),
            description: field("description"),
            folder: folder.map(Path::to_owned),
        })
    }
}

/// The front matter, if there is one, and the rest.
fn parted(text: &str) -> (Option<&str>, &str) {
    let Some(rest) = text.trim_start().strip_prefix("---") else { return (None, text) };
    let Some(rest) = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")) else { return (None, text) };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (Some(&rest[..at]), &rest[at + line.len()..]);
        }
        at += line.len();
    }
    (None, text)
}

/// What the front matter says. Claude Code writes descriptions that are no YAML, with colons and quotes as they
/// come: then each line that has a key of its own counts.
fn front_matter(text: &str) -> Map<String, Value> {
    if let Ok(Value::Object(front)) = file::yaml(text) {
        return front;
    }
    let mut front = Map::new();
    for line in text.lines() {
        if let Some((key, value)) = line.split_once(':')
            && !key.is_empty()
            && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
        {
            front.insert(key.to_owned(), value.trim().trim_matches(['"', '\'']).into());
        }
    }
    front
}

/// The name in a title such as `# Alice - Senior Project Manager`, if the text begins with one.
fn heading(body: &str) -> Option<String> {
    let title = body.lines().next()?.strip_prefix("# ")?.trim();
    let (label, rest) = title.split_once(':').unwrap_or(("", title));
    let title = if LABELS.contains(&label.trim().to_lowercase().as_str()) { rest } else { title };
    let ends = [" - ", " – ", " — ", "—", ":", " (", ", "];
    let end = ends.iter().filter_map(|end| title.find(end)).min().unwrap_or(title.len());
    let name = title[..end].trim_matches(|c: char| c.is_whitespace() || c == '*' || c == '_' || c == '"');
    (!name.is_empty()).then(|| name.to_owned())
}

/// A name as it is shown, within bounds.
fn shown(name: &str) -> String {
    titled(name).chars().take(MAX_NAME_CHARS).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stem: &str, text: &str) -> Character {
        Character::read(stem.parse().unwrap(), text, None).unwrap()
    }

    #[test]
    fn a_character_is_called_as_its_author_calls_it() {
        for (stem, text, name) in [
            ("alice", "# Alice - Senior Project Manager\n\n## Personality\n- Direct", "Alice"),
            ("alice", "# Alice — Senior Project Manager", "Alice"),
            ("alice", "# Alice: the manager", "Alice"),
            ("alice", "# Character: Alice (manager)", "Alice"),
            ("alice", "# **Alice Liddell**", "Alice Liddell"),
            ("alice", "# Dr. Alice O'Neill, MD\nShe heals.", "Dr. Alice O'Neill"),
            ("mary-jane", "She sings.", "Mary Jane"),
            ("mary-jane", "---\nname: mary-jane\ncolor: red\n---\nShe sings.", "Mary Jane"),
            ("mj", "---\nname: Mary-Jane\n---\n# Somebody else\nShe sings.", "Mary-Jane"),
            ("mj", "---\r\nname: Mary\r\n---\r\nShe sings.", "Mary"),
            ("bob", "\n\n---\n\nHe is calm.\n", "Bob"),
            ("bob", "Intro.\n\n# Personality\n- calm", "Bob"),
            ("雪", "# 雪 - 店主", "雪"),
            ("bob", "# ", "Bob"),
        ] {
            assert_eq!(read(stem, text).name, name, "{text:?}");
        }
    }

    #[test]
    fn front_matter_is_understood_as_it_is_written() {
        let strict = "---\nname: alice\nmodel: sonnet\nvoice: dry_precise\ntools: [Read, Grep]\n---\n\nShe is blunt.\n";
        // An unquoted colon in a value is no YAML, and common.
        let loose = "---\nname: alice\ndescription: Use her when: things go wrong: \"now\"\nmodel: 'sonnet'\nvoice: dry_precise\n---\nShe is blunt.";
        for text in [strict, loose] {
            let alice = read("alice", text);
            assert_eq!((alice.name.as_str(), alice.persona.as_deref()), ("Alice", Some("She is blunt.")));
            assert_eq!((alice.model.as_deref(), alice.voice.as_deref()), (Some("sonnet"), Some("dry_precise")));
        }
        let described = read("alice", "---\ndescription: A blunt manager.\n---\n");
        assert_eq!(described.persona.as_deref(), Some("A blunt manager."));
    }

    #[test]
    fn an_empty_character_is_none() {
        for text in ["", "  \n", "---\nname: alice\n---\n\n"] {
            assert_eq!(Character::read("alice".parse().unwrap(), text, None), Err("the file is empty".to_owned()));
        }
    }
}
