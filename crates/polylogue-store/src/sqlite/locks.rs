//! The files by which processes of one machine know each other: a node keeps its own locked, and the system takes the
//! lock from it when its process ends, however it ends.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use polylogue_runtime::port::NodeId;

/// How often a lock is tried that somebody else looks at.
const TRIES: usize = 5;

/// How long a look takes at most.
const MOMENT: Duration = Duration::from_millis(2);

/// The locks of a store, and those that nodes of this process hold.
#[derive(Debug)]
pub(super) struct Locks {
    store: PathBuf,
    held: Mutex<HashMap<NodeId, File>>,
}

impl Locks {
    /// The files lie beside the store's.
    pub(super) fn beside(store: &Path) -> Locks {
        Locks { store: store.to_owned(), held: Mutex::default() }
    }

    /// Takes the lock of a node, and keeps it until the node lets go or the process ends. Tells whether it could be
    /// taken: not every file system has locks.
    pub(super) fn hold(&self, node: NodeId) -> io::Result<bool> {
        let mut held = self.held();
        if held.contains_key(&node) {
            return Ok(true);
        }
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(self.path(node))?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => {
                    held.insert(node, file);
                    return Ok(true);
                }
                // Somebody looks whether it is held, which is over in a moment.
                Err(TryLockError::WouldBlock) => thread::sleep(MOMENT),
                Err(TryLockError::Error(_)) => {
                    self.remove(node);
                    return Ok(false);
                }
            }
        }
        // The same node has the store open twice, and holds it there.
        Ok(true)
    }

    /// Whether a node of this process holds its lock.
    pub(super) fn holds(&self, node: NodeId) -> bool {
        self.held().contains_key(&node)
    }

    pub(super) fn let_go(&self, node: NodeId) {
        if self.held().remove(&node).is_some() {
            self.remove(node);
        }
    }

    pub(super) fn let_go_of_all(&self) {
        let nodes: Vec<NodeId> = self.held().keys().copied().collect();
        nodes.into_iter().for_each(|node| self.let_go(node));
    }

    /// Whether a process that is there holds the lock of this node.
    pub(super) fn is_held(&self, node: NodeId) -> bool {
        let Ok(file) = File::open(self.path(node)) else { return false };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => true,
            Ok(()) | Err(TryLockError::Error(_)) => false,
        }
    }

    /// Removes the file of a node that is gone.
    pub(super) fn remove(&self, node: NodeId) {
        // A file that stays does no harm: nobody holds it.
        let _ = fs::remove_file(self.path(node));
    }

    fn path(&self, node: NodeId) -> PathBuf {
        let mut path = self.store.as_os_str().to_owned();
        path.push(format!("-node-{node}"));
        path.into()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<NodeId, File>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Locks {
    fn drop(&mut self) {
        self.let_go_of_all();
    }
}
