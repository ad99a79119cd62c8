//! The formats: who speaks when, and when it is over. Each has a room of its own here, and everything that core
//! knows about it lies in that room: settings, rules, decisions, words, forms of reply, templates and views.
//!
//! The set of formats is open, so shared code never lists them. It asks a setup, a decision, a purpose, a kind of
//! line or a reason what it needs to know. The one list is `FORMATS`, below.

pub mod chorus;
pub mod collaboration;
pub mod discussion;
pub mod interview;
pub mod scene;
pub mod score;

mod decision;
mod definition;
mod hearing;
mod rules;
mod schema;
mod setup;
mod unread;

use crate::{line::LineKind, purpose::Purpose, reason::Reason};

pub use decision::{Decided, Decision, NoDecision, Recorded, Remark};
pub(crate) use definition::Definition;
pub use definition::{Described, Format, Vocabulary};
pub use hearing::Hearing;
pub(crate) use rules::AnyRules;
pub use rules::{Happened, Place, Reaction, Rules, Wants};
pub(crate) use schema::{decision_schemas, placed};
pub use setup::FormatSetup;

/// Every format, a line each.
const FORMATS: &[Definition] = &[
    Definition::of::<chorus::Settings>(),
    Definition::of::<collaboration::Settings>(),
    Definition::of::<discussion::Settings>(),
    Definition::of::<interview::Settings>(),
    Definition::of::<scene::Settings>(),
    Definition::of::<score::Settings>(),
];

/// The format that is recorded under this name.
fn named(name: &str) -> Option<&'static Definition> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Whether a format of this name is known here.
pub(crate) fn is_known(name: &str) -> bool {
    named(name).is_some()
}

pub(crate) fn purposes() -> impl Iterator<Item = Purpose> {
    FORMATS.iter().flat_map(|format| format.vocabulary.purposes).copied()
}

pub(crate) fn kinds() -> impl Iterator<Item = LineKind> {
    FORMATS.iter().flat_map(|format| format.vocabulary.kinds).copied()
}

pub(crate) fn reasons() -> impl Iterator<Item = Reason> {
    FORMATS.iter().flat_map(|format| format.vocabulary.reasons).copied()
}

/// The built-in templates of all formats, by name.
pub(crate) fn templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMATS.iter().flat_map(|format| format.templates).copied()
}

/// Built-in templates as they were, which only sessions from then are told with.
pub(crate) fn earlier_templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMATS.iter().flat_map(|format| format.earlier_templates).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_formats_use_a_name_for_different_things() {
        fn distinct<T: Ord + std::fmt::Debug>(all: impl Iterator<Item = T>) {
            let mut seen = BTreeSet::new();
            all.for_each(|name| assert!(seen.insert(format!("{name:?}")), "{name:?} is there twice"));
        }
        distinct(FORMATS.iter().map(|format| format.name));
        distinct(purposes().map(|purpose| purpose.to_string()));
        distinct(LineKind::SHARED.into_iter().chain(kinds()).map(|kind| kind.to_string()));
        distinct(Reason::SHARED.into_iter().chain(reasons()).map(|reason| reason.to_string()));
        distinct(templates().chain(earlier_templates()).map(|(name, _)| name));
    }
}
