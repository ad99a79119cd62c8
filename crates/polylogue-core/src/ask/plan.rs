//! How a small model comes to its reply: one thing after the other, each asked for in plain language.
//!
//! A small model that is shown a form writes pieces of the form into its lines. So it is shown none. Its words are
//! plain text; whatever is out of a list is chosen from that list and can be nothing else; and the reply that is sent
//! on is written here, from what it said and chose. A connector that can decode so walks along the plan ([`Walk`]);
//! for all others the request's prompt and shape say the same.

use std::{borrow::Cow, collections::VecDeque, fmt, sync::Arc};

use serde_json::{Map, Value};

use super::Text;

/// What is asked for, in order, and how it becomes a reply.
#[derive(Clone, PartialEq)]
pub struct Plan {
    parts: Vec<Part>,
    write: Writer,
}

/// How the fields that were answered become the text of a reply.
#[derive(Clone, Copy)]
struct Writer(fn(&Map<String, Value>) -> String);

impl PartialEq for Writer {
    fn eq(&self, other: &Writer) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("parts", &self.parts).finish_non_exhaustive()
    }
}

/// One thing that is asked for. The first part of a plan is asked for by the request's prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Words(Words),
    Choice(Choice),
    /// Nobody is asked.
    Given {
        field: Cow<'static, str>,
        value: Value,
    },
}

impl Part {
    /// What is asked for it, where that is not the prompt itself.
    pub fn ask(&self) -> Option<&Text> {
        match self {
            Part::Words(Words { ask, .. }) | Part::Choice(Choice { ask, .. }) => ask.as_ref(),
            Part::Given { .. } => None,
        }
    }
}

/// Words of the model's own, as plain text.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    pub field: Cow<'static, str>,
    /// What it is asked, where that is not the prompt itself.
    pub ask: Option<Text>,
    /// Sentences, at most. It ends with the last of them.
    pub sentences: usize,
    pub max_chars: usize,
    /// Whether it may have paragraphs.
    pub has_paragraphs: bool,
    /// What it should not say once more, beside the prompt's own words: lines of the others and its own.
    pub heard: Arc<[Arc<str>]>,
    /// What it answers, where it answers something: words that have to do with it are preferred.
    pub about: Arc<[Arc<str>]>,
}

impl Words {
    /// One paragraph that the prompt asks for.
    pub fn new(field: impl Into<Cow<'static, str>>, sentences: usize, max_chars: usize) -> Words {
        Words {
            field: field.into(),
            ask: None,
            sentences,
            max_chars,
            has_paragraphs: false,
            heard: Arc::default(),
            about: Arc::default(),
        }
    }

    #[must_use]
    pub fn asked(self, ask: impl Into<Text>) -> Words {
        Words { ask: Some(ask.into()), ..self }
    }

    #[must_use]
    pub fn having_heard(self, heard: Arc<[Arc<str>]>) -> Words {
        Words { heard, ..self }
    }

    #[must_use]
    pub fn about(self, about: impl IntoIterator<Item = Arc<str>>) -> Words {
        Words { about: about.into_iter().collect(), ..self }
    }
}

/// One of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub field: Cow<'static, str>,
    pub ask: Option<Text>,
    pub of: Vec<Pick>,
    /// Whether the likeliest is taken. Otherwise one is drawn, as words are.
    pub is_judged: bool,
}

impl Choice {
    pub fn new(field: impl Into<Cow<'static, str>>, of: Vec<Pick>) -> Choice {
        Choice { field: field.into(), ask: None, of, is_judged: false }
    }

    #[must_use]
    pub fn asked(self, ask: impl Into<Text>) -> Choice {
        Choice { ask: Some(ask.into()), ..self }
    }

    #[must_use]
    pub fn judged(self) -> Choice {
        Choice { is_judged: true, ..self }
    }
}

/// Something that can be chosen, in the words in which a model says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    pub words: String,
    /// What the field is then. `Null` leaves it out.
    pub value: Value,
    /// What is asked for next if it is chosen.
    pub then: Vec<Part>,
}

impl Pick {
    pub fn new(words: impl Into<String>, value: impl Into<Value>) -> Pick {
        Pick { words: words.into(), value: value.into(), then: Vec::new() }
    }

    #[must_use]
    pub fn then(self, then: Vec<Part>) -> Pick {
        Pick { then, ..self }
    }
}

impl Plan {
    pub fn new(parts: Vec<Part>, write: fn(&Map<String, Value>) -> String) -> Plan {
        Plan { parts, write: Writer(write) }
    }

    /// A reply that is a JSON object. A field `a.b` is `b` within `a`.
    pub fn object(parts: Vec<Part>) -> Plan {
        Plan::new(parts, |fields| Value::Object(fields.clone()).to_string())
    }

    /// A reply that is nothing but words.
    pub fn plain(words: Words) -> Plan {
        let words = Words { field: "words".into(), ..words };
        Plan::new(vec![Part::Words(words)], |fields| fields["words"].as_str().unwrap_or_default().to_owned())
    }

    /// Tokens that its questions can take, at most.
    pub(super) fn tokens(&self) -> u64 {
        tokens(&self.parts)
    }

    /// The questions that it may ask after the prompt, for people.
    pub(super) fn asks(&self) -> Vec<&str> {
        let mut asks = Vec::new();
        collect(&self.parts, &mut asks);
        asks
    }
}

fn tokens(parts: &[Part]) -> u64 {
    let of = |ask: &Option<Text>| ask.as_ref().map_or(0, |ask| ask.tokens);
    let part = |part: &Part| match part {
        Part::Words(words) => of(&words.ask),
        Part::Choice(choice) => {
            of(&choice.ask) + choice.of.iter().map(|pick| tokens(&pick.then)).max().unwrap_or_default()
        }
        Part::Given { .. } => 0,
    };
    parts.iter().map(part).sum()
}

fn collect<'a>(parts: &'a [Part], asks: &mut Vec<&'a str>) {
    for part in parts {
        match part {
            Part::Words(Words { ask, .. }) => asks.extend(ask.as_deref()),
            Part::Choice(Choice { ask, of, .. }) => {
                asks.extend(ask.as_deref());
                of.iter().for_each(|pick| collect(&pick.then, asks));
            }
            Part::Given { .. } => {}
        }
    }
}

/// A plan that is gone along. [`Walk::now`] is what to ask for; what was answered is said with [`Walk::say`] and
/// [`Walk::pick`].
#[derive(Debug)]
pub struct Walk {
    ahead: VecDeque<Part>,
    fields: Map<String, Value>,
    /// What was asked after the prompt, and each answer with what was asked next.
    said: Vec<String>,
    write: Writer,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writer")
    }
}

impl Walk {
    pub fn new(plan: &Plan) -> Walk {
        let ahead = plan.parts.iter().cloned().collect();
        let mut walk = Walk { ahead, fields: Map::new(), said: Vec::new(), write: plan.write };
        walk.skip();
        walk
    }

    /// What is to be asked for; `None` when all of it is answered.
    pub fn now(&self) -> Option<&Part> {
        self.ahead.front()
    }

    /// The model's answers so far, in order.
    pub fn answers(&self) -> &[String] {
        &self.said
    }

    /// The words that were asked for.
    pub fn say(&mut self, words: String) {
        if let Some(Part::Words(part)) = self.ahead.pop_front() {
            put(&mut self.fields, &part.field, Value::String(words.clone()));
            self.said.push(words);
        }
        self.skip();
    }

    /// Which of the list it is, counted from 0.
    pub fn pick(&mut self, at: usize) {
        if let Some(Part::Choice(mut part)) = self.ahead.pop_front()
            && at < part.of.len()
        {
            let pick = part.of.swap_remove(at);
            self.said.push(pick.words.clone());
            self.take(&part.field, pick);
        }
        self.skip();
    }

    fn take(&mut self, field: &str, pick: Pick) {
        put(&mut self.fields, field, pick.value);
        pick.then.into_iter().rev().for_each(|part| self.ahead.push_front(part));
    }

    /// Passes over what nobody has to be asked about.
    fn skip(&mut self) {
        loop {
            match self.ahead.pop_front() {
                Some(Part::Given { field, value }) => put(&mut self.fields, &field, value),
                Some(Part::Choice(mut choice)) if choice.of.len() == 1 => {
                    let only = choice.of.swap_remove(0);
                    self.take(&choice.field, only);
                }
                Some(Part::Choice(choice)) if choice.of.is_empty() => {}
                Some(part) => return self.ahead.push_front(part),
                None => return,
            }
        }
    }

    /// The reply, from everything that was answered.
    pub fn written(&self) -> String {
        (self.write.0)(&self.fields)
    }
}

fn put(fields: &mut Map<String, Value>, field: &str, value: Value) {
    if value.is_null() {
        return;
    }
    match field.split_once('.') {
        Some((outer, inner)) => {
            let within = fields.entry(outer).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(within) = within {
                put(within, inner, value);
            }
        }
        None => {
            fields.insert(field.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan() -> Plan {
        let task = Part::Words(Words::new("handoff.task", 1, 100).asked("What is next?"));
        let over = |name: &str| Pick::new(name, name).then(vec![task.clone()]);
        let next = Choice::new("handoff.to", vec![over("ann"), over("ben")]).asked("Who is next?");
        Plan::object(vec![
            Part::Words(Words::new("message", 3, 400)),
            Part::Choice(
                Choice::new(
                    "final",
                    vec![Pick::new("yes", true), Pick::new("no", Value::Null).then(vec![Part::Choice(next)])],
                )
                .asked("Is it done?"),
            ),
            Part::Given { field: "voice".into(), value: json!("warm") },
        ])
    }

    #[test]
    fn what_is_chosen_says_what_is_asked_next() {
        let plan = plan();
        assert_eq!(plan.asks(), ["Is it done?", "Who is next?", "What is next?", "What is next?"]);
        let mut walk = Walk::new(&plan);
        assert!(matches!(walk.now(), Some(Part::Words(words)) if words.ask.is_none()));
        walk.say("A draft.".to_owned());
        walk.pick(1);
        walk.pick(0);
        assert!(matches!(walk.now(), Some(Part::Words(words)) if words.field == "handoff.task"));
        walk.say("Edit it.".to_owned());
        assert_eq!(walk.now(), None);
        assert_eq!(walk.answers(), ["A draft.", "no", "ann", "Edit it."]);
        let reply: Value = serde_json::from_str(&walk.written()).expect("an object");
        assert_eq!(
            reply,
            json!({"message": "A draft.", "handoff": {"to": "ann", "task": "Edit it."}, "voice": "warm"})
        );
    }

    #[test]
    fn nobody_is_asked_what_is_no_choice() {
        let only = Choice::new("voice", vec![Pick::new("warm", "warm")]);
        let none = Choice::new("target", Vec::new());
        let plan = Plan::object(vec![Part::Choice(none), Part::Choice(only), Part::Words(Words::new("text", 1, 9))]);
        let mut walk = Walk::new(&plan);
        assert!(matches!(walk.now(), Some(Part::Words(_))));
        // What is not asked for is not taken.
        walk.say("Yes.".to_owned());
        walk.say("No.".to_owned());
        walk.pick(0);
        assert_eq!(walk.written(), json!({"voice": "warm", "text": "Yes."}).to_string());
    }
}
