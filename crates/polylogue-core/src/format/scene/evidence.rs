//! The parts of a scene's goal, and the words that fulfil them.
//!
//! The moderator names the parts once, in its first judgement, so that they cannot shrink towards the end; then, for a
//! part that is fulfilled, the words that fulfil it. A goal is reached only when every part has words that were really
//! heard. What was cut off was not, and words that are cut off later are no evidence any more.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Judgement,
    told::{NOW, Onstage},
    vocabulary::kind,
};
use crate::text::cut::words;

/// The most parts of a goal that are kept.
pub(super) const MAX_PARTS: usize = 6;

/// What quotes of so many words may differ in: a word of five. Shorter ones are taken at their word.
const EXACT_WORDS: usize = 4;

/// Words that fulfil a part of the goal, as the moderator quotes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GoalEvidence")]
pub struct Evidence {
    /// Which part, counted from 1.
    pub part: u8,
    pub quote: Arc<str>,
}

/// What is known of the goal.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Goal {
    /// As the moderator named them. While it has not, the goal is one part.
    parts: Vec<Arc<str>>,
    /// Words that were heard when they were quoted.
    shown: Vec<Evidence>,
    /// What could not be found when it was quoted last.
    refuted: Vec<Evidence>,
    /// Whether the moderator last said that the goal is reached, and it was not shown.
    is_overstated: bool,
}

impl Goal {
    /// The goal with what a judgement says of it.
    pub(super) fn with(&self, judgement: &Judgement) -> Goal {
        let mut goal = self.clone();
        if goal.parts.is_empty() {
            goal.parts.clone_from(&judgement.parts);
        }
        goal.shown.extend(judgement.evidence.iter().cloned());
        goal.refuted.clone_from(&judgement.refuted);
        goal.is_overstated = judgement.goal_reached;
        goal
    }

    fn count(&self) -> usize {
        self.parts.len().max(1)
    }

    /// Whether words that were heard fulfil every part.
    pub(super) fn is_shown(&self, onstage: Onstage<'_>) -> bool {
        self.missing(onstage).is_empty()
    }

    /// The parts that nothing shows, counted from 1.
    fn missing(&self, onstage: Onstage<'_>) -> Vec<usize> {
        let is_shown = |part: &usize| {
            let of_part = self.shown.iter().filter(|evidence| usize::from(evidence.part) == *part);
            of_part.into_iter().any(|evidence| is_heard(onstage, &evidence.quote))
        };
        (1..=self.count()).filter(|part| !is_shown(part)).collect()
    }

    /// What the moderator is to know of it: everything in a request that stands alone, else what it has to put right.
    pub(super) fn remarks(&self, onstage: Onstage<'_>, is_whole: bool, beat: u32) -> Vec<String> {
        let mut remarks = Vec::new();
        // Looking through all that was said is only worth it where there is something to say.
        let missing = if is_whole || self.is_overstated { self.missing(onstage) } else { Vec::new() };
        let named = |part: usize| match self.parts.get(part - 1) {
            Some(text) => format!("{part}. {text}"),
            None => format!("{part}. the whole goal"),
        };
        if self.parts.is_empty() && (beat == 1 || is_whole || self.is_overstated) {
            remarks.push("Name the parts of the goal in this judgement (`parts`).".to_owned());
        } else if is_whole {
            let part = |part: usize| match missing.contains(&part) {
                true => format!("{} (open)", named(part)),
                false => format!("{} (shown)", named(part)),
            };
            remarks.push(format!("PARTS OF THE GOAL: {}", (1..=self.count()).map(part).collect::<Vec<_>>().join("; ")));
        }
        for Evidence { part, quote } in &self.refuted {
            remarks.push(format!("Nobody was heard to say \"{quote}\": that is no evidence for part {part}."));
        }
        if self.is_overstated {
            let missing: Vec<String> = missing.into_iter().map(named).collect();
            remarks.push(format!("The goal does not count as reached: no evidence for {}.", missing.join("; ")));
        }
        remarks
    }
}

/// Tells what was heard from what was not, among what a moderator quotes. What names no part that there is counts for
/// none.
pub(super) fn tried(quoted: Vec<Evidence>, parts: usize, onstage: Onstage<'_>) -> (Vec<Evidence>, Vec<Evidence>) {
    let known = quoted.into_iter().filter(|evidence| (1..=parts.max(1)).contains(&usize::from(evidence.part)));
    known.partition(|evidence| is_heard(onstage, &evidence.quote))
}

impl Goal {
    /// How many parts it has, once this judgement has named any.
    pub(super) fn parts_with(&self, named: &[Arc<str>]) -> usize {
        if self.parts.is_empty() { named.len() } else { self.parts.len() }
    }
}

/// Whether somebody was heard to say it or seen to do it, in these words or nearly.
fn is_heard(onstage: Onstage<'_>, quote: &str) -> bool {
    let wanted = plain(said_in(quote));
    let lines = onstage.stage.transcript().lines().iter().filter(|line| line.kind != kind::SYSTEM);
    let mut heard = lines.flat_map(|line| {
        let acts = line.delivery.nonverbal.iter().map(|act| plain(act));
        [plain(&line.heard(NOW))].into_iter().chain(acts)
    });
    let mut seen = onstage.silences.iter().flat_map(|seen| &seen.nonverbal).map(|act| plain(act));
    !wanted.is_empty() && (heard.any(|heard| has(&heard, &wanted)) || seen.any(|seen| has(&seen, &wanted)))
}

/// The words of a quote, where it is given with its speaker and bracket: `Bob [TONE: sad] "I am sorry."`.
fn said_in(quote: &str) -> &str {
    let inner = |open: char, close: char| {
        let start = quote.find(open)? + open.len_utf8();
        let end = quote.rfind(close).filter(|end| *end > start)?;
        Some(&quote[start..end])
    };
    let inner = inner('"', '"').or_else(|| inner('“', '”'));
    let named =
        || quote.split_once(": ").filter(|(name, _)| name.split_whitespace().count() <= 2).map(|(_, said)| said);
    inner.or_else(named).unwrap_or(quote)
}

fn plain(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.plain).collect()
}

/// Whether the words stand in what was heard: in a row or, of a longer quote, four of five in their order.
fn has(heard: &[String], wanted: &[String]) -> bool {
    if heard.windows(wanted.len()).any(|window| window == wanted) {
        return true;
    }
    wanted.len() > EXACT_WORDS && in_order(heard, wanted) * 5 >= wanted.len() * 4
}

/// How many of the words stand in what was heard in their order.
fn in_order(heard: &[String], wanted: &[String]) -> usize {
    let mut best = vec![0; wanted.len() + 1];
    for word in heard {
        let mut diagonal = 0;
        for (at, other) in wanted.iter().enumerate() {
            let above = best[at + 1];
            best[at + 1] = if word == other { diagonal + 1 } else { above.max(best[at]) };
            diagonal = above;
        }
    }
    best[wanted.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_found_although_it_is_not_exact() {
        let line =
            "Because you'd told them I never slip. I'm sorry, Alice. Not for the delay. For letting you walk in.";
        for (quote, is_there) in [
            ("I'm sorry, Alice.", true),
            ("i’m SORRY alice", true),
            ("Bob: \"I'm sorry, Alice. Not for the delay.\"", true),
            ("Bob [TO: Alice, TONE: sad] \"I'm sorry, Alice.\"", true),
            ("Bob: I'm sorry, Alice", true),
            ("I'm sorry, Alice, not for a delay, for letting you walk in", true),
            ("I'm sorry, Alice ... for letting you walk in", true),
            ("I'm so sorry", false),
            ("sorry, Bob", false),
            ("I accept your apology, Bob, and I mean it", false),
            ("", false),
            ("…", false),
        ] {
            let wanted = plain(said_in(quote));
            assert_eq!(!wanted.is_empty() && has(&plain(line), &wanted), is_there, "{quote}");
        }
    }
}
