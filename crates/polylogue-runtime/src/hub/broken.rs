//! What becomes of a session whose loop panics: it ends, and says so.

use std::sync::Arc;

use polylogue_core::{Event, Record, id::SessionId};

use super::{Hub, HubError};
use crate::{drive::broken_off, port::Owned};

impl Hub {
    /// Ends it in the journal, so that nobody goes on with it only to break again. What was not recorded is lost.
    pub(super) async fn break_off(&self, session: SessionId) {
        if let Err(error) = self.end_broken(session).await {
            tracing::error!(%session, %error, "a session that broke inside could not be ended");
        }
    }

    async fn end_broken(&self, session: SessionId) -> Result<(), HubError> {
        let records = self.records(session).await?;
        let last = records.last().ok_or(HubError::NoSuchSession(session))?;
        let mut head = last.seq;
        if !matches!(last.event, Event::Ended { .. }) {
            head = head.next();
            let record = Record { seq: head, at: last.at, event: broken_off() };
            self.inner.ports.journal.append(session, vec![Arc::new(record)], self.inner.node).await?;
        }
        self.give_up(Owned { session, head, is_to_stop: false }).await;
        Ok(())
    }
}
