//! What records change in the tables of a discussion.

use std::{borrow::Borrow, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Event, Reason, Record, Timestamp,
    event::Origin,
    format::discussion::{Decision, Participant, Role, Settings, Turn, TurnFailure, Who, kind},
    id::{AgentId, PartId, Seq, SessionId},
    ledger::Usage,
    line::LineKind,
    setup::{Agent, Cast, Change, ModelRef, Sampling},
    text::reply::Repair,
};

/// One thing that is different in the tables.
#[derive(Clone, Debug, PartialEq)]
pub enum DiscussionChange {
    /// There is a new discussion, at its first turn.
    Begun(ProjectRow),
    /// These take part, and nobody else.
    Seated {
        agents: Vec<AgentRow>,
        participants: Vec<ParticipantRow>,
    },
    /// A turn was taken.
    Logged(Box<LogRow>),
    /// It is this turn now.
    Turned {
        index: u32,
        round: u32,
        at: Timestamp,
    },
    Stands {
        status: DiscussionStatus,
        at: Timestamp,
    },
    /// It has another number of rounds. One whose last turn was taken is at the first turn of a further round.
    Rounds {
        max_rounds: u32,
        at: Timestamp,
    },
    /// An agent plays with another model.
    Recast {
        agent: PartId,
        model: ModelRef,
    },
}

/// A row of `projects`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectRow {
    pub id: SessionId,
    pub state: PartId,
    pub title: Arc<str>,
    pub topic: Option<Arc<str>>,
    pub max_rounds: u32,
    pub created_at: Timestamp,
}

/// A row of `agent_templates`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRow {
    pub id: PartId,
    pub name: AgentId,
    pub persona: Option<Arc<str>>,
    pub config: ModelConfig,
    pub created_at: Timestamp,
}

/// The column `ai_model_config`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelConfig {
    pub model: ModelRef,
    pub stop: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// A row of `discussion_participants`.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticipantRow {
    pub id: PartId,
    /// Nobody for a person.
    pub agent: Option<PartId>,
    pub name: Arc<str>,
    pub role: Role,
    pub sequence_order: u32,
    pub created_at: Timestamp,
}

/// The column `status` of `discussion_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscussionStatus {
    Active,
    Completed,
    Paused,
}

impl DiscussionStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            DiscussionStatus::Active => "active",
            DiscussionStatus::Completed => "completed",
            DiscussionStatus::Paused => "paused",
        }
    }

    /// Whatever is not complete can be gone on from.
    fn of(reason: Reason) -> DiscussionStatus {
        if reason == Reason::COMPLETED { DiscussionStatus::Completed } else { DiscussionStatus::Paused }
    }
}

/// A row of `discussion_logs`.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRow {
    pub id: PartId,
    pub agent: Option<PartId>,
    pub role: Role,
    /// Empty when nothing was said; `metadata` says why.
    pub content: Arc<str>,
    pub turn_index: u32,
    pub round_number: u32,
    pub metadata: Metadata,
    pub created_at: Timestamp,
}

/// The column `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TurnMetadata")]
pub struct Metadata {
    pub speaker: Arc<str>,
    /// The record of the journal that closes the turn.
    pub seq: Seq,
    /// What the line is, where it is no turn like the others: the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<LineKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization_id: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<TurnFailure>,
}

/// What these records, which were written together, change. Those of any other format change nothing that
/// anybody keeps: they may say that a session stands, but no discussion of that id is there.
pub fn discussion_changes<R: Borrow<Record>>(session: SessionId, records: &[R]) -> Vec<DiscussionChange> {
    let mut changes = Vec::new();
    // What is known of the turn that is about to close.
    let mut open = Metadata::default();
    let mut content: Arc<str> = Arc::default();
    for record in records {
        let Record { seq, at, event } = record.borrow();
        match event {
            Event::Started { setup, .. } => {
                if let Some(settings) = setup.format.settings() {
                    changes.push(DiscussionChange::Begun(ProjectRow::of(session, settings, *at)));
                    changes.push(seated(session, &settings.participants, &setup.cast, *at));
                }
            }
            Event::Resumed { change, .. } | Event::Forked { change, .. } => {
                gone_on(session, change, *at, &mut changes);
            }
            Event::Ended { reason, .. } => {
                changes.push(DiscussionChange::Stands { status: DiscussionStatus::of(*reason), at: *at });
            }
            Event::HumanSpoke { text, origin, .. } => {
                content = text.clone();
                let Origin { key, user_id, organization_id } = origin.clone();
                open = Metadata { idempotency_key: key, user_id, organization_id, ..Metadata::default() };
            }
            Event::Answered { ask, usage, repairs, .. } => {
                let (attempt, usage, repairs) = (Some(ask.attempt), Some(*usage), repairs.clone());
                open = Metadata { attempt, usage, repairs, ..Metadata::default() };
            }
            Event::AskFailed { ask, .. } => open = Metadata { attempt: Some(ask.attempt), ..Metadata::default() },
            Event::LineSpoken { text, .. } => content = text.clone(),
            Event::Decided(decision) => match decision.open() {
                Some(Decision::Reseated { participants, cast }) => {
                    changes.push(seated(session, participants, cast, *at));
                }
                Some(Decision::TurnTaken { turn, failure, next, closes }) => {
                    let speaker: Arc<str> = turn.participant.name().into();
                    let closed = std::mem::take(&mut open);
                    let metadata = Metadata { speaker, seq: *seq, failure: failure.clone(), ..closed };
                    let content = std::mem::take(&mut content);
                    changes.push(DiscussionChange::Logged(Box::new(LogRow::of(session, turn, content, metadata, *at))));
                    changes.push(match (next, closes) {
                        (Some(Turn { index, round, .. }), _) => {
                            DiscussionChange::Turned { index: *index, round: *round, at: *at }
                        }
                        // After everybody's turn.
                        (None, Some(_)) => {
                            DiscussionChange::Turned { index: turn.index + 1, round: turn.round, at: *at }
                        }
                        (None, None) => DiscussionChange::Stands { status: DiscussionStatus::Completed, at: *at },
                    });
                }
                Some(Decision::Closed { turn, failure }) => {
                    let speaker: Arc<str> = turn.participant.name().into();
                    let (closed, kind) = (std::mem::take(&mut open), Some(kind::DECISION));
                    let metadata = Metadata { speaker, seq: *seq, kind, failure: failure.clone(), ..closed };
                    let content = std::mem::take(&mut content);
                    changes.push(DiscussionChange::Logged(Box::new(LogRow::of(session, turn, content, metadata, *at))));
                    changes.push(DiscussionChange::Stands { status: DiscussionStatus::Completed, at: *at });
                }
                Some(Decision::Noted { .. } | Decision::Reasked { .. }) | None => {}
            },
            Event::Asked { .. }
            | Event::AskCut { .. }
            | Event::LineCut { .. }
            | Event::ClipMade { .. }
            | Event::ClipFailed { .. }
            | Event::Narrated { .. }
            | Event::NarrationFailed { .. } => {}
        }
    }
    changes
}

fn seated(session: SessionId, participants: &[Participant], cast: &Cast, at: Timestamp) -> DiscussionChange {
    let agents = cast.agents().iter().map(|agent| AgentRow::of(session, agent, at)).collect();
    let row = |(order, participant): (u32, &Participant)| ParticipantRow {
        id: session.part(&format!("participant {order}")),
        agent: agent_of(session, participant),
        name: participant.name().into(),
        role: participant.role,
        sequence_order: order,
        created_at: at,
    };
    DiscussionChange::Seated { agents, participants: (0..).zip(participants).map(row).collect() }
}

fn gone_on(session: SessionId, change: &Change, at: Timestamp, changes: &mut Vec<DiscussionChange>) {
    // Before the status, which says whether it was complete.
    if let Some(max_rounds) = change.max_rounds {
        changes.push(DiscussionChange::Rounds { max_rounds, at });
    }
    changes.push(DiscussionChange::Stands { status: DiscussionStatus::Active, at });
    for recast in &change.recast {
        let agent = agent_id(session, &recast.agent);
        changes.push(DiscussionChange::Recast { agent, model: recast.model.clone() });
    }
}

fn agent_of(session: SessionId, participant: &Participant) -> Option<PartId> {
    match &participant.who {
        Who::Agent(agent) => Some(agent_id(session, agent)),
        Who::Person(_) => None,
    }
}

fn agent_id(session: SessionId, agent: &AgentId) -> PartId {
    session.part(&format!("agent {agent}"))
}

impl ProjectRow {
    fn of(id: SessionId, settings: &Settings, created_at: Timestamp) -> ProjectRow {
        let Settings { title, topic, max_rounds, .. } = settings;
        let (title, topic) = (title.clone(), topic.clone());
        ProjectRow { id, state: id.part("state"), title, topic, max_rounds: *max_rounds, created_at }
    }
}

impl AgentRow {
    fn of(session: SessionId, agent: &Agent, created_at: Timestamp) -> AgentRow {
        let Sampling { temperature, max_output_tokens, stop, .. } = agent.sampling.clone();
        let config = ModelConfig { model: agent.model.clone(), stop, temperature, max_tokens: max_output_tokens };
        let id = agent_id(session, &agent.name);
        AgentRow { id, name: agent.name.clone(), persona: agent.persona.clone(), config, created_at }
    }
}

impl LogRow {
    fn of(session: SessionId, turn: &Turn, content: Arc<str>, metadata: Metadata, created_at: Timestamp) -> LogRow {
        LogRow {
            id: session.part(&format!("log {} {}", turn.round, turn.index)),
            agent: agent_of(session, &turn.participant),
            role: turn.participant.role,
            content,
            turn_index: turn.index,
            round_number: turn.round,
            metadata,
            created_at,
        }
    }
}
