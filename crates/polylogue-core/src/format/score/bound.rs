//! The most that a session of a score can come to, known before its first call.
//!
//! The score is played with stand-ins: everybody speaks, no repeat ends early, every reply is as long as it may be and
//! is good only at the second try. What that uses is the bound. It grows in a straight line with the length of the
//! replies, so it is played with short ones, twice, and drawn out.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::{
    Settings,
    compiled::Faulty,
    playing::{Playing, State},
    vocabulary::purpose,
};
use crate::{
    Conversation,
    ask::Ask,
    event::{Event, Origin, Record},
    format::FormatSetup,
    id::{PersonId, SessionId},
    ledger::{Usage, estimate_tokens},
    money::Money,
    reason::Reason,
    setup::{BadSetup, Cast, Limits, Setup},
    step::{Answer, Input, Step},
    text::reply::Shape,
    time::Timestamp,
};

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
const PARTS: u32 = 64;

/// Why there is no bound.
#[derive(Debug)]
pub(super) enum NoBound {
    Setup(BadSetup),
    /// What could not be filled, by what it is called in the score, and its line within its text.
    Faulty(Vec<(String, u32, String)>),
}

impl Bound {
    /// The most that these settings can come to with this cast.
    pub fn of(settings: &Settings, cast: &Cast) -> Result<Bound, BadSetup> {
        Bound::tried(settings, cast).map_err(|none| match none {
            NoBound::Setup(problem) => problem,
            NoBound::Faulty(faulty) => {
                BadSetup::Settings(faulty.into_iter().map(|(at, _, problem)| format!("{at}: {problem}")).collect())
            }
        })
    }

    pub(super) fn tried(settings: &Settings, cast: &Cast) -> Result<Bound, NoBound> {
        let play = |parts: u32, choose: Choose| Rehearsal::of(settings, cast, parts, choose);
        let (one, two) = (play(1, Choose::Longest)?, play(2, Choose::Longest)?);
        let drawn_out = |one: u64, two: u64| one + two.saturating_sub(one) * u64::from(PARTS - 1);
        let mut cost = match (one.cost, two.cost) {
            (Some(one), Some(two)) => Some(out(one, two)),
            (None, _) | (_, None) => None,
        };
        if one.has_picks && cost.is_some() {
            let (one, two) = (play(1, Choose::Dearest)?, play(2, Choose::Dearest)?);
            let dearest = one.cost.zip(two.cost).map(|(one, two)| out(one, two));
            cost = cost.zip(dearest).map(|(cost, dearest)| cost.max(dearest));
        }
        let tokens = drawn_out(one.tokens, two.tokens);
        let (turns, asks) = (one.phases.iter().map(|of| of.turns).sum(), one.phases.iter().map(|of| of.asks).sum());
        Ok(Bound { turns, asks, tokens, cost, phases: one.phases })
    }
}

/// A cost drawn out from that of one part and of two.
fn out(one: Money, two: Money) -> Money {
    let step = two.minus(one);
    (1..PARTS).fold(one, |sum, _| sum.plus(step))
}

/// Who is chosen where somebody chooses.
#[derive(Clone, Copy, PartialEq)]
enum Choose {
    /// Whoever may say most.
    Longest,
    Dearest,
}

/// A score played with stand-ins.
struct Rehearsal {
    conversation: Conversation,
    parts: u32,
    choose: Choose,
    phases: Vec<PhaseBound>,
    faulty: Vec<(String, u32, String)>,
}

struct Rehearsed {
    phases: Vec<PhaseBound>,
    tokens: u64,
    cost: Option<Money>,
    has_picks: bool,
}

impl Rehearsal {
    fn of(settings: &Settings, cast: &Cast, parts: u32, choose: Choose) -> Result<Rehearsed, NoBound> {
        let setup = Setup {
            id: SessionId::from_bytes([0; 16]),
            format: FormatSetup::new(Settings { is_rehearsal: true, ..settings.clone() }),
            cast: cast.clone(),
            limits: Limits {
                max_usd: Money::from_usd(1e6),
                max_tokens: u64::MAX,
                max_seconds: u64::MAX / 4_000,
                ..Limits::default()
            },
            seed: 0,
            speech: false,
            templates: Default::default(),
            room: None,
        };
        let (conversation, _) = Conversation::start(setup, Timestamp(0)).map_err(NoBound::Setup)?;
        let (phases, faulty) = (Vec::new(), Vec::new());
        let mut rehearsal = Rehearsal { conversation, parts, choose, phases, faulty };
        rehearsal.run();
        if !rehearsal.faulty.is_empty() {
            return Err(NoBound::Faulty(rehearsal.faulty));
        }
        let total = rehearsal.conversation.stage().ledger().total();
        let has_picks = settings.score.phases.iter().any(has_pick);
        Ok(Rehearsed { phases: rehearsal.phases, tokens: total.usage.total(), cost: total.cost, has_picks })
    }

    fn run(&mut self) {
        let mut begun = 0;
        while self.conversation.stage().ended().is_none() {
            let number = self.playing().number();
            if number != begun {
                begun = number;
                self.note_phase();
            }
            let steps = self.conversation.next();
            if steps.is_empty() {
                return;
            }
            for step in steps {
                match step {
                    Step::Ask(ask) => self.answer_twice(&ask),
                    Step::AwaitHuman(awaited) => self.speak(awaited.who),
                    Step::End(_) => self.take(self.conversation.begin(&step)),
                    Step::Speak(_) | Step::Narrate(_) => {}
                }
            }
        }
    }

    fn playing(&self) -> &Playing {
        self.conversation.rules::<Playing>().expect("it is a score")
    }

    fn take(&mut self, events: Vec<Event>) {
        for event in events {
            if let Some(super::Decision::Broken { part, problem }) = event.decided() {
                self.faulty.push((part.clone(), 1, problem.clone()));
            }
            if let Event::Ended { reason, .. } = &event
                && *reason != Reason::COMPLETED
                && self.faulty.is_empty()
            {
                self.faulty.push(("the score".to_owned(), 1, format!("it ends with {reason} when all goes well")));
            }
            let record = Record { seq: self.conversation.stage().head().next(), at: Timestamp(0), event };
            self.conversation.apply(&record);
        }
    }

    fn phase(&mut self) -> Option<&mut PhaseBound> {
        let name = self.playing().turn()?.name.clone();
        self.phases.iter_mut().find(|of| of.phase == name)
    }

    fn note_phase(&mut self) {
        let Some(name) = self.playing().turn().map(|turn| turn.name.clone()) else { return };
        match self.phases.iter_mut().find(|of| of.phase == name) {
            Some(of) => of.times += 1,
            None => self.phases.push(PhaseBound { phase: name, times: 1, seats: Vec::new(), turns: 0, asks: 0 }),
        }
    }

    fn count(&mut self, seat: &str, is_first: bool) {
        if let Some(of) = self.phase() {
            of.asks += 1;
            of.turns += u64::from(is_first);
            if !of.seats.iter().any(|known| **known == *seat) {
                of.seats.push(seat.into());
            }
        }
    }

    /// A reply that cannot be used and broke off at its limit, then a good one.
    fn answer_twice(&mut self, ask: &Ask) {
        self.look_at(ask);
        self.answer(ask, true);
        let again = self.conversation.next().into_iter().find_map(|step| match step {
            Step::Ask(again) if again.id.agent == ask.id.agent && again.id.purpose == ask.id.purpose => Some(again),
            Step::Ask(_) | Step::Speak(_) | Step::Narrate(_) | Step::AwaitHuman(_) | Step::End(_) => None,
        });
        if let Some(again) = again {
            self.answer(&again, false);
        }
    }

    fn answer(&mut self, ask: &Ask, is_first: bool) {
        self.count(ask.id.agent.as_str(), is_first);
        self.take(self.conversation.begin(&Step::Ask(ask.clone())));
        let estimate = self.conversation.stage().estimate_of(&ask.id).unwrap_or_default();
        // What a template could have written instead is not longer than itself.
        let source = self.playing().turn().and_then(|turn| turn.prompt.as_deref()).map_or(0, estimate_tokens);
        let usage = Usage { input: estimate.input + source, ..estimate };
        let most = ask.request.max_output_tokens();
        let filler = 4 * (most.div_ceil(PARTS) * self.parts) as usize;
        let text = match is_first {
            true => " ".repeat(filler),
            false => self.good(ask, &"x".repeat(filler)),
        };
        let answer = Answer { text: text.into(), usage: Some(usage), is_full: is_first, ..Answer::default() };
        if let Ok(events) = self.conversation.on(Input::Answered { ask: ask.id.clone(), answer }) {
            self.take(events);
        }
    }

    fn speak(&mut self, person: PersonId) {
        let text = "x".repeat(Conversation::MAX_MESSAGE_CHARS.div_ceil(PARTS as usize) * self.parts as usize);
        let said = Input::HumanSaid { who: person, text: text.into(), origin: Origin::default() };
        if let Ok(events) = self.conversation.on(said) {
            self.take(events);
        }
    }

    /// A reply of the form that is asked for.
    fn good(&self, ask: &Ask, filler: &str) -> String {
        if ask.id.purpose == purpose::PICK {
            return json!({ super::reply::NEXT: self.chosen(ask) }).to_string();
        }
        match ask.request.shape.as_deref() {
            Some(Shape::Object(fields)) => {
                let field = |field: &crate::text::reply::Field| (field.name.to_string(), value(&field.shape, filler));
                Json::Object(fields.iter().map(field).collect::<Map<_, _>>()).to_string()
            }
            _ => filler.to_owned(),
        }
    }

    fn chosen(&self, ask: &Ask) -> String {
        let Some(Shape::Object(fields)) = ask.request.shape.as_deref() else { return String::new() };
        let Some(Shape::Choice(called)) = fields.first().map(|field| &field.shape) else { return String::new() };
        let playing = self.playing();
        let from = playing.picking.as_ref().map(|picking| picking.from.clone()).unwrap_or_default();
        let weight = |seat: usize| {
            let agent =
                super::agent_of(&playing.seats[seat]).and_then(|agent| self.conversation.stage().cast().agent(agent));
            let Some(agent) = agent else { return (0, Money::ZERO) };
            let output = agent.sampling.max_output_tokens.unwrap_or(crate::ask::Request::DEFAULT_OUTPUT_TOKENS);
            let persona = agent.persona.as_deref().map_or(0, estimate_tokens);
            let usage = Usage { input: 1_000_000, output: u64::from(output) * 100, ..Usage::default() };
            (u64::from(output) + persona, agent.price.map(|price| price.of(&usage)).unwrap_or_default())
        };
        let heaviest = (0..from.len()).max_by_key(|nth| {
            let (length, cost) = weight(from[*nth]);
            let keys = if self.choose == Choose::Longest { (length, cost) } else { (0, cost) };
            (keys, usize::MAX - nth)
        });
        heaviest.and_then(|nth| called.get(nth)).cloned().unwrap_or_default()
    }

    /// Fills what a seat is told strictly, so that what is wrong with it is found.
    fn look_at(&mut self, ask: &Ask) {
        let playing = self.playing();
        let Some(State::Open { told, .. }) = playing.state(&ask.id) else { return };
        let view = playing.view_at(Some(told.what.seat), told.what.turn, told.what.until);
        let mut found: Vec<Faulty> = told.what.body(playing, &view).err().into_iter().collect();
        found.extend(playing.try_where(&view));
        found.extend(playing.persona(told.what.seat).err());
        let found: Vec<_> =
            found.into_iter().map(|faulty| (playing.named(&faulty.part), faulty.line, faulty.problem)).collect();
        self.faulty.extend(found);
    }
}

/// A value of a shape, as long as it may be.
fn value(shape: &Shape, filler: &str) -> Json {
    match shape {
        Shape::Text { .. } => filler.into(),
        Shape::Choice(words) => words.first().cloned().into(),
        Shape::Bool => true.into(),
        Shape::Number(numbers) => numbers.first().copied().into(),
        Shape::Fraction(least, _) | Shape::Range(least, _) => json!(least),
        Shape::Order(words) => words.clone().into(),
        Shape::List(of, _) => vec![value(of, filler)].into(),
        Shape::Object(_) => Json::Null,
    }
}

fn has_pick(phase: &super::Phase) -> bool {
    match phase {
        super::Phase::Turn(turn) => turn.who.iter().any(|who| matches!(who, super::Who::Pick { .. })),
        super::Phase::Repeat(repeat) => repeat.phases.iter().any(has_pick),
    }
}
