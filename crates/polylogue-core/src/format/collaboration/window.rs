//! The part of the transcript that an agent is shown: the newest items within a token budget, oldest first.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

use minijinja::{Value, context};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ledger::estimate_tokens;

const MAX_TOKENS: u64 = 2_500;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Window {
    items: VecDeque<Item>,
}

/// A line as agents are shown it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quote {
    pub name: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Arc<str>>,
    pub text: Arc<str>,
}

impl Quote {
    /// How many items a window shows at most.
    pub const MAX_RECENT: usize = 8;

    /// As much of the end of this as a window shows; the rest need not be kept.
    pub fn recent(oldest_first: &[Quote]) -> Vec<Quote> {
        Window::of(oldest_first).items().into_iter().map(|item| item.quote.clone()).collect()
    }
}

#[derive(Clone, Debug)]
struct Item {
    quote: Quote,
    tokens: u64,
    /// It as one line, made when it is first shown.
    line: OnceLock<Value>,
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.quote == other.quote
    }
}

impl Item {
    fn line(&self) -> Value {
        let line = self.line.get_or_init(|| {
            let Quote { name, to, text } = &self.quote;
            let line = match to {
                Some(to) => [name, " to ", to, ": ", text].concat(),
                None => [name, ": ", text].concat(),
            };
            line.into()
        });
        line.clone()
    }

    fn parts(&self) -> Value {
        let Quote { name, to, text } = &self.quote;
        context! { name, to, text }
    }
}

impl Window {
    pub(super) fn of(oldest_first: &[Quote]) -> Window {
        let mut window = Window::default();
        for quote in oldest_first {
            window.push(quote.name.clone(), quote.to.clone(), &quote.text);
        }
        window
    }

    pub(super) fn push(&mut self, name: Arc<str>, to: Option<Arc<str>>, text: &Arc<str>) {
        if self.items.len() == Quote::MAX_RECENT {
            self.items.pop_front();
        }
        let (text, tokens) = within_budget(text);
        self.items.push_back(Item { quote: Quote { name, to, text }, tokens, line: OnceLock::new() });
    }

    /// Each item as a line, for a template.
    pub(super) fn lines(&self) -> Vec<Value> {
        self.items().into_iter().map(Item::line).collect()
    }

    /// Each item by its parts, for a template.
    pub(super) fn parts(&self) -> Vec<Value> {
        self.items().into_iter().map(Item::parts).collect()
    }

    /// Each item as it is.
    pub(super) fn quotes(&self) -> Vec<&Quote> {
        self.items().into_iter().map(|item| &item.quote).collect()
    }

    fn items(&self) -> Vec<&Item> {
        let mut left = MAX_TOKENS;
        let newest_first = self.items.iter().rev().take_while(|item| {
            let fits = item.tokens <= left;
            left = left.saturating_sub(item.tokens);
            fits
        });
        let mut items: Vec<&Item> = newest_first.collect();
        items.reverse();
        items
    }
}

/// An item larger than the whole window keeps its beginning: better a part than nothing.
fn within_budget(text: &Arc<str>) -> (Arc<str>, u64) {
    let tokens = estimate_tokens(text);
    if tokens <= MAX_TOKENS {
        return (text.clone(), tokens);
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let fits = |end: &usize| estimate_tokens(&text[..*end]) < MAX_TOKENS;
    let end = ends[ends.partition_point(fits).saturating_sub(1)];
    let kept = format!("{}…", &text[..end]);
    let tokens = estimate_tokens(&kept);
    (kept.into(), tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(window: &Window) -> Vec<&str> {
        window.items().iter().map(|item| &*item.quote.text).collect()
    }

    #[test]
    fn the_last_eight_items_are_shown_oldest_first() {
        let mut window = Window::default();
        for n in 1..=11 {
            window.push("gpt".into(), None, &n.to_string().into());
        }
        assert_eq!(texts(&window), ["4", "5", "6", "7", "8", "9", "10", "11"]);
    }

    #[test]
    fn the_oldest_go_first_when_the_budget_is_short() {
        let mut window = Window::default();
        // 600 tokens each: four fit beside the short one, the fifth does not.
        for name in ["a", "b", "c", "d", "e"] {
            window.push(name.into(), None, &"word".repeat(600).into());
        }
        window.push("f".into(), None, &"late".into());
        let names: Vec<&str> = window.items().iter().map(|item| &*item.quote.name).collect();
        assert_eq!(names, ["b", "c", "d", "e", "f"]);
    }

    #[test]
    fn an_item_larger_than_the_window_is_shown_in_part() {
        // As much as the window holds: four letters of a Latin script are a token.
        for (letter, given, shown_chars) in
            [("a", 20_000, 9_997), ("a", 10_001, 9_997), ("a", 10_000, 10_000), ("語", 20_000, 2_500)]
        {
            let mut window = Window::default();
            window.push("gpt".into(), None, &letter.repeat(given).into());
            let shown = texts(&window);
            assert_eq!((shown.len(), shown[0].chars().count()), (1, shown_chars), "{letter} {given}");
            assert_eq!(shown[0].ends_with('…'), shown_chars < given);
        }
    }
}
