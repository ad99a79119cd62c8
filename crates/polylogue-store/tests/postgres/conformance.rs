//! It keeps to its ports, from one process and from two.

use std::sync::Arc;

use polylogue_runtime::{conformance, port::Store};

use crate::{
    server::{new_store, open},
    support::TwoNodes,
};

async fn one() -> Arc<dyn Store> {
    Arc::new(open(&new_store()).await)
}

async fn two() -> Arc<dyn Store> {
    let url = new_store();
    Arc::new(TwoNodes::new([Arc::new(open(&url).await), Arc::new(open(&url).await)]))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journal_in_postgres_conforms() {
    conformance::store(one).await;
    conformance::nodes(one).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_with_one_database_are_as_one() {
    conformance::store(two).await;
    conformance::nodes(two).await;
}
