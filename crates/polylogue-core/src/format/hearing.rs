//! How a reply reads while it arrives: its words, without the form that they come in.

use std::{fmt, sync::Arc};

/// Tells the words of a reply from as much of it as has arrived. What it tells of more text usually begins with what
/// it told of less; where it does not, whoever listens begins the text anew.
#[derive(Clone)]
pub struct Hearing(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Hearing {
    /// Bytes of a reply that are read while it arrives. A longer one is shown when it is complete.
    pub const MAX_BYTES: usize = 64 * 1024;

    pub(crate) fn new(words: impl Fn(&str) -> String + Send + Sync + 'static) -> Hearing {
        Hearing(Arc::new(words))
    }

    pub fn words(&self, partial: &str) -> String {
        let mut end = partial.len().min(Hearing::MAX_BYTES);
        while !partial.is_char_boundary(end) {
            end -= 1;
        }
        (self.0)(&partial[..end])
    }
}

impl fmt::Debug for Hearing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hearing").finish_non_exhaustive()
    }
}
