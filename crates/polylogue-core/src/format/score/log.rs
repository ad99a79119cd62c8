//! A list that only grows. Copies share all of it but the newest, so that looking ahead costs the same however long a
//! session has become.

use std::{ops::Index, sync::Arc};

/// How many of the newest are kept apart.
const NEWEST: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Log<T> {
    older: Arc<Vec<T>>,
    newest: Vec<T>,
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Log { older: Arc::default(), newest: Vec::new() }
    }
}

impl<T: PartialEq> PartialEq for Log<T> {
    fn eq(&self, other: &Log<T>) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T> Log<T> {
    pub(super) fn push(&mut self, item: T) {
        self.newest.push(item);
        // Whoever only looks ahead shares what is older, and keeps its own apart.
        if self.newest.len() >= NEWEST
            && let Some(older) = Arc::get_mut(&mut self.older)
        {
            older.append(&mut self.newest);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.older.len() + self.newest.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.older.get(at).or_else(|| self.newest.get(at.checked_sub(self.older.len())?))
    }

    pub(super) fn last(&self) -> Option<&T> {
        self.newest.last().or_else(|| self.older.last())
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.older.iter().chain(&self.newest)
    }

    /// The place of the last before `end` that is so.
    pub(super) fn last_before(&self, end: usize, is_it: impl Fn(&T) -> bool) -> Option<usize> {
        (0..end.min(self.len())).rev().find(|at| is_it(&self[*at]))
    }
}

impl<T> Index<usize> for Log<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        match at.checked_sub(self.older.len()) {
            Some(at) => &self.newest[at],
            None => &self.older[at],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_goes_its_own_way() {
        let (mut log, mut copies) = (Log::default(), Vec::new());
        for number in 0..100 {
            // A copy that stays, and one that only looks ahead.
            if number % 30 == 7 {
                copies.push((number, log.clone()));
            }
            let mut ahead = log.clone();
            ahead.push(-1);
            log.push(number);
            assert_eq!((log.len(), log.last(), ahead.last()), (number as usize + 1, Some(&number), Some(&-1)));
        }
        let all: Vec<i32> = log.iter().copied().collect();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert_eq!((log[0], log[99], log.get(100)), (0, 99, None));
        assert_eq!(log.last_before(50, |number| number % 7 == 0), Some(49));
        for (length, mut copy) in copies {
            assert_eq!(copy.len() as i32, length);
            copy.push(1_000);
            assert!(
                copy.iter()
                    .rev()
                    .eq([1_000].iter().chain(log.iter().take(length as usize).collect::<Vec<_>>().into_iter().rev()))
            );
        }
    }
}
