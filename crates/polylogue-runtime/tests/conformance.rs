//! The journal in memory keeps to its port.

use std::sync::Arc;

use polylogue_runtime::{MemoryJournal, conformance, port::Journal};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journal_in_memory_conforms() {
    conformance::journal(async || Arc::new(MemoryJournal::default()) as Arc<dyn Journal>).await;
}
