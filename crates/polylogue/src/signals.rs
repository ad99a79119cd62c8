//! What tells a process to end: Ctrl-C, the terminal that closes, the system that stops it.

use crate::failure::Failure;

/// The signals that end a process, from the moment that this is made.
pub(crate) struct Signals {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 3],
    #[cfg(windows)]
    ctrl_c: tokio::signal::windows::CtrlC,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn new() -> Result<Signals, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let problem = |error| Failure::internal(format!("signals cannot be heard: {error}"));
        let [interrupt, terminate, hangup] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Signals { signals: [interrupt.map_err(problem)?, terminate.map_err(problem)?, hangup.map_err(problem)?] })
    }

    #[cfg(windows)]
    pub(crate) fn new() -> Result<Signals, Failure> {
        let problem = |error| Failure::internal(format!("Ctrl-C cannot be heard: {error}"));
        Ok(Signals { ctrl_c: tokio::signal::windows::ctrl_c().map_err(problem)? })
    }

    /// Waits for the next of them.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }

    #[cfg(windows)]
    pub(crate) async fn next(&mut self) {
        self.ctrl_c.recv().await;
    }
}
