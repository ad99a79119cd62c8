//! The tables of discussions. Every statement can be repeated, and changes nothing for a session that is none.

use deadpool_postgres::Transaction;
use polylogue_core::{
    Timestamp,
    format::discussion::{AgentRow, DiscussionChange, DiscussionStatus, LogRow, ParticipantRow, ProjectRow},
    id::SessionId,
};
use tokio_postgres::Error;
use uuid::Uuid;

use super::{
    value::{self, Sent},
    views::Write,
};

/// What the changes are in the tables. The first value of each is the project.
pub(super) fn writes(session: SessionId, changes: &[DiscussionChange]) -> Vec<Write> {
    let mut tables = Tables { project: value::session(session), writes: Vec::new() };
    for change in changes {
        tables.change(change);
    }
    tables.writes
}

/// Takes out a discussion. Rows go before those that they refer to.
pub(super) async fn remove(transaction: &Transaction<'_>, session: SessionId) -> Result<(), Error> {
    let project = value::session(session);
    for table in ["discussion_logs", "discussion_participants", "discussion_state", "agent_templates"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE project_id = $1"), &[&project]).await?;
    }
    transaction.execute("DELETE FROM projects WHERE id = $1", &[&project]).await?;
    Ok(())
}

struct Tables {
    project: Uuid,
    writes: Vec<Write>,
}

impl Tables {
    fn change(&mut self, change: &DiscussionChange) {
        match change {
            DiscussionChange::Begun(project) => self.begin(project),
            DiscussionChange::Seated { agents, participants } => self.seat(agents, participants),
            DiscussionChange::Logged(row) => self.log(row),
            DiscussionChange::Turned { index, round, at } => self.run(
                "UPDATE discussion_state SET current_turn_index = $2, current_round = $3, updated_at = $4
                 WHERE project_id = $1",
                vec![Box::new(value::small(*index)), Box::new(value::small(*round)), Box::new(value::time(*at))],
            ),
            DiscussionChange::Stands { status, at } => {
                self.run(
                    "UPDATE discussion_state SET status = $2, updated_at = $3 WHERE project_id = $1",
                    vec![Box::new(status.as_str()), Box::new(value::time(*at))],
                );
                self.touch(*at);
            }
            DiscussionChange::Rounds { max_rounds, at } => self.rounds(*max_rounds, *at),
            DiscussionChange::Recast { agent, model } => self.run(
                "UPDATE agent_templates SET ai_model_config = jsonb_set(ai_model_config, '{model}', to_jsonb($3::text))
                 WHERE project_id = $1 AND id = $2",
                vec![Box::new(value::part(*agent)), Box::new(value::text(&model.to_string()))],
            ),
        }
    }

    fn begin(&mut self, row: &ProjectRow) {
        self.run(
            "INSERT INTO projects (id, title, topic, max_rounds, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)",
            vec![
                Box::new(value::text(&row.title)),
                Box::new(row.topic.as_deref().map(value::text)),
                Box::new(value::small(row.max_rounds)),
                Box::new(value::time(row.created_at)),
            ],
        );
        self.run(
            "INSERT INTO discussion_state
             (id, project_id, current_turn_index, current_round, status, created_at, updated_at)
             VALUES ($2, $1, 0, 1, $3, $4, $4)",
            vec![
                Box::new(value::part(row.state)),
                Box::new(DiscussionStatus::Active.as_str()),
                Box::new(value::time(row.created_at)),
            ],
        );
    }

    fn seat(&mut self, agents: &[AgentRow], participants: &[ParticipantRow]) {
        self.run("DELETE FROM discussion_participants WHERE project_id = $1", vec![]);
        self.run("DELETE FROM agent_templates WHERE project_id = $1", vec![]);
        for row in agents {
            self.run(
                "INSERT INTO agent_templates (id, project_id, name, persona, ai_model_config, created_at)
                 VALUES ($2, $1, $3, $4, $5::text::jsonb, $6)",
                vec![
                    Box::new(value::part(row.id)),
                    Box::new(value::text(row.name.as_str())),
                    Box::new(row.persona.as_deref().map(value::text)),
                    Box::new(value::json(&row.config)),
                    Box::new(value::time(row.created_at)),
                ],
            );
        }
        for row in participants {
            self.run(
                "INSERT INTO discussion_participants (id, project_id, agent_id, role, name, sequence_order, created_at)
                 VALUES ($2, $1, $3, $4, $5, $6, $7)",
                vec![
                    Box::new(value::part(row.id)),
                    Box::new(row.agent.map(value::part)),
                    Box::new(row.role.as_str()),
                    Box::new(value::text(&row.name)),
                    Box::new(value::small(row.sequence_order)),
                    Box::new(value::time(row.created_at)),
                ],
            );
        }
    }

    fn log(&mut self, row: &LogRow) {
        self.run(
            "INSERT INTO discussion_logs
             (id, project_id, agent_id, role, content, turn_index, round_number, metadata, created_at)
             SELECT $2::uuid, id, $3::uuid, $4::text, $5::text, $6::integer, $7::integer, $8::text::jsonb,
                    $9::timestamptz FROM projects WHERE id = $1
             ON CONFLICT (id) DO UPDATE SET content = excluded.content, metadata = excluded.metadata",
            vec![
                Box::new(value::part(row.id)),
                Box::new(row.agent.map(value::part)),
                Box::new(row.role.as_str()),
                Box::new(value::text(&row.content)),
                Box::new(value::small(row.turn_index)),
                Box::new(value::small(row.round_number)),
                Box::new(value::json(&row.metadata)),
                Box::new(value::time(row.created_at)),
            ],
        );
        self.touch(row.created_at);
    }

    /// Further rounds of a discussion in which the last turn was taken begin after that.
    fn rounds(&mut self, max_rounds: u32, at: Timestamp) {
        self.run(
            "UPDATE discussion_state SET current_turn_index = 0, current_round = current_round + 1
             WHERE project_id = $1
               AND (status = $2
                    OR current_turn_index >= (SELECT COUNT(*) FROM discussion_participants WHERE project_id = $1))
               AND (SELECT max_rounds FROM projects WHERE id = $1) < $3",
            vec![Box::new(DiscussionStatus::Completed.as_str()), Box::new(value::small(max_rounds))],
        );
        self.run("UPDATE projects SET max_rounds = $2 WHERE id = $1", vec![Box::new(value::small(max_rounds))]);
        self.touch(at);
    }

    fn touch(&mut self, at: Timestamp) {
        self.run("UPDATE projects SET updated_at = $2 WHERE id = $1", vec![Box::new(value::time(at))]);
    }

    fn run(&mut self, sql: &'static str, values: Vec<Sent>) {
        let project: Sent = Box::new(self.project);
        self.writes.push(Write { sql, values: std::iter::once(project).chain(values).collect() });
    }
}
