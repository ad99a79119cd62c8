//! Listening: connections are bounded in number, what they send and take in time, and the end is orderly.

mod crowd;
mod progress;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use polylogue_runtime::HubError;
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::Semaphore,
    time::{sleep, timeout},
};

use self::{crowd::Crowd, progress::Progress};
use crate::{app::App, panics};

/// How long accepting rests when the system has no more connections to give.
const REST: Duration = Duration::from_millis(50);

/// Connections that the system keeps until they are accepted.
const BACKLOG: u32 = 4_096;

/// What the system keeps of an answer that its reader has not taken: without a bound, megabytes for each.
const SEND_BUFFER: u32 = 64 * 1024;

/// The longest head of a request, and what is kept here of an answer that is not taken.
const BUFFER: usize = 64 * 1024;

/// Connections beyond [`crate::Settings::max_connections`] that may be open for a moment, to be told so.
pub const CROWD: usize = crowd::MOST;

/// A listener whose connections keep little for readers that have stopped.
pub fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(at)?;
    socket.listen(BACKLOG)
}

/// Goes on with what other processes have left, and serves until `shutdown`. Sessions that still run then are let go,
/// to be taken over by another process.
pub async fn serve(app: App, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Result<(), HubError> {
    panics::count();
    app.hub.attend().await?;
    let router = app.router();
    let connections = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(app.settings.max_connections));
    let mut crowd = Crowd::of(&app);
    let mut http = http1::Builder::new();
    // The time for a head begins when the connection is ready for one: so one that is idle ends as well.
    http.timer(TokioTimer::new()).header_read_timeout(app.settings.read_timeout).max_buf_size(BUFFER).keep_alive(true);
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(REST).await;
                continue;
            }
        };
        // Events are small and wanted at once. Where the system cannot do that, they come a little later.
        let _ = socket.set_nodelay(true);
        let Ok(place) = room.clone().try_acquire_owned() else {
            app.metrics.turned_away();
            crowd.answer(socket);
            continue;
        };
        let open = app.metrics.connection();
        let socket = TokioIo::new(Progress::new(socket, app.settings.write_timeout));
        let connection = http.serve_connection(socket, TowerToHyperService::new(router.clone()));
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke off");
            }
            drop((open, place));
        });
    }
    drop((listener, crowd));
    app.closing.cancel();
    app.hub.leave().await;
    if timeout(app.settings.grace, connections.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
    Ok(())
}
