//! Files that are written whole or not at all, because somebody may be reading the one before; and that go with the
//! folders that were made for them.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

/// Writes a file and the folders that it needs.
pub fn write(path: &Path, mut content: &[u8]) -> io::Result<()> {
    write_from(path, &mut content)
}

/// Copies a file, likewise.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    write_from(to, &mut File::open(from)?)
}

fn write_from(path: &Path, content: &mut dyn io::Read) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut part = builder().tempfile_in(folder)?;
    io::copy(content, &mut part)?;
    part.flush()?;
    part.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// Removes the file at `path` below `folder`, and the folders on the way to it that are empty then. One that is not
/// there is removed already.
pub fn remove(folder: &Path, path: &Path) -> io::Result<()> {
    match std::fs::remove_file(folder.join(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let between = path.ancestors().skip(1).filter(|between| !between.as_os_str().is_empty());
    // A folder that is not empty stays, and so do those above it.
    let _ = between.map(|between| std::fs::remove_dir(folder.join(between))).take_while(Result::is_ok).count();
    Ok(())
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
