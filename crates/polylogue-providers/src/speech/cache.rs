//! Clips that were made before: the same engine, voice settings and words are never spoken twice, so replays
//! and forks cost nothing.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use sha2::{Digest, Sha256};

use super::{
    engine::EngineName,
    sound::Sound,
    wav::{self, WavError},
};
use crate::download::hex;

/// When it is larger, the clips that were made first go. Those of sessions stay: they are files of their own.
const MAX_BYTES: u64 = 2 << 30;
/// How much may be added between two looks at the whole.
const LOOK_EVERY_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    added: AtomicU64,
}

/// What a clip is found again by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key(String);

impl Key {
    pub(super) fn new(engine: EngineName, recipe: &serde_json::Value, words: &str) -> Key {
        // The version changes when the same recipe would sound different, for example by another loudness.
        let whole = serde_json::json!(["clip-1", engine, recipe, words]).to_string();
        Key(hex(&Sha256::digest(whole.as_bytes())))
    }
}

impl Cache {
    pub(super) fn new(folder: PathBuf) -> Cache {
        Cache { folder, added: AtomicU64::new(LOOK_EVERY_BYTES) }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(&key.0[..2]).join(format!("{}.wav", key.0))
    }

    /// The clip, if it is there and whole.
    pub(super) fn get(&self, key: &Key) -> Option<(PathBuf, Sound)> {
        let path = self.path(key);
        let sound = wav::read(&path).ok().filter(|sound| !sound.samples.is_empty())?;
        Some((path, sound))
    }

    pub(super) fn put(&self, key: &Key, sound: &Sound) -> Result<PathBuf, WavError> {
        let path = self.path(key);
        wav::write(sound, &path)?;
        let added = self.added.fetch_add(sound.samples.len() as u64 * 2, Ordering::Relaxed);
        if added >= LOOK_EVERY_BYTES {
            self.added.store(0, Ordering::Relaxed);
            if let Err(error) = prune(&self.folder, MAX_BYTES) {
                tracing::warn!(%error, "the cache of clips could not be pruned");
            }
        }
        Ok(path)
    }
}

/// Removes the oldest files until a folder of folders is small enough.
fn prune(folder: &Path, max_bytes: u64) -> io::Result<()> {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for shard in fs::read_dir(folder)? {
        let shard = shard?.path();
        if !shard.is_dir() {
            continue;
        }
        for entry in fs::read_dir(shard)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            files.push((meta.modified()?, meta.len(), entry.path()));
        }
    }
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    files.sort();
    for (_, size, path) in files {
        if bytes <= max_bytes {
            break;
        }
        fs::remove_file(path)?;
        bytes -= size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_clip_is_found_by_everything_that_decides_its_sound() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path().join("cache"));
        let key = Key::new(EngineName::Kokoro, &json!({ "voice": "a" }), "Hello.");
        assert!(cache.get(&key).is_none());
        let sound = Sound::new(24_000, vec![0.25; 2_400]);
        let path = cache.put(&key, &sound).expect("kept");
        let (found, read) = cache.get(&key).expect("found");
        assert_eq!((found, read.duration_ms()), (path.clone(), 100));
        for other in [
            Key::new(EngineName::Espeak, &json!({ "voice": "a" }), "Hello."),
            Key::new(EngineName::Kokoro, &json!({ "voice": "b" }), "Hello."),
            Key::new(EngineName::Kokoro, &json!({ "voice": "a" }), "Hello!"),
        ] {
            assert!(cache.get(&other).is_none());
        }
        // What is damaged counts as not there.
        fs::write(&path, b"RIFF").expect("damaged");
        assert!(cache.get(&key).is_none());
    }

    #[test]
    fn the_oldest_clips_go_first() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("ab")).expect("a folder");
        for (name, age) in [("old", 3), ("middle", 2), ("new", 1)] {
            let path = folder.path().join("ab").join(name);
            fs::write(&path, [0; 100]).expect("written");
            let at = SystemTime::now() - std::time::Duration::from_secs(age * 60);
            fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(at)).expect("dated");
        }
        prune(folder.path(), 200).expect("pruned");
        let left: Vec<bool> =
            ["old", "middle", "new"].map(|name| folder.path().join("ab").join(name).exists()).to_vec();
        assert_eq!(left, [false, true, true]);
    }
}
