//! The limits of a session: what an ask can use at most, what is left, and which limit is in the way.

use super::Stage;
use crate::{
    ask::Ask,
    ledger::Usage,
    money::Money,
    reason::{Ending, Reason},
    setup::Change,
};

/// Tokens and dollars that may still be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    pub tokens: u64,
    pub cost: Money,
}

/// What is used or may yet be used by what is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Committed {
    tokens: u64,
    cost: Money,
}

impl Committed {
    fn add(&mut self, usage: Usage, cost: Money) {
        self.tokens = self.tokens.saturating_add(usage.total());
        self.cost += cost;
    }
}

impl Stage {
    /// The most that an ask can use. Where writing to the provider's cache costs more than reading afresh, all input
    /// counts as written.
    pub(crate) fn estimate(&self, ask: &Ask) -> Usage {
        let usage = ask.request.estimate();
        let price = self.price_of(&ask.id.agent).unwrap_or_default();
        let is_dearer = price.cache_write.is_some_and(|write| write > price.input);
        Usage { cache_written: if is_dearer { usage.input } else { 0 }, ..usage }
    }

    /// What is kept for the text while lines are spoken: speech ends before the words do.
    pub fn kept_for_text(&self) -> Money {
        self.dearest_ask
    }

    /// What the limits leave when all that is under way is counted at its highest.
    pub fn allowance(&self) -> Allowance {
        let Committed { tokens, cost } = self.committed();
        Allowance { tokens: self.limits.max_tokens.saturating_sub(tokens), cost: self.limits.max_usd.minus(cost) }
    }

    /// What has been used, with everything under way counted at its highest.
    pub(crate) fn committed(&self) -> Committed {
        let mut committed = Committed { tokens: self.ledger.total().usage.total(), cost: self.ledger.known_cost() };
        for open in &self.open {
            committed.add(open.estimate, open.cost);
        }
        committed
    }

    /// Commits to one more ask, or names the limit that it could pass.
    pub(crate) fn commit(&self, ask: &Ask, committed: &mut Committed) -> Result<(), Reason> {
        let estimate = self.estimate(ask);
        committed.add(estimate, self.cost_of(&ask.id.agent, &estimate));
        if self.active_ms >= self.limits.max_seconds.saturating_mul(1000) {
            Err(Reason::LIMIT_SECONDS)
        } else if committed.tokens > self.limits.max_tokens {
            Err(Reason::LIMIT_TOKENS)
        } else if committed.cost > self.limits.max_usd {
            Err(Reason::LIMIT_USD)
        } else {
            Ok(())
        }
    }

    /// Whether a limit that ended the session is higher now than it was.
    pub(crate) fn is_raised(&self, reason: Reason, change: &Change) -> bool {
        let Some(new) = &change.limits else { return false };
        match reason {
            Reason::LIMIT_USD => new.max_usd > self.limits.max_usd,
            Reason::LIMIT_TOKENS => new.max_tokens > self.limits.max_tokens,
            Reason::LIMIT_SECONDS => new.max_seconds > self.limits.max_seconds,
            other => other.ending() != Ending::Limit,
        }
    }

    /// What a limit that ended the session has to say, in words.
    pub(crate) fn limit_in_words(&self, reason: Reason) -> Option<String> {
        Some(match reason {
            Reason::LIMIT_USD => format!("the next call could pass the limit of {}", self.limits.max_usd),
            Reason::LIMIT_TOKENS => format!("the next call could pass the limit of {} tokens", self.limits.max_tokens),
            Reason::LIMIT_SECONDS => format!("the limit of {} seconds is reached", self.limits.max_seconds),
            _ => return None,
        })
    }
}
