//! What models charge: the user's own prices first, then dated data, and otherwise nobody knows.

use std::collections::{BTreeMap, BTreeSet};

use genai_prices::{PriceRequest, Usage, UsageKey};
use polylogue_core::{money::Price, setup::ModelRef};

/// Tokens that a rate is asked for. Few, because some models charge more for a long request.
const SAMPLE: f64 = 1_000.0;

/// Providers that cost nothing: what they run, they run on the user's own machine.
const FREE: [&str; 4] = ["local", "script", "command", "ollama"];

/// The prices that hold for this user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    own: BTreeMap<String, Price>,
    /// Providers on the user's own machines.
    private: BTreeSet<String>,
}

impl Prices {
    /// With prices of one's own, by `provider/model` or `provider/*`.
    pub fn new(own: BTreeMap<String, Price>) -> Self {
        Prices { own, private: BTreeSet::new() }
    }

    /// The same, where these providers are on the user's own machines: they cost nothing unless a price of one's own
    /// says otherwise.
    #[must_use]
    pub fn with_private<'a>(self, providers: impl IntoIterator<Item = &'a str>) -> Self {
        Prices { private: providers.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// `None` when nobody knows: an unknown price is never zero.
    pub fn of(&self, model: &ModelRef) -> Option<Price> {
        let own = self.own.get(&model.to_string()).or_else(|| self.own.get(&format!("{}/*", model.provider)));
        if let Some(price) = own {
            return Some(*price);
        }
        if FREE.contains(&&*model.provider) || self.private.contains(&*model.provider) {
            return Some(Price::FREE);
        }
        listed(model)
    }
}

/// From the data of the `genai-prices` crate.
fn listed(model: &ModelRef) -> Option<Price> {
    let provider = match &*model.provider {
        "openai" => "openai",
        "anthropic" => "anthropic",
        "gemini" => "google",
        "openrouter" => "openrouter",
        _ => return None,
    };
    let rate = |parts: &[UsageKey]| {
        let usage: Usage = parts.iter().map(|part| (part.clone(), SAMPLE)).collect();
        let request = PriceRequest::new(&model.model, &usage).with_provider_id(provider);
        let dollars = genai_prices::calculate(&request).ok()?.total_price;
        // Whole millionths of a dollar: the data are floats.
        Some((dollars / SAMPLE * 1e12).round() / 1e6)
    };
    let input = rate(&[UsageKey::INPUT_TOKENS])?;
    let output = rate(&[UsageKey::OUTPUT_TOKENS])?;
    let unless_same = |price: Option<f64>| price.filter(|price| *price != input);
    Some(Price {
        input,
        output,
        cached: unless_same(rate(&[UsageKey::INPUT_TOKENS, UsageKey::CACHE_READ_TOKENS])),
        cache_write: unless_same(rate(&[UsageKey::INPUT_TOKENS, UsageKey::CACHE_WRITE_TOKENS])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_prices_come_first_and_the_unknown_is_not_free() {
        let own = Price { input: 0.1, output: 0.4, cached: None, cache_write: None };
        let prices = Prices::new(BTreeMap::from([
            ("lab/qwen3-8b".to_owned(), own),
            ("shed/*".to_owned(), Price::FREE),
            ("openai/gpt-4o".to_owned(), own),
            ("attic/dear".to_owned(), own),
        ]))
        .with_private(["attic"]);
        let full = |input, output, cached, cache_write| Some(Price { input, output, cached, cache_write });
        for (model, expected) in [
            ("lab/qwen3-8b", Some(own)),
            ("lab/other", None),
            ("attic/anything", Some(Price::FREE)),
            ("attic/dear", Some(own)),
            ("shed/anything", Some(Price::FREE)),
            ("openai/gpt-4o", Some(own)),
            ("openai/gpt-6.1-terra", full(1.0, 5.0, Some(0.05), Some(1.25))),
            ("anthropic/claude-sonnet-4-5", full(3.0, 15.0, Some(0.3), Some(3.75))),
            ("anthropic/claude-sonnet-5-5", full(2.0, 10.0, Some(0.1), Some(2.5))),
            ("gemini/gemini-2.5-pro", full(1.25, 10.0, Some(0.125), None)),
            ("openai/gpt-99", None),
            ("local/smollm2", Some(Price::FREE)),
            ("script/replies.toml", Some(Price::FREE)),
            ("command/coder", Some(Price::FREE)),
            ("ollama/llama3.2", Some(Price::FREE)),
        ] {
            assert_eq!(prices.of(&model.parse().unwrap()), expected, "{model}");
        }
        assert!(prices.of(&"openrouter/openai/gpt-4o".parse().unwrap()).is_some());
    }
}
