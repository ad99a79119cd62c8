//! The one task that appends. It takes whatever is waiting, commits it in one transaction and one round trip, and only
//! then answers: the way to the server and its disk is what an append costs, and all that wait share it.

use std::collections::HashSet;

use polylogue_core::id::{Seq, SessionId};
use polylogue_runtime::port::JournalError;
use tokio::sync::{mpsc, oneshot};

use super::{
    connections::{Connections, give_back, within_limits},
    group,
    problem::Problem,
    value,
};
use crate::batch::Batch;

/// How many appends are committed together at most, and how many bytes of events beyond the first append.
const MAX_GROUP: usize = 1_000;
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// How often an append is tried whose way is clear when one looks why it was refused.
const TRIES: usize = 3;

#[derive(Debug)]
pub(super) struct Append {
    pub(super) batch: Batch,
    pub(super) answer: oneshot::Sender<Result<(), JournalError>>,
}

/// Writes until the journal is closed or dropped.
pub(super) async fn run(connections: Connections, mut queue: mpsc::Receiver<Append>) {
    let mut waiting = Vec::new();
    while !waiting.is_empty() || queue.recv_many(&mut waiting, MAX_GROUP).await > 0 {
        while waiting.len() < MAX_GROUP
            && let Ok(append) = queue.try_recv()
        {
            waiting.push(append);
        }
        let group = next_group(&mut waiting);
        commit(&connections, group).await;
    }
}

/// The appends that go together: one of each session, so that the second finds the first in its place.
fn next_group(waiting: &mut Vec<Append>) -> Vec<Append> {
    let (mut sessions, mut bytes, mut is_full) = (HashSet::<SessionId>::new(), 0, false);
    let (group, later) = waiting.drain(..).partition(|append: &Append| {
        let size: usize = append.batch.rows.iter().map(|row| row.event.len()).sum();
        is_full |= !sessions.is_empty() && bytes + size > MAX_BYTES;
        bytes += size;
        // One that has to wait keeps those of its session behind it.
        sessions.insert(append.batch.session) && !is_full
    });
    *waiting = later;
    group
}

async fn commit(connections: &Connections, group: Vec<Append>) {
    let problem = match write(connections, &group).await {
        Ok(()) => return group.into_iter().for_each(|append| answer(append, Ok(()))),
        Err(problem) => problem,
    };
    // What does not follow or cannot be written must not take the others with it, so each gets a transaction of its
    // own. A server that cannot be reached is that for all.
    if problem.is_passing() {
        let error = JournalError::from(problem);
        group.into_iter().for_each(|append| answer(append, Err(error.clone())));
        return;
    }
    for append in group {
        let verdict = commit_one(connections, std::slice::from_ref(&append)).await;
        answer(append, verdict);
    }
}

async fn commit_one(connections: &Connections, append: &[Append]) -> Result<(), JournalError> {
    for _ in 0..TRIES {
        match write(connections, append).await {
            Err(problem) if problem.is_refusal() => {
                if let Some(refusal) = refusal(connections, &append[0].batch).await? {
                    return Err(refusal);
                }
            }
            outcome => return Ok(outcome?),
        }
    }
    Err(JournalError::Unavailable("others write the same session".to_owned()))
}

/// A caller that no longer waits has its records all the same: an append cannot be taken back.
fn answer(append: Append, verdict: Result<(), JournalError>) {
    let _ = append.answer.send(verdict);
}

async fn write(connections: &Connections, appends: &[Append]) -> Result<(), Problem> {
    let batches: Vec<&Batch> = appends.iter().map(|append| &append.batch).collect();
    let connection = connections.lend().await?;
    let outcome = within_limits(group::write(&connection, &batches)).await;
    give_back(connection, &outcome);
    outcome
}

/// Why a batch cannot be added; `None` when nothing is in its way any more.
async fn refusal(connections: &Connections, batch: &Batch) -> Result<Option<JournalError>, Problem> {
    let session = value::session(batch.session);
    let look = connections.with(move |connection| {
        Box::pin(async move {
            let select = "SELECT head, owner, reason IS NOT NULL,
                              EXISTS (SELECT 1 FROM nodes WHERE nodes.id = owner AND alive_until > clock_timestamp())
                          FROM sessions WHERE id = $1";
            Ok(connection.query_opt(select, &[&session]).await?)
        })
    });
    let row = look.await?;
    let head = row.as_ref().map_or(0, |row| row.get::<_, i64>(0));
    let after = Seq(head.unsigned_abs());
    if after == Seq::START && batch.after == Seq::START && batch.start.is_none() {
        return Ok(Some(JournalError::Failed("a journal begins with the start of its own session".to_owned())));
    }
    let Some(row) = row else {
        return Ok((batch.after != Seq::START).then_some(JournalError::Fenced { after }));
    };
    if after != batch.after || batch.start.is_some() {
        return Ok(Some(JournalError::Fenced { after }));
    }
    let owner: Option<uuid::Uuid> = row.get(1);
    let (has_ended, is_alive): (bool, bool) = (row.get(2), row.get(3));
    let is_anothers = owner.is_some_and(|owner| owner != value::node(batch.node));
    Ok((is_anothers && is_alive && !has_ended).then_some(JournalError::Owned))
}
