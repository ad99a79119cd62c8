//! What processes share: places for calls, and the dollars of a day. Their time is the database's.

use std::time::Duration;

use polylogue_core::{Tenant, money::Money};
use polylogue_runtime::port::{Day, Grant, Holder, NodeId, Wish};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::{
    locks::Locks,
    nodes::{self, NOW},
};

pub(super) fn hold(
    connection: &mut Connection,
    locks: &Locks,
    node: NodeId,
    wish: &Wish,
    lease: Duration,
) -> rusqlite::Result<Grant> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let now: i64 = transaction.prepare_cached(&format!("SELECT {NOW}"))?.query_row([], |row| row.get(0))?;
    let alive = nodes::alive(&transaction, locks)?;
    let known = {
        let mut select = transaction
            .prepare_cached("SELECT node, held, wants, since FROM places WHERE provider = ?1 AND until > ?2")?;
        select.query_map(params![&*wish.provider, now], holder)?.collect::<rusqlite::Result<Vec<Holder>>>()?
    };
    let is_alone = alive.iter().all(|other| *other == node);
    let (holder, grant) = wish.grant(node, &known, is_alone, now);
    if holder.held == 0 && holder.wants == 0 {
        let mut delete = transaction.prepare_cached("DELETE FROM places WHERE provider = ?1 AND node = ?2")?;
        delete.execute(params![&*wish.provider, node.as_bytes()])?;
    } else {
        let mut keep = transaction.prepare_cached(
            "INSERT OR REPLACE INTO places (provider, node, held, wants, since, until) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let until = now.saturating_add(i64::try_from(lease.as_millis()).unwrap_or(i64::MAX));
        let Holder { held, wants, since, .. } = holder;
        keep.execute(params![&*wish.provider, node.as_bytes(), held, wants, since, until])?;
    }
    transaction.prepare_cached("DELETE FROM places WHERE until <= ?1")?.execute([now])?;
    transaction.commit()?;
    Ok(grant)
}

fn holder(row: &Row<'_>) -> rusqlite::Result<Holder> {
    Ok(Holder { node: NodeId::from_bytes(row.get(0)?), held: row.get(1)?, wants: row.get(2)?, since: row.get(3)? })
}

/// More than nine million dollars stay nine million: the column holds no more.
const ADD: &str =
    "DO UPDATE SET picodollars = picodollars + min(excluded.picodollars, 9223372036854775807 - picodollars)
                   RETURNING picodollars";

pub(super) fn spend(
    connection: &mut Connection,
    day: Day,
    whose: Option<&Tenant>,
    cost: Money,
) -> rusqlite::Result<Money> {
    let cost = i64::try_from(cost.picodollars()).unwrap_or(i64::MAX);
    match whose {
        None => {
            let add = format!("INSERT INTO spent (day, picodollars) VALUES (?1, ?2) ON CONFLICT (day) {ADD}");
            connection.prepare_cached(&add)?.query_row(params![day.0, cost], money)
        }
        Some(tenant) => {
            let add = format!(
                "INSERT INTO spent_by (day, tenant, picodollars) VALUES (?1, ?2, ?3) ON CONFLICT (day, tenant) {ADD}"
            );
            connection.prepare_cached(&add)?.query_row(params![day.0, tenant.as_str(), cost], money)
        }
    }
}

pub(super) fn spent(connection: &Connection, day: Day, whose: Option<&Tenant>) -> rusqlite::Result<Money> {
    let spent = match whose {
        None => connection
            .prepare_cached("SELECT picodollars FROM spent WHERE day = ?1")?
            .query_row([day.0], money)
            .optional()?,
        Some(tenant) => connection
            .prepare_cached("SELECT picodollars FROM spent_by WHERE day = ?1 AND tenant = ?2")?
            .query_row(params![day.0, tenant.as_str()], money)
            .optional()?,
    };
    Ok(spent.unwrap_or_default())
}

fn money(row: &Row<'_>) -> rusqlite::Result<Money> {
    Ok(Money::from_picodollars(row.get::<_, i64>(0)?.unsigned_abs()))
}
