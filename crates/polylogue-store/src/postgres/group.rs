//! A group of appends as one transaction in one round trip: BEGIN, the fence of all of them, their records, what
//! follows from those, COMMIT. Everything is sent before the first answer is read. The fence is the condition of one
//! statement, and ends the transaction when any of them does not follow: then the COMMIT at its end commits nothing.

use std::{future::poll_fn, task::Poll};

use deadpool_postgres::Object;
use futures_util::{FutureExt, future::BoxFuture};
use tokio_postgres::{Error, Statement, types::ToSql};
use uuid::Uuid;

use super::{
    problem::Problem,
    value::{self, Sent},
    views,
};
use crate::batch::{Batch, Close};

/// Begins sessions. Their node owns them, unless a person is waited for.
const BEGIN_SESSIONS: &str = "WITH begun AS (
        INSERT INTO sessions (id, format, title, cast_names, story, room, started_at, last_at, head, version, reason,
                              waiting, due, tenant, owner)
        SELECT id, format, title, cast_names, story, room, started_at, last_at, head, version, reason, waiting, due,
               tenant, CASE WHEN waiting AND reason IS NULL THEN NULL ELSE node END
        FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
                    $9::bigint[], $10::bigint[], $11::text[], $12::boolean[], $13::bigint[], $14::uuid[],
                    $15::text[])
             AS b (id, format, title, cast_names, story, room, started_at, last_at, head, version, reason, waiting, due,
                   node, tenant)
        ON CONFLICT (id) DO NOTHING RETURNING id)
    SELECT refuse_append() WHERE (SELECT count(*) FROM begun) <> cardinality($1)";

/// Moves the heads of sessions to the ends of their batches, and makes their node the owner. The condition is the
/// fence: a batch that does not follow the head, or whose session another node runs that is alive, moves nothing.
const ADVANCE_SESSIONS: &str = "WITH moved AS (
        UPDATE sessions AS s SET head = b.head, last_at = b.last_at, version = greatest(s.version, b.version),
            takeovers = CASE WHEN b.is_progress THEN 0 ELSE s.takeovers END,
            stop = s.stop AND NOT b.is_closed, waiting = coalesce(b.waiting, s.waiting),
            due = CASE WHEN b.waiting IS NULL THEN s.due ELSE b.due END,
            reason = CASE WHEN b.is_closed THEN b.reason ELSE s.reason END,
            owner = CASE WHEN coalesce(b.waiting, s.waiting)
                              AND (CASE WHEN b.is_closed THEN b.reason ELSE s.reason END) IS NULL
                         THEN NULL ELSE b.node END
        FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[], $7::boolean[],
                    $8::text[], $9::boolean[], $10::bigint[], $11::uuid[])
             AS b (id, after, head, last_at, version, is_progress, is_closed, reason, waiting, due, node)
        WHERE s.id = b.id AND s.head = b.after
            AND (s.owner IS NULL OR s.owner = b.node OR s.reason IS NOT NULL
                 OR s.owner NOT IN (SELECT n.id FROM nodes AS n WHERE n.alive_until > clock_timestamp()))
        RETURNING s.id)
    SELECT refuse_append() WHERE (SELECT count(*) FROM moved) <> cardinality($1)";

const RECORDS: &str = "INSERT INTO journal (session_id, seq, at, event)
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[])";

const FORKS: &str = "INSERT INTO forks (session_id, origin)
    SELECT * FROM unnest($1::uuid[], $2::uuid[]) ON CONFLICT DO NOTHING";

/// Makes the rooms that nobody has been in. All take them in the same order, and so nobody waits in a circle.
const OPEN_ROOMS: &str = "INSERT INTO rooms (name, started_at, last_at, head)
    SELECT DISTINCT ON (name) name, at, at, 0 FROM unnest($1::text[], $2::bigint[]) AS b (name, at) ORDER BY name
    ON CONFLICT (name) DO NOTHING";

/// Puts the records into the order of their sessions' rooms, for those that answer in one.
const ROOM_LOG: &str = "WITH batch AS (
        SELECT s.room, b.id, b.after, b.count, b.last_at, b.nth
        FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
             AS b (id, after, count, last_at, nth)
        JOIN sessions AS s ON s.id = b.id WHERE s.room IS NOT NULL),
    locked AS (SELECT name FROM rooms WHERE name IN (SELECT room FROM batch) ORDER BY name FOR UPDATE),
    total AS (
        SELECT room, sum(count)::bigint AS count, (array_agg(last_at ORDER BY nth DESC))[1] AS last_at
        FROM batch GROUP BY room),
    moved AS (
        UPDATE rooms AS r SET head = r.head + t.count, last_at = t.last_at
        FROM total AS t JOIN locked AS l ON l.name = t.room WHERE r.name = t.room
        RETURNING r.name, r.head - t.count AS before)
    INSERT INTO room_log (room, n, session_id, seq)
    SELECT b.room, m.before + b.place - b.count + nth_record, b.id, b.after + nth_record
    FROM (SELECT *, (sum(count) OVER (PARTITION BY room ORDER BY nth))::bigint AS place FROM batch) AS b
    JOIN moved AS m ON m.name = b.room CROSS JOIN LATERAL generate_series(1, b.count) AS nth_record";

const MEMORIES: &str = "INSERT INTO memories (session_id, seq, story, agent)
    SELECT b.id, b.seq, s.story, b.agent FROM unnest($1::uuid[], $2::bigint[], $3::text[]) AS b (id, seq, agent)
    JOIN sessions AS s ON s.id = b.id WHERE s.story IS NOT NULL ON CONFLICT DO NOTHING";

/// Writes all batches, which are of different sessions, or none of them.
pub(super) async fn write(connection: &Object, batches: &[&Batch]) -> Result<(), Problem> {
    let mut pipeline = Pipeline::new(connection);
    begin(&mut pipeline, batches).await?;
    advance(&mut pipeline, batches).await?;
    records(&mut pipeline, batches).await?;
    for batch in batches {
        for write in views::writes(batch.session, &batch.views) {
            pipeline.add(write.sql, write.values).await?;
        }
    }
    pipeline.run().await
}

async fn begin(pipeline: &mut Pipeline<'_>, batches: &[&Batch]) -> Result<(), Problem> {
    let new: Vec<_> = batches.iter().filter_map(|batch| batch.start.as_ref().map(|start| (batch, start))).collect();
    if new.is_empty() {
        return Ok(());
    }
    pipeline
        .add(
            BEGIN_SESSIONS,
            vec![
                column(&new, |(batch, _)| value::session(batch.session)),
                column(&new, |(_, start)| value::text(&start.format)),
                column(&new, |(_, start)| value::text(&start.title)),
                column(&new, |(_, start)| start.cast.clone()),
                column(&new, |(_, start)| start.story.as_deref().map(value::text)),
                column(&new, |(_, start)| start.room.as_ref().map(ToString::to_string)),
                column(&new, |(_, start)| start.started_at),
                column(&new, |(batch, _)| batch.last_at),
                column(&new, |(batch, _)| value::seq(batch.head)),
                column(&new, |(batch, start)| version(batch).max(i64::from(start.version))),
                column(&new, |(batch, _)| reason(batch)),
                column(&new, |(batch, _)| batch.waiting.is_some_and(|waiting| waiting.is_waiting)),
                column(&new, |(batch, _)| due(batch)),
                column(&new, |(batch, _)| value::node(batch.node)),
                column(&new, |(_, start)| start.tenant.as_ref().map(ToString::to_string)),
            ],
        )
        .await?;
    let forks: Vec<(Uuid, Uuid)> = new
        .iter()
        .flat_map(|(batch, start)| start.origins.iter().map(|origin| (batch.session, *origin)))
        .map(|(session, origin)| (value::session(session), value::session(origin)))
        .collect();
    if !forks.is_empty() {
        pipeline
            .add(FORKS, vec![column(&forks, |(session, _)| *session), column(&forks, |(_, origin)| *origin)])
            .await?;
    }
    let rooms: Vec<(String, i64)> = new
        .iter()
        .filter_map(|(_, start)| start.room.as_ref().map(|room| (room.to_string(), start.started_at)))
        .collect();
    if !rooms.is_empty() {
        pipeline.add(OPEN_ROOMS, vec![column(&rooms, |(name, _)| name.clone()), column(&rooms, |(_, at)| *at)]).await?;
    }
    Ok(())
}

async fn advance(pipeline: &mut Pipeline<'_>, batches: &[&Batch]) -> Result<(), Problem> {
    let known: Vec<_> = batches.iter().filter(|batch| batch.start.is_none()).collect();
    if known.is_empty() {
        return Ok(());
    }
    pipeline
        .add(
            ADVANCE_SESSIONS,
            vec![
                column(&known, |batch| value::session(batch.session)),
                column(&known, |batch| value::seq(batch.after)),
                column(&known, |batch| value::seq(batch.head)),
                column(&known, |batch| batch.last_at),
                column(&known, |batch| version(batch)),
                column(&known, |batch| batch.is_progress),
                column(&known, |batch| batch.close.is_some()),
                column(&known, |batch| reason(batch)),
                column(&known, |batch| batch.waiting.map(|waiting| waiting.is_waiting)),
                column(&known, |batch| due(batch)),
                column(&known, |batch| value::node(batch.node)),
            ],
        )
        .await
}

async fn records(pipeline: &mut Pipeline<'_>, batches: &[&Batch]) -> Result<(), Problem> {
    let rows: Vec<_> = batches
        .iter()
        .flat_map(|batch| (value::seq(batch.after) + 1..).zip(&batch.rows).map(|(seq, row)| (batch.session, seq, row)))
        .collect();
    pipeline
        .add(
            RECORDS,
            vec![
                column(&rows, |(session, ..)| value::session(*session)),
                column(&rows, |(_, seq, _)| *seq),
                column(&rows, |(.., row)| row.at),
                column(&rows, |(.., row)| row.event.clone()),
            ],
        )
        .await?;
    pipeline
        .add(
            ROOM_LOG,
            vec![
                column(batches, |batch| value::session(batch.session)),
                column(batches, |batch| value::seq(batch.after)),
                column(batches, |batch| batch.rows.len() as i64),
                column(batches, |batch| batch.last_at),
            ],
        )
        .await?;
    let remembered: Vec<_> = batches
        .iter()
        .flat_map(|batch| batch.views.remembered.iter().map(|(seq, agent)| (batch.session, *seq, agent)))
        .collect();
    if remembered.is_empty() {
        return Ok(());
    }
    pipeline
        .add(
            MEMORIES,
            vec![
                column(&remembered, |(session, ..)| value::session(*session)),
                column(&remembered, |(_, seq, _)| value::seq(*seq)),
                column(&remembered, |(.., agent)| value::text(agent.as_str())),
            ],
        )
        .await
}

fn reason(batch: &Batch) -> Option<String> {
    match batch.close {
        Some(Close::Ended(reason)) => Some(reason.as_str().to_owned()),
        Some(Close::Reopened { .. }) | None => None,
    }
}

fn due(batch: &Batch) -> Option<i64> {
    batch.waiting.and_then(|waiting| waiting.due)
}

fn version(batch: &Batch) -> i64 {
    match batch.close {
        Some(Close::Reopened { version }) => i64::from(version),
        Some(Close::Ended(_)) | None => 0,
    }
}

/// One column of the rows that a statement unfolds.
fn column<R, T: ToSql + Sync + Send + 'static>(rows: &[R], value: impl Fn(&R) -> T) -> Sent {
    Box::new(rows.iter().map(value).collect::<Vec<T>>())
}

/// Statements of one transaction, which are sent together.
struct Pipeline<'a> {
    connection: &'a Object,
    statements: Vec<(Statement, Vec<Sent>)>,
}

impl<'a> Pipeline<'a> {
    fn new(connection: &'a Object) -> Pipeline<'a> {
        Pipeline { connection, statements: Vec::new() }
    }

    /// A statement that this connection has not seen is made known to it first, outside of the transaction.
    async fn add(&mut self, sql: &str, values: Vec<Sent>) -> Result<(), Problem> {
        self.statements.push((self.connection.prepare_cached(sql).await?, values));
        Ok(())
    }

    async fn run(self) -> Result<(), Problem> {
        let mut answers: Vec<BoxFuture<'_, Result<(), Error>>> = Vec::with_capacity(self.statements.len() + 2);
        answers.push(self.connection.batch_execute("BEGIN").boxed());
        for (statement, values) in &self.statements {
            let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
            answers.push(async move { self.connection.execute(statement, &values).await.map(drop) }.boxed());
        }
        answers.push(self.connection.batch_execute("COMMIT").boxed());
        // A request is sent when it is first looked at, so they go out in this order.
        let mut early = Vec::with_capacity(answers.len());
        for answer in &mut answers {
            early.push(poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await);
        }
        let mut outcome = Ok(());
        for (answer, early) in answers.into_iter().zip(early) {
            let answered = match early {
                Poll::Ready(answered) => answered,
                Poll::Pending => answer.await,
            };
            // What follows the first error only says that there was one.
            outcome = outcome.and(answered);
        }
        Ok(outcome?)
    }
}
