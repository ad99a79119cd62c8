//! The connections to the server: a few, lent to one task at a time, each with its time limits.

use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::{
    address::{Address, CONNECT_TIMEOUT},
    problem::Problem,
    tls,
};
use crate::OpenError;

/// How long the server works at one statement at most, and how long it waits for a row that others hold.
const STATEMENT_MS: u32 = 10_000;
const LOCK_MS: u32 = 5_000;

/// How long a whole task may take. The server's own limits come first, unless nothing is heard of it.
const TASK: Duration = Duration::from_secs(15);

#[derive(Clone)]
pub(super) struct Connections(Pool);

impl Connections {
    /// So many connections at most. Nobody is connected to before the first task.
    pub(super) fn new(address: &Address, most: usize) -> Result<Connections, OpenError> {
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(address.config.clone(), tls::connector(address)?, config);
        let settings = settings(&address.schema);
        let pool = Pool::builder(manager)
            .max_size(most)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(TASK))
            .create_timeout(Some(CONNECT_TIMEOUT * 2))
            .recycle_timeout(Some(CONNECT_TIMEOUT))
            .post_create(Hook::async_fn(move |client, _| {
                let settings = settings.clone();
                Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
            }))
            .build();
        let pool =
            pool.map_err(|error| OpenError::Failed { store: address.name.clone(), problem: error.to_string() })?;
        Ok(Connections(pool))
    }

    /// Lends a connection to a task.
    pub(super) async fn with<T: Send>(
        &self,
        task: impl for<'a> FnOnce(&'a mut Object) -> BoxFuture<'a, Result<T, Problem>> + Send,
    ) -> Result<T, Problem> {
        let mut connection = self.lend().await?;
        let outcome = within_limits(task(&mut connection)).await;
        give_back(connection, &outcome);
        outcome
    }

    /// A connection for a task whose caller sees to the rest.
    pub(super) async fn lend(&self) -> Result<Object, Problem> {
        Ok(self.0.get().await?)
    }

    pub(super) fn close(&self) {
        self.0.close();
    }
}

/// A task with its time limit.
pub(super) async fn within_limits<T>(task: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    timeout(TASK, task).await.unwrap_or(Err(Problem::Late))
}

/// A connection on which nothing is heard any more is not lent again.
pub(super) fn give_back<T>(connection: Object, outcome: &Result<T, Problem>) {
    if outcome.as_ref().is_err_and(Problem::is_of_the_connection) {
        drop(Object::take(connection));
    }
}

/// What is said on every new connection. An append is on disk when it returns, so a server that would rather not wait for
/// the disk is told to; one that waits for more than its own disk does that.
fn settings(schema: &str) -> String {
    format!(
        "SET search_path TO \"{schema}\"; SET statement_timeout = {STATEMENT_MS}; SET lock_timeout = {LOCK_MS};
         SET idle_in_transaction_session_timeout = {STATEMENT_MS}; SET timezone TO 'UTC';
         SET client_min_messages TO warning; SET default_transaction_isolation TO 'read committed';
         SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
}
