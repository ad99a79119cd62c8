//! What nodes share, in memory.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use polylogue_core::{Tenant, money::Money};
use tokio::time::Instant;

use super::{MemoryJournal, is_alive};
use crate::port::{Day, Grant, Holder, JournalError, NodeId, Quotas, Wish};

#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Places are held until a moment.
    places: BTreeMap<Arc<str>, Vec<(Holder, Instant)>>,
    spent: BTreeMap<(Day, Option<Tenant>), Money>,
    /// From when on moments are counted.
    began: Option<Instant>,
}

#[async_trait]
impl Quotas for MemoryJournal {
    async fn hold(&self, node: NodeId, wish: Wish, lease: Duration) -> Result<Grant, JournalError> {
        let (mut kept, now) = (self.lock(), Instant::now());
        let is_alone = !kept.nodes.keys().any(|other| *other != node && is_alive(&kept.nodes, *other));
        let began = *kept.quotas.began.get_or_insert(now);
        let moment = i64::try_from(now.duration_since(began).as_millis()).unwrap_or(i64::MAX);
        let holders = kept.quotas.places.entry(wish.provider.clone()).or_default();
        holders.retain(|(_, until)| *until > now);
        let known: Vec<Holder> = holders.iter().map(|(holder, _)| *holder).collect();
        let (holder, grant) = wish.grant(node, &known, is_alone, moment);
        holders.retain(|(holder, _)| holder.node != node);
        if holder.held > 0 || holder.wants > 0 {
            holders.push((holder, now + lease));
        }
        Ok(grant)
    }

    async fn spend(&self, day: Day, whose: Option<&Tenant>, cost: Money) -> Result<Money, JournalError> {
        let mut kept = self.lock();
        let spent = kept.quotas.spent.entry((day, whose.cloned())).or_default();
        *spent += cost;
        Ok(*spent)
    }
}
