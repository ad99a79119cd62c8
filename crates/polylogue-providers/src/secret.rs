//! Keys. A key is shown by nothing: not by `Debug`, not by `Display`, not by serialising, not by an error.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};

/// What stands where a key would be.
const HIDDEN: &str = "[hidden]";

/// How much of a key a vendor may echo before the echo is taken for the key. Vendors print the first and the
/// last letters with stars between them.
const TELLING: usize = 6;

/// A key of a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// `None` for a blank text: an empty variable is a variable that is not set.
    pub fn new(text: &str) -> Option<Secret> {
        let text = text.trim();
        (!text.is_empty()).then(|| Secret(text.into()))
    }

    /// The key itself, for the one header that it goes into.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text without this key, whole or echoed in part.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let whole = text.replace(&*self.0, HIDDEN);
        let Some(head) = self.0.get(..TELLING).filter(|_| self.0.len() > 2 * TELLING) else { return whole };
        if !whole.contains(head) {
            return whole;
        }
        let clean = |word: &str| match word.find(head) {
            Some(at) => format!("{}{HIDDEN}", &word[..at]),
            None => word.to_owned(),
        };
        whole.split(' ').map(clean).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shows_a_key() {
        let key = Secret::new(" sk-test-1234567890abcdef\n").unwrap();
        assert_eq!(format!("{key} {key:?} {}", serde_json::to_string(&key).unwrap()), "[hidden] [hidden] \"[hidden]\"");
        assert_eq!(Secret::new(" "), None);
    }

    #[test]
    fn an_echo_of_a_key_is_removed_whole_or_starred() {
        let key = Secret::new("sk-test-1234567890abcdef").unwrap();
        for (text, clean) in [
            ("bad key sk-test-1234567890abcdef.", "bad key [hidden]."),
            (
                "Incorrect API key provided: sk-test-******cdef. See docs.",
                "Incorrect API key provided: [hidden] See docs.",
            ),
            ("(sk-test-12)", "([hidden]"),
            ("nothing here", "nothing here"),
        ] {
            assert_eq!(key.scrub(text), clean);
        }
        assert_eq!(Secret::new("x").unwrap().scrub("six"), "si[hidden]");
    }
}
