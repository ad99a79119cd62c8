//! Who is meant by a name in a reply.

use std::sync::Arc;

use crate::text::identity::after_prefix;

/// Words for all who are present, or for nobody in particular.
const EVERYONE: &[&str] = &[
    "everyone",
    "everybody",
    "all",
    "both",
    "group",
    "the group",
    "room",
    "the room",
    "them",
    "none",
    "nobody",
    "no one",
    "n/a",
    "general",
    "alle",
    "an alle",
    "tous",
    "todos",
    "tutti",
    "все",
    "всем",
    "大家",
    "所有人",
    "全員",
    "みんな",
    "모두",
];

/// The characters of the scene, as one of them sees it.
pub(super) struct Cast<'a> {
    pub(super) speaker: &'a str,
    pub(super) others: &'a [&'a str],
}

pub(super) enum Target {
    One(Arc<str>),
    Everyone,
    /// The first of several.
    FirstOf(Arc<str>),
    /// The speaker, or somebody who is not there.
    Unknown,
}

impl Cast<'_> {
    /// Who is addressed as `said`: in any case, by the first name, with words around it.
    pub(super) fn target(&self, said: &str) -> Target {
        let said = said.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if said.is_empty() || EVERYONE.contains(&said.as_str()) {
            return Target::Everyone;
        }
        let mut names =
            said.split(['&', '/', '+', ',', '、', '，']).flat_map(|part| part.split(" and ")).map(str::trim);
        let first = names.next().unwrap_or_default();
        match (self.find(first), names.next()) {
            (Some(first), Some(_)) => Target::FirstOf(first),
            _ if self.find(&said).is_some() => self.find(&said).map_or(Target::Unknown, Target::One),
            _ => match self.find(first.split(['(', '[', ':', '-']).next().unwrap_or_default().trim()) {
                Some(one) => Target::One(one),
                None => Target::Unknown,
            },
        }
    }

    pub(super) fn is_speaker(&self, said: &str) -> bool {
        said.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase() == self.speaker.to_lowercase()
    }

    /// What follows when a line begins as one of the others.
    pub(super) fn after_other<'t>(&self, line: &'t str) -> Option<&'t str> {
        self.others.iter().find_map(|other| after_name(line, other))
    }

    pub(super) fn after_speaker<'t>(&self, line: &'t str) -> Option<&'t str> {
        after_name(line, self.speaker)
    }

    fn find(&self, said: &str) -> Option<Arc<str>> {
        if said.is_empty() {
            return None;
        }
        let bare = |name: &str| name.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if let Some(exact) = self.others.iter().find(|other| bare(other) == said) {
            return Some(Arc::from(*exact));
        }
        // One word for a longer name, or a longer name for one word: it must fit only one of them.
        let first = |name: &str| name.split_whitespace().next().map(str::to_owned).unwrap_or_default();
        let mut near = self.others.iter().filter(|other| {
            let name = bare(other);
            !name.is_empty() && (name.split_whitespace().any(|word| word == said) || first(said) == name)
        });
        let found = near.next()?;
        near.next().is_none().then(|| Arc::from(*found))
    }
}

/// What follows `name:`, or `name` before a bracket, at the start of a line.
fn after_name<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    if name.is_empty() {
        return None;
    }
    after_prefix(line, name).or_else(|| {
        let bare = line.trim_start_matches(['*', '_', '#', '>', ' ', '\t']);
        let rest = crate::text::identity::strip_ignoring_case(bare, name)?.trim_start_matches(['*', '_', ' ', '\t']);
        rest.starts_with(['[', '【', '［']).then_some(rest)
    })
}
