//! Who speaks in a beat where the floor is bid for.
//!
//! Each reply begins with how much the character wants to speak, from 0 to 9, and `!` if it cuts in: `7 [TO: Bob…`. One
//! call brings the bid and the words, so that a floor costs no second round of asking. Half of the cast may speak, and
//! one of two or three. Those who want it most do; whoever wanted to and had to wait wants it more each time, so
//! nobody starves; of equals the first to answer speaks. What is done without a word needs no floor.

use std::{cmp::Reverse, sync::Arc};

use super::{
    Decision, Scene,
    bracket::{Action, ActionKind},
    player::Player,
};
use crate::{
    event::Event,
    id::{AgentId, AskId},
    stage::Stage,
    text::reply::thought_through,
};

/// The most that anybody can want to speak.
const MOST: u8 = 9;

/// What somebody wants who says nothing of it.
const UNSAID: u8 = 5;

/// How much more somebody wants to speak for each beat that it had to wait.
const WAITED: u32 = 3;

/// A reply that waits for the others, and what it bids.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) ask: AskId,
    pub(super) text: Arc<str>,
    /// What it bids, and which one it was to answer; none where it needs no floor.
    pub(super) bid: Option<Bid>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bid {
    pub(super) want: u8,
    pub(super) cuts_in: bool,
    /// The place among those who have answered in this beat.
    pub(super) place: u32,
}

impl Bid {
    /// What counts when the floor is granted: the most first.
    fn claim(self, waited: u32) -> (u32, bool, Reverse<u32>) {
        (u32::from(self.want) + WAITED * waited, self.cuts_in, Reverse(self.place))
    }
}

/// What a reply says before its bracket of how much its speaker wants to speak, and the reply after it.
pub(super) fn bid(reply: &str) -> (Option<(u8, bool)>, String) {
    let reply = thought_through(reply);
    let text = reply.trim_start();
    // `BID: 7`, `**7**` and `[7]` say the same.
    let marks = |c: char| c.is_whitespace() || matches!(c, '*' | '`' | '(' | ')' | ':' | '#');
    let bare = text.trim_start_matches(marks);
    let bare = match bare.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("bid") => bare[3..].trim_start_matches(marks),
        _ => bare,
    };
    let (bare, is_bracketed) = match bare.strip_prefix('[') {
        Some(rest) if rest.trim_start().starts_with(|c: char| c.is_ascii_digit()) => (rest.trim_start(), true),
        _ => (bare, false),
    };
    let digits = bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let Ok(want) = bare[..digits].parse::<u32>() else { return (None, text.to_owned()) };
    let mut rest = bare[digits..].trim_start();
    rest = rest.strip_prefix("/10").or_else(|| rest.strip_prefix("/9")).unwrap_or(rest);
    let cuts_in = rest.starts_with('!');
    rest = rest.trim_start_matches('!');
    if is_bracketed {
        rest = rest.trim_start().strip_prefix(']').unwrap_or(rest);
    }
    // A number that words follow is one of the words: "3 of us".
    let rest = rest.trim_start_matches(marks);
    match rest.is_empty() || rest.starts_with(['[', '"', '“']) {
        true => (Some((want.min(MOST.into()) as u8, cuts_in)), rest.to_owned()),
        false => (None, text.to_owned()),
    }
}

impl Scene {
    /// How many may speak in a beat.
    fn places(&self) -> usize {
        (self.players.len() / 2).max(1)
    }

    /// What follows where the floor is bid for: the bid, and, when nobody is waited for any more, who has the floor.
    pub(super) fn bids(&self, stage: &Stage, ask: &AskId, text: &str) -> Vec<Event> {
        let Some(player) = self.player(&ask.agent) else { return Vec::new() };
        let (said, rest) = bid(text);
        let (action, _) = self.read(player, &rest);
        if !action.kind.is_verbal() {
            let done = self.acted(stage, ask, &rest);
            return [done, self.granted(stage, &ask.agent, None)].concat();
        }
        let want = match said {
            Some((want, _)) => want.max(1),
            None => UNSAID,
        };
        let cuts_in = action.kind == ActionKind::Interrupt || said.is_some_and(|(_, cuts_in)| cuts_in);
        let recorded = Event::decision(Decision::Bid { ask: ask.clone(), want, cuts_in });
        let place = self.held().count() as u32 + 1;
        let held = Held { ask: ask.clone(), text: text.into(), bid: Some(Bid { want, cuts_in, place }) };
        [vec![recorded], self.granted(stage, &ask.agent, Some(held))].concat()
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        self.players.iter().filter_map(|player| player.held.as_ref())
    }

    /// Who has the floor, once this one has answered or failed and nobody else is waited for.
    pub(super) fn granted(&self, stage: &Stage, last: &AgentId, own: Option<Held>) -> Vec<Event> {
        // A person speaks whenever they like: nobody's floor waits for them.
        let is_waited_for = |player: &Player| player.id != *last && player.is_due() && !self.is_person(stage, player);
        if self.players.iter().any(is_waited_for) {
            return Vec::new();
        }
        let mut bids: Vec<(&Held, Bid)> =
            self.held().chain(own.as_ref()).filter_map(|held| Some((held, held.bid?))).collect();
        if bids.is_empty() {
            return Vec::new();
        }
        let waited = |held: &Held| self.player(&held.ask.agent).map_or(0, |player| player.waited);
        bids.sort_by_key(|(held, bid)| Reverse(bid.claim(waited(held))));
        let yielding = bids.split_off(self.places().min(bids.len()));
        // Whoever cuts in is heard first.
        bids.sort_by_key(|(_, bid)| (!bid.cuts_in, bid.place));
        let to = bids.iter().map(|(held, _)| held.ask.agent.clone()).collect();
        let mut events = vec![Event::decision(Decision::FloorGranted { beat: self.beat, to })];
        for (held, _) in bids {
            events.extend(self.acted(stage, &held.ask, &bid(&held.text).1));
        }
        let waits = |(held, _): (&Held, Bid)| Event::decision(Decision::Waited { ask: held.ask.clone() });
        events.extend(yielding.into_iter().map(waits));
        events
    }
}

/// A reply with a bid that is sure to count, for words that somebody outside wants said.
pub(super) fn at_most(action: &Action) -> String {
    format!("{MOST}! {action}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bid_stands_before_the_bracket() {
        let line = "[TONE: calm] \"Yes.\"";
        for (reply, want) in [
            ("7 [TONE: calm] \"Yes.\"", Some((7, false))),
            ("8! [TONE: calm] \"Yes.\"", Some((8, true))),
            ("BID: 3 [TONE: calm] \"Yes.\"", Some((3, false))),
            ("**9!**\n[TONE: calm] \"Yes.\"", Some((9, true))),
            ("[4] [TONE: calm] \"Yes.\"", Some((4, false))),
            ("10 [TONE: calm] \"Yes.\"", Some((9, false))),
            ("6/10 [TONE: calm] \"Yes.\"", Some((6, false))),
            ("<think>2 or 3</think>5 [TONE: calm] \"Yes.\"", Some((5, false))),
            (line, None),
        ] {
            assert_eq!(bid(reply), (want, line.to_owned()), "{reply}");
        }
        for words in ["3 of us were there.", "No.", "", "[SILENT]", "Bid farewell."] {
            assert_eq!(bid(words), (None, words.to_owned()));
        }
    }
}
