//! The user's cache folder, and fetching into it: voices and the embedded model.

use std::{io::IsTerminal, path::PathBuf, sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use polylogue_core::text::printable::printable;
use polylogue_providers::download::{DownloadError, Progress, Watch};

use crate::{failure::Failure, output};

/// Where what was fetched is kept for all sessions of this user.
pub(crate) fn folder() -> PathBuf {
    let env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || env("HOME").or_else(|| env("USERPROFILE")).unwrap_or_default();
    env("XDG_CACHE_HOME").unwrap_or_else(|| home().join(".cache")).join("polylogue")
}

/// Fetches with a progress bar on a terminal.
pub(crate) async fn show(fetch: impl AsyncFnOnce(&Watch) -> Result<(), DownloadError>) -> Result<(), Failure> {
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let style = |template| ProgressStyle::with_template(template).expect("the template is well formed");
    bar.set_style(style("{spinner} {msg}"));
    bar.enable_steady_tick(Duration::from_millis(150));
    output::keep_below(Some(bar.clone()));
    let shown = bar.clone();
    let watch: Watch = Arc::new(move |progress: Progress| {
        shown.set_message(printable(&progress.what).into_owned());
        // How much and how long is told once it is known.
        if progress.total_bytes.is_some_and(|total| total > 0) {
            shown.set_style(style("{spinner} {msg}  {bytes} of {total_bytes}, {eta} left"));
        }
        shown.set_length(progress.total_bytes.unwrap_or(progress.done_bytes));
        shown.set_position(progress.done_bytes);
    });
    let fetched = fetch(&watch).await;
    bar.finish_and_clear();
    output::keep_below(None);
    fetched.map_err(|error| Failure::internal(error.to_string()))
}
