//! What this machine has left for a model.

use std::{path::Path, thread};

use super::menu::Machine;

/// Memory where nobody can say how much is free.
const UNKNOWN_MEMORY: u64 = 4 << 30;

impl Machine {
    /// This machine, with the disk that the cache folder is on.
    pub fn here(cache: &Path) -> Machine {
        Machine {
            cores: thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: free_memory().unwrap_or(UNKNOWN_MEMORY),
            disk_bytes: free_disk(cache).unwrap_or(0),
        }
    }
}

/// How long it is looked at what the cores do.
#[cfg(feature = "local")]
const LOOK: std::time::Duration = std::time::Duration::from_millis(120);
/// A core that has this much of its time left is taken for free.
#[cfg(feature = "local")]
const FREE: f64 = 0.6;

/// How many cores have nothing to do at the moment, and at least one. Where nobody can say, one less than there are.
#[cfg(feature = "local")]
pub(super) fn free_cores() -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let times = || std::fs::read_to_string("/proc/stat").ok().as_deref().and_then(times);
    let Some(before) = times() else { return cores.saturating_sub(1).max(1) };
    thread::sleep(LOOK);
    let idle = times().and_then(|after| idle(before, after)).unwrap_or_default();
    (idle * cores as f64 + 1.0 - FREE).floor().clamp(1.0, cores as f64) as usize
}

/// The time that all cores have spent, and what of it idle, from the first line of `/proc/stat`.
#[cfg(feature = "local")]
fn times(stat: &str) -> Option<(u64, u64)> {
    let fields: Vec<u64> =
        stat.lines().next()?.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
    let idle = fields.get(3)? + fields.get(4).copied().unwrap_or_default();
    Some((fields.iter().take(8).sum(), idle))
}

/// Which part of the time between was idle.
#[cfg(feature = "local")]
fn idle(before: (u64, u64), after: (u64, u64)) -> Option<f64> {
    let all = after.0.checked_sub(before.0).filter(|all| *all > 0)?;
    Some(after.1.saturating_sub(before.1) as f64 / all as f64)
}

/// What programs can still get, as Linux tells it.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    available(&text)
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Of the nearest folder that is there already.
#[cfg(unix)]
fn free_disk(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_disk(_: &Path) -> Option<u64> {
    Some(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "local")]
    #[test]
    fn the_time_of_cores_says_how_many_are_free() {
        let before = times("cpu  100 0 50 800 50 0 0 0 9 9\ncpu0 1 2 3 4\n").expect("times");
        assert_eq!(before, (1_000, 850));
        let after = times("cpu  150 0 50 840 60 0 0 0 9 9\n").expect("times");
        assert_eq!(idle(before, after), Some(0.5));
        assert_eq!((times(""), times("cpu  x"), idle(before, before)), (None, None, None));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        assert!((1..=cores).contains(&free_cores()));
    }

    #[test]
    fn a_machine_knows_what_it_has() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   24101 kB\nBuffers: 1 kB\n"), Some(24101 * 1024));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        let folder = tempfile::tempdir().expect("a folder");
        let here = Machine::here(&folder.path().join("not/yet/there"));
        assert!(here.cores > 0 && here.memory_bytes > 0 && here.disk_bytes > 0, "{here:?}");
    }
}
