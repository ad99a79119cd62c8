//! Sessions as their journals make them.

use std::{sync::Arc, time::Duration};

use polylogue_core::{
    Conversation, Record,
    id::{Seq, SessionId},
    projection::{Outcome, Status},
};

use tokio::time::timeout;

use super::{Hub, HubError};
use crate::{live::Published, port::JournalError};

/// After so long without a record it is looked whether anybody still runs the session.
const LOOK: Duration = Duration::from_secs(1);

/// How many records are read at a time.
const PAGE: usize = 1_000;

/// A session as it was read: one reading serves everything that a caller wants to know of it.
#[derive(Clone, Debug)]
pub struct Opened {
    pub records: Vec<Record>,
    pub conversation: Conversation,
}

/// A session by its id, or as the caller has read it already.
#[derive(Clone, Debug)]
pub enum Known {
    Id(SessionId),
    Read(Box<Conversation>),
}

impl From<SessionId> for Known {
    fn from(id: SessionId) -> Known {
        Known::Id(id)
    }
}

impl From<Conversation> for Known {
    fn from(conversation: Conversation) -> Known {
        Known::Read(Box::new(conversation))
    }
}

impl Known {
    pub(super) fn id(&self) -> SessionId {
        match self {
            Known::Id(id) => *id,
            Known::Read(conversation) => conversation.stage().setup().id,
        }
    }
}

impl Hub {
    /// What a session has come to, with a status that knows the processes.
    pub async fn outcome(&self, conversation: &Conversation) -> Result<Outcome, HubError> {
        let outcome = Outcome::of(conversation);
        let id = outcome.session_id;
        let is_left = outcome.status == Status::Running
            && !self.inner.claims.contains(id)
            && !self.inner.ports.nodes.is_owned(id).await?;
        Ok(if is_left { outcome.with_status(Status::Left) } else { outcome })
    }

    /// The session as its journal makes it.
    pub async fn conversation(&self, id: SessionId) -> Result<Conversation, HubError> {
        if let Some(kept) = self.inner.kept.get(id) {
            return self.caught_up(kept).await;
        }
        let records = self.inner.ports.journal.read_all(id).await?;
        if records.is_empty() {
            return Err(HubError::NoSuchSession(id));
        }
        Ok(Conversation::replay(records.iter().map(|record| &**record))?)
    }

    /// The same session with what has been recorded since: another process may have gone on with it.
    pub(super) async fn caught_up(&self, mut conversation: Conversation) -> Result<Conversation, HubError> {
        let (id, head) = (conversation.stage().setup().id, conversation.stage().head());
        // Its last record is read again, because another process may also have deleted the session.
        let records = self.records_after(id, Seq(head.0.saturating_sub(1))).await?;
        let (_, more) = records.split_first().ok_or(HubError::NoSuchSession(id))?;
        more.iter().for_each(|record| conversation.apply(record));
        Ok(conversation)
    }

    /// Waits until nobody runs the session, here or elsewhere: it has ended, waits for a person, or was left.
    pub async fn rest(&self, id: SessionId) -> Result<(), HubError> {
        match self.wait(id).await {
            // Another process goes on with it.
            Ok(()) | Err(HubError::Journal(JournalError::Fenced { .. })) => {}
            Err(error) => return Err(error),
        }
        let mut conversation = self.conversation(id).await?;
        let mut watch = self.subscribe(id, conversation.stage().head()).of_records();
        while conversation.stage().ended().is_none() && !conversation.stage().is_waiting() {
            match timeout(LOOK, watch.next()).await {
                Ok(Ok(Some(Published::Record(record)))) => conversation.apply(&record),
                Ok(Ok(Some(Published::Delta { .. } | Published::Waiting { .. }))) => {}
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(error.into()),
                // Nothing has happened for a while: its process may be gone.
                Err(_) if self.is_running(id) || self.inner.ports.nodes.is_owned(id).await? => {}
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// The session with its whole journal.
    pub async fn open(&self, id: SessionId) -> Result<Opened, HubError> {
        let records = self.records(id).await?;
        let conversation = Conversation::replay(&records)?;
        Ok(Opened { records, conversation })
    }

    /// The session as it stands, for somebody who goes on with it.
    pub(super) async fn read(&self, known: Known) -> Result<Conversation, HubError> {
        let id = match known {
            Known::Id(id) => id,
            Known::Read(conversation) => return Ok(*conversation),
        };
        match self.inner.kept.take(id) {
            Some(kept) => self.caught_up(kept).await,
            None => self.conversation(id).await,
        }
    }

    /// What a session has recorded after this place.
    pub async fn records_after(&self, id: SessionId, mut after: Seq) -> Result<Vec<Record>, HubError> {
        let mut records = Vec::new();
        loop {
            let page = self.inner.ports.journal.read(id, after, PAGE).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map_or(after, |last| last.seq);
            records.extend(page.into_iter().map(Arc::unwrap_or_clone));
            if is_last {
                return Ok(records);
            }
        }
    }

    /// The whole journal of a session.
    pub async fn records(&self, id: SessionId) -> Result<Vec<Record>, HubError> {
        let records = self.records_after(id, Seq::START).await?;
        if records.is_empty() { Err(HubError::NoSuchSession(id)) } else { Ok(records) }
    }
}
