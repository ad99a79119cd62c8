//! What processes share: places for calls, and the dollars of a day. Their time is the database's.

use std::time::Duration;

use deadpool_postgres::Object;
use polylogue_core::{Tenant, money::Money};
use polylogue_runtime::port::{Day, Grant, Holder, NodeId, Wish};
use tokio_postgres::Row;

use super::{problem::Problem, value};

/// Those who ask for places at one provider come one after the other; each sees what those before it were given.
pub(super) async fn hold(
    connection: &mut Object,
    node: NodeId,
    wish: &Wish,
    lease: Duration,
) -> Result<Grant, Problem> {
    let transaction = connection.transaction().await?;
    let (provider, id) = (&*wish.provider, value::node(node));
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('places ' || current_schema() || ' ' || $1, 0))";
    transaction.execute(&transaction.prepare_cached(lock).await?, &[&provider]).await?;
    let select = transaction
        .prepare_cached(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                 NOT EXISTS (SELECT 1 FROM nodes WHERE id <> $2 AND alive_until > clock_timestamp()),
                 node, held, wants, since
             FROM (SELECT) AS always LEFT JOIN places ON provider = $1 AND until > clock_timestamp()",
        )
        .await?;
    let rows = transaction.query(&select, &[&provider, &id]).await?;
    let known: Vec<Holder> = rows.iter().filter_map(holder).collect();
    let (now, is_alone) = rows.first().map_or((0, false), |row| (row.get(0), row.get(1)));
    let (holder, grant) = wish.grant(node, &known, is_alone, now);
    if holder.held == 0 && holder.wants == 0 {
        let delete = transaction.prepare_cached("DELETE FROM places WHERE provider = $1 AND node = $2").await?;
        transaction.execute(&delete, &[&provider, &id]).await?;
    } else {
        let keep = transaction
            .prepare_cached(
                "INSERT INTO places (provider, node, held, wants, since, until)
                 VALUES ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 millisecond')
                 ON CONFLICT (provider, node) DO UPDATE SET held = excluded.held, wants = excluded.wants,
                     since = excluded.since, until = excluded.until",
            )
            .await?;
        let (held, wants, lease) = (i64::from(holder.held), i64::from(holder.wants), lease.as_millis() as f64);
        transaction.execute(&keep, &[&provider, &id, &held, &wants, &holder.since, &lease]).await?;
    }
    transaction.commit().await?;
    Ok(grant)
}

/// Who holds places, if the row is of anybody.
fn holder(row: &Row) -> Option<Holder> {
    let node = value::to_node(row.get::<_, Option<_>>(2)?);
    let count = |at: usize| u32::try_from(row.get::<_, i64>(at)).unwrap_or(u32::MAX);
    Some(Holder { node, held: count(3), wants: count(4), since: row.get(5) })
}

/// More than nine million dollars stay nine million: the column holds no more.
const ADD: &str = "DO UPDATE
    SET picodollars = known.picodollars + least(excluded.picodollars, 9223372036854775807 - known.picodollars)
    RETURNING picodollars";

pub(super) async fn spend(
    connection: &Object,
    day: Day,
    whose: Option<&Tenant>,
    cost: Money,
) -> Result<Money, Problem> {
    let (day, tenant) = (i64::from(day.0), whose.map(Tenant::as_str));
    if cost == Money::ZERO {
        let found = match tenant {
            None => {
                let select = connection.prepare_cached("SELECT picodollars FROM spent WHERE day = $1").await?;
                connection.query_opt(&select, &[&day]).await?
            }
            Some(tenant) => {
                let select = "SELECT picodollars FROM spent_by WHERE day = $1 AND tenant = $2";
                let select = connection.prepare_cached(select).await?;
                connection.query_opt(&select, &[&day, &tenant]).await?
            }
        };
        return Ok(found.map(|row| money(&row)).unwrap_or_default());
    }
    let cost = i64::try_from(cost.picodollars()).unwrap_or(i64::MAX);
    let row = match tenant {
        None => {
            let add = format!("INSERT INTO spent AS known (day, picodollars) VALUES ($1, $2) ON CONFLICT (day) {ADD}");
            let add = connection.prepare_cached(&add).await?;
            connection.query_one(&add, &[&day, &cost]).await?
        }
        Some(tenant) => {
            let add = format!(
                "INSERT INTO spent_by AS known (day, tenant, picodollars) VALUES ($1, $2, $3)
                 ON CONFLICT (day, tenant) {ADD}"
            );
            let add = connection.prepare_cached(&add).await?;
            connection.query_one(&add, &[&day, &tenant, &cost]).await?
        }
    };
    Ok(money(&row))
}

fn money(row: &Row) -> Money {
    Money::from_picodollars(row.get::<_, i64>(0).unsigned_abs())
}
