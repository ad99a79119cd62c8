//! Listening: connections are bounded in number, their heads in time, and the end is orderly.

use std::{sync::Arc, time::Duration};

use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use polylogue_runtime::HubError;
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::app::App;

/// How long accepting rests when the system has no more connections to give.
const REST: Duration = Duration::from_millis(50);

/// Goes on with what other processes have left, and serves until `shutdown`. Sessions that still run then are let go,
/// to be taken over by another process.
pub async fn serve(app: App, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Result<(), HubError> {
    app.hub.attend().await?;
    let router = app.router();
    let connections = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(app.settings.max_connections));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(app.settings.read_timeout).keep_alive(true);
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &room) => accepted,
        };
        let (socket, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(REST).await;
                continue;
            }
        };
        // Events are small and wanted at once. Where the system cannot do that, they come a little later.
        let _ = socket.set_nodelay(true);
        let connection = http.serve_connection(TokioIo::new(socket), TowerToHyperService::new(router.clone()));
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke off");
            }
            drop(place);
        });
    }
    drop(listener);
    app.closing.cancel();
    app.hub.leave().await;
    if timeout(app.settings.grace, connections.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
    Ok(())
}

/// A connection, as soon as there is room for one.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> std::io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = room.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    let (socket, _) = listener.accept().await?;
    Ok((socket, place))
}
