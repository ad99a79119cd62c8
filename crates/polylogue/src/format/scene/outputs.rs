//! A scene's `transcript.txt`, `metadata.json` and `debug.log`.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use polylogue_artifacts::whole;
use polylogue_core::{
    Event, Record,
    format::scene::{PlayedScene, SceneReport, SceneText, Settings, debug_log},
    text::printable::{printable, printable_json},
};
use serde::Deserialize;

use crate::format::keepsake::Keepsake;

/// The file that says which run the others are of.
const METADATA: &str = "metadata.json";

/// What a run leaves. The file that says whose they are goes last.
const FILES: [&str; 3] = ["transcript.txt", "debug.log", METADATA];

/// The longest name of a scene's folder.
const MAX_FOLDER_CHARS: usize = 64;

/// What is left of a scene, by the names of the files. The one that says whose they are is written first.
pub(super) struct Files {
    name: Arc<str>,
    run: Run,
    texts: [(&'static str, String); 3],
}

/// Which run of a scene the files of a folder are of.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    session_id: String,
    started_at: String,
}

#[async_trait]
impl Keepsake for Files {
    type Of = Settings;
    type Place = PathBuf;

    fn of(records: &[Record]) -> Option<Files> {
        let played = PlayedScene::of(records)?;
        let transcript = printable(&SceneText::of(&played.conversation)?.to_string()).into_owned();
        let report = SceneReport::of(&played);
        let metadata = printable_json(serde_json::to_string_pretty(&report).expect("a report has string keys"));
        let run = Run { session_id: report.session_id.to_string(), started_at: report.started_at };
        let texts = [
            (METADATA, format!("{metadata}\n")),
            ("transcript.txt", transcript),
            ("debug.log", printable(&debug_log(records)?).into_owned()),
        ];
        Some(Files { name: played.settings.name.clone(), run, texts })
    }

    async fn write(self, out: &PathBuf) -> io::Result<()> {
        let out = out.clone();
        tokio::task::spawn_blocking(move || self.write_to(&out)).await.map_err(io::Error::other).flatten()
    }

    async fn remove(records: &[Arc<Record>], out: &PathBuf) -> io::Result<()> {
        let (records, out) = (records.to_vec(), out.clone());
        tokio::task::spawn_blocking(move || Files::remove_from(&records, &out))
            .await
            .map_err(io::Error::other)
            .flatten()
    }
}

impl Files {
    fn write_to(&self, out: &Path) -> io::Result<()> {
        let folder = self.run.folder(&folder(out, &self.name));
        self.texts.iter().try_for_each(|(name, text)| whole::write(&folder.join(name), text.as_bytes()))
    }

    /// Whatever else somebody has put into the folder stays, and the folder with it.
    fn remove_from(records: &[Arc<Record>], out: &Path) -> io::Result<()> {
        let Some(Event::Started { setup, .. }) = records.first().map(|first| &first.event) else { return Ok(()) };
        let Some(settings) = setup.format.settings::<Settings>() else { return Ok(()) };
        let folder = folder(out, &settings.name);
        let run = Run { session_id: setup.id.to_string(), started_at: String::new() };
        for folder in [run.aside(&folder), folder] {
            if Run::at(&folder).is_some_and(|found| found.session_id == run.session_id) {
                let name = Path::new(folder.file_name().unwrap_or_default());
                FILES.iter().try_for_each(|file| whole::remove(out, &name.join(file)))?;
            }
        }
        Ok(())
    }
}

impl Run {
    /// Where this run's files go. The newest run of a name has the name's folder; the one before it moves aside.
    fn folder(&self, folder: &Path) -> PathBuf {
        let aside = self.aside(folder);
        if aside.is_dir() {
            return aside;
        }
        match Run::at(folder) {
            Some(other) if other.session_id != self.session_id => {
                let is_newer = other.started_at > self.started_at;
                // Where the other cannot be moved, it stays, and this one goes beside it.
                if is_newer || std::fs::rename(folder, other.aside(folder)).is_err() { aside } else { folder.into() }
            }
            _ => folder.into(),
        }
    }

    /// The run whose files are in this folder.
    fn at(folder: &Path) -> Option<Run> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(METADATA)).ok()?).ok()
    }

    /// The folder that is this run's alone.
    fn aside(&self, folder: &Path) -> PathBuf {
        let mut name = folder.as_os_str().to_owned();
        name.push("-");
        name.push(self.session_id.get(..8).unwrap_or(&self.session_id));
        name.into()
    }
}

/// Where the files of a scene of this name are.
pub(crate) fn folder(out: &Path, name: &str) -> PathBuf {
    let mut folder = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || c == '_' {
            folder.push(c);
        } else if !folder.is_empty() && !folder.ends_with('-') {
            folder.push('-');
        }
    }
    let folder: String = folder.chars().take(MAX_FOLDER_CHARS).collect();
    let folder = folder.trim_end_matches('-');
    out.join(if folder.is_empty() { "scene" } else { folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(session: char, minute: u8) -> Run {
        let session_id = format!("{}-0000-4000-8000-000000000000", String::from(session).repeat(8));
        Run { session_id, started_at: format!("2026-11-18T04:{minute:02}:00.000Z") }
    }

    /// Leaves the run's files as they would be, and tells the names of the folders with whose files are in each.
    fn after(out: &Path, run: &Run) -> Vec<String> {
        let texts = [
            (METADATA, format!(r#"{{"sessionId": "{}", "startedAt": "{}"}}"#, run.session_id, run.started_at)),
            ("transcript.txt", run.session_id.clone()),
            ("debug.log", String::new()),
        ];
        let run = Run { session_id: run.session_id.clone(), started_at: run.started_at.clone() };
        Files { name: "The Apology".into(), run, texts }.write_to(out).unwrap();
        let mut folders: Vec<String> = std::fs::read_dir(out)
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let whose = std::fs::read_to_string(path.join("transcript.txt")).unwrap();
                assert_eq!(Run::at(&path).unwrap().session_id, whose);
                format!("{} has {}", path.file_name().unwrap().to_str().unwrap(), &whose[..1])
            })
            .collect();
        folders.sort();
        folders
    }

    #[test]
    fn no_run_overwrites_another() {
        let out = tempfile::TempDir::new().unwrap();
        let out = out.path();
        assert_eq!(after(out, &run('a', 1)), ["the-apology has a"]);
        assert_eq!(after(out, &run('a', 1)), ["the-apology has a"], "the same run, resumed");
        assert_eq!(after(out, &run('b', 3)), ["the-apology has b", "the-apology-aaaaaaaa has a"]);
        assert_eq!(
            after(out, &run('a', 1)),
            ["the-apology has b", "the-apology-aaaaaaaa has a"],
            "it stays where it is"
        );
        let older = ["the-apology has b", "the-apology-aaaaaaaa has a", "the-apology-cccccccc has c"];
        assert_eq!(after(out, &run('c', 2)), older, "one that began before the newest");
        let newest = [
            "the-apology has d",
            "the-apology-aaaaaaaa has a",
            "the-apology-bbbbbbbb has b",
            "the-apology-cccccccc has c",
        ];
        assert_eq!(after(out, &run('d', 4)), newest);
    }

    #[test]
    fn a_scene_has_a_safe_folder() {
        for (name, expected) in [
            ("the-apology", "the-apology"),
            ("Office Confrontation!", "office-confrontation"),
            ("../../etc/passwd", "etc-passwd"),
            ("..", "scene"),
            ("Act II: \"The End\"", "act-ii-the-end"),
            ("Straße 雪", "straße-雪"),
            ("C:\\x", "c-x"),
        ] {
            assert_eq!(folder(Path::new("out"), name), Path::new("out").join(expected), "{name}");
        }
        assert_eq!(folder(Path::new(""), &"x".repeat(300)).to_str().unwrap().len(), MAX_FOLDER_CHARS);
    }
}
