//! The tables, as numbered steps from an empty file. A step that was once released is never changed.

use rusqlite::{Connection, TransactionBehavior};

/// What brings a file from one version to the next; the first makes version 1.
const STEPS: &[&str] = &[
    include_str!("schema/1_journal.sql"),
    include_str!("schema/2_discussion.sql"),
    include_str!("schema/3_room.sql"),
    include_str!("schema/4_memories.sql"),
    include_str!("schema/5_nodes.sql"),
    include_str!("schema/6_list.sql"),
    include_str!("schema/7_letters.sql"),
    include_str!("schema/8_room_of_nodes.sql"),
    include_str!("schema/9_quotas.sql"),
    include_str!("schema/10_due.sql"),
    include_str!("schema/11_tenants.sql"),
];

/// The version that this code reads and writes.
pub(super) const VERSION: u32 = STEPS.len() as u32;

/// Marks the file as Polylogue's ("Plog"), so that the database of another program is never written to.
const APPLICATION: u32 = 0x506c_6f67;

/// What a file is, before anything is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Ours,
    Newer { version: u32 },
    SomebodyElses,
}

pub(super) fn standing(connection: &mut Connection) -> rusqlite::Result<Standing> {
    // One look, so that a file which another process is just making is seen before or after, not halfway.
    let look = connection.transaction()?;
    let is_empty: bool = look.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    let application: u32 = look.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = version(&look)?;
    Ok(match application {
        APPLICATION if version > VERSION => Standing::Newer { version },
        APPLICATION => Standing::Ours,
        0 if is_empty && version == 0 => Standing::Ours,
        _ => Standing::SomebodyElses,
    })
}

/// Takes the steps that the file has not seen, all or none of them.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have taken them while this one waited for its turn.
    let done = version(&transaction)?;
    for step in STEPS.iter().skip(done as usize) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION.max(done))?;
    transaction.commit()
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
