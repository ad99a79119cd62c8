//! Why the hub does not do what was asked of it.

use polylogue_core::{
    NotAJournal, Rejected, Timestamp, id::SessionId, money::Money, projection::CannotFork, setup::BadSetup,
};

use crate::port::JournalError;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HubError {
    #[error("there is no session {0}")]
    NoSuchSession(SessionId),
    #[error("the session is running already")]
    Running,
    #[error("another process runs the session: wait until it has ended, or stop it")]
    Elsewhere,
    #[error("the process that runs the session has not answered: look whether this was heard before you send it again")]
    Unheard,
    #[error("the session is not running: resume it first")]
    NotRunning,
    #[error("the process that runs the session has not stopped it yet: try again")]
    NotStopped,
    #[error("something broke inside, which is a bug: the log says where")]
    Broken,
    #[error("{0} sessions are running, which is the limit: try again when one has ended")]
    Busy(usize),
    #[error(
        "what all sessions together may cost in a day is spent ({limit}, per_day_usd under [limits]): \
         it goes on at {until}"
    )]
    DaySpent { limit: Money, until: Timestamp },
    #[error("what the sessions of this token may cost in a day is spent ({limit}): it goes on at {until}")]
    ShareSpent { limit: Money, until: Timestamp },
    #[error(transparent)]
    BadSetup(#[from] BadSetup),
    #[error(transparent)]
    Rejected(#[from] Rejected),
    #[error(transparent)]
    CannotFork(#[from] CannotFork),
    #[error(transparent)]
    NotAJournal(#[from] NotAJournal),
    #[error(transparent)]
    Journal(JournalError),
}

impl From<JournalError> for HubError {
    fn from(error: JournalError) -> HubError {
        match error {
            JournalError::Owned => HubError::Elsewhere,
            error => HubError::Journal(error),
        }
    }
}
