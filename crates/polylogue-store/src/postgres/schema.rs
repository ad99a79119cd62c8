//! The tables, as numbered steps from an empty schema. A step that was once released is never changed.

use deadpool_postgres::Object;

use super::{address::Address, problem::Problem};
use crate::OpenError;

/// What brings a schema from one version to the next; the first makes version 1.
const STEPS: &[&str] = &[
    include_str!("schema/1_journal.sql"),
    include_str!("schema/2_discussion.sql"),
    include_str!("schema/3_letters.sql"),
    include_str!("schema/4_room.sql"),
    include_str!("schema/5_quotas.sql"),
    include_str!("schema/6_due.sql"),
    include_str!("schema/7_tenants.sql"),
];

/// The version that this code reads and writes.
const VERSION: u32 = STEPS.len() as u32;

/// The table that says which version a schema has, and that it is Polylogue's.
const MARK: &str = "polylogue_store";

/// What a schema is, before anything is written to it.
pub(super) enum Standing {
    Ours,
    Newer { version: u32 },
    SomebodyElses,
}

impl Standing {
    pub(super) fn check(self, address: &Address) -> Result<(), OpenError> {
        let store = address.name.clone();
        match self {
            Standing::Ours => Ok(()),
            Standing::Newer { version } => Err(OpenError::Newer { store, version, known: VERSION }),
            Standing::SomebodyElses => Err(OpenError::NotOurSchema { store, schema: address.schema.clone() }),
        }
    }
}

/// Takes the steps that the schema has not seen, all or none of them. Of several processes that begin at once, one
/// takes them and the others wait.
pub(super) async fn migrate(connection: &mut Object, schema: &str) -> Result<Standing, Problem> {
    let transaction = connection.transaction().await?;
    // Others may need more than a moment for their steps.
    transaction.batch_execute("SET LOCAL lock_timeout = 0").await?;
    let lock = format!("polylogue {schema}");
    transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", &[&lock]).await?;
    let known = "SELECT count(*) > 0, coalesce(bool_or(c.relname = $2), false) FROM pg_class c
                 JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm')";
    let row = transaction.query_one(known, &[&schema, &MARK]).await?;
    let (has_tables, is_ours): (bool, bool) = (row.get(0), row.get(1));
    if has_tables && !is_ours {
        return Ok(Standing::SomebodyElses);
    }
    let done = if is_ours {
        let version: i32 = transaction.query_one(&format!("SELECT version FROM {MARK}"), &[]).await?.get(0);
        version.unsigned_abs()
    } else {
        0
    };
    if done > VERSION {
        return Ok(Standing::Newer { version: done });
    }
    if done == VERSION {
        return Ok(Standing::Ours);
    }
    if !is_ours {
        let there = transaction.query_one("SELECT to_regnamespace($1) IS NOT NULL", &[&schema]).await?;
        if !there.get::<_, bool>(0) {
            transaction.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await?;
        }
        transaction.batch_execute(&format!("CREATE TABLE {MARK} (version integer NOT NULL)")).await?;
        transaction.batch_execute(&format!("INSERT INTO {MARK} VALUES (0)")).await?;
    }
    for step in STEPS.iter().skip(done as usize) {
        transaction.batch_execute(step).await?;
    }
    transaction.execute(&format!("UPDATE {MARK} SET version = $1"), &[&(VERSION as i32)]).await?;
    transaction.commit().await?;
    Ok(Standing::Ours)
}
