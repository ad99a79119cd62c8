//! The discussion as other programs keep it and read it: the rows of its tables, and the answer of its API.
//!
//! A row follows from the records that were written together and from nothing else, so that the store that appends
//! them writes the rows in the same transaction. The answer is the fold of the same rows.

mod rows;
mod state;

pub use rows::{
    AgentRow, DiscussionChange, DiscussionStatus, LogRow, Metadata, ModelConfig, ParticipantRow, ProjectRow,
    discussion_changes,
};
pub use state::{DiscussionEntry, DiscussionState, NotADiscussion};
