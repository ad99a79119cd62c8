//! Leaves a scene's files behind when it ends: after its last record is on disk, and before anybody is told.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Record,
    format::scene::{PlayedScene, SceneReport, SceneText, Settings, debug_log},
    id::SessionId,
};
use polylogue_runtime::{Listener, port::Journal};

use crate::{format::is_of, whole};

/// The longest name of a scene's folder.
const MAX_FOLDER_CHARS: usize = 64;

/// Writes `transcript.txt`, `metadata.json` and `debug.log` for every scene.
pub(crate) struct Outputs {
    journal: Arc<dyn Journal>,
    out: PathBuf,
}

impl Outputs {
    pub(crate) fn new(journal: Arc<dyn Journal>, out: PathBuf) -> Outputs {
        Outputs { journal, out }
    }

    /// Files that cannot be written are no reason to lose the session: they are views, and can be made again.
    async fn leave(&self, session: SessionId) {
        let records = match self.journal.read_all(session).await {
            Ok(records) => records,
            Err(error) => return tracing::warn!(%session, %error, "there is no transcript"),
        };
        let records: Vec<Record> = records.into_iter().map(Arc::unwrap_or_clone).collect();
        let Some(files) = files(&records, &self.out) else { return };
        let written =
            tokio::task::spawn_blocking(move || files.iter().try_for_each(|(path, text)| whole::write(path, text)));
        if let Err(error) = written.await.map_err(io::Error::other).flatten() {
            tracing::warn!(%session, %error, "the scene's files cannot be written");
        }
    }
}

/// The files of a scene; `None` where the records are not one's.
fn files(records: &[Record], out: &Path) -> Option<[(PathBuf, String); 3]> {
    let played = PlayedScene::of(records)?;
    let folder = folder(out, &played.settings.name);
    let transcript = SceneText::of(&played.conversation)?.to_string();
    let metadata = serde_json::to_string_pretty(&SceneReport::of(&played)).expect("a report has string keys");
    let log = debug_log(records)?;
    Some([
        (folder.join("transcript.txt"), transcript),
        (folder.join("metadata.json"), format!("{metadata}\n")),
        (folder.join("debug.log"), log),
    ])
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

#[async_trait]
impl Listener for Outputs {
    async fn heard(&self, session: SessionId, records: &[Arc<Record>]) {
        let has_ended = records.iter().any(|record| matches!(record.event, Event::Ended { .. }));
        if has_ended && is_of::<Settings>(&*self.journal, session).await {
            self.leave(session).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
