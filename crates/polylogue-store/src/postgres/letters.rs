//! Letters to the owners of sessions. Their time is the database's.

use std::time::Duration;

use deadpool_postgres::Object;
use polylogue_runtime::port::{Fate, Letter, LetterId, NodeId, Posted};
use tokio_postgres::Row;

use super::{problem::Problem, value};

pub(super) async fn post(connection: &Object, letter: &Letter, lifetime: Duration) -> Result<Option<NodeId>, Problem> {
    connection.execute("DELETE FROM letters WHERE until <= clock_timestamp()", &[]).await?;
    let post = connection
        .prepare_cached(
            "INSERT INTO letters (id, session_id, owner, content, until)
             SELECT $1, sessions.id, owner, $3, clock_timestamp() + $4 * interval '1 millisecond'
             FROM sessions JOIN nodes ON nodes.id = owner
             WHERE sessions.id = $2 AND alive_until > clock_timestamp()
             RETURNING owner",
        )
        .await?;
    let (id, session, lifetime) =
        (value::letter(letter.id), value::session(letter.session), lifetime.as_millis() as f64);
    let owner = connection.query_opt(&post, &[&id, &session, &&*letter.content, &lifetime]).await?;
    Ok(owner.map(|row| value::to_node(row.get(0))))
}

pub(super) async fn to(connection: &Object, node: NodeId, limit: i64) -> Result<Vec<Posted>, Problem> {
    let select = connection
        .prepare_cached(
            "SELECT letters.id, session_id, content, letters.owner
             FROM letters JOIN sessions ON sessions.id = session_id
             WHERE sessions.owner = $1 AND answer IS NULL AND until > clock_timestamp() ORDER BY n LIMIT $2",
        )
        .await?;
    Ok(connection.query(&select, &[&value::node(node), &limit]).await?.iter().map(posted).collect())
}

fn posted(row: &Row) -> Posted {
    let content: &str = row.get(2);
    let (id, session) = (value::to_letter(row.get(0)), value::to_session(row.get(1)));
    Posted { letter: Letter { id, session, content: content.into() }, to: value::to_node(row.get(3)) }
}

pub(super) async fn answer(connection: &Object, letter: LetterId, answer: &str) -> Result<(), Problem> {
    let sql = "UPDATE letters SET answer = $2, content = '' WHERE id = $1 AND answer IS NULL";
    let sql = connection.prepare_cached(sql).await?;
    connection.execute(&sql, &[&value::letter(letter), &answer]).await?;
    Ok(())
}

pub(super) async fn fate(connection: &Object, letter: LetterId) -> Result<Fate, Problem> {
    let select = "SELECT answer FROM letters WHERE id = $1 AND until > clock_timestamp()";
    let select = connection.prepare_cached(select).await?;
    let found = connection.query_opt(&select, &[&value::letter(letter)]).await?;
    Ok(match found.map(|row| row.get::<_, Option<String>>(0)) {
        None => Fate::Gone,
        Some(None) => Fate::Unanswered,
        Some(Some(answer)) => Fate::Answered(answer.into()),
    })
}

pub(super) async fn withdraw(connection: &Object, letter: LetterId) -> Result<(), Problem> {
    connection.execute("DELETE FROM letters WHERE id = $1", &[&value::letter(letter)]).await?;
    Ok(())
}
