//! A server that goes away and comes back: whoever appends is told that it is trouble which passes, and nothing is lost.

use polylogue_core::id::Seq;
use polylogue_runtime::{
    conformance::example::{NODE, id, records, said, started},
    port::{Journal, JournalError, NodeId, Nodes},
};

use crate::server::{Server, elsewhere, in_new_schema, new_store, open};

#[tokio::test]
async fn a_server_that_is_gone_is_trouble_that_passes() {
    let server = Server::start();
    let journal = open(&in_new_schema(&server.url)).await;
    let node = NodeId::from_bytes([1; 16]);
    journal.keep_alive(node, std::time::Duration::from_secs(600)).await.expect("a node");
    let begun = records(0, 100, [started(id(1), "goal")]);
    journal.append(id(1), begun.clone(), node).await.expect("a new session");
    server.stop();
    let more = records(1, 200, [said("more")]);
    for _ in 0..3 {
        let refused = journal.append(id(1), more.clone(), node).await;
        assert!(matches!(refused, Err(JournalError::Unavailable(_))), "{refused:?}");
        let unread = journal.read(id(1), Seq::START, 9).await;
        assert!(matches!(unread, Err(JournalError::Unavailable(_))), "{unread:?}");
    }
    server.start_again();
    journal.append(id(1), more.clone(), node).await.expect("it is back");
    assert_eq!(journal.read(id(1), Seq::START, 9).await, Ok([begun, more].concat()));
    assert_eq!(journal.is_owned(id(1)).await, Ok(true), "who is alive is not forgotten");
}

/// A connection that is cut under an append may have done its work: the same again is fenced, and finds what it wrote.
#[tokio::test]
async fn connections_that_are_cut_are_made_anew() {
    let url = new_store();
    let (journal, other) = (open(&url).await, elsewhere(&url).await);
    journal.append(id(1), records(0, 100, [started(id(1), "goal")]), NODE).await.expect("a new session");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'polylogue'
               AND query LIKE '%' AND pid <> pg_backend_pid() AND pid IN (
                   SELECT pid FROM pg_locks WHERE relation = 'sessions'::regclass)";
    // While this lock is held, the append waits on a connection that can be known by it.
    other.batch_execute("BEGIN; LOCK TABLE sessions IN EXCLUSIVE MODE").await.expect("a lock");
    let more = records(1, 200, [said("more")]);
    let append = journal.append(id(1), more.clone(), NODE);
    let cutting = async {
        while other.execute(cut, &[]).await.expect("a look") == 0 {
            tokio::task::yield_now().await;
        }
        other.batch_execute("COMMIT").await.expect("the lock given back");
    };
    let (refused, ()) = tokio::join!(append, cutting);
    assert!(matches!(refused, Err(JournalError::Unavailable(_))), "{refused:?}");
    journal.append(id(1), more, NODE).await.expect("a new connection");
    assert_eq!(journal.read(id(1), Seq::START, 9).await.map(|records| records.len()), Ok(2));
}

/// A row that somebody else holds is waited for no longer than the limit says, and that is trouble which passes.
#[tokio::test]
async fn nobody_waits_for_ever() {
    let url = new_store();
    let (journal, other) = (open(&url).await, elsewhere(&url).await);
    journal.append(id(1), records(0, 100, [started(id(1), "goal")]), NODE).await.expect("a new session");
    other.batch_execute("BEGIN; SELECT 1 FROM sessions FOR UPDATE").await.expect("a lock");
    let refused = journal.append(id(1), records(1, 200, [said("more")]), NODE).await;
    assert!(matches!(refused, Err(JournalError::Unavailable(_))), "{refused:?}");
    other.batch_execute("COMMIT").await.expect("the lock given back");
    journal.append(id(1), records(1, 200, [said("more")]), NODE).await.expect("it follows");
}
