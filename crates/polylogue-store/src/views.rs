//! What an append changes in the tables that are kept beside the journal: made of the records by the caller, and written
//! in their transaction. A format that has tables of its own has a line here, and one in each backend.

use std::sync::Arc;

use polylogue_core::{
    Record,
    format::discussion::{DiscussionChange, discussion_changes},
    id::{AgentId, Seq, SessionId},
    memory::remembered,
};

#[derive(Debug)]
pub(crate) struct Views {
    pub(crate) discussion: Vec<DiscussionChange>,
    /// Where somebody put down a memory, and who.
    pub(crate) remembered: Vec<(Seq, AgentId)>,
}

impl Views {
    pub(crate) fn of(session: SessionId, records: &[Arc<Record>]) -> Views {
        let remembered = remembered(records).map(|(record, who, _)| (record.seq, who.clone())).collect();
        Views { discussion: discussion_changes(session, records), remembered }
    }
}
