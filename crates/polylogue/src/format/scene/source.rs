//! Where characters come from: a folder of Markdown files, or texts that came along with the scene.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use polylogue_core::id::AgentId;
use polylogue_server::CharacterInfo;

use super::{
    character::Character,
    fields::nearest,
    file::{decoded, text_of},
};

/// The largest character that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// Files in a folder that are looked through for a name.
const MAX_FILES: usize = 10_000;

/// Characters that are listed.
const MAX_LISTED: usize = 200;

/// Finds characters by their names, whatever the case of the letters.
pub(crate) trait Characters: Sync {
    fn load(&self, name: &AgentId) -> Result<Character, NotLoaded>;
}

/// A character that cannot be had.
#[derive(Debug)]
pub(crate) struct NotLoaded {
    pub(super) character: String,
    pub(super) reason: String,
    /// Whether nobody has written it down.
    pub(super) is_missing: bool,
    /// What to do about it, for people.
    pub(super) advice: String,
}

/// A folder such as `.claude/agents`, with a file for every character.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// The names of the files without their ending.
    fn stems(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.0) else { return Vec::new() };
        let paths = entries.take(MAX_FILES).flatten().map(|entry| entry.path());
        let is_markdown = |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
        let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
        let mut stems: Vec<String> = paths.filter(is_markdown).filter_map(stem).collect();
        stems.sort();
        stems
    }

    fn path(&self, stem: &str) -> PathBuf {
        self.0.join(format!("{stem}.md"))
    }
}

impl Characters for Folder {
    fn load(&self, name: &AgentId) -> Result<Character, NotLoaded> {
        let stems = self.stems();
        let Some(stem) = find(stems.iter().map(String::as_str), name.as_str()) else {
            return Err(not_found(name, &self.path(name.as_str()), &stems));
        };
        let path = self.path(stem);
        let text = text_of(&path, MAX_BYTES).map_err(|reason| unreadable(name, reason, &path.display().to_string()))?;
        let id = stem.parse().unwrap_or_else(|_| name.clone());
        Character::read(id, &text, Some(&self.0))
            .map_err(|reason| unreadable(name, reason, &path.display().to_string()))
    }
}

/// Those that are written down in a folder, as far as they can be read.
pub(crate) fn characters(folder: &Path) -> Vec<CharacterInfo> {
    let folder = Folder(folder.to_owned());
    let character = |stem: &String| {
        let markdown = text_of(&folder.path(stem), MAX_BYTES).ok()?;
        let read = Character::read(stem.parse().ok()?, &markdown, None).ok()?;
        Some(CharacterInfo { name: stem.clone(), description: read.description, markdown })
    };
    folder.stems().iter().take(MAX_LISTED).filter_map(character).collect()
}

/// Characters that came with the scene; those that did not are looked for elsewhere.
pub(crate) struct Given<'a> {
    pub(crate) texts: BTreeMap<String, String>,
    pub(crate) or: &'a dyn Characters,
}

impl Characters for Given<'_> {
    fn load(&self, name: &AgentId) -> Result<Character, NotLoaded> {
        let Some(key) = find(self.texts.keys().map(String::as_str), name.as_str()) else {
            return self.or.load(name);
        };
        let text = decoded(self.texts[key].clone().into_bytes(), MAX_BYTES);
        let id = key.parse().unwrap_or_else(|_| name.clone());
        let character = text.and_then(|text| Character::read(id, &text, None));
        character.map_err(|reason| unreadable(name, reason, &format!("`agents.{key}`")))
    }
}

/// The name as it is written here: exactly, or else in another case.
fn find<'a>(names: impl Iterator<Item = &'a str> + Clone, wanted: &str) -> Option<&'a str> {
    let lower = wanted.to_lowercase();
    names.clone().find(|name| *name == wanted).or_else(|| names.into_iter().find(|name| name.to_lowercase() == lower))
}

fn not_found(name: &AgentId, path: &Path, others: &[String]) -> NotLoaded {
    let mut advice = format!("Character '{name}' not found. Ensure {} exists.", path.display());
    if let Some(near) = nearest(name.as_str(), others.iter().map(String::as_str)) {
        advice.push_str(&format!(" There is {near}.md."));
    }
    NotLoaded { character: name.to_string(), reason: "file not found".to_owned(), is_missing: true, advice }
}

fn unreadable(name: &AgentId, reason: String, place: &str) -> NotLoaded {
    let advice = format!("Character '{name}' cannot be used: {reason}. Look at {place}.");
    NotLoaded { character: name.to_string(), reason, is_missing: false, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_along_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["alice", "Bob"] {
            std::fs::write(folder.path().join(format!("{name}.md")), "Of the folder.").unwrap();
        }
        let folder = Folder(folder.path().to_owned());
        let texts = BTreeMap::from([("Alice".to_owned(), "# Alice A.\nCame along.".to_owned())]);
        let given = Given { texts, or: &folder };
        let load = |name: &str| given.load(&name.parse().unwrap());
        let alice = load("alice").unwrap();
        assert_eq!((alice.id.as_str(), alice.name.as_str(), alice.folder), ("Alice", "Alice A.", None));
        let bob = load("BOB").unwrap();
        assert_eq!((bob.id.as_str(), bob.persona.as_deref()), ("Bob", Some("Of the folder.")));
        assert!(bob.folder.is_some());
        assert_eq!(load("carol").unwrap_err().reason, "file not found");
    }
}
