//! What the steps of a session may still spend, and what an ask has run up.
//!
//! The journal knows what was used; the purse also knows what is not recorded yet. An ask is tried again only as long
//! as both together leave room for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use polylogue_core::{
    Allowance, Cut,
    id::AskId,
    ledger::Usage,
    money::{Money, Price},
};

use crate::port::{Budget, CallError, Deltas};

/// The purse that the steps of one session share.
#[derive(Clone, Default)]
pub(crate) struct Purse(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    /// What the limits leave after all that is recorded, with what is open at its highest.
    left: Allowance,
    claimed: Allowance,
}

impl Purse {
    /// What the journal leaves now.
    pub(crate) fn set(&self, left: Allowance) {
        lock(&self.0).left = left;
    }

    fn claim(&self) -> Claim {
        Claim { purse: self.clone(), sum: Allowance::default() }
    }

    /// For one clip. It is made only if that leaves what is kept for the text.
    pub(crate) fn budget(&self, kept_for_text: Money) -> Budget {
        let claim = Mutex::new(self.claim());
        Budget::new(move |cost| {
            let mut claim = lock(&claim);
            let fits = claim.purse.covers(cost.plus(kept_for_text));
            if fits {
                claim.add(0, cost);
            }
            fits
        })
    }

    /// Whether all that was spent, and so much more, keeps within the limits.
    fn covers(&self, more: Money) -> bool {
        let Held { left, claimed } = &*lock(&self.0);
        claimed.tokens <= left.tokens && claimed.cost.plus(more) <= left.cost
    }
}

/// Something that was spent and is not recorded yet. It is given back when it is dropped: by then it is recorded.
struct Claim {
    purse: Purse,
    sum: Allowance,
}

impl Claim {
    fn add(&mut self, tokens: u64, cost: Money) {
        let mut held = lock(&self.purse.0);
        for sum in [&mut held.claimed, &mut self.sum] {
            sum.tokens = sum.tokens.saturating_add(tokens);
            sum.cost += cost;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut held = lock(&self.purse.0);
        held.claimed.tokens = held.claimed.tokens.saturating_sub(self.sum.tokens);
        held.claimed.cost = held.claimed.cost.minus(self.sum.cost);
    }
}

/// What one ask has run up: in tries that came to nothing, and in the one under way.
#[derive(Clone)]
pub(crate) struct Tab {
    /// What was sent with each try, and the most that it could bring.
    estimate: Usage,
    price: Option<Price>,
    pub(crate) deltas: Deltas,
    so_far: Arc<Mutex<SoFar>>,
}

struct SoFar {
    wasted: Usage,
    is_trying: bool,
    claim: Claim,
}

impl Tab {
    pub(crate) fn new(estimate: Usage, price: Option<Price>, deltas: Deltas, purse: &Purse) -> Tab {
        let so_far = SoFar { wasted: Usage::default(), is_trying: false, claim: purse.claim() };
        Tab { estimate, price, deltas, so_far: Arc::new(Mutex::new(so_far)) }
    }

    /// A try begins.
    pub(crate) fn open(&self) {
        lock(&self.so_far).is_trying = true;
    }

    /// A try came to nothing. It is charged if the provider may bill it.
    pub(crate) fn close(&self, error: &CallError) {
        let arrived = self.deltas.take();
        let mut so_far = lock(&self.so_far);
        so_far.is_trying = false;
        if arrived.is_taken_up() || error.is_billed() {
            let used = arrived.used(self.estimate);
            so_far.wasted += used;
            so_far.claim.add(used.total(), self.price.map(|price| price.of(&used)).unwrap_or_default());
        }
    }

    /// What the tries that came to nothing have used.
    pub(crate) fn wasted(&self) -> Usage {
        lock(&self.so_far).wasted
    }

    /// Whether one more try keeps within the limits.
    pub(crate) fn may_try_again(&self) -> bool {
        lock(&self.so_far).claim.purse.covers(Money::ZERO)
    }

    /// The ask is dropped: what had arrived, and what all of it used.
    pub(crate) fn cut(&self, ask: AskId) -> Cut {
        let arrived = self.deltas.take();
        let so_far = lock(&self.so_far);
        let mut usage = so_far.wasted;
        if so_far.is_trying {
            usage += arrived.used(self.estimate);
        }
        Cut { ask, partial: arrived.text.into(), usage: Some(usage) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
