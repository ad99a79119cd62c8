//! What sessions cost in a day, those of all processes together, and whether that was all they may.
//!
//! Costs are collected here and told to the store once a second. So a limit is passed by what others spend within a
//! second, and by the calls that are under way when it is met.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use polylogue_core::money::Money;

use crate::{
    hub::HubError,
    port::{Clock, Day, JournalError, Quotas},
};

/// Shared by the hub and by all that it runs. Without a limit, nothing is counted.
#[derive(Clone)]
pub(crate) struct Spending(Option<Arc<Counted>>);

struct Counted {
    limit: Money,
    quotas: Arc<dyn Quotas>,
    clock: Arc<dyn Clock>,
    sums: Mutex<Sums>,
}

#[derive(Default)]
struct Sums {
    /// What the store has not been told yet.
    untold: BTreeMap<Day, Money>,
    /// What the store has told, and of which day.
    known: Option<(Day, Money)>,
}

impl Spending {
    pub(crate) fn new(limit: Option<Money>, quotas: &Arc<dyn Quotas>, clock: &Arc<dyn Clock>) -> Spending {
        let counted = |limit| Counted { limit, quotas: quotas.clone(), clock: clock.clone(), sums: Mutex::default() };
        Spending(limit.map(counted).map(Arc::new))
    }

    /// Something was paid for.
    pub(crate) fn add(&self, cost: Money) {
        if let Some(counted) = self.0.as_ref().filter(|_| cost > Money::ZERO) {
            *counted.sums().untold.entry(counted.today()).or_default() += cost;
        }
    }

    /// Whether the day's dollars are spent, as far as this process knows, with so much more that is not recorded yet.
    pub(crate) fn is_spent_with(&self, more: Money) -> bool {
        self.0.as_ref().is_some_and(|counted| counted.is_spent_with(more))
    }

    /// Tells the store what was spent here, and hears what all have spent.
    pub(crate) async fn tell(&self) -> Result<(), JournalError> {
        match &self.0 {
            Some(counted) => counted.tell().await,
            None => Ok(()),
        }
    }

    /// The same for somebody who will not hear of others: nothing is asked where nothing is to be told.
    pub(crate) async fn tell_the_rest(&self) {
        let has_any = self.0.as_ref().is_some_and(|counted| !counted.sums().untold.is_empty());
        if has_any && let Err(error) = self.tell().await {
            tracing::debug!(%error, "what was spent is told later");
        }
    }

    /// Refuses to begin anything where the day's dollars are spent.
    pub(crate) async fn check(&self) -> Result<(), HubError> {
        self.tell().await?;
        match &self.0 {
            Some(counted) if counted.is_spent_with(Money::ZERO) => {
                Err(HubError::DaySpent { limit: counted.limit, until: counted.today().end() })
            }
            _ => Ok(()),
        }
    }
}

impl Counted {
    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn today(&self) -> Day {
        Day::of(self.clock.now())
    }

    fn is_spent_with(&self, more: Money) -> bool {
        let (sums, today) = (self.sums(), self.today());
        let known = sums.known.filter(|(day, _)| *day == today).map_or(Money::ZERO, |(_, known)| known);
        known.plus(sums.untold.get(&today).copied().unwrap_or_default()).plus(more) >= self.limit
    }

    async fn tell(&self) -> Result<(), JournalError> {
        let today = self.today();
        let mut telling = Telling { counted: self, left: std::mem::take(&mut self.sums().untold) };
        telling.left.entry(today).or_default();
        while let Some((day, cost)) = telling.left.first_key_value().map(|(day, cost)| (*day, *cost)) {
            let known = self.quotas.spend(day, cost).await?;
            telling.left.remove(&day);
            if day == today {
                self.sums().known = Some((day, known));
            }
        }
        Ok(())
    }
}

/// What is being told. Where the store does not answer, or whoever asks goes away, the rest is told the next time. It
/// may have been added all the same: better counted twice than not at all.
struct Telling<'a> {
    counted: &'a Counted,
    left: BTreeMap<Day, Money>,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let mut sums = self.counted.sums();
        for (day, cost) in std::mem::take(&mut self.left) {
            *sums.untold.entry(day).or_default() += cost;
        }
    }
}
