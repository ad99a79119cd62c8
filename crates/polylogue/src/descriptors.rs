//! How many files and connections the system lets this process have open, and how they are shared out: half are for
//! those who connect, a quarter is for calls, and the rest for the store, clips and whatever else is opened.

use polylogue_server::CROWD;

/// More than this is not asked for.
#[cfg(unix)]
const WANTED: u64 = 16_384;

/// The shares of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// Connections that are served at once.
    pub(crate) connections: usize,
    /// Calls of models at once.
    pub(crate) calls: usize,
}

impl Descriptors {
    /// Those of this process, after it has asked the system for as many as it is allowed.
    #[cfg(unix)]
    pub(crate) fn shared_out() -> Descriptors {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
        let Some(current) = current.filter(|current| *current < wanted) else {
            return Descriptors::of(current.unwrap_or(WANTED));
        };
        let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
        Descriptors::of(if raised.is_ok() { wanted } else { current })
    }

    #[cfg(not(unix))]
    pub(crate) fn shared_out() -> Descriptors {
        Descriptors { connections: usize::MAX, calls: usize::MAX }
    }

    #[cfg_attr(not(unix), allow(dead_code, reason = "only Unix has such a limit"))]
    fn of(limit: u64) -> Descriptors {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        // Those for whom there is no room take descriptors too, for a moment.
        Descriptors { connections: (limit / 2).saturating_sub(CROWD).max(1), calls: (limit / 4).max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shares_together_fit_into_the_limit() {
        for limit in [256, 1_024, 4_096, 1_048_576] {
            let Descriptors { connections, calls } = Descriptors::of(limit);
            assert!(connections + CROWD + calls <= limit as usize * 3 / 4, "{limit}");
            assert!(connections >= limit as usize / 4, "{limit}");
        }
        assert_eq!(Descriptors::of(8), Descriptors { connections: 1, calls: 2 });
    }
}
