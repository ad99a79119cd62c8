//! A scene's `transcript.txt`, `metadata.json` and `debug.log`.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use polylogue_artifacts::whole;
use polylogue_core::{
    Conversation, Event, Record, Setup,
    format::scene::{PlayedScene, SceneReport, SceneText, Settings, debug_log},
};

use super::folders::{Folders, METADATA, Run};
use crate::{
    format::keepsake::Keepsake,
    printable::{in_json, printable},
};

/// What a run leaves. The file that says whose they are goes last.
const FILES: [&str; 3] = ["transcript.txt", "debug.log", METADATA];

/// What is left of a scene, by the names of the files. The one that says whose they are is written first.
pub(super) struct Files {
    name: Arc<str>,
    run: Run,
    texts: [(&'static str, String); 3],
}

#[async_trait]
impl Keepsake for Files {
    type Of = Settings;
    type Place = PathBuf;

    fn of(records: &[Record]) -> Option<Files> {
        let played = PlayedScene::of(records)?;
        let transcript = printable(&SceneText::of(&played.conversation)?.to_string()).into_owned();
        let report = SceneReport::of(&played);
        let metadata = in_json(serde_json::to_string_pretty(&report).expect("a report has string keys"));
        let run = Run { session_id: report.session_id, started_at: report.started_at };
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
        let Some(Event::Started { setup, .. }) = records.first().map(|first| &first.event) else { return Ok(()) };
        let (setup, out) = (setup.clone(), out.clone());
        tokio::task::spawn_blocking(move || remove_from(&setup, &out)).await.map_err(io::Error::other).flatten()
    }
}

impl Files {
    fn write_to(&self, out: &Path) -> io::Result<()> {
        let folders = Folders::of(out, &self.name);
        let _lock = folders.locked()?;
        let folder = folders.take(&self.run);
        self.texts.iter().try_for_each(|(name, text)| whole::write(&folder.join(name), text.as_bytes()))
    }
}

/// Whatever else somebody has put into the folder stays, and the folder with it.
fn remove_from(setup: &Setup, out: &Path) -> io::Result<()> {
    let Some(settings) = setup.format.settings::<Settings>() else { return Ok(()) };
    if !out.is_dir() {
        return Ok(());
    }
    let folders = Folders::of(out, &settings.name);
    let _lock = folders.locked()?;
    let Some(folder) = folders.found(setup.id) else { return Ok(()) };
    let name = Path::new(folder.file_name().unwrap_or_default());
    FILES.iter().try_for_each(|file| whole::remove(out, &name.join(file)))
}

/// Where the files of a scene are, once it has ended and left them.
pub(super) fn left(out: &Path, conversation: &Conversation) -> Option<PathBuf> {
    let stage = conversation.stage();
    let setup = stage.ended().map(|_| stage.setup())?;
    let settings = setup.format.settings::<Settings>()?;
    Folders::of(out, &settings.name).found(setup.id)
}
