//! The servers that these tests use, and a schema for each store.

use std::{path::PathBuf, process::Command};

use polylogue_store::PostgresJournal;
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// The server that all tests share.
pub(crate) fn url() -> String {
    std::env::var("POLYLOGUE_TEST_POSTGRES")
        .expect("these tests need PostgreSQL: run them by `scripts/postgres.sh run cargo nextest run …`")
}

/// The address of a store that is not there yet.
pub(crate) fn new_store() -> String {
    in_new_schema(&url())
}

pub(crate) fn in_new_schema(url: &str) -> String {
    format!("{url}?schema=test_{:x}", fastrand::u64(..))
}

pub(crate) async fn open(url: &str) -> PostgresJournal {
    PostgresJournal::open(url, None).await.expect("a store")
}

/// A connection of somebody else's, who looks at the tables of a store.
pub(crate) async fn elsewhere(store: &str) -> Client {
    let (url, schema) = store.split_once("?schema=").expect("the address of a store here");
    let (client, connection) =
        tokio_postgres::connect(&format!("{url}?sslmode=disable"), NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client.batch_execute(&format!("SET search_path TO {schema}; SET timezone TO 'UTC'")).await.expect("the schema");
    client
}

/// A server of one's own, which can be ended and started again.
pub(crate) struct Server {
    pub(crate) folder: TempDir,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start() -> Server {
        let folder = TempDir::new().expect("a folder");
        let url = script("start", &folder);
        Server { folder, url }
    }

    /// Ends it as a crash would.
    pub(crate) fn stop(&self) {
        script("stop", &self.folder);
    }

    /// Starts it again, at the same address.
    pub(crate) fn start_again(&self) {
        assert_eq!(script("start", &self.folder), self.url);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = command("stop", &self.folder).output();
    }
}

fn script(what: &str, folder: &TempDir) -> String {
    let output = command(what, folder).output().expect("the script");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

fn command(what: &str, folder: &TempDir) -> Command {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres.sh");
    let mut command = Command::new(script);
    command.arg(what).arg(folder.path());
    command
}
