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

    #[test]
    fn a_machine_knows_what_it_has() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   24101 kB\nBuffers: 1 kB\n"), Some(24101 * 1024));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        let folder = tempfile::tempdir().expect("a folder");
        let here = Machine::here(&folder.path().join("not/yet/there"));
        assert!(here.cores > 0 && here.memory_bytes > 0 && here.disk_bytes > 0, "{here:?}");
    }
}
