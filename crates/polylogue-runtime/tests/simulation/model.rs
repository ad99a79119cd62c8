//! A model that answers well, badly, slowly, in vain or not at all.

use std::{future::pending, panic::resume_unwind, sync::Arc, time::Duration};

use async_trait::async_trait;
use polylogue_core::{ask::Ask, format::scene, ledger::Usage, setup::ModelRef, text::reply::Shape};
use polylogue_runtime::port::{Admission, Bound, Call, CallError, Model, Reply};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    chance::Chance,
    process::Process,
    provider::{End, NAME, UnderWay},
};

pub(crate) struct Actor(pub(crate) Arc<Process>);

#[async_trait]
impl Model for Actor {
    async fn admit(&self, _: &Call) -> Admission {
        self.0.pass().await;
        let seat = self.0.seats.clone().acquire_owned().await.expect("the seats are never taken away");
        Admission::new(seat)
    }

    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        // Nothing is waited for before this: the call is sent when it arrives here.
        let under_way = UnderWay::begin(&self.0, call);
        let world = &self.0.world;
        let (chance, faults) = (&world.chance, world.faults());
        self.0.pass().await;
        if chance.happens(faults.model_stalls) {
            if chance.happens(500) {
                under_way.alive(call);
            }
            pending::<()>().await;
        }
        if chance.happens(faults.model_fails / 2) {
            return fail(chance, under_way);
        }
        sleep(chance.millis(0..1_000)).await;
        let used = Usage { input: chance.number(1..2_000), output: chance.number(1..500), ..Usage::default() };
        let says_usage = !chance.happens(faults.model_says_no_usage);
        if says_usage && chance.happens(300) {
            under_way.report(call, used);
        }
        let text = if chance.happens(faults.model_babbles) { babble(chance) } else { reply(chance, &call.ask) };
        for word in text.split_inclusive(' ').take(chance.below(8)) {
            under_way.push(call, word);
            sleep(chance.millis(0..400)).await;
        }
        self.0.pass().await;
        if chance.happens(faults.model_panics) {
            // As a panic, but without its report.
            resume_unwind(Box::new("told to"));
        }
        if chance.happens(faults.model_fails / 2) {
            return fail(chance, under_way);
        }
        let usage = says_usage.then_some(used);
        under_way.end(End::Replied { text: text.clone(), usage });
        Ok(Reply { text: text.into(), usage, is_full: chance.happens(faults.model_babbles / 8), drafts: None })
    }

    fn bound(&self, _: &ModelRef) -> Option<Bound> {
        self.0.world.bound.map(|at_once| Bound { provider: NAME.into(), at_once })
    }
}

fn fail(chance: &Chance, under_way: UnderWay<'_>) -> Result<Reply, CallError> {
    let message = || "told to".to_owned();
    let retry_after = chance.happens(500).then(|| Duration::from_millis(chance.number(0..8_000)));
    let error = match chance.below(9) {
        0 => CallError::RateLimited { retry_after, message: message() },
        1 => CallError::Overloaded { retry_after, message: message() },
        2 => CallError::Unauthorized(message()),
        3 => CallError::Refused(message()),
        4 => CallError::ContextTooLong(message()),
        5 | 6 => CallError::Network(message()),
        7 => CallError::Unreachable(message()),
        _ => CallError::BadResponse(message()),
    };
    under_way.end(End::Failed { is_billed: matches!(error, CallError::Network(_)) });
    Err(error)
}

/// What nobody asked for.
fn babble(chance: &Chance) -> String {
    let texts = [
        "",
        " \n",
        "I would rather not say.",
        "{\"message\": \"half a",
        "[TO: nobody",
        "```json\n{}\n```",
        "[[[[\"\n\"",
        "\u{0}\u{feff}{\"a\": [1, {\"b\": null}]}",
        "null",
        "[\"message\"]",
    ];
    texts[chance.below(texts.len())].to_owned()
}

/// A reply in the form that is asked for.
fn reply(chance: &Chance, ask: &Ask) -> String {
    if let Some(shape) = ask.request.shape.as_deref() {
        return value(chance, shape).to_string();
    }
    match ask.id.purpose {
        scene::purpose::ACT => match chance.below(5) {
            0 => "[SILENT]".to_owned(),
            1 => format!("[REACT, TONE: shocked, *drops the {}*]", word(chance)),
            2 => format!("[INTERRUPT after \"{}\", TONE: furious] \"No {}!\"", word(chance), word(chance)),
            _ => format!("[TONE: calm] \"I tell you {} about {}.\"", word(chance), word(chance)),
        },
        _ => format!("So it is with {} and {}.", word(chance), word(chance)),
    }
}

fn word(chance: &Chance) -> String {
    format!("w{:x}", chance.number(0..1 << 40))
}

fn value(chance: &Chance, shape: &Shape) -> Value {
    match shape {
        Shape::Text { .. } => format!("I mean {}.", word(chance)).into(),
        Shape::Bool => chance.happens(300).into(),
        Shape::Fraction(least, most) | Shape::Range(least, most) => {
            json!(least + (most - least) * f64::from(chance.number(0..5) as u32) / 4.0)
        }
        Shape::Choice(of) => of[chance.below(of.len())].clone().into(),
        Shape::Number(of) => of[chance.below(of.len())].into(),
        Shape::Order(of) => of.clone().into(),
        Shape::List(of, most) => (0..chance.below(2.min(*most) + 1)).map(|_| value(chance, of)).collect(),
        Shape::Object(fields) => {
            let fields = fields.iter().filter(|field| field.required || chance.happens(700));
            fields.map(|field| (field.name.to_string(), value(chance, &field.shape))).collect()
        }
    }
}
