//! The answer of the API: the project, what was said, and who is next.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use super::rows::{
    DiscussionChange, DiscussionStatus, LogRow, Metadata, ParticipantRow, ProjectRow, discussion_changes,
};
use crate::{
    Event, Record, Timestamp,
    format::discussion::{Closing, Role, Settings, kind, settings::closer},
    id::{PartId, SessionId},
};

/// A discussion as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscussionState {
    /// That the question could be answered.
    #[schemars(extend("const" = "success"))]
    status: &'static str,
    pub project: Project,
    pub entries: Vec<DiscussionEntry>,
    /// How many turns each has had.
    pub counts: BTreeMap<Arc<str>, u32>,
    pub speaker_order: Vec<Arc<str>>,
    /// Nobody when it is complete.
    pub next_speaker: Option<Arc<str>>,
    /// What was decided, where it has closed with a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    pub id: SessionId,
    pub title: Arc<str>,
    pub topic: Option<Arc<str>>,
    pub status: DiscussionStatus,
    pub current_turn_index: u32,
    pub current_round: u32,
    pub max_rounds: u32,
    #[serde(skip_serializing_if = "Closing::is_open")]
    pub closing: Closing,
    pub participants: Vec<ProjectParticipant>,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
    #[schemars(extend("format" = "date-time"))]
    pub updated_at: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectParticipant {
    pub id: PartId,
    pub agent_id: Option<PartId>,
    pub name: Arc<str>,
    pub role: Role,
    pub sequence_order: u32,
}

/// A turn that was taken: a row of `discussion_logs`, with the speaker's name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscussionEntry {
    pub id: PartId,
    pub project_id: SessionId,
    pub agent_id: Option<PartId>,
    pub role: Role,
    pub speaker: Arc<str>,
    pub content: Arc<str>,
    pub turn_index: u32,
    pub round_number: u32,
    pub metadata: Metadata,
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session is not a discussion")]
pub struct NotADiscussion;

impl DiscussionState {
    /// The discussion that these records, from the first, make.
    pub fn of(records: &[Record]) -> Result<DiscussionState, NotADiscussion> {
        let Some(Event::Started { setup, .. }) = records.first().map(|record| &record.event) else {
            return Err(NotADiscussion);
        };
        let mut changes = discussion_changes(setup.id, records).into_iter();
        let Some(DiscussionChange::Begun(project)) = changes.next() else { return Err(NotADiscussion) };
        let closing = setup.format.settings::<Settings>().map(|settings| settings.closing).unwrap_or_default();
        let mut state = DiscussionState::begun(project, closing);
        changes.for_each(|change| state.apply(change));
        state.next_speaker = match state.project.status {
            DiscussionStatus::Active | DiscussionStatus::Paused => {
                let index = state.project.current_turn_index as usize;
                state.speaker_order.get(index).cloned().or_else(|| state.project.closer())
            }
            DiscussionStatus::Completed => None,
        };
        let is_decision = |entry: &&DiscussionEntry| entry.metadata.kind == Some(kind::DECISION);
        let is_complete = state.project.status == DiscussionStatus::Completed;
        let last = state
            .entries
            .last()
            .filter(|_| is_complete)
            .filter(is_decision)
            .filter(|entry| entry.metadata.failure.is_none());
        state.decision = last.map(|entry| entry.content.clone());
        Ok(state)
    }

    fn begun(row: ProjectRow, closing: Closing) -> DiscussionState {
        let project = Project {
            id: row.id,
            title: row.title,
            topic: row.topic,
            status: DiscussionStatus::Active,
            current_turn_index: 0,
            current_round: 1,
            max_rounds: row.max_rounds,
            closing,
            participants: Vec::new(),
            created_at: row.created_at.to_string(),
            updated_at: row.created_at.to_string(),
        };
        let (entries, counts, speaker_order, next_speaker, decision) = Default::default();
        DiscussionState { status: "success", project, entries, counts, speaker_order, next_speaker, decision }
    }

    /// The same as a table does with it.
    fn apply(&mut self, change: DiscussionChange) {
        let project = &mut self.project;
        let mut touch = |at: Timestamp| project.updated_at = at.to_string();
        match change {
            DiscussionChange::Begun(_) => {}
            DiscussionChange::Seated { participants, .. } => {
                self.speaker_order = participants.iter().map(|row| row.name.clone()).collect();
                self.counts = self.speaker_order.iter().map(|name| (name.clone(), 0)).collect();
                project.participants = participants.into_iter().map(ProjectParticipant::of).collect();
            }
            DiscussionChange::Logged(row) => {
                touch(row.created_at);
                if row.metadata.kind.is_none() {
                    *self.counts.entry(row.metadata.speaker.clone()).or_default() += 1;
                }
                self.entries.push(DiscussionEntry::of(project.id, *row));
            }
            DiscussionChange::Turned { index, round, at } => {
                touch(at);
                (project.current_turn_index, project.current_round) = (index, round);
            }
            DiscussionChange::Stands { status, at } => {
                touch(at);
                project.status = status;
            }
            DiscussionChange::Rounds { max_rounds, at } => {
                touch(at);
                let is_past_the_last = project.current_turn_index as usize >= project.participants.len();
                let is_over = project.status == DiscussionStatus::Completed || is_past_the_last;
                if is_over && max_rounds > project.max_rounds {
                    (project.current_turn_index, project.current_round) = (0, project.current_round + 1);
                }
                project.max_rounds = max_rounds;
            }
            DiscussionChange::Recast { .. } => {}
        }
    }
}

impl Project {
    /// Who states the decision.
    fn closer(&self) -> Option<Arc<str>> {
        closer(&self.participants, |participant| participant.role).map(|closer| closer.name.clone())
    }
}

impl ProjectParticipant {
    fn of(row: ParticipantRow) -> ProjectParticipant {
        let ParticipantRow { id, agent: agent_id, name, role, sequence_order, .. } = row;
        ProjectParticipant { id, agent_id, name, role, sequence_order }
    }
}

impl DiscussionEntry {
    pub fn of(project_id: SessionId, row: LogRow) -> DiscussionEntry {
        DiscussionEntry {
            id: row.id,
            project_id,
            agent_id: row.agent,
            role: row.role,
            speaker: row.metadata.speaker.clone(),
            content: row.content,
            turn_index: row.turn_index,
            round_number: row.round_number,
            metadata: row.metadata,
            created_at: row.created_at.to_string(),
        }
    }
}
