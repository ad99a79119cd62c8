//! Connections for which there is no room: each is answered once and closed.

use std::{collections::VecDeque, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpStream, task::AbortHandle, time::timeout};

use super::{BUFFER, progress::Progress};
use crate::app::App;

/// How many are held at once, until they have asked and were answered. One more ends the oldest.
pub(super) const MOST: usize = 64;

/// How long one may take to ask and to be answered.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) struct Crowd {
    http: http1::Builder,
    answers: Router,
    /// The oldest first.
    held: VecDeque<AbortHandle>,
}

impl Crowd {
    pub(super) fn of(app: &App) -> Crowd {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(BUFFER).keep_alive(false);
        Crowd { http, answers: app.crowded(), held: VecDeque::with_capacity(MOST) }
    }

    pub(super) fn answer(&mut self, socket: TcpStream) {
        self.held.retain(|held| !held.is_finished());
        if self.held.len() >= MOST
            && let Some(oldest) = self.held.pop_front()
        {
            oldest.abort();
        }
        let service = TowerToHyperService::new(self.answers.clone());
        let connection = self.http.serve_connection(TokioIo::new(Progress::new(socket, PATIENCE)), service);
        let answering = tokio::spawn(async move {
            if let Ok(Err(error)) = timeout(PATIENCE, connection).await {
                tracing::debug!(%error, "a connection for which there was no room broke off");
            }
        });
        self.held.push_back(answering.abort_handle());
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.held.iter().for_each(AbortHandle::abort);
    }
}
