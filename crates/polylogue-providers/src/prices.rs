//! What models charge: the user's own prices first, then dated data, and otherwise nobody knows.

use std::collections::{BTreeMap, BTreeSet};

use genai_prices::{PriceRequest, Usage, UsageKey};
use polylogue_core::{
    money::{Money, Price},
    setup::ModelRef,
};

use crate::{settings::OwnPrice, speech::Billing};

/// Tokens that a rate is asked for. Few, because some models charge more for a long request.
const SAMPLE: f64 = 1_000.0;

/// Providers that cost nothing: what they run, they run on the user's own machine.
const FREE: [&str; 4] = ["local", "script", "command", "ollama"];

/// The prices that hold for this user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    own: BTreeMap<String, OwnPrice>,
    /// Providers on the user's own machines.
    private: BTreeSet<String>,
}

impl Prices {
    /// With prices of one's own, by `provider/model` or `provider/*`.
    pub fn new(own: BTreeMap<String, OwnPrice>) -> Self {
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
        if let Some(price) = self.own(&model.provider, &model.model, OwnPrice::of_tokens) {
            return Some(price);
        }
        if FREE.contains(&&*model.provider) || self.private.contains(&*model.provider) {
            return Some(Price::FREE);
        }
        listed(model)
    }
}

/// In dollars per million characters, about what was published in 2026. Only OpenAI's `tts-1` voices have one price for
/// everybody. ElevenLabs sells credits, whose price depends on the plan, and OpenAI bills its newest voice by tokens of
/// sound: these are rounded figures for usual plans and usual speech. `[prices]` says what somebody really pays.
const SPEECH: [(&str, &str, f64); 7] = [
    ("elevenlabs", "eleven_v3", 100.0),
    ("elevenlabs", "eleven_multilingual_v2", 100.0),
    ("elevenlabs", "eleven_flash_v2", 50.0),
    ("elevenlabs", "eleven_turbo_v2", 50.0),
    ("openai", "tts-1-hd", 30.0),
    ("openai", "tts-1", 15.0),
    ("openai", "gpt-4o-mini-tts", 17.0),
];

impl Prices {
    /// What it costs to have so many characters spoken; `None` when nobody knows.
    pub fn of_speech(&self, billing: &Billing, characters: u64) -> Option<Money> {
        let listed = || {
            let known =
                |(engine, model, _): &&(&str, &str, f64)| *engine == billing.engine && billing.model.starts_with(model);
            SPEECH.iter().find(known).map(|(_, _, price)| *price)
        };
        let own = self.own(billing.engine, &billing.model, OwnPrice::of_characters);
        let price = own.or_else(|| if billing.is_private { Some(0.0) } else { listed() })?;
        Some(Money::from_usd(price * characters as f64 / 1e6))
    }

    /// A price of the user's own, where it is one of this sort.
    fn own<T>(&self, provider: &str, model: &str, sort: impl Fn(&OwnPrice) -> Option<T>) -> Option<T> {
        let of = |name: String| self.own.get(&name).and_then(&sort);
        of(format!("{provider}/{model}")).or_else(|| of(format!("{provider}/*")))
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
        let tokens = OwnPrice::Tokens;
        let prices = Prices::new(BTreeMap::from([
            ("lab/qwen3-8b".to_owned(), tokens(own)),
            ("shed/*".to_owned(), tokens(Price::FREE)),
            ("openai/gpt-4o".to_owned(), tokens(own)),
            ("attic/dear".to_owned(), tokens(own)),
            ("openai/*".to_owned(), OwnPrice::Characters(1.0)),
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

    #[test]
    fn speech_costs_what_the_user_says_or_the_vendor_lists() {
        let own = BTreeMap::from([
            ("elevenlabs/*".to_owned(), OwnPrice::Characters(60.0)),
            ("openai/tts-1".to_owned(), OwnPrice::Characters(10.0)),
            ("openai/*".to_owned(), OwnPrice::Tokens(Price { input: 9.0, output: 9.0, ..Price::FREE })),
        ]);
        let (none, own) = (Prices::default(), Prices::new(own));
        for (prices, engine, model, is_private, per_million) in [
            (&none, "elevenlabs", "eleven_multilingual_v2", false, Some(100.0)),
            (&none, "elevenlabs", "eleven_flash_v2_5", false, Some(50.0)),
            (&none, "elevenlabs", "eleven_next", false, None),
            (&none, "openai", "tts-1-hd", false, Some(30.0)),
            (&none, "openai", "tts-1", false, Some(15.0)),
            (&none, "openai", "kokoro", true, Some(0.0)),
            (&own, "elevenlabs", "eleven_next", false, Some(60.0)),
            (&own, "openai", "tts-1", true, Some(10.0)),
            (&own, "openai", "tts-1-hd", false, Some(30.0)),
        ] {
            let billing = Billing { engine, model: model.to_owned(), is_private };
            let cost = prices.of_speech(&billing, 1_000_000);
            assert_eq!(cost, per_million.map(Money::from_usd), "{engine}/{model}");
        }
    }
}
