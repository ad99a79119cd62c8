//! What is between the characters: a number for every pair, moved by the moderator's judgements.

use std::collections::BTreeMap;

use super::judgement::Shift;
use crate::id::AgentId;

/// A number from -100 (hostile) to 100 (close) for every pair that something has happened between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations(BTreeMap<[AgentId; 2], i8>);

impl Relations {
    pub fn shift(&mut self, shift: &Shift) {
        let value = self.0.entry(shift.between.clone()).or_insert(0);
        *value = (i16::from(*value) + i16::from(shift.change)).clamp(-100, 100) as i8;
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&AgentId, &AgentId, i8)> {
        self.0.iter().map(|([one, other], value)| (one, other, *value))
    }

    /// What is between this one and each other.
    pub(super) fn of<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = (&'a AgentId, i8)> {
        self.pairs().filter_map(move |(one, other, value)| match (one == agent, other == agent) {
            (true, _) => Some((other, value)),
            (_, true) => Some((one, value)),
            (false, false) => None,
        })
    }

    /// A word for what is between two.
    pub fn word(value: i8) -> &'static str {
        match value {
            ..=-60 => "hostile",
            -59..=-20 => "strained",
            -19..=19 => "even",
            20..=59 => "warm",
            60.. => "close",
        }
    }
}

impl FromIterator<([AgentId; 2], i8)> for Relations {
    fn from_iter<T: IntoIterator<Item = ([AgentId; 2], i8)>>(pairs: T) -> Relations {
        let in_order = |([one, other], value): ([AgentId; 2], i8)| {
            let between = if one <= other { [one, other] } else { [other, one] };
            (between, value.clamp(-100, 100))
        };
        Relations(pairs.into_iter().map(in_order).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_two_moves_within_its_bounds() {
        let [alice, bob]: [AgentId; 2] = ["alice", "bob"].map(|name| name.parse().expect("a name"));
        let mut relations = Relations::default();
        for (change, value, word) in
            [(-30, -30, "strained"), (-90, -100, "hostile"), (100, 0, "even"), (70, 70, "close")]
        {
            relations.shift(&Shift { between: [alice.clone(), bob.clone()], change });
            assert_eq!(relations.of(&bob).collect::<Vec<_>>(), [(&alice, value)]);
            assert_eq!(Relations::word(value), word);
        }
    }
}
