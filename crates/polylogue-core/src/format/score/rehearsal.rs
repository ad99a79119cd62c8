//! A score played with stand-ins, to see how much it can come to: everybody speaks, no repeat ends early, every reply is
//! as long as it may be and is good only at the second try.
//!
//! Where somebody chooses who speaks, an ask is charged for each who could have been chosen; what they would have been
//! told and would have said is in their threads from then on.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value as Json, json};

use super::{
    Settings,
    bound::{PARTS, PhaseBound},
    compiled::Faulty,
    playing::{Occupant, Playing, State},
    reply,
    telling::Telling,
    vocabulary::purpose,
};
use crate::{
    Conversation,
    ask::Ask,
    event::{Event, Origin, Record},
    format::{FormatSetup, Place},
    id::{AgentId, PersonId, SessionId},
    ledger::{Usage, estimate_tokens},
    money::{Money, Price},
    reason::Reason,
    setup::{BadSetup, Cast, Limits, Setup},
    step::{Answer, Input, Step},
    text::reply::{Field, Shape},
    thread::Told,
    time::Timestamp,
};

/// How a field is filled that leaves a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With the n-th of what there is.
    Nth(usize),
    /// By each seat with something else.
    Apart,
    /// With a number of many digits.
    Fraction,
}

/// The ways of fields, by phase and field. All others are filled with what is longest.
pub(super) type Ways = BTreeMap<(Arc<str>, Arc<str>), Way>;

/// What an ask can use, and what that costs.
#[derive(Clone, Debug)]
pub(super) struct Charge {
    pub(super) usage: Usage,
    price: Option<Price>,
}

impl Charge {
    pub(super) fn cost(&self) -> Option<Money> {
        self.price.map(|price| price.of(&self.usage))
    }

    /// With replies of so many parts, from those with one and with two.
    pub(super) fn drawn_out(&self, two: &Charge, parts: u32) -> Charge {
        let out = |one: u64, two: u64| one + two.saturating_sub(one) * u64::from(parts - 1);
        let (one, two) = (&self.usage, &two.usage);
        let (input, cache_written) = (out(one.input, two.input), out(one.cache_written, two.cache_written));
        Charge { usage: Usage { input, cache_written, ..*one }, price: self.price }
    }

    fn with_input(mut self, more: u64) -> Charge {
        self.usage.input += more;
        if self.usage.cache_written > 0 {
            self.usage.cache_written += more;
        }
        self
    }
}

/// What came of a rehearsal.
pub(super) struct Rehearsed {
    pub(super) phases: Vec<PhaseBound>,
    /// For each ask, what it can use: one for each who could have been asked.
    pub(super) charges: Vec<Vec<Charge>>,
}

impl Rehearsed {
    pub(super) fn asks(&self) -> u64 {
        self.phases.iter().map(|of| of.asks).sum()
    }
}

/// Why there is no bound.
#[derive(Debug)]
pub(super) enum NoBound {
    Setup(BadSetup),
    /// What could not be filled, by what it is called in the score, and its line within its text.
    Faulty(Vec<(String, u32, String)>),
}

impl NoBound {
    pub(super) fn into_setup(self) -> BadSetup {
        match self {
            NoBound::Setup(problem) => problem,
            NoBound::Faulty(faulty) => {
                BadSetup::Settings(faulty.into_iter().map(|(at, _, problem)| format!("{at}: {problem}")).collect())
            }
        }
    }
}

pub(super) struct Rehearsal<'a> {
    conversation: Conversation,
    parts: u32,
    ways: &'a Ways,
    phases: Vec<PhaseBound>,
    charges: Vec<Vec<Charge>>,
    /// What the tries of those would use who could have been chosen for the phase that is played and were not.
    others: Vec<[Charge; 2]>,
    /// The most tokens that somebody can say who could have been chosen.
    longest: u32,
    /// What seats could have been told and have said where another was chosen.
    instead: BTreeMap<AgentId, u64>,
    faulty: Vec<(String, u32, String)>,
}

impl Rehearsal<'_> {
    pub(super) fn of(settings: &Settings, cast: &Cast, parts: u32, ways: &Ways) -> Result<Rehearsed, NoBound> {
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
        let mut rehearsal = Rehearsal {
            conversation,
            parts,
            ways,
            phases: Vec::new(),
            charges: Vec::new(),
            others: Vec::new(),
            longest: 0,
            instead: BTreeMap::new(),
            faulty: Vec::new(),
        };
        rehearsal.run();
        let Rehearsal { phases, charges, faulty, .. } = rehearsal;
        if faulty.is_empty() { Ok(Rehearsed { phases, charges }) } else { Err(NoBound::Faulty(faulty)) }
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

    fn note_phase(&mut self) {
        (self.others, self.longest) = (Vec::new(), 0);
        let Some(name) = self.playing().turn().map(|turn| turn.name.clone()) else { return };
        match self.phases.iter_mut().find(|of| of.phase == name) {
            Some(of) => of.times += 1,
            None => self.phases.push(PhaseBound { phase: name, times: 1, seats: Vec::new(), turns: 0, asks: 0 }),
        }
    }

    fn phase(&mut self) -> Option<&mut PhaseBound> {
        let name = self.playing().turn()?.name.clone();
        self.phases.iter_mut().find(|of| of.phase == name)
    }

    fn note_seat(&mut self, name: &str) {
        if let Some(of) = self.phase().filter(|of| !of.seats.iter().any(|known| **known == *name)) {
            of.seats.push(name.into());
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
        self.note_seat(ask.id.agent.as_str());
        if let Some(of) = self.phase() {
            of.asks += 1;
            of.turns += u64::from(is_first);
        }
        let mut charges = vec![self.charge(ask)];
        charges.extend(self.others.iter().map(|tries| tries[usize::from(!is_first)].clone()));
        self.charges.push(charges);
        self.take(self.conversation.begin(&Step::Ask(ask.clone())));
        let most = ask.request.max_output_tokens().max(self.longest);
        let filler = "x".repeat(4 * self.part_of(most) as usize);
        let text = match is_first {
            true => " ".repeat(filler.len()),
            false => self.good(ask, &filler),
        };
        let answer = Answer { text: text.into(), is_full: is_first, ..Answer::default() };
        let asked = ask.id.clone();
        if let Ok(mut events) = self.conversation.on(Input::Answered { ask: asked, answer }) {
            events.iter_mut().for_each(|event| worst_problem(event, ask.request.shape.as_deref()));
            self.take(events);
        }
    }

    /// As much of the longest reply as is played.
    fn part_of(&self, most: u32) -> u32 {
        most.div_ceil(PARTS) * self.parts
    }

    /// What an ask can use at most.
    fn charge(&self, ask: &Ask) -> Charge {
        let stage = self.conversation.stage();
        // What a template could have written instead is not longer than itself.
        let source = self.playing().turn().and_then(|turn| turn.prompt.as_deref()).map_or(0, estimate_tokens);
        let instead = self.instead.get(&ask.id.agent).copied().unwrap_or_default();
        let charge = Charge { usage: stage.estimate(ask), price: stage.price_of(&ask.id.agent) };
        charge.with_input(source + instead)
    }

    fn speak(&mut self, person: PersonId) {
        // A letter of no Latin script counts as a token.
        let text = "é".repeat(self.part_of(Conversation::MAX_MESSAGE_CHARS as u32) as usize);
        let said = Input::HumanSaid { who: person, text: text.into(), origin: Origin::default() };
        if let Ok(events) = self.conversation.on(said) {
            self.take(events);
        }
    }

    /// A reply of the form that is asked for, as long as a reply may be.
    fn good(&mut self, ask: &Ask, filler: &str) -> String {
        let fields = match ask.request.shape.as_deref() {
            _ if ask.id.purpose == purpose::PICK => return padded(&json!({ reply::NEXT: self.choose() }), filler),
            Some(Shape::Object(fields)) => fields,
            _ => return filler.to_owned(),
        };
        let playing = self.playing();
        let (seat, phase) = (playing.seat_of(&ask.id.agent), playing.turn().map(|turn| turn.name.clone()));
        let (seat, phase) = (seat.unwrap_or_default(), phase.unwrap_or_default());
        let value = |field: &Field| {
            let way = self.ways.get(&(phase.clone(), (*field.name).into()));
            (field.name.to_string(), value(&field.shape, way.copied(), seat, filler))
        };
        padded(&Json::Object(fields.iter().map(value).collect::<Map<_, _>>()), filler)
    }

    /// Chooses the agent of the longest name, and notes what each other would have used.
    fn choose(&mut self) -> String {
        let playing = self.playing();
        let Some(picking) = &playing.picking else { return String::new() };
        let view = playing.view_at(Some(picking.by), playing.played.len() - 1, playing.said.len());
        let is_agent = |seat: usize| super::agent_of(&playing.seats[seat]).is_some();
        let length = |seat: usize| estimate_tokens(&playing.seats[seat].name);
        let from = picking.from.clone();
        let chosen = from.iter().copied().max_by_key(|seat| (is_agent(*seat), length(*seat)));
        let called = chosen.map(|chosen| playing.called(chosen, &view).to_string()).unwrap_or_default();
        for seat in from.into_iter().filter(|seat| Some(*seat) != chosen) {
            self.pass_over(seat);
        }
        called
    }

    /// Notes what somebody would have used who was not chosen, and what would be in their thread.
    fn pass_over(&mut self, seat: usize) {
        let (playing, stage) = (self.playing(), self.conversation.stage());
        let name = playing.seats[seat].name.clone();
        let agent = match &playing.seats[seat].who {
            Occupant::Agent(agent) => agent.clone(),
            Occupant::Person(_) => return self.longest = self.longest.max(Conversation::MAX_MESSAGE_CHARS as u32),
        };
        let Some(player) = stage.cast().agent(&agent) else { return };
        let id = stage.ask_at(Place { purpose: purpose::PLAY, turn: playing.number(), agent: agent.clone() });
        let ask = |telling| Ask { id: id.clone(), request: playing.request_of(stage, player, &Told::new(telling)) };
        let telling = Telling::turn(playing, seat);
        let first = ask(telling.clone());
        let mut second = ask(telling.again(&longest_problem(first.request.shape.as_deref())));
        let says = second.request.more_output_tokens();
        second.request.sampling.max_output_tokens = Some(says);
        // A small model has no thread.
        let kept = |ask: &Ask| match player.is_small {
            true => 0,
            false => estimate_tokens(&ask.request.prompt) + u64::from(self.part_of(ask.request.max_output_tokens())),
        };
        let (told, told_again) = (kept(&first), kept(&second));
        let tries = [self.charge(&first), self.charge(&second).with_input(told)];
        self.others.push(tries);
        self.longest = self.longest.max(says);
        *self.instead.entry(agent).or_default() += told + told_again;
        self.note_seat(&name);
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

/// A reply with spaces behind it, which count too.
fn padded(reply: &Json, filler: &str) -> String {
    format!("{:<1$}", reply.to_string(), filler.len())
}

/// A problem that is at least as long as any that a reply of this form can have.
fn longest_problem(shape: Option<&Shape>) -> String {
    "x".repeat(80 + shape.map_or(0, |shape| reply::in_words(shape).len()))
}

fn worst_problem(event: &mut Event, shape: Option<&Shape>) {
    if let Some(super::Decision::Reasked { ask, .. }) = event.decided() {
        *event = Event::decision(super::Decision::Reasked { ask: ask.clone(), problem: longest_problem(shape) });
    }
}

/// A value of a shape, as long as it may be.
fn value(shape: &Shape, way: Option<Way>, seat: usize, filler: &str) -> Json {
    match shape {
        Shape::Text { .. } => filler.into(),
        Shape::Choice(words) => match way {
            Some(Way::Nth(nth)) => words.get(nth % words.len().max(1)).cloned().into(),
            Some(Way::Apart | Way::Fraction) => words.get(seat % words.len().max(1)).cloned().into(),
            None => words.iter().max_by_key(|word| estimate_tokens(word)).cloned().into(),
        },
        Shape::Bool => match way {
            Some(Way::Nth(_)) => false,
            Some(Way::Apart | Way::Fraction) => seat.is_multiple_of(2),
            None => true,
        }
        .into(),
        Shape::Number(numbers) => numbers.first().copied().into(),
        Shape::Fraction(least, most) | Shape::Range(least, most) => match way {
            Some(Way::Nth(_)) => whole(*least),
            Some(Way::Apart | Way::Fraction) => json!(least + (most - least) * (seat + 1) as f64 / 17.0),
            None => whole(*most),
        },
        Shape::Order(words) => {
            let mut words = words.clone();
            let by = if way.is_some() { seat % words.len().max(1) } else { 0 };
            words.rotate_left(by);
            words.into()
        }
        Shape::List(of, most) => {
            let first = value(of, way, seat, filler);
            let others = (1..*most).map(|nth| value(of, way, seat + nth, "x"));
            std::iter::once(first).chain(others).collect::<Vec<_>>().into()
        }
        Shape::Object(_) => Json::Null,
    }
}

/// A number as a model writes it.
fn whole(number: f64) -> Json {
    if number.fract() == 0.0 && number.abs() < 1e15 { json!(number as i64) } else { json!(number) }
}
