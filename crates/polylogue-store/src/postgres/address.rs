//! Where a store is: the URL that a person writes, taken apart. What is said of it never has the password in it.

use std::{path::PathBuf, time::Duration};

use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

use crate::OpenError;

/// The schema that the tables are in unless the URL names another. A team's own `projects` lie beside it in peace.
const SCHEMA: &str = "polylogue";

/// How long a connection may take to come about.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the other side may leave what was sent unconfirmed before the connection counts as lost.
const SILENCE: Duration = Duration::from_secs(10);

/// How the server is known to be the right one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// What is sent is encrypted where the mode says so, and whoever answers is believed: as other clients do.
    Anybody,
    /// The certificate names the host, and is signed by somebody whom the system trusts.
    System,
    /// The same, signed by somebody in this file.
    File(PathBuf),
}

/// A store's address.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) schema: String,
    pub(super) trust: Trust,
    /// How it is named to people.
    pub(super) name: String,
}

impl Address {
    /// Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE` with `sslmode`, `sslrootcert` and `schema`; whatever else
    /// PostgreSQL's clients know goes to the client. The password may come from elsewhere.
    pub(super) fn parse(url: &str, password: Option<&str>) -> Result<Address, OpenError> {
        let wrong = |problem: &str| OpenError::Address { problem: problem.to_owned() };
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut schema, mut mode, mut root, mut rest) = (SCHEMA, None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("schema", name) => schema = name,
                ("sslmode", name) => mode = Some(name),
                ("sslrootcert", file) => root = Some(PathBuf::from(file)),
                _ => rest.push(pair),
            }
        }
        let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        if schema.is_empty() || schema.len() > 63 || !schema.chars().all(is_plain) || schema.starts_with("pg_") {
            return Err(wrong("a schema is named with small letters, digits and underscores"));
        }
        let (mode, trust) = match (mode, root) {
            (Some("disable"), _) => (SslMode::Disable, Trust::Anybody),
            (None | Some("prefer"), None) => (SslMode::Prefer, Trust::Anybody),
            (Some("require"), None) => (SslMode::Require, Trust::Anybody),
            (Some("verify-full"), None) => (SslMode::Require, Trust::System),
            (None | Some("prefer" | "require" | "verify-full"), Some(file)) => (SslMode::Require, Trust::File(file)),
            _ => return Err(wrong("sslmode is disable, prefer, require or verify-full")),
        };
        let separator = if rest.is_empty() { "" } else { "?" };
        // What the client says about a URL may quote it.
        let config = format!("{base}{separator}{}", rest.join("&")).parse::<Config>();
        let mut config = config.map_err(|_| wrong("it is no URL of PostgreSQL's"))?;
        if config.get_hosts().is_empty() {
            return Err(wrong("it names no host"));
        }
        if config.get_dbname().is_none() {
            return Err(wrong("it names no database"));
        }
        if let Some(password) = password.filter(|_| config.get_password().is_none()) {
            config.password(password);
        }
        config
            .ssl_mode(mode)
            .application_name("polylogue")
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(SILENCE)
            .keepalives_idle(SILENCE)
            // Of several hosts, and after a fail-over, the one that can be written.
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        let name = name(&config);
        Ok(Address { config, schema: schema.to_owned(), trust, name })
    }
}

/// The address without its password.
fn name(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(nth, host)| {
            let port = ports.get(nth).or(ports.first()).map(|port| format!(":{port}")).unwrap_or_default();
            match host {
                Host::Tcp(host) => format!("{host}{port}"),
                #[cfg(unix)]
                Host::Unix(_) => format!("socket{port}"),
            }
        })
        .collect();
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    format!("postgres://{user}{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_named_without_its_password() {
        let read = |url: &str| Address::parse(url, None).map(|address| (address.name, address.schema, address.trust));
        let ok = |name: &str, schema: &str, trust| Ok((name.to_owned(), schema.to_owned(), trust));
        for (url, expected) in [
            (
                "postgres://me:secret@db.example/team",
                ok("postgres://me@db.example:5432/team", "polylogue", Trust::Anybody),
            ),
            (
                "postgresql://me:se%40cret@a:1,b:2/team?schema=talks_2&sslmode=verify-full",
                ok("postgres://me@a:1,b:2/team", "talks_2", Trust::System),
            ),
            (
                "postgres://me@db/team?sslrootcert=/etc/root.pem&connect_timeout=3",
                ok("postgres://me@db:5432/team", "polylogue", Trust::File("/etc/root.pem".into())),
            ),
        ] {
            assert_eq!(read(url), expected, "{url}");
        }
        for (url, what) in [
            ("postgres://me:secret@db/team?schema=Upper", "small letters"),
            ("postgres://me:secret@db/team?schema=pg_catalog", "small letters"),
            ("postgres://me:secret@db/team?sslmode=maybe", "sslmode is"),
            ("postgres://me:secret@db/team?secret=secret", "no URL"),
            ("postgres://me:secret@db:port/team", "no URL"),
            ("postgres:///team", "no host"),
            ("postgres://me:secret@db", "no database"),
        ] {
            let error = read(url).expect_err(url).to_string();
            assert!(error.contains(what) && !error.contains("secret"), "{url}: {error}");
        }
    }
}
