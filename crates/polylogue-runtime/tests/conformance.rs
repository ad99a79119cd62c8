//! The store in memory keeps to its ports.

use std::sync::Arc;

use polylogue_runtime::{MemoryJournal, conformance, port::Store};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_memory_conforms() {
    conformance::store(async || Arc::new(MemoryJournal::default()) as Arc<dyn Store>).await;
    conformance::nodes(async || Arc::new(MemoryJournal::default()) as Arc<dyn Store>).await;
}
