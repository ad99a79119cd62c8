//! What a server is set up with, and what it refuses to be set up with.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use crate::token::Token;

/// Bounds and habits of a server.
#[derive(Clone)]
pub struct Settings {
    /// The operator's bearer tokens: any of them opens everything. Without any token, only this machine may listen.
    pub tokens: BTreeSet<String>,
    /// Those that are bounded.
    pub named_tokens: Vec<Arc<Token>>,
    /// Pages of these origins may call the API; by default none.
    pub cors_origins: Vec<String>,
    pub max_body_bytes: usize,
    /// Connections that are served at once. A few more are told that there is no room, and closed.
    pub max_connections: usize,
    /// Within it a request's head, and then its body, must have arrived.
    pub read_timeout: Duration,
    /// Within it something of an answer must be taken, while there is anything to take.
    pub write_timeout: Duration,
    /// How often a silent event stream says that it is alive.
    pub keep_alive: Duration,
    /// How long open connections are waited for at the end.
    pub grace: Duration,
}

/// Without the tokens, which are never shown.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Settings");
        shown.field("named_tokens", &self.named_tokens).field("cors_origins", &self.cors_origins);
        shown.field("max_connections", &self.max_connections).finish_non_exhaustive()
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            tokens: BTreeSet::new(),
            named_tokens: Vec::new(),
            cors_origins: Vec::new(),
            max_body_bytes: 1024 * 1024,
            max_connections: 4_096,
            read_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            grace: Duration::from_secs(5),
        }
    }
}

impl Settings {
    /// Whether a server so set up may listen there.
    pub fn check(&self, listen: SocketAddr) -> Result<(), BadSettings> {
        if !listen.ip().is_loopback() && !self.has_tokens() {
            return Err(BadSettings::Open(listen));
        }
        if self.cors_origins.iter().any(|origin| origin.trim() == "*") {
            return Err(BadSettings::EveryOrigin);
        }
        match self.cors_origins.iter().find(|origin| origin.parse::<axum::http::HeaderValue>().is_err()) {
            Some(origin) => Err(BadSettings::Origin(origin.clone())),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    #[error(
        "listening on {0} would let anyone who can reach this machine spend your money: set bearer tokens \
         (POLYLOGUE_TOKENS, or the variable that [server] tokens_env names), or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    #[error(
        "cors_origins = [\"*\"] would let every page that somebody on this machine looks at spend your money: name \
         the origins, for example https://example.org"
    )]
    EveryOrigin,
    #[error("`{0}` is no origin: write for example https://example.org")]
    Origin(String),
}
