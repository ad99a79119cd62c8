//! What is going on, on standard error while it goes on: hidden unless that is a terminal. Everything else that is
//! printed is printed above it.

use std::{
    io::{IsTerminal, stderr},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::keys::Keys;
use crate::{
    output,
    printable::{fitted, in_ink},
};

const TICK: Duration = Duration::from_millis(150);

/// Columns that the sign of life before the first line takes, and the free one that keeps a terminal from wrapping.
const MARGIN: usize = 3;

pub(crate) struct StatusLine {
    bar: ProgressBar,
    /// Held while it moves.
    keys: Option<Keys>,
}

impl StatusLine {
    pub(crate) fn new() -> StatusLine {
        let target = if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("the template is well formed");
        bar.set_style(style.tick_chars("·•●• "));
        output::keep_below(Some(bar.clone()));
        StatusLine { bar, keys: None }
    }

    /// From here on it moves, so that a person sees that something goes on.
    pub(crate) fn start(&mut self) {
        self.keys = Some(Keys::quiet());
        self.bar.enable_steady_tick(TICK);
    }

    /// From here on it shows what is typed as well.
    pub(crate) fn take_keys(&mut self) {
        // The terminal is as before in between, so that this is what it becomes again.
        self.keys = None;
        self.keys = Some(Keys::one_by_one());
    }

    /// Shows these lines, each cut to the width that the terminal has now.
    pub(crate) fn show(&self, lines: &[String]) {
        let columns = textwrap::termwidth().saturating_sub(MARGIN);
        let lines: Vec<String> = lines.iter().map(|line| in_ink(&fitted(line, columns))).collect();
        self.bar.set_message(lines.join("\n  "));
    }

    /// Says that it comes to an end, until there is something else to show.
    pub(crate) fn stopping(&self) {
        self.show(&["stopping; what has arrived is kept".to_owned()]);
    }

    pub(crate) fn clear(&mut self) {
        self.keys = None;
        self.bar.finish_and_clear();
        output::keep_below(None);
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}
