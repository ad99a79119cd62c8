//! Sessions that have run here lately, folded as they were when their loop ended. When somebody goes on with one, its
//! journal need not be folded again.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use polylogue_core::{Conversation, id::SessionId};

/// How many are kept.
const MAX: usize = 64;

/// The newest last.
#[derive(Debug, Default)]
pub(super) struct Kept {
    conversations: Mutex<VecDeque<Conversation>>,
}

impl Kept {
    pub(super) fn keep(&self, conversation: Conversation) {
        let mut kept = self.lock();
        if kept.len() == MAX {
            kept.pop_front();
        }
        kept.push_back(conversation);
    }

    pub(super) fn get(&self, session: SessionId) -> Option<Conversation> {
        self.lock().iter().rfind(|kept| kept.stage().setup().id == session).cloned()
    }

    pub(super) fn take(&self, session: SessionId) -> Option<Conversation> {
        let mut kept = self.lock();
        let at = kept.iter().rposition(|kept| kept.stage().setup().id == session)?;
        kept.remove(at)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Conversation>> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
