//! Files that are written whole or not at all: somebody may be reading the one before.

use std::{
    io::{self, Write},
    path::Path,
};

/// Writes a file and the folders that it needs.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut part = builder().tempfile_in(folder)?;
    part.write_all(text.as_bytes())?;
    part.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// A file that others may read, as far as the user's mask lets them.
#[cfg(unix)]
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

#[cfg(not(unix))]
fn builder() -> tempfile::Builder<'static, 'static> {
    tempfile::Builder::new()
}
