//! What a session wants of its store, and does not give up at once: one that is locked, busy or full is tried again.

use std::{sync::Arc, time::Duration};

use polylogue_core::{
    Record,
    id::{Seq, SessionId},
};
use tokio::time::{Instant, sleep};

use crate::port::{Journal, JournalError, NodeId, Ports};

/// The first pause between two tries; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a store may be in trouble before a session lets go of it.
const PATIENCE: Duration = Duration::from_secs(600);

/// How records came to be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    Written,
    /// The store refused them and has just these. A try before may have worked without anybody being told, or another
    /// process has taken the session over and come to the same.
    Found,
}

/// Appends the records. When this returns they are on disk, or another process has written the session, or the store
/// has failed for good.
pub(super) async fn persist(
    journal: &dyn Journal,
    session: SessionId,
    records: &[Arc<Record>],
    node: NodeId,
) -> Result<Recorded, JournalError> {
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut is_again = false;
    let recorded = loop {
        let error = match journal.append(session, records.to_vec(), node).await {
            Ok(()) => break Recorded::Written,
            Err(fenced @ JournalError::Fenced { .. }) if is_again => match are_there(journal, session, records).await {
                Ok(true) => break Recorded::Found,
                Ok(false) => fenced,
                Err(error) => error,
            },
            Err(error) => error,
        };
        if !matches!(error, JournalError::Unavailable(_)) || began.elapsed() >= PATIENCE {
            return Err(error);
        }
        if !is_again {
            tracing::error!(%session, %error, "the session cannot be recorded and waits until it can");
        }
        is_again = true;
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    if is_again {
        let waited = began.elapsed().as_secs_f64();
        tracing::info!(%session, waited, "the session can be recorded again and goes on");
    }
    Ok(recorded)
}

/// Whether just these records are in the journal at their places.
async fn are_there(journal: &dyn Journal, session: SessionId, records: &[Arc<Record>]) -> Result<bool, JournalError> {
    let Some(first) = records.first() else { return Ok(true) };
    let there = journal.read(session, Seq(first.seq.0.saturating_sub(1)), records.len()).await?;
    Ok(there == records)
}

/// Whether another process goes on with the session: it has written it, or has taken it over and is about to. The store
/// is asked until it answers, because no call may begin before that.
pub(super) async fn is_lost(ports: &Ports, session: SessionId, head: Seq, node: NodeId, is_owned_here: bool) -> bool {
    loop {
        let is_lost = async {
            if !ports.journal.read(session, head, 1).await?.is_empty() {
                return Ok(true);
            }
            let owned = ports.nodes.owned(node).await?;
            Ok(is_owned_here && !owned.iter().any(|owned| owned.session == session))
        };
        match is_lost.await {
            Ok(is_lost) => return is_lost,
            Err(JournalError::Unavailable(_)) => sleep(FIRST_PAUSE).await,
            // Whoever cannot record it either finds that out when it next does.
            Err(_) => return false,
        }
    }
}
