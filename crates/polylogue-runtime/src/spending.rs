//! What sessions cost in a day, those of all processes together and those of each tenant, and whether that was all they
//! may.
//!
//! Costs are collected here and told to the store once a second. So a limit is passed by what others spend within a
//! second, and by the calls that are under way when it is met.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use polylogue_core::{Tenant, money::Money};

use crate::{
    hub::{HubError, HubSettings},
    port::{Clock, Day, JournalError, Quotas},
};

/// Whose dollars are counted: one tenant's, or those of all together.
type Account = Option<Tenant>;

/// The spending of all, or of the sessions of one tenant. Without a limit, nothing is counted.
#[derive(Clone)]
pub(crate) struct Spending {
    counted: Option<Arc<Counted>>,
    /// Those of the accounts with a limit that are charged.
    charged: Arc<[Account]>,
}

struct Counted {
    limits: BTreeMap<Account, Money>,
    quotas: Arc<dyn Quotas>,
    clock: Arc<dyn Clock>,
    sums: Mutex<Sums>,
}

type Untold = BTreeMap<(Day, Account), Money>;

#[derive(Default)]
struct Sums {
    /// What the store has not been told yet.
    untold: Untold,
    /// What the store has told, and of which day.
    known: BTreeMap<Account, (Day, Money)>,
}

impl Spending {
    pub(crate) fn new(settings: &HubSettings, quotas: &Arc<dyn Quotas>, clock: &Arc<dyn Clock>) -> Spending {
        let of_all = settings.per_day.map(|limit| (None, limit));
        let of_each = settings.per_day_of.iter().map(|(tenant, limit)| (Some(tenant.clone()), *limit));
        let limits: BTreeMap<Account, Money> = of_all.into_iter().chain(of_each).collect();
        let (quotas, clock, has_any) = (quotas.clone(), clock.clone(), !limits.is_empty());
        let counted = has_any.then(|| Arc::new(Counted { limits, quotas, clock, sums: Mutex::default() }));
        Spending { counted, charged: Arc::default() }.of(None)
    }

    /// The same, for the sessions of a tenant.
    pub(crate) fn of(&self, tenant: Option<&Tenant>) -> Spending {
        let accounts = [None].into_iter().chain(tenant.map(|tenant| Some(tenant.clone())));
        let has_limit = |account: &Account| self.counted.as_ref().is_some_and(|it| it.limits.contains_key(account));
        Spending { counted: self.counted.clone(), charged: accounts.filter(has_limit).collect() }
    }

    /// Something was paid for.
    pub(crate) fn add(&self, cost: Money) {
        let Some(counted) = self.counted.as_ref().filter(|_| cost > Money::ZERO) else { return };
        let (mut sums, today) = (counted.sums(), counted.today());
        for account in &*self.charged {
            *sums.untold.entry((today, account.clone())).or_default() += cost;
        }
    }

    /// Whether the day's dollars are spent, as far as this process knows, with so much more that is not recorded yet.
    pub(crate) fn is_spent_with(&self, more: Money) -> bool {
        self.spent_with(more).is_some()
    }

    fn spent_with(&self, more: Money) -> Option<&Account> {
        let counted = self.counted.as_ref()?;
        self.charged.iter().find(|account| counted.is_spent_with(account, more))
    }

    /// Tells the store what was spent here, and hears what all have spent.
    pub(crate) async fn tell(&self) -> Result<(), JournalError> {
        match &self.counted {
            Some(counted) => counted.tell(&self.charged).await,
            None => Ok(()),
        }
    }

    /// The same for somebody who will not hear of others: nothing is asked where nothing is to be told.
    pub(crate) async fn tell_the_rest(&self) {
        let has_any = self.counted.as_ref().is_some_and(|counted| !counted.sums().untold.is_empty());
        if has_any && let Err(error) = self.tell().await {
            tracing::debug!(%error, "what was spent is told later");
        }
    }

    /// Refuses to begin anything where the day's dollars are spent.
    pub(crate) async fn check(&self) -> Result<(), HubError> {
        self.tell().await?;
        let (Some(account), Some(counted)) = (self.spent_with(Money::ZERO), &self.counted) else { return Ok(()) };
        let (limit, until) = (counted.limit(account), counted.today().end());
        Err(match account {
            None => HubError::DaySpent { limit, until },
            Some(_) => HubError::ShareSpent { limit, until },
        })
    }
}

impl Counted {
    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn today(&self) -> Day {
        Day::of(self.clock.now())
    }

    fn limit(&self, account: &Account) -> Money {
        self.limits.get(account).copied().unwrap_or_default()
    }

    fn is_spent_with(&self, account: &Account, more: Money) -> bool {
        let (sums, today) = (self.sums(), self.today());
        let known = sums.known.get(account).filter(|(day, _)| *day == today).map_or(Money::ZERO, |(_, known)| *known);
        let untold = sums.untold.get(&(today, account.clone())).copied().unwrap_or_default();
        known.plus(untold).plus(more) >= self.limit(account)
    }

    /// Tells everything that was not told, and asks for these accounts in any case.
    async fn tell(&self, asked: &[Account]) -> Result<(), JournalError> {
        let today = self.today();
        let mut telling = Telling { counted: self, left: std::mem::take(&mut self.sums().untold) };
        // What others spend ends sessions here too: whatever was heard of is asked for again.
        let heard: Vec<Account> = self.sums().known.keys().cloned().collect();
        for account in asked.iter().cloned().chain(heard) {
            telling.left.entry((today, account)).or_default();
        }
        while let Some(((day, account), cost)) = telling.left.first_key_value().map(|(key, cost)| (key.clone(), *cost))
        {
            let known = self.quotas.spend(day, account.as_ref(), cost).await?;
            telling.left.remove(&(day, account.clone()));
            if day == today {
                self.sums().known.insert(account, (day, known));
            }
        }
        Ok(())
    }
}

/// What is being told. Where the store does not answer, or whoever asks goes away, the rest is told the next time. It
/// may have been added all the same: better counted twice than not at all.
struct Telling<'a> {
    counted: &'a Counted,
    left: Untold,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let mut sums = self.counted.sums();
        for (key, cost) in std::mem::take(&mut self.left) {
            *sums.untold.entry(key).or_default() += cost;
        }
    }
}
