//! Nodes and what they own. A node is alive while its time is not up, by the clock of the database.

use std::time::Duration;

use deadpool_postgres::Object;
use polylogue_core::id::{Seq, SessionId};
use polylogue_runtime::port::{Living, MAX_TAKEOVERS, NodeId, Owned};
use tokio_postgres::Row;

use super::{problem::Problem, value};

/// The longest lease, so that it can be added to a time.
const MAX_LEASE: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

pub(super) async fn keep_alive(connection: &Object, node: NodeId, lease: Duration) -> Result<bool, Problem> {
    let renew = connection
        .prepare_cached(
            "WITH was AS (SELECT alive_until <= clock_timestamp() AS has_lapsed FROM nodes WHERE id = $1)
             INSERT INTO nodes (id, alive_until) VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')
             ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until
             RETURNING (SELECT has_lapsed FROM was)",
        )
        .await?;
    let lease = lease.min(MAX_LEASE).as_millis() as f64;
    let had_lapsed: Option<bool> = connection.query_one(&renew, &[&value::node(node), &lease]).await?.get(0);
    if had_lapsed.is_none() {
        // Those that were gone long before this node came are not needed any more.
        let forget = "DELETE FROM nodes WHERE alive_until < clock_timestamp() - interval '1 day'";
        connection.execute(forget, &[]).await?;
    }
    Ok(had_lapsed.unwrap_or(false))
}

pub(super) async fn depart(connection: &mut Object, node: NodeId) -> Result<(), Problem> {
    let transaction = connection.transaction().await?;
    let node = value::node(node);
    // One that has ended keeps the owner who is gone until somebody has seen to its files.
    let leave = "UPDATE sessions SET takeovers = 0, owner = CASE WHEN reason IS NULL THEN NULL ELSE owner END
                 WHERE owner = $1";
    transaction.execute(leave, &[&node]).await?;
    transaction.execute("DELETE FROM nodes WHERE id = $1", &[&node]).await?;
    Ok(transaction.commit().await?)
}

/// Sessions that nobody runs, those that have waited for people long enough, and those that have ended and whose owner is gone before it gave them up. What another
/// node is just taking is passed over, so that nodes do not wait for each other.
pub(super) async fn take_over(connection: &Object, node: NodeId, limit: i64) -> Result<Vec<Owned>, Problem> {
    let take = connection
        .prepare_cached(
            "UPDATE sessions SET owner = $1, takeovers = takeovers + 1 WHERE id IN (
                 SELECT id FROM sessions
                 WHERE takeovers < $2
                     AND ((reason IS NULL AND NOT waiting AND owner IS NULL)
                          OR (due <= extract(epoch FROM clock_timestamp()) * 1000 AND reason IS NULL AND waiting
                              AND (owner IS NULL
                                   OR owner NOT IN (SELECT id FROM nodes WHERE alive_until > clock_timestamp())))
                          OR (owner IS NOT NULL AND (reason IS NOT NULL OR NOT waiting)
                              AND owner NOT IN (SELECT id FROM nodes WHERE alive_until > clock_timestamp())))
                     AND NOT EXISTS (SELECT 1 FROM nodes WHERE id = $1 AND alive_until <= clock_timestamp())
                 ORDER BY started_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
             RETURNING id, head, stop",
        )
        .await?;
    let taken = connection.query(&take, &[&value::node(node), &i64::from(MAX_TAKEOVERS), &limit]).await?;
    Ok(taken.iter().map(owned_in).collect())
}

pub(super) async fn owned(connection: &Object, node: NodeId) -> Result<Vec<Owned>, Problem> {
    let select = connection.prepare_cached("SELECT id, head, stop FROM sessions WHERE owner = $1").await?;
    Ok(connection.query(&select, &[&value::node(node)]).await?.iter().map(owned_in).collect())
}

pub(super) async fn give_up(connection: &Object, node: NodeId, session: SessionId, head: Seq) -> Result<(), Problem> {
    let give_up = "UPDATE sessions SET owner = NULL WHERE id = $1 AND owner = $2 AND head = $3";
    let give_up = connection.prepare_cached(give_up).await?;
    connection.execute(&give_up, &[&value::session(session), &value::node(node), &value::seq(head)]).await?;
    Ok(())
}

pub(super) async fn ask_to_stop(connection: &Object, session: SessionId) -> Result<Option<NodeId>, Problem> {
    let ask = "UPDATE sessions SET stop = true WHERE id = $1 AND owner IS NOT NULL RETURNING owner";
    let owner = connection.query_opt(ask, &[&value::session(session)]).await?;
    Ok(owner.map(|row| value::to_node(row.get(0))))
}

pub(super) async fn tell_room(connection: &Object, node: NodeId, room: u32) -> Result<(), Problem> {
    let tell = connection.prepare_cached("UPDATE nodes SET room = $2 WHERE id = $1").await?;
    connection.execute(&tell, &[&value::node(node), &value::small(room)]).await?;
    Ok(())
}

/// A node that somebody else is just booking is passed over: there may be another.
pub(super) async fn book(connection: &Object, sessions: u32, other_than: NodeId) -> Result<Option<NodeId>, Problem> {
    let book = connection
        .prepare_cached(
            "UPDATE nodes SET room = room - $1 WHERE id = (
                 SELECT id FROM nodes WHERE room >= $1 AND id <> $2 AND alive_until > clock_timestamp()
                 ORDER BY room DESC LIMIT 1 FOR UPDATE SKIP LOCKED)
             RETURNING id",
        )
        .await?;
    let booked = connection.query_opt(&book, &[&value::small(sessions), &value::node(other_than)]).await?;
    Ok(booked.map(|row| value::to_node(row.get(0))))
}

pub(super) async fn living(connection: &Object) -> Result<Vec<Living>, Problem> {
    let select = connection
        .prepare_cached(
            "SELECT id, room, (SELECT count(*) FROM sessions WHERE owner = nodes.id) FROM nodes
             WHERE alive_until > clock_timestamp() ORDER BY id",
        )
        .await?;
    let living = |row: &Row| Living {
        node: value::to_node(row.get(0)),
        room: row.get::<_, i32>(1).unsigned_abs(),
        sessions: row.get::<_, i64>(2).unsigned_abs(),
    };
    Ok(connection.query(&select, &[]).await?.iter().map(living).collect())
}

pub(super) async fn is_owned(connection: &Object, session: SessionId) -> Result<bool, Problem> {
    let select = "SELECT EXISTS (SELECT 1 FROM sessions JOIN nodes ON nodes.id = sessions.owner
                  WHERE sessions.id = $1 AND nodes.alive_until > clock_timestamp())";
    let select = connection.prepare_cached(select).await?;
    Ok(connection.query_one(&select, &[&value::session(session)]).await?.get(0))
}

fn owned_in(row: &Row) -> Owned {
    let head: i64 = row.get(1);
    Owned { session: value::to_session(row.get(0)), head: Seq(head.unsigned_abs()), is_to_stop: row.get(2) }
}
