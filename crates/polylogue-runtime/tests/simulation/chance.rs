//! What is drawn in a run: all of it comes from one seed, in the order in which it is asked for.

use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fastrand::Rng;

#[derive(Clone, Debug)]
pub(crate) struct Chance(Arc<Mutex<Rng>>);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        // What the runtime itself draws, such as the names of nodes and letters.
        fastrand::seed(seed);
        Chance(Arc::new(Mutex::new(Rng::with_seed(seed))))
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn number(&self, of: Range<u64>) -> u64 {
        self.draw(|rng| rng.u64(of))
    }

    pub(crate) fn below(&self, most: usize) -> usize {
        self.draw(|rng| rng.usize(..most))
    }

    /// True in so many of a thousand cases.
    pub(crate) fn happens(&self, per_mille: u32) -> bool {
        per_mille > 0 && self.draw(|rng| rng.u32(..1_000)) < per_mille
    }

    pub(crate) fn millis(&self, of: Range<u64>) -> Duration {
        Duration::from_millis(self.number(of))
    }

    pub(crate) fn pick<T: Clone>(&self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())].clone())
    }

    pub(crate) fn bytes(&self) -> [u8; 16] {
        self.draw(|rng| rng.u128(..)).to_be_bytes()
    }
}

/// How often what goes wrong, per thousand. Each seed draws its own, and leaves many out: a fault that is alone comes
/// further than one among ten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// A port takes its time.
    pub(crate) slow: u32,
    /// The store does not do it, and says so.
    pub(crate) store_refuses: u32,
    /// The store does it, and nobody is told.
    pub(crate) store_mute: u32,
    /// The store fails as if for good.
    pub(crate) store_breaks: u32,
    pub(crate) signal_lost: u32,
    pub(crate) model_fails: u32,
    pub(crate) model_stalls: u32,
    pub(crate) model_panics: u32,
    pub(crate) model_babbles: u32,
    pub(crate) model_says_no_usage: u32,
    pub(crate) voice_fails: u32,
    pub(crate) voice_panics: u32,
    /// A client does not wait for what becomes of its wish.
    pub(crate) client_leaves: u32,
}

impl Faults {
    pub(crate) fn drawn(chance: &Chance) -> Faults {
        let rate = |most: u64| if chance.happens(500) { chance.number(1..most) as u32 } else { 0 };
        Faults {
            slow: rate(600),
            store_refuses: rate(150),
            store_mute: rate(150),
            store_breaks: rate(20),
            signal_lost: rate(1_000),
            model_fails: rate(500),
            model_stalls: rate(150),
            model_panics: rate(100),
            model_babbles: rate(400),
            model_says_no_usage: rate(1_000),
            voice_fails: rate(400),
            voice_panics: rate(200),
            client_leaves: rate(400),
        }
    }
}
