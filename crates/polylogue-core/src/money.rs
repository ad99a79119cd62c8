//! Dollars without rounding: amounts are whole picodollars, prices are picodollars per token.

use std::{borrow::Cow, fmt, ops::AddAssign};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ledger::Usage;

const PICO: f64 = 1e12;

/// An amount in US dollars, exact to a picodollar. One token at $0.0375 per million is 37,500 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Money {
    picodollars: u64,
}

impl Money {
    pub const ZERO: Money = Money { picodollars: 0 };

    /// Negative and absurd amounts become the nearest that can be held.
    pub fn from_usd(usd: f64) -> Money {
        Money { picodollars: (usd * PICO).round() as u64 }
    }

    pub const fn from_picodollars(picodollars: u64) -> Money {
        Money { picodollars }
    }

    pub const fn picodollars(self) -> u64 {
        self.picodollars
    }

    pub fn usd(self) -> f64 {
        self.picodollars as f64 / PICO
    }

    #[must_use]
    pub fn plus(self, other: Money) -> Money {
        Money { picodollars: self.picodollars.saturating_add(other.picodollars) }
    }

    /// What is left of it; nothing when the other is more.
    #[must_use]
    pub fn minus(self, other: Money) -> Money {
        Money { picodollars: self.picodollars.saturating_sub(other.picodollars) }
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Money) {
        *self = self.plus(other);
    }
}

/// Cents and below matter here, so small amounts get four digits.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usd = self.usd();
        if usd == 0.0 || usd >= 1.0 { write!(f, "${usd:.2}") } else { write!(f, "${usd:.4}") }
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.usd())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let usd = f64::deserialize(from)?;
        if usd.is_finite() && usd >= 0.0 {
            Ok(Money::from_usd(usd))
        } else {
            Err(serde::de::Error::custom("an amount of money is a number of dollars, zero or more"))
        }
    }
}

impl JsonSchema for Money {
    fn schema_name() -> Cow<'static, str> {
        "Money".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "US dollars", "type": "number", "minimum": 0 })
    }
}

/// What a model charges, in dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Input read from the provider's prompt cache; as `input` when the vendor names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Input written to the provider's prompt cache; as `input` when the vendor names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What a model on one's own machine costs.
    pub const FREE: Price = Price { input: 0.0, output: 0.0, cached: None, cache_write: None };

    pub fn of(&self, usage: &Usage) -> Money {
        let fresh = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_written);
        let mut total = Money::ZERO;
        for (tokens, per_million) in [
            (fresh, self.input),
            (usage.cached, self.cached.unwrap_or(self.input)),
            (usage.cache_written, self.cache_write.unwrap_or(self.input)),
            (usage.output, self.output),
        ] {
            let per_token = (per_million * 1e6).round() as u64;
            total += Money { picodollars: per_token.saturating_mul(tokens) };
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_counts_each_kind_of_token_once() {
        let price = Price { input: 3.0, output: 15.0, cached: Some(0.3), cache_write: Some(3.75) };
        let usage =
            Usage { input: 1_000_000, cached: 400_000, cache_written: 100_000, output: 10_000, ..Usage::default() };
        // 0.5 M fresh at 3 + 0.4 M cached at 0.3 + 0.1 M written at 3.75 + 0.01 M out at 15
        assert_eq!(price.of(&usage), Money::from_usd(1.5 + 0.12 + 0.375 + 0.15));
        assert_eq!(Price::FREE.of(&usage), Money::ZERO);
    }

    #[test]
    fn small_amounts_are_exact_and_readable() {
        let one = Price { input: 0.0375, output: 0.0, cached: None, cache_write: None };
        let mut sum = Money::ZERO;
        for _ in 0..1_000_000 {
            sum += one.of(&Usage { input: 1, ..Usage::default() });
        }
        assert_eq!(sum.usd(), 0.0375);
        assert_eq!(sum.to_string(), "$0.0375");
        assert_eq!(Money::ZERO.to_string(), "$0.00");
        assert_eq!(Money::from_usd(12.345).to_string(), "$12.35");
    }
}
