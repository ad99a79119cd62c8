//! Which folder a run of a scene has. The newest run of a name has the folder of that name; before it takes it, the run
//! before it is moved beside it. What no run has left is never touched.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use polylogue_core::id::SessionId;
use serde::Deserialize;

use crate::output;

/// The file that says which run a folder is of.
pub(super) const METADATA: &str = "metadata.json";

/// The longest name of a scene's folder.
const MAX_CHARS: usize = 64;

/// How much of a session's id tells its folder from the others.
const SHORT_CHARS: usize = 8;

/// How often a lock is tried that another process holds, and how long between.
const TRIES: usize = 500;
const MOMENT: Duration = Duration::from_millis(10);

/// Which run the files of a folder are of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) session_id: SessionId,
    #[serde(default)]
    pub(super) started_at: String,
}

/// What is where a folder should be.
enum Holder {
    Nobody,
    Run(Run),
    /// Something that no run has left.
    Stranger,
}

/// The folders of all runs of one name.
pub(super) struct Folders {
    out: PathBuf,
    newest: PathBuf,
}

impl Folders {
    pub(super) fn of(out: &Path, scene: &str) -> Folders {
        Folders { out: out.to_owned(), newest: out.join(safe(scene)) }
    }

    /// Where this session's files are, if it has left some.
    pub(super) fn found(&self, session: SessionId) -> Option<PathBuf> {
        let [short, whole] = self.beside(session);
        let is_its = |place: &PathBuf| matches!(Holder::of(place), Holder::Run(run) if run.session_id == session);
        [self.newest.clone(), short, whole].into_iter().find(is_its)
    }

    /// Where this run's files go: where they are already, or into the folder of the name, or beside it where a newer
    /// run or a stranger has that.
    pub(super) fn take(&self, run: &Run) -> PathBuf {
        if let Some(place) = self.found(run.session_id) {
            return place;
        }
        match Holder::of(&self.newest) {
            Holder::Nobody => return self.newest.clone(),
            Holder::Run(other) => {
                let is_older = other.started_at <= run.started_at;
                // Where the other cannot be moved, it stays, and this one goes beside it.
                if is_older && fs::rename(&self.newest, self.free(other.session_id)).is_ok() {
                    return self.newest.clone();
                }
            }
            Holder::Stranger => {
                let (theirs, ours) = (self.newest.display(), self.free(run.session_id));
                output::notice(format!(
                    "{theirs} has files that no run of this scene has left. They stay as they are: this run is in {}.",
                    ours.display()
                ));
            }
        }
        self.free(run.session_id)
    }

    /// A folder for this session alone that nobody has.
    fn free(&self, session: SessionId) -> PathBuf {
        let [short, whole] = self.beside(session);
        if matches!(Holder::of(&short), Holder::Nobody) { short } else { whole }
    }

    /// The folders that a session may have beside that of the name. The second is for when another has the first.
    fn beside(&self, session: SessionId) -> [PathBuf; 2] {
        let id = session.to_string();
        [&id[..SHORT_CHARS], &id].map(|id| {
            let mut name = self.newest.as_os_str().to_owned();
            name.push("-");
            name.push(id);
            name.into()
        })
    }

    /// Keeps the other processes from these folders until it is dropped. Not every file system can lock a folder: there
    /// nothing keeps them, and neither does a process that holds the lock for seconds, since it is no more at work.
    pub(super) fn locked(&self) -> io::Result<Option<File>> {
        fs::create_dir_all(&self.out)?;
        let Ok(folder) = File::open(&self.out) else { return Ok(None) };
        for _ in 0..TRIES {
            match folder.try_lock() {
                Ok(()) => return Ok(Some(folder)),
                Err(TryLockError::WouldBlock) => thread::sleep(MOMENT),
                Err(TryLockError::Error(_)) => break,
            }
        }
        Ok(None)
    }
}

impl Holder {
    fn of(place: &Path) -> Holder {
        let entries = match fs::read_dir(place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Holder::Nobody,
            Err(_) => return Holder::Stranger,
        };
        let metadata = fs::read_to_string(place.join(METADATA)).ok();
        match metadata.and_then(|metadata| serde_json::from_str(&metadata).ok()) {
            Some(run) => Holder::Run(run),
            None if entries.count() == 0 => Holder::Nobody,
            None => Holder::Stranger,
        }
    }
}

/// A scene's name as one of a folder.
fn safe(name: &str) -> String {
    let mut folder = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || c == '_' {
            folder.push(c);
        } else if !folder.is_empty() && !folder.ends_with('-') {
            folder.push('-');
        }
    }
    let folder: String = folder.chars().take(MAX_CHARS).collect();
    match folder.trim_end_matches('-') {
        "" => "scene".to_owned(),
        folder => folder.to_owned(),
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
            ("", "scene"),
            ("Act II: \"The End\"", "act-ii-the-end"),
            ("Straße 雪", "straße-雪"),
            ("C:\\x", "c-x"),
        ] {
            assert_eq!(safe(name), expected, "{name}");
        }
        assert_eq!(safe(&"x".repeat(300)).len(), MAX_CHARS);
    }

    #[test]
    fn two_sessions_that_begin_alike_have_a_folder_each() {
        let out = tempfile::TempDir::new().unwrap();
        let folders = Folders::of(out.path(), "s");
        let run = |last: u8, minute: u8| {
            let mut id = [7; 16];
            id[15] = last;
            Run { session_id: SessionId::from_bytes(id), started_at: format!("2026-11-18T04:{minute:02}:00.000Z") }
        };
        let left = |run: &Run| {
            let folder = folders.take(run);
            let metadata = format!(r#"{{"sessionId": "{}", "startedAt": "{}"}}"#, run.session_id, run.started_at);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(METADATA), metadata).unwrap();
        };
        let runs = [run(1, 1), run(2, 2), run(3, 3)];
        runs.iter().for_each(left);
        let names = runs.each_ref().map(|run| {
            let found = folders.found(run.session_id).unwrap();
            found.file_name().unwrap().to_str().unwrap().to_owned()
        });
        let second = format!("s-{}", runs[1].session_id);
        assert_eq!(names, ["s-07070707", &second, "s"]);
    }
}
