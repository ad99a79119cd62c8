//! What all processes of a store share and may use up only once: places for calls at a provider, and the dollars of a
//! day.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use polylogue_core::{Tenant, Timestamp, money::Money};

use super::{JournalError, NodeId};

/// A store that knows what each of its processes holds and what all of them have spent.
#[async_trait]
pub trait Quotas: Send + Sync {
    /// Says how many places at a provider a node wants, and gives it what [`Wish::grant`] says. What it holds is its
    /// own for as long as the lease, and then anybody's, unless it says the same again. Two who ask at once are served
    /// one after the other.
    async fn hold(&self, node: NodeId, wish: Wish, lease: Duration) -> Result<Grant, JournalError>;

    /// Adds to what was spent on a day, by all together or by the sessions of one tenant, and tells how much that is
    /// now. The two are counted apart.
    async fn spend(&self, day: Day, whose: Option<&Tenant>, cost: Money) -> Result<Money, JournalError>;
}

/// A day in UTC, counted from the first of 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(pub u32);

impl Day {
    const MS: u64 = 24 * 3_600 * 1_000;

    pub fn of(moment: Timestamp) -> Day {
        Day(u32::try_from(moment.0 / Day::MS).unwrap_or(u32::MAX))
    }

    /// The first moment of the day after.
    pub fn end(self) -> Timestamp {
        Timestamp((u64::from(self.0) + 1) * Day::MS)
    }
}

/// What a node wants of a provider's places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub provider: Arc<str>,
    /// How many places there are, for all nodes together.
    pub of: u32,
    /// What it holds and does not give back now: calls are under way there, or may begin at any moment.
    pub keeps: u32,
    /// How many it has a use for, those that it keeps included.
    pub wants: u32,
}

/// What a node holds of a provider's places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub held: u32,
    /// How many of them it may fill. The others are wanted elsewhere, and are to be given back as calls end.
    pub fair: u32,
}

/// A node that holds places or wants some, as the store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub node: NodeId,
    pub held: u32,
    pub wants: u32,
    /// Since when it holds so many, in milliseconds by the store's clock.
    pub since: i64,
}

impl Wish {
    /// What the node gets now, as the store is to remember it, and what is fair.
    ///
    /// Everybody gets what they want as long as there is enough for all. Otherwise places are dealt out one by one:
    /// those who hold the fewest come first, and of those who hold the same the one who has held no more for the
    /// longest. So an odd place wanders, and nobody waits for ever. What nobody wants is lent: all of it to a node
    /// that is `alone`, half of it where there are others, who then find some at once.
    pub fn grant(&self, node: NodeId, known: &[Holder], is_alone: bool, now: i64) -> (Holder, Grant) {
        let before = known.iter().find(|holder| holder.node == node);
        // Who gives a place back is behind those who wait for one.
        let since_when = |held| before.filter(|before| before.held == held).map_or(now, |before| before.since);
        let since = since_when(self.keeps);
        let own = Holder { node, held: self.keeps, wants: self.wants.min(self.of), since };
        let others = || known.iter().filter(|holder| holder.node != node);
        let mut all: Vec<(Holder, u32)> = others().copied().chain([own]).map(|holder| (holder, 0)).collect();
        all.sort_by_key(|(holder, _)| (holder.held, holder.since, holder.node));
        let mut left = self.of;
        while left > 0 && all.iter().any(|(holder, dealt)| *dealt < holder.wants) {
            for (_, dealt) in all.iter_mut().filter(|(holder, dealt)| *dealt < holder.wants).take(left as usize) {
                *dealt += 1;
                left -= 1;
            }
        }
        let dealt = all.iter().find(|(holder, _)| holder.node == node).map_or(0, |(_, dealt)| *dealt);
        let lent = match (self.wants, is_alone) {
            (0, _) => 0,
            (_, true) => left,
            (_, false) => left / 2,
        };
        let fair = dealt + lent;
        let taken = others().fold(0, |sum: u32, holder| sum.saturating_add(holder.held));
        let held = self.keeps.max(fair.min(self.of.saturating_sub(taken)));
        (Holder { held, since: since_when(held), ..own }, Grant { held, fair })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn node(n: u8) -> NodeId {
        NodeId::from_bytes([n; 16])
    }

    #[test]
    fn places_are_dealt_to_those_who_hold_the_fewest_first() {
        let other = |n, held, wants, since| Holder { node: node(n), held, wants, since };
        let cases = [
            // (of, keeps, wants), who else, alone: held, fair
            ((8, 0, 1), vec![], true, (8, 8), "who is alone gets all"),
            ((8, 0, 1), vec![], false, (4, 4), "half of what nobody wants is left for others"),
            ((1, 0, 1), vec![], false, (1, 1), "the only place"),
            ((8, 8, 0), vec![], true, (8, 0), "who wants nothing is to give all back"),
            ((8, 0, 8), vec![other(2, 8, 8, 0)], false, (0, 4), "none is free yet"),
            ((8, 8, 8), vec![other(2, 0, 8, 5)], false, (8, 4), "half is to be given back"),
            ((8, 8, 8), vec![other(2, 0, 1, 5)], false, (8, 7), "no more than is wanted"),
            ((1, 1, 5), vec![other(2, 0, 1, 5)], false, (1, 0), "the only place wanders"),
            ((1, 0, 5), vec![other(2, 0, 1, -5)], false, (0, 0), "it goes to who waits longer"),
            ((3, 2, 9), vec![other(2, 1, 9, 5)], false, (2, 1), "the odd place wanders"),
            ((4, 3, 3), vec![other(2, 4, 4, 5)], false, (3, 2), "what is under way stays, whatever else"),
            ((5, 0, 5), vec![other(2, 1, 1, 0), other(3, 2, 5, 0)], false, (2, 2), "one wants little"),
        ];
        for ((of, keeps, wants), others, is_alone, (held, fair), why) in cases {
            let wish = Wish { provider: "lab".into(), of, keeps, wants };
            let own = Holder { node: node(1), held: keeps, wants, since: 0 };
            let known: Vec<Holder> = others.into_iter().chain([own]).collect();
            assert_eq!(wish.grant(node(1), &known, is_alone, 9).1, Grant { held, fair }, "{why}");
        }
    }

    #[test]
    fn who_gives_the_only_place_back_does_not_get_it_again_at_once() {
        let holder = |n, held, since| Holder { node: node(n), held, wants: 1, since };
        let wish = Wish { provider: "lab".into(), of: 1, keeps: 0, wants: 9 };
        let (given_back, grant) = wish.grant(node(1), &[holder(1, 1, 0), holder(2, 0, 5)], false, 9);
        assert_eq!((given_back, grant), (holder(1, 0, 9), Grant { held: 0, fair: 0 }));
        let (taken, _) = wish.grant(node(2), &[given_back, holder(2, 0, 5)], false, 10);
        assert_eq!(taken, holder(2, 1, 10));
    }

    #[test]
    fn a_day_ends_when_the_next_begins() {
        let day = Day::of(Timestamp(1_700_000_000_123));
        assert_eq!(day.end().to_string(), "2023-11-15T00:00:00.000Z");
        assert_eq!(Day::of(day.end()), Day(day.0 + 1));
    }
}
