//! The tables of a discussion, as programs with SQL of their own find them.

use polylogue_core::format::discussion::Who;
use polylogue_runtime::{
    conformance::example::{NODE, agent, discussion, id, records, turn_taken},
    port::Journal,
};

use crate::server::{elsewhere, new_store, open};

#[tokio::test]
async fn a_discussion_is_in_the_tables_of_its_own() {
    let url = new_store();
    let (journal, reader) = (open(&url).await, elsewhere(&url).await);
    let person = Who::Person("you there".parse().expect("a name"));
    let begun = records(0, 1_700_000_000_000, [discussion(id(1)), turn_taken(0, Who::Agent(agent()), None)]);
    journal.append(id(1), begun, NODE).await.expect("a new session");
    journal
        .append(id(1), records(2, 1_700_000_060_000, [turn_taken(1, person, None)]), NODE)
        .await
        .expect("it follows");
    let types = "SELECT string_agg(table_name || '.' || column_name || ' ' || data_type, ', '
                                   ORDER BY table_name, ordinal_position)
                 FROM information_schema.columns WHERE table_schema = current_schema() AND table_name LIKE 'discussion%'";
    let types: String = reader.query_one(types, &[]).await.expect("the columns").get(0);
    for column in [
        "discussion_participants.project_id uuid",
        "discussion_participants.sequence_order integer",
        "discussion_state.current_turn_index integer",
        "discussion_logs.metadata jsonb",
        "discussion_logs.created_at timestamp with time zone",
    ] {
        assert!(types.contains(column), "{column} is not in {types}");
    }
    let log =
        "SELECT project_id::text, role, turn_index, round_number, metadata #>> '{failure,message}', created_at::text
               FROM discussion_logs ORDER BY round_number, turn_index LIMIT 1";
    let log = reader.query_one(log, &[]).await.expect("a row");
    assert_eq!(log.get::<_, String>(0), id(1).to_string());
    assert_eq!((log.get::<_, &str>(1), log.get::<_, i32>(2), log.get::<_, i32>(3)), ("specialist", 0, 2));
    assert_eq!(log.get::<_, &str>(4), "nothing \u{1}");
    assert_eq!(log.get::<_, &str>(5), "2023-11-14 22:13:20.001+00");
    let state = "SELECT current_turn_index, current_round, status FROM discussion_state";
    let state = reader.query_one(state, &[]).await.expect("a row");
    assert_eq!((state.get::<_, i32>(0), state.get::<_, i32>(1), state.get::<_, &str>(2)), (2, 2, "active"));
    assert_eq!(journal.delete(id(1)).await, Ok(true));
    for table in ["projects", "agent_templates", "discussion_participants", "discussion_state", "discussion_logs"] {
        let count = reader.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.expect("a count");
        assert_eq!(count.get::<_, i64>(0), 0, "{table}");
    }
}

/// What PostgreSQL has no place for, a character 0, is no reason to lose a discussion.
#[tokio::test]
async fn a_character_that_postgres_cannot_hold_is_replaced_in_the_tables_and_kept_in_the_journal() {
    use polylogue_core::{Event, Setup, format::discussion::Settings, setup::FormatSetup};
    let url = new_store();
    let (journal, reader) = (open(&url).await, elsewhere(&url).await);
    let Event::Started { version, setup } = discussion(id(1)) else { unreachable!("it was made so") };
    let settings = setup.format.settings::<Settings>().expect("a discussion");
    let settings = Settings { title: "a\0b".into(), ..settings.clone() };
    let setup = Setup { format: FormatSetup::new(settings), ..Setup::clone(&setup) };
    let begun = records(0, 100, [Event::Started { version, setup: setup.into() }]);
    journal.append(id(1), begun.clone(), NODE).await.expect("a new session");
    assert_eq!((&journal as &dyn Journal).read_all(id(1)).await, Ok(begun));
    let title: String = reader.query_one("SELECT title FROM projects", &[]).await.expect("a row").get(0);
    assert_eq!(title, "a\u{fffd}b");
}
