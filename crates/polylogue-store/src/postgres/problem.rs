//! What can go wrong with a statement, and what it means: that the store is in trouble and the same may work later, or
//! that it never will.

use deadpool_postgres::PoolError;
use polylogue_runtime::port::JournalError;
use tokio_postgres::{Error, error::SqlState};

use crate::OpenError;

/// What the database says of a transaction in which an append does not follow its journal (see `schema/1_journal.sql`).
pub(super) const REFUSED: &str = "PL001";

#[derive(Debug)]
pub(super) enum Problem {
    Database(Error),
    Pool(PoolError),
    /// Nothing was heard for too long.
    Late,
    Journal(JournalError),
}

impl Problem {
    /// Whether an append of the transaction does not follow its journal.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Problem::Database(error) if error.code().is_some_and(|code| code.code() == REFUSED))
    }

    /// Whether the same may well work later.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Problem::Late => true,
            Problem::Pool(error) => match error {
                PoolError::Backend(error) => is_passing(error),
                PoolError::Timeout(_) => true,
                _ => false,
            },
            Problem::Database(error) => is_passing(error),
            Problem::Journal(error) => matches!(error, JournalError::Unavailable(_)),
        }
    }

    /// Whether the connection is of no more use.
    pub(super) fn is_of_the_connection(&self) -> bool {
        match self {
            Problem::Late => true,
            Problem::Database(error) => error.is_closed() || error.code().is_none() || is_read_only(error),
            Problem::Pool(_) | Problem::Journal(_) => false,
        }
    }

    /// Why a store cannot be opened.
    pub(super) fn into_open_error(self, store: &str, schema: &str) -> OpenError {
        let (store, schema) = (store.to_owned(), schema.to_owned());
        let error = match &self {
            Problem::Database(error) | Problem::Pool(PoolError::Backend(error)) => error,
            _ => return OpenError::Unreachable { store, problem: self.words() },
        };
        let problem = self.words();
        match error.code() {
            Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => OpenError::NoRights { store, schema, problem },
            Some(code) if code.code().starts_with("28") || code.code().starts_with("3D") => {
                OpenError::Refused { store, problem }
            }
            Some(_) if !self.is_passing() => OpenError::Failed { store, problem },
            Some(_) => OpenError::Unreachable { store, problem },
            None => OpenError::Unreachable { store, problem },
        }
    }

    /// What happened, without an address, a value or a password.
    fn words(&self) -> String {
        match self {
            Problem::Late => "it does not answer".to_owned(),
            Problem::Journal(error) => error.to_string(),
            Problem::Pool(PoolError::Backend(error)) | Problem::Database(error) => words(error),
            Problem::Pool(PoolError::Timeout(_)) => "it does not answer".to_owned(),
            Problem::Pool(_) => "it is closed".to_owned(),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        Problem::Database(error)
    }
}

impl From<PoolError> for Problem {
    fn from(error: PoolError) -> Problem {
        Problem::Pool(error)
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Problem {
        Problem::Journal(error)
    }
}

impl From<Problem> for JournalError {
    fn from(problem: Problem) -> JournalError {
        match problem {
            Problem::Journal(error) => error,
            other if other.is_passing() => JournalError::Unavailable(other.words()),
            other => JournalError::Failed(other.words()),
        }
    }
}

/// Words of the database are one line; of anything else only its kind is told.
fn words(error: &Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().replace('\n', " ");
    }
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            // An error of TLS says what is wrong with a certificate, which its kind does not.
            let tls = io.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            return tls.map_or_else(|| io.kind().to_string(), ToString::to_string);
        }
        source = inner.source();
    }
    if error.is_closed() { "the connection was lost".to_owned() } else { error.to_string() }
}

/// An error without a code is one of the connection.
fn is_passing(error: &Error) -> bool {
    let Some(code) = error.code() else {
        return error.is_closed() || is_of_the_network(error);
    };
    // Connections, resources, what an operator does and what transactions do to each other.
    let classes = ["08", "53", "57", "58", "40"];
    classes.iter().any(|class| code.code().starts_with(class))
        || *code == SqlState::LOCK_NOT_AVAILABLE
        || is_read_only(error)
}

/// After a fail-over the server that was written to may be one that can only be read.
fn is_read_only(error: &Error) -> bool {
    error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
}

fn is_of_the_network(error: &Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if inner.is::<std::io::Error>() {
            return true;
        }
        source = inner.source();
    }
    // Nobody answers, or nobody who may be written to.
    error.to_string().starts_with("error connecting") || error.to_string().starts_with("timeout")
}
