//! Chance that is data: every draw follows from the session's seed and from where in the conversation it is
//! made, so a replay draws the same, and no draw depends on how many were made before it.

/// Draws for one place of a session.
///
/// The generator is SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, one addition and three mixing
/// steps a draw. It is fair enough to deal cards and no secret can be kept with it. Recorded sessions rely
/// on it: it does not change.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    /// The draws at a place, named by numbers such as turn and slot.
    pub(crate) fn new(seed: u64, place: &[u64]) -> Chance {
        let mut chance = Chance { state: seed };
        for number in place {
            chance.state = chance.draw() ^ number;
        }
        chance
    }

    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`. The lean towards small ones is far below what anybody could notice.
    fn below(&mut self, end: usize) -> usize {
        (self.draw() % end.max(1) as u64) as usize
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// One of the items; `None` when there are none.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        items.get(self.below(items.len())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first outputs for the seed 1234567, as its authors give them.
        let mut chance = Chance::new(1_234_567, &[]);
        let drawn: Vec<u64> = (0..3).map(|_| chance.draw()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn places_are_drawn_for_apart_and_fairly() {
        let mut seen = [[0u32; 5]; 5];
        for seed in 0..2_000 {
            let mut cards = [0, 1, 2, 3, 4];
            Chance::new(seed, &[2, 4]).shuffle(&mut cards);
            for (place, card) in cards.into_iter().enumerate() {
                seen[place][card] += 1;
            }
        }
        // Each card is in each place 400 times, give or take five deviations.
        assert!(seen.iter().flatten().all(|count| (310..490).contains(count)), "{seen:?}");
        let drawn = |place: &[u64]| Chance::new(7, place).draw();
        assert_ne!(drawn(&[1, 2]), drawn(&[2, 1]));
        assert_eq!(Chance::new(7, &[]).pick::<u8>(&[]), None);
    }
}
