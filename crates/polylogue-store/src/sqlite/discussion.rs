//! The tables of discussions. Every statement can be repeated, and changes nothing for a session that is none.

use polylogue_core::{
    Timestamp,
    format::discussion::{AgentRow, DiscussionChange, DiscussionStatus, LogRow, ParticipantRow, ProjectRow},
    id::SessionId,
};
use rusqlite::{Params, Transaction, params};
use serde::Serialize;

pub(super) fn write(
    transaction: &Transaction<'_>,
    session: SessionId,
    changes: &[DiscussionChange],
) -> rusqlite::Result<()> {
    let tables = Tables { transaction, project: session.to_string() };
    changes.iter().try_for_each(|change| tables.change(change))
}

/// Takes out a discussion. Rows go before those that they refer to.
pub(super) fn remove(transaction: &Transaction<'_>, session: SessionId) -> rusqlite::Result<()> {
    let project = session.to_string();
    for table in ["discussion_logs", "discussion_participants", "discussion_state", "agent_templates"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE project_id = ?1"), [&project])?;
    }
    transaction.execute("DELETE FROM projects WHERE id = ?1", [&project])?;
    Ok(())
}

struct Tables<'a> {
    transaction: &'a Transaction<'a>,
    project: String,
}

impl Tables<'_> {
    fn change(&self, change: &DiscussionChange) -> rusqlite::Result<()> {
        match change {
            DiscussionChange::Begun(project) => self.begin(project),
            DiscussionChange::Seated { agents, participants } => self.seat(agents, participants),
            DiscussionChange::Logged(row) => self.log(row),
            DiscussionChange::Turned { index, round, at } => self.run(
                "UPDATE discussion_state SET current_turn_index = ?2, current_round = ?3, updated_at = ?4
                 WHERE project_id = ?1",
                params![self.project, index, round, at.to_string()],
            ),
            DiscussionChange::Stands { status, at } => self.stand(*status, *at),
            DiscussionChange::Rounds { max_rounds, at } => self.rounds(*max_rounds, *at),
            DiscussionChange::Recast { agent, model } => self.run(
                "UPDATE agent_templates SET ai_model_config = json_set(ai_model_config, '$.model', ?2) WHERE id = ?1",
                params![agent.to_string(), model.to_string()],
            ),
        }
    }

    fn begin(&self, row: &ProjectRow) -> rusqlite::Result<()> {
        let at = row.created_at.to_string();
        self.run(
            "INSERT INTO projects (id, title, topic, max_rounds, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
            params![self.project, row.title, row.topic, row.max_rounds, at],
        )?;
        self.run(
            "INSERT INTO discussion_state
             (id, project_id, current_turn_index, current_round, status, created_at, updated_at)
             VALUES (?1, ?2, 0, 1, ?3, ?4, ?4)",
            params![row.state.to_string(), self.project, DiscussionStatus::Active.as_str(), at],
        )
    }

    fn seat(&self, agents: &[AgentRow], participants: &[ParticipantRow]) -> rusqlite::Result<()> {
        self.run("DELETE FROM discussion_participants WHERE project_id = ?1", [&self.project])?;
        self.run("DELETE FROM agent_templates WHERE project_id = ?1", [&self.project])?;
        for row in agents {
            self.run(
                "INSERT INTO agent_templates (id, project_id, name, persona, ai_model_config, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    row.id.to_string(),
                    self.project,
                    row.name.as_str(),
                    row.persona,
                    json(&row.config),
                    row.created_at.to_string()
                ],
            )?;
        }
        for row in participants {
            self.run(
                "INSERT INTO discussion_participants (id, project_id, agent_id, role, name, sequence_order, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    row.id.to_string(),
                    self.project,
                    row.agent.map(|agent| agent.to_string()),
                    row.role.as_str(),
                    row.name,
                    row.sequence_order,
                    row.created_at.to_string()
                ],
            )?;
        }
        Ok(())
    }

    fn log(&self, row: &LogRow) -> rusqlite::Result<()> {
        let at = row.created_at.to_string();
        self.run(
            "INSERT INTO discussion_logs
             (id, project_id, agent_id, role, content, turn_index, round_number, metadata, created_at)
             SELECT ?2, id, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM projects WHERE id = ?1
             ON CONFLICT (id) DO UPDATE SET content = excluded.content, metadata = excluded.metadata",
            params![
                self.project,
                row.id.to_string(),
                row.agent.map(|agent| agent.to_string()),
                row.role.as_str(),
                row.content,
                row.turn_index,
                row.round_number,
                json(&row.metadata),
                at
            ],
        )?;
        self.touch(row.created_at)
    }

    fn stand(&self, status: DiscussionStatus, at: Timestamp) -> rusqlite::Result<()> {
        self.run(
            "UPDATE discussion_state SET status = ?2, updated_at = ?3 WHERE project_id = ?1",
            params![self.project, status.as_str(), at.to_string()],
        )?;
        self.touch(at)
    }

    /// Further rounds of a discussion in which the last turn was taken begin after that.
    fn rounds(&self, max_rounds: u32, at: Timestamp) -> rusqlite::Result<()> {
        self.run(
            "UPDATE discussion_state SET current_turn_index = 0, current_round = current_round + 1
             WHERE project_id = ?1
               AND (status = ?2
                    OR current_turn_index >= (SELECT COUNT(*) FROM discussion_participants WHERE project_id = ?1))
               AND (SELECT max_rounds FROM projects WHERE id = ?1) < ?3",
            params![self.project, DiscussionStatus::Completed.as_str(), max_rounds],
        )?;
        self.run("UPDATE projects SET max_rounds = ?2 WHERE id = ?1", params![self.project, max_rounds])?;
        self.touch(at)
    }

    fn touch(&self, at: Timestamp) -> rusqlite::Result<()> {
        self.run("UPDATE projects SET updated_at = ?2 WHERE id = ?1", params![self.project, at.to_string()])
    }

    fn run(&self, statement: &str, values: impl Params) -> rusqlite::Result<()> {
        self.transaction.prepare_cached(statement)?.execute(values).map(|_| ())
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("rows have string keys")
}
