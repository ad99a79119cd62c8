//! What was used and what it cost, by agent and purpose. Derived from the journal like everything else.

use std::{collections::BTreeMap, ops::AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentId, AskId, Purpose},
    money::{Money, Price},
};

/// Tokens of one or several calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// All input, cached or not.
    pub input: u64,
    /// All output, reasoning included.
    pub output: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_written: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// The provider did not say, so it was counted from the text.
    #[serde(skip_serializing_if = "is_false")]
    pub estimated: bool,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_false(b: &bool) -> bool {
    !b
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.cache_written = self.cache_written.saturating_add(other.cache_written);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.estimated = self.estimated || other.estimated;
    }
}

/// Roughly how many tokens a text is: four letters of a Latin script each, one for every other character.
pub fn estimate_tokens(text: &str) -> u64 {
    let mut count = TokenCount::default();
    count.add(text);
    count.tokens()
}

/// The same count for a text that comes in pieces, wherever it is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCount {
    ascii: usize,
    chars: usize,
}

impl TokenCount {
    pub fn add(&mut self, text: &str) {
        // Counted in parts whose sums fit a byte, which processors do many at a time.
        for part in text.as_bytes().chunks(255) {
            self.ascii += usize::from(part.iter().map(|byte| u8::from(byte.is_ascii())).sum::<u8>());
            // A byte of the form 10xxxxxx goes on with the character before it.
            self.chars += usize::from(part.iter().map(|byte| u8::from((*byte as i8) >= -0x40)).sum::<u8>());
        }
    }

    pub fn tokens(&self) -> u64 {
        (self.ascii.div_ceil(4) + self.chars - self.ascii) as u64
    }
}

/// The sum of some calls. `cost` is `None` as soon as one of them had no known price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    pub calls: u64,
    pub usage: Usage,
    pub cost: Option<Money>,
}

impl Default for Account {
    fn default() -> Self {
        Account { calls: 0, usage: Usage::default(), cost: Some(Money::ZERO) }
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Account) {
        self.calls += other.calls;
        self.usage += other.usage;
        self.cost = self.cost.zip(other.cost).map(|(a, b)| a.plus(b));
    }
}

/// The accounts of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    accounts: BTreeMap<(AgentId, Purpose), Account>,
    /// By the turns that asks belong to.
    turns: BTreeMap<u32, Account>,
    total: Account,
    known_cost: Money,
}

impl Ledger {
    pub fn charge(&mut self, ask: &AskId, usage: Usage, price: Option<&Price>) {
        let account = Account { calls: 1, usage, cost: price.map(|price| price.of(&usage)) };
        self.add(&ask.agent, ask.purpose, account);
        *self.turns.entry(ask.turn).or_default() += account;
    }

    /// A clip that its engine bills. It is no call and has no tokens.
    pub fn charge_speech(&mut self, agent: &AgentId, cost: Option<Money>) {
        self.add(agent, Purpose::SPEECH, Account { calls: 0, usage: Usage::default(), cost });
    }

    fn add(&mut self, agent: &AgentId, purpose: Purpose, account: Account) {
        *self.accounts.entry((agent.clone(), purpose)).or_default() += account;
        self.total += account;
        self.known_cost += account.cost.unwrap_or_default();
    }

    pub fn total(&self) -> &Account {
        &self.total
    }

    /// What the calls with a known price cost: the part that a limit in dollars can hold to.
    pub fn known_cost(&self) -> Money {
        self.known_cost
    }

    pub fn accounts(&self) -> impl Iterator<Item = (&AgentId, Purpose, &Account)> {
        self.accounts.iter().map(|((agent, purpose), account)| (agent, *purpose, account))
    }

    /// What the asks of each turn came to, as their format numbers turns. Speech belongs to none.
    pub fn turns(&self) -> impl Iterator<Item = (u32, &Account)> {
        self.turns.iter().map(|(turn, account)| (*turn, account))
    }

    pub fn by_agent(&self) -> BTreeMap<&AgentId, Account> {
        let mut sums: BTreeMap<&AgentId, Account> = BTreeMap::new();
        for ((agent, _), account) in &self.accounts {
            *sums.entry(agent).or_default() += *account;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_as_people_would() {
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é", 1), ("日本語", 3), ("abcd日", 2)]
        {
            assert_eq!(estimate_tokens(text), tokens, "{text}");
        }
        let long = "word—日本語 🎈 ".repeat(500);
        let ascii = long.chars().filter(char::is_ascii).count();
        assert_eq!(estimate_tokens(&long), (ascii.div_ceil(4) + long.chars().count() - ascii) as u64);
        let mut pieces = TokenCount::default();
        long.split_inclusive(' ').for_each(|piece| pieces.add(piece));
        assert_eq!(pieces.tokens(), estimate_tokens(&long), "pieces count as the whole");
    }

    #[test]
    fn one_unknown_price_makes_the_sum_unknown_but_never_zero() {
        let (gpt, lab): (AgentId, AgentId) = ("gpt".parse().unwrap(), "lab".parse().unwrap());
        let price = Price { input: 1.0, output: 2.0, cached: None, cache_write: None };
        let usage = Usage { input: 1_000_000, output: 500_000, ..Usage::default() };
        let ask = |agent: &AgentId, turn| AskId {
            purpose: Purpose::new("contribute"),
            turn,
            agent: agent.clone(),
            attempt: 1,
        };
        let mut ledger = Ledger::default();
        assert_eq!(ledger.total().cost, Some(Money::ZERO));
        ledger.charge(&ask(&gpt, 1), usage, Some(&price));
        ledger.charge(&ask(&gpt, 2), usage, Some(&price));
        assert_eq!(ledger.total().cost, Some(Money::from_usd(4.0)));
        ledger.charge(&ask(&lab, 2), usage, None);
        assert_eq!(ledger.total().cost, None);
        assert_eq!(ledger.known_cost(), Money::from_usd(4.0));
        assert_eq!(ledger.total().usage.total(), 4_500_000);
        assert_eq!(ledger.by_agent()[&gpt].cost, Some(Money::from_usd(4.0)));
        assert_eq!(ledger.by_agent()[&lab].cost, None);
        let turns: Vec<(u32, u64, Option<Money>)> =
            ledger.turns().map(|(turn, account)| (turn, account.calls, account.cost)).collect();
        assert_eq!(turns, [(1, 1, Some(Money::from_usd(2.0))), (2, 2, None)]);
    }

    #[test]
    fn tokens_are_estimated_for_every_script() {
        for (text, tokens) in [("", 0), ("four", 1), ("fours", 2), ("日本語", 3), ("café", 2)] {
            assert_eq!(estimate_tokens(text), tokens, "{text}");
        }
    }
}
