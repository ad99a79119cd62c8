//! The finished work of a collaboration as a file: `result.md` among the session's files, and where the person wants it.

use std::{io, path::Path, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{
    Conversation, Event, Record,
    format::collaboration::{Finished, Settings},
    id::SessionId,
    projection,
};
use polylogue_runtime::port::{ArtifactPath, Artifacts};

use crate::{failure::Failure, format::keepsake::Keepsake, output};

#[async_trait]
impl Keepsake for Finished {
    type Of = Settings;
    type Place = Arc<dyn Artifacts>;

    fn of(records: &[Record]) -> Option<Finished> {
        Finished::of(records)
    }

    async fn write(self, artifacts: &Arc<dyn Artifacts>) -> io::Result<()> {
        artifacts.write(&path(self.session), self.file().into()).await.map_err(io::Error::other)
    }

    async fn remove(records: &[Arc<Record>], artifacts: &Arc<dyn Artifacts>) -> io::Result<()> {
        match records.first().map(|first| &first.event) {
            Some(Event::Started { setup, .. }) => artifacts.remove(&[path(setup.id)]).await.map_err(io::Error::other),
            _ => Ok(()),
        }
    }
}

fn path(session: SessionId) -> ArtifactPath {
    ArtifactPath::parse(&Finished::path(session)).expect("a result has a plain path")
}

/// Whether a file can be written there, as far as that can be seen before anything was paid for.
pub(super) fn can_be_written(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if file.is_dir() {
        return Err(Failure::request(format!("--out {} is a folder: name a file in it", file.display())));
    }
    match folder {
        Some(folder) if !folder.is_dir() => {
            Err(Failure::request(format!("--out: there is no folder {}", folder.display())))
        }
        Some(_) | None => Ok(()),
    }
}

/// Writes it where the person wants it, and says so; or says why there is nothing to write.
pub(super) fn write(conversation: &Conversation, file: &Path) -> Result<(), Failure> {
    let Some(result) = projection::result(conversation) else {
        output::notice(format!("nobody said that the work is finished: {} is not written", file.display()));
        return Ok(());
    };
    std::fs::write(file, format!("{}\n", result.trim_end())).map_err(|error| {
        let session = conversation.stage().setup().id;
        let advice = "the work is in the result.md among the session's files";
        Failure::config(format!("{} cannot be written: {}; {advice} ({session})", file.display(), error.kind()))
    })?;
    output::notice(format!("the result is in {}", file.display()));
    Ok(())
}
