//! The keys of the terminal while a status line is shown: what a terminal writes for Ctrl-C would go into that line and
//! break it.

#[cfg(unix)]
use std::io::{IsTerminal, stderr, stdin};

#[cfg(unix)]
use rustix::{
    process::getpgrp,
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr},
};

/// Holds the terminal so that control keys work and are not written. It is as before when this is gone.
pub(super) struct Keys {
    #[cfg(unix)]
    before: Option<Termios>,
}

impl Keys {
    #[cfg(unix)]
    pub(super) fn quiet() -> Keys {
        Keys::without(LocalModes::ECHOCTL)
    }

    /// Holds the terminal so that every key is read at once and nothing is written for it: whoever reads them shows
    /// them. Control keys work as always.
    #[cfg(unix)]
    pub(super) fn one_by_one() -> Keys {
        Keys::without(LocalModes::ECHO | LocalModes::ECHOCTL | LocalModes::ICANON)
    }

    #[cfg(unix)]
    fn without(modes: LocalModes) -> Keys {
        // Where standard input is no terminal, nothing is written for its keys.
        let before = if stderr().is_terminal() { tcgetattr(stdin()).ok() } else { None };
        if let Some(before) = &before {
            let mut held = before.clone();
            held.local_modes.remove(modes);
            set(&held);
        }
        Keys { before }
    }

    #[cfg(not(unix))]
    pub(super) fn quiet() -> Keys {
        Keys {}
    }

    #[cfg(not(unix))]
    pub(super) fn one_by_one() -> Keys {
        Keys {}
    }
}

#[cfg(unix)]
impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            set(before);
        }
    }
}

/// Whether the keys of a terminal can be held by this process: it is in its foreground.
pub(crate) fn can_be_held() -> bool {
    #[cfg(unix)]
    return tcgetpgrp(stdin()).is_ok_and(|foreground| foreground == getpgrp());
    #[cfg(not(unix))]
    return false;
}

/// Sets how the terminal's keys behave. A process in the background would be stopped for trying.
#[cfg(unix)]
fn set(keys: &Termios) {
    if can_be_held() {
        // Where it fails, the keys are written as always.
        let _ = tcsetattr(stdin(), OptionalActions::Now, keys);
    }
}
