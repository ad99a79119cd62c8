//! The most that a session of a score can come to, known before its first call: what its rehearsals use.
//!
//! What a rehearsal uses grows in a straight line with the length of the replies, so it is played with short ones,
//! twice, and drawn out. Where a template may say more with other replies, each way to reply is rehearsed.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Settings,
    language::{Form, Of, Phase, ReplyField, Score, Turn, Who},
    rehearsal::{Charge, NoBound, Rehearsal, Rehearsed, Way, Ways},
};
use crate::{money::Money, setup::BadSetup, setup::Cast};

/// What a session can come to, at most.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScoreBound")]
pub struct Bound {
    /// Turns of agents; each is asked for at most twice.
    pub turns: u64,
    pub asks: u64,
    pub tokens: u64,
    /// `null` when the price of a model is not known.
    #[serde(rename = "usd")]
    pub cost: Option<Money>,
    /// In the order in which they are played first.
    pub phases: Vec<PhaseBound>,
}

/// What a phase can come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScorePhaseBound")]
pub struct PhaseBound {
    pub phase: Arc<str>,
    /// How often it is played.
    pub times: u64,
    /// Those who speak in it.
    pub seats: Vec<Arc<str>>,
    pub turns: u64,
    pub asks: u64,
}

/// Into how many parts the longest reply is cut; it is played with one and with two of them.
pub(super) const PARTS: u32 = 64;
/// Asks that may be rehearsed in search of the ways to reply that come to most.
const MAX_TRIED: u64 = 20_000;
/// Words of a choice that are tried one by one.
const MAX_WORDS: usize = 12;

impl Bound {
    /// The most that these settings can come to with this cast.
    pub fn of(settings: &Settings, cast: &Cast) -> Result<Bound, BadSetup> {
        let of = |ways: &Ways| -> Result<Bound, NoBound> {
            let play = |parts| Rehearsal::of(settings, cast, parts, ways);
            Ok(Bound::drawn_out(play(1)?, &play(2)?))
        };
        let (mut ways, mut left) = (Ways::new(), MAX_TRIED);
        let mut most = of(&ways).map_err(NoBound::into_setup)?;
        let mut cost = most.cost;
        for (field, others) in choices(&settings.score) {
            for way in others {
                let Some(rest) = left.checked_sub(2 * most.asks) else { break };
                left = rest;
                let mut tried = ways.clone();
                tried.insert(field.clone(), way);
                // What is wrong with another way is found when the score is read.
                let Ok(other) = of(&tried) else { continue };
                cost = cost.zip(other.cost).map(|(cost, other)| cost.max(other));
                if other.tokens > most.tokens {
                    (most, ways) = (other, tried);
                }
            }
        }
        Ok(Bound { cost, ..most })
    }

    /// What is wrong with the templates, whatever is replied.
    pub(super) fn tried(settings: &Settings, cast: &Cast) -> Result<(), NoBound> {
        let mut left = MAX_TRIED;
        let play = |ways: &Ways| Rehearsal::of(settings, cast, 1, ways);
        let asks = play(&Ways::new())?.asks();
        for (field, others) in choices(&settings.score) {
            // A number is whole unless the score is ready for others.
            for way in others.into_iter().filter(|way| *way != Way::Fraction) {
                let Some(rest) = left.checked_sub(asks) else { return Ok(()) };
                left = rest;
                play(&Ways::from([(field.clone(), way)]))?;
            }
        }
        Ok(())
    }

    /// What two rehearsals come to when replies are as long as they may be.
    fn drawn_out(one: Rehearsed, two: &Rehearsed) -> Bound {
        let (mut tokens, mut cost) = (0, Some(Money::ZERO));
        for (one, two) in one.charges.iter().zip(&two.charges) {
            let most: Vec<Charge> = one.iter().zip(two).map(|(one, two)| one.drawn_out(two, PARTS)).collect();
            tokens += most.iter().map(|charge| charge.usage.total()).max().unwrap_or_default();
            let dearest = most.iter().try_fold(Money::ZERO, |most, charge| Some(most.max(charge.cost()?)));
            cost = cost.zip(dearest).map(|(cost, dearest)| cost.plus(dearest));
        }
        let (turns, asks) = (one.phases.iter().map(|of| of.turns).sum(), one.asks());
        Bound { turns, asks, tokens, cost, phases: one.phases }
    }
}

type Field = (Arc<str>, Arc<str>);

/// The fields of replies, each with the ways to reply that may come to more than the usual one.
fn choices(score: &Score) -> Vec<(Field, Vec<Way>)> {
    let mut turns = Vec::new();
    collect(&score.phases, &mut turns);
    let texts: Vec<&str> = turns.iter().flat_map(|turn| texts(turn)).collect();
    let is_named = |field: &ReplyField| texts.iter().any(|text| text.contains(&*field.name));
    let fields = turns.iter().flat_map(|turn| turn.reply.iter().map(|field| (*turn, field)));
    let fields = fields.filter(|(turn, field)| is_named(field) || turn.line.is_none());
    let ways = fields.map(|(turn, field)| ((turn.name.clone(), field.name.clone()), ways(&field.form)));
    ways.filter(|(_, ways)| !ways.is_empty()).collect()
}

/// What templates there are that somebody is told something by.
fn texts(turn: &Turn) -> Vec<&str> {
    let picks = turn.who.iter().filter_map(|who| match who {
        Who::Pick { prompt, .. } => prompt.as_deref(),
        Who::Role { .. } => None,
    });
    turn.prompt.as_deref().into_iter().chain(turn.line.as_deref()).chain(picks).collect()
}

fn ways(form: &Form) -> Vec<Way> {
    match form {
        Form::Text => Vec::new(),
        Form::YesNo => vec![Way::Nth(1), Way::Apart],
        Form::Number { .. } => vec![Way::Nth(0), Way::Fraction],
        Form::OneOf(Of::Words(words)) => (0..words.len().min(MAX_WORDS)).map(Way::Nth).chain([Way::Apart]).collect(),
        Form::OneOf(Of::Phase(_) | Of::Role(_)) | Form::Order(_) => vec![Way::Apart],
        Form::List { of, .. } => ways(of),
    }
}

fn collect<'a>(phases: &'a [Phase], turns: &mut Vec<&'a Turn>) {
    for phase in phases {
        match phase {
            Phase::Turn(turn) => turns.push(turn),
            Phase::Repeat(repeat) => collect(&repeat.phases, turns),
        }
    }
}
