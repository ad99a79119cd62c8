//! Names out of open sets: what a purpose, a kind of line and a reason are recorded as.
//!
//! A format brings its own, so no enum can list them. A name that this version does not know is kept as it was
//! read, so that a journal of a newer version can still be listed and shown.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A short name: 1 to [`Name::MAX_LETTERS`] small letters, digits and `_`. It is held in place, so it is copied
/// like a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name([u8; Name::MAX_LETTERS]);

impl Name {
    pub(crate) const MAX_LETTERS: usize = 32;

    /// A name that the code itself gives. A bad one does not compile where it is a constant.
    pub(crate) const fn new(name: &'static str) -> Name {
        match Name::of(name.as_bytes()) {
            Some(name) => name,
            None => panic!("a name has 1 to 32 small letters, digits and `_`"),
        }
    }

    /// The name that was written so.
    pub(crate) fn parse(name: &str) -> Option<Name> {
        Name::of(name.as_bytes())
    }

    const fn of(letters: &[u8]) -> Option<Name> {
        let mut name = [0; Name::MAX_LETTERS];
        if letters.is_empty() || letters.len() > Name::MAX_LETTERS {
            return None;
        }
        let mut at = 0;
        while at < letters.len() {
            match letters[at] {
                letter @ (b'a'..=b'z' | b'0'..=b'9' | b'_') => name[at] = letter,
                _ => return None,
            }
            at += 1;
        }
        Some(Name(name))
    }

    pub(crate) fn as_str(&self) -> &str {
        let end = self.0.iter().position(|letter| *letter == 0).unwrap_or(Name::MAX_LETTERS);
        str::from_utf8(&self.0[..end]).expect("a name is made of ASCII letters")
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Name::parse(&text).ok_or_else(|| de::Error::custom(format_args!("`{text}` cannot be a name")))
    }
}

/// What every kind of open name shares: it is recorded as its name, and read back with its meaning.
macro_rules! open_name {
    ($kind:ident, $known:expr) => {
        impl $kind {
            pub fn as_str(&self) -> &str {
                self.name.as_str()
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.name.serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$kind, D::Error> {
                $crate::name::Name::deserialize(deserializer).map($kind::named)
            }
        }

        /// Any name, with those that are known as examples.
        impl schemars::JsonSchema for $kind {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let known: Vec<$kind> = $known.collect();
                schemars::json_schema!({ "type": "string", "pattern": "^[a-z0-9_]{1,32}$", "examples": known })
            }
        }
    };
}
pub(crate) use open_name;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        for good in ["act", "limit_usd", "x", "turn2", "abcdefghijklmnopqrstuvwxyz_01234"] {
            assert_eq!(Name::parse(good).map(|name| name.to_string()).as_deref(), Some(good));
        }
        for bad in ["", "Act", "no way", "é", "a-b", "abcdefghijklmnopqrstuvwxyz_012345"] {
            assert_eq!(Name::parse(bad), None, "{bad}");
        }
        assert!(Name::new("act") < Name::new("acts") && Name::new("acts") < Name::new("judge"));
    }
}
