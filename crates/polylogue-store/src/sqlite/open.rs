//! Opening the file, and saying what is wrong when it cannot be.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema::{self, Standing};
use crate::OpenError;

/// How long one process waits for another that is writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it rests before it tries again where SQLite does not wait by itself.
const REST: Duration = Duration::from_millis(5);

/// Pages in the write-ahead log before they are moved to their places: enough that a page which many appends
/// touch is moved once, and at most 16 MB.
const CHECKPOINT_PAGES: u32 = 4_000;

/// What a log that one huge append has made is cut down to.
const MAX_LOG_BYTES: u32 = 64 * 1024 * 1024;

/// Kibibytes of pages kept in memory for writing: the end of each live session's journal is one page.
const CACHE_KIB: i32 = 32 * 1024;

/// The store as the caller named it.
pub(super) fn name(path: &Path) -> String {
    path.display().to_string()
}

/// The path as a path and nothing else: to SQLite an empty name and `:memory:` are no files.
fn file(path: &Path) -> PathBuf {
    Path::new(".").join(path)
}

/// The one connection that writes, with the tables in place.
pub(super) fn for_writing(path: &Path) -> Result<Connection, OpenError> {
    if file(path).is_dir() {
        return Err(OpenError::Folder { store: name(path) });
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| of_io(path, &error))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file(path), flags).map_err(|error| of_sqlite(path, &error))?;
    prepare(path, &mut connection)?;
    Ok(connection)
}

/// A connection that cannot write, whatever is asked of it.
pub(super) fn for_reading(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file(path), flags).map_err(|error| of_sqlite(path, &error))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| of_sqlite(path, &error))?;
    Ok(connection)
}

fn prepare(path: &Path, connection: &mut Connection) -> Result<(), OpenError> {
    let wrong = |error: rusqlite::Error| of_sqlite(path, &error);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(wrong)?;
    // Looked at before anything is written, the journal mode included.
    match schema::standing(connection).map_err(wrong)? {
        Standing::Ours => {}
        Standing::Newer { version } => {
            return Err(OpenError::Newer { store: name(path), version, known: schema::VERSION });
        }
        Standing::SomebodyElses => return Err(OpenError::NotAStore { store: name(path) }),
    }
    // SQLite opens a file that may not be written for reading only, without a word.
    if connection.is_readonly("main").map_err(wrong)? {
        return Err(OpenError::Denied { store: name(path) });
    }
    let mode = log_ahead(connection).map_err(wrong)?;
    if mode != "wal" {
        let problem = "its file system cannot share memory between processes".to_owned();
        return Err(OpenError::Failed { store: name(path), problem });
    }
    connection.pragma_update(None, "synchronous", "full").map_err(wrong)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(wrong)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB).map_err(wrong)?;
    for (pragma, value) in [("wal_autocheckpoint", CHECKPOINT_PAGES), ("journal_size_limit", MAX_LOG_BYTES)] {
        connection.pragma_update_and_check(None, pragma, value, |_| Ok(())).map_err(wrong)?;
    }
    schema::migrate(connection).map_err(wrong)
}

/// Changes to the write-ahead log and tells the mode that the file is in now. SQLite takes the lock for that
/// without waiting for another process that is just making the same file, so the waiting is done here.
fn log_ahead(connection: &Connection) -> rusqlite::Result<String> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < BUSY_TIMEOUT =>
            {
                thread::sleep(REST);
            }
            outcome => return outcome,
        }
    }
}

/// SQLite says little about why a file cannot be opened, so the file system is asked again. Only after a
/// failure: to open and close a file drops the locks that this process holds on it.
fn of_sqlite(path: &Path, error: &rusqlite::Error) -> OpenError {
    let store = name(path);
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => OpenError::NotAStore { store },
        Some(ErrorCode::DatabaseCorrupt) => OpenError::Damaged { store },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => OpenError::Denied { store },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked { store },
        Some(ErrorCode::CannotOpen) => {
            match OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path) {
                Err(error) => of_io(path, &error),
                Ok(_) => OpenError::Denied { store },
            }
        }
        Some(code) => OpenError::Failed { store, problem: rusqlite::ffi::Error { code, extended_code: 0 }.to_string() },
        None => OpenError::Failed { store, problem: error.to_string() },
    }
}

fn of_io(path: &Path, error: &io::Error) -> OpenError {
    let store = name(path);
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => OpenError::Denied { store },
        io::ErrorKind::IsADirectory => OpenError::Folder { store },
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => OpenError::BelowAFile { store },
        kind => OpenError::Failed { store, problem: kind.to_string() },
    }
}
