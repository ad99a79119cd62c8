//! What a small model is told in a phase: what was said lately, then what to do, in plain words. What can be chosen it
//! chooses from a list; its words are plain text.

use std::sync::Arc;

use minijinja::{Value, context};

use super::{playing::Playing, telling::Telling};
use crate::{
    ask::{Choice, Part, Pick, Plan, Request, Thread, Words},
    prompt::Templates,
    setup::{Agent, BadSetup},
    stage::Stage,
    text::reply::{Field, Shape},
};

/// Sentences and characters of a turn, at most, and of a field of a reply.
const TURN: (usize, usize) = (4, 480);
const FIELD: (usize, usize) = (1, 200);
/// The newest lines that are shown.
const SHOWN: usize = 10;
/// Steps that a number is chosen in.
const STEPS: u32 = 10;

const SYSTEM: &str = "small/score_system.j2";
const TURN_TEMPLATE: &str = "small/score_turn.j2";
const FIELD_TEMPLATE: &str = "small/score_field.j2";

impl Playing {
    pub(super) fn small_request(&self, stage: &Stage, agent: &Agent, telling: &Telling) -> Request {
        let templates = stage.templates();
        let lines = telling.lately(self, SHOWN);
        let text = |line: &Value| line.get_attr("text").ok().and_then(|text| text.as_str().map(Arc::from));
        let heard: Arc<[Arc<str>]> = lines.iter().filter_map(text).collect();
        let about = heard.last().cloned().unwrap_or_else(|| self.settings.message.clone());
        let words = |words: Words| -> Words { words.having_heard(heard.clone()).about([about.clone()]) };
        let shape = telling.shape(self);
        let plan = match shape.as_deref() {
            Some(Shape::Object(fields)) => {
                let parts = fields.iter().enumerate();
                Plan::object(parts.map(|(nth, field)| part(templates, field, nth == 0, &words)).collect())
            }
            _ => Plan::plain(words(Words::new("words", TURN.0, TURN.1))),
        };
        Request {
            model: agent.model.clone(),
            system: templates.render(SYSTEM, &self.small_head()),
            thread: Thread::default(),
            prompt: templates.render(TURN_TEMPLATE, &self.small_variables(agent, telling, lines)),
            shape,
            grammar: None,
            plan: Some(Arc::new(plan)),
            sampling: agent.sampling.clone(),
        }
    }

    fn small_head(&self) -> Value {
        context! { score => self.settings.score.name.replace('-', " "), about => self.settings.score.about.trim() }
    }

    fn small_variables(&self, agent: &Agent, telling: &Telling, lines: Vec<Value>) -> Value {
        let view = self.view_at(Some(telling.seat), telling.turn, telling.until);
        let chair = &self.seats[telling.seat];
        let prompt = telling.body(self, &view).unwrap_or_else(|_| "It is your turn.".to_owned());
        let notes = telling.notes().to_vec();
        context! {
            message => telling.has_message.then(|| self.settings.message.clone()),
            lines,
            name => &*chair.name,
            role => &*chair.role,
            part => self.persona(telling.seat).unwrap_or_default(),
            persona => agent.persona.as_deref().map(str::trim),
            notes,
            prompt => prompt.trim(),
        }
    }

    /// Fills every template of this file once.
    pub(super) fn try_small(&self, stage: &Stage) -> Result<(), BadSetup> {
        let templates = stage.templates();
        templates.try_render(SYSTEM, &self.small_head())?;
        let line = context! { name => "name", text => "text", is_own => false };
        let sample = context! {
            message => "message", lines => vec![line], name => "name", role => "role", part => "part",
            persona => "persona", notes => vec!["note"], prompt => "prompt",
        };
        templates.try_render(TURN_TEMPLATE, &sample)?;
        templates.try_render(FIELD_TEMPLATE, &context! { field => "field" }).map(|_| ())
    }
}

/// How a field comes about. The prompt itself asks for the first.
fn part(templates: &Templates, field: &Field, is_first: bool, words: &impl Fn(Words) -> Words) -> Part {
    let name = field.name.clone();
    let ask = || templates.render(FIELD_TEMPLATE, &context! { field => field.name.replace('_', " ") });
    let choice = |of: Vec<Pick>| {
        let choice = Choice::new(name.clone(), of).judged();
        Part::Choice(if is_first { choice } else { choice.asked(ask()) })
    };
    match &field.shape {
        Shape::Choice(of) => choice(of.iter().map(|word| Pick::new(word.as_str(), word.as_str())).collect()),
        Shape::Bool => choice(vec![Pick::new("yes", true), Pick::new("no", false)]),
        Shape::Range(least, most) | Shape::Fraction(least, most) => {
            choice(steps(*least, *most).into_iter().map(|step| Pick::new(step.to_string(), step)).collect())
        }
        Shape::Number(of) => choice(of.iter().map(|number| Pick::new(number.to_string(), *number)).collect()),
        Shape::Order(of) => choice(first_two(&name, of)),
        Shape::List(of, _) => part(templates, &Field::required(name, (**of).clone()), is_first, words),
        Shape::Text { .. } | Shape::Object(_) => {
            let own = words(Words::new(name, FIELD.0, FIELD.1));
            Part::Words(if is_first { own } else { own.asked(ask()) })
        }
    }
}

/// The numbers that can be chosen: each whole one where they are few, else some between the ends.
fn steps(least: f64, most: f64) -> Vec<serde_json::Number> {
    let is_whole = least.fract() == 0.0 && most.fract() == 0.0;
    if is_whole && most - least <= f64::from(2 * STEPS) {
        return (least as i64..=most as i64).map(Into::into).collect();
    }
    let step = |nth: u32| least + (most - least) * f64::from(nth) / f64::from(STEPS);
    let number = |value: f64| match is_whole {
        true => Some((value.round() as i64).into()),
        false => serde_json::Number::from_f64((value * 100.0).round() / 100.0),
    };
    (0..=STEPS).filter_map(|nth| number(step(nth))).collect()
}

/// An order of which the first two are chosen, one after the other; the rest stay as they are.
fn first_two(field: &str, of: &[String]) -> Vec<Pick> {
    let without = |word: &String, of: &[String]| of.iter().filter(|other| *other != word).cloned().collect::<Vec<_>>();
    let whole = |first: &String, second: &String| {
        let rest = without(second, &without(first, of));
        let order: Vec<String> = [first.clone(), second.clone()].into_iter().chain(rest).collect();
        Part::Given { field: field.to_owned().into(), value: order.into() }
    };
    let first = |first: &String| {
        let others = without(first, of);
        // Where one is left or none, there is nothing more to choose.
        if others.len() < 2 {
            let order: Vec<String> = [first.clone()].into_iter().chain(others).collect();
            let given = Part::Given { field: field.to_owned().into(), value: order.into() };
            return Pick::new(first.as_str(), ()).then(vec![given]);
        }
        let second = |second: &String| Pick::new(second.as_str(), ()).then(vec![whole(first, second)]);
        let next = Choice::new(field.to_owned(), others.iter().map(second).collect()).judged().asked("And the next?");
        Pick::new(first.as_str(), ()).then(vec![Part::Choice(next)])
    };
    of.iter().map(first).collect()
}
