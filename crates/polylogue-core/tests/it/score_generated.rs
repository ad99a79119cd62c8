//! Scores of all that the language has, with casts and models that behave in every way, for properties.

use std::collections::BTreeMap;

use polylogue_core::{
    Answer, Conversation, Input, Setup,
    ask::Ask,
    event::{CallFailure, FailureKind},
    format::score::{Phase, Score, Seat, Settings, Turn, read_text},
    id::SessionId,
    ledger::Usage,
    money::{Money, Price},
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
    text::reply::Shape,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Play, said};

/// What a phase is made of, by numbers.
#[derive(Clone, Copy, Debug)]
struct Wish {
    who: u8,
    sees: u8,
    form: u8,
    line: u8,
    prompt: u8,
    blind: bool,
    one_by_one: bool,
}

prop_compose! {
    fn wish()(
        (who, sees, form, line, prompt) in (0u8..10, 0u8..8, 0u8..12, 0u8..4, 0u8..8),
        (blind, one_by_one) in any::<(bool, bool)>(),
    ) -> Wish {
        Wish { who, sees, form, line, prompt, blind, one_by_one }
    }
}

/// A phase that others can refer to, with the fields of its replies.
struct Before {
    name: String,
    fields: Vec<&'static str>,
}

fn who(wish: Wish, before: Option<&Before>, has_guest: bool) -> Value {
    let has_order = before.is_some_and(|before| before.fields.contains(&"order_of"));
    match (wish.who, before) {
        (1, _) => json!("lone"),
        (2, _) => json!([{"role": "crowd", "if": "{{ me.number <= 2 }}"}, "lone"]),
        (3, _) => json!({"pick": {"by": "lone", "from": "crowd"}}),
        (4, _) => {
            json!({"pick": {"by": "lone", "from": "crowd", "again": false, "prompt": "Of {{ candidates | join(', ') }}?"}})
        }
        (5, _) if has_guest => json!(["crowd", "guest"]),
        (6, _) if has_guest => json!("guest"),
        (7, Some(before)) => json!({"role": "crowd", "if": format!("{{{{ {} | by(me) }}}}", before.name)}),
        (8, _) if has_guest => json!({"pick": {"by": "lone", "from": ["crowd", "guest"]}}),
        (9, Some(before)) if has_order => {
            let best = format!(
                "{{{{ me.name in ({} | borda('order_of') | map(attribute='name') | list)[:1] }}}}",
                before.name
            );
            json!([{"role": "crowd", "if": best}, "lone"])
        }
        _ => json!("crowd"),
    }
}

fn sees(wish: Wish, before: Option<&Before>) -> Value {
    let Some(Before { name, .. }) = before else { return json!(if wish.sees < 4 { "message" } else { "all" }) };
    match wish.sees {
        0 => json!("message"),
        1 => json!([name]),
        2 => json!(["message", name]),
        3 => json!({"phase": name, "at_most": 2}),
        4 => json!({"phase": name, "at_most": 1, "drawn": true, "where": "{{ line.name != me.name }}"}),
        5 => json!({"phase": name, "where": "{{ line.to == me.name }}"}),
        _ => json!("all"),
    }
}

/// The form of the replies, and its fields.
fn form(wish: Wish, of: &str) -> (Value, Vec<&'static str>) {
    let form = match wish.form {
        0 => json!({"order_of": {"order": of}, "why": "text"}),
        1 => json!({"one": {"one_of": of}, "often": "1..5"}),
        2 => json!({"agree": "yes_no", "words": {"list": "text", "at_most": 3}}),
        3 => json!({"verdict": ["guilty", "not guilty of anything at all"], "why": "text"}),
        4 => json!({"often": "0..1"}),
        5 => json!({"agree": "yes_no"}),
        6 => json!({"tags": {"list": ["red", "green", "ultramarine"], "at_most": 2}, "why": "text", "more": "text"}),
        7 => json!({"one": {"one_of": "crowd"}, "why": "text"}),
        8 => json!({"order_of": {"order": "crowd"}}),
        _ => return (Value::Null, Vec::new()),
    };
    let names = ["order_of", "one", "often", "agree", "words", "verdict", "tags", "why", "more"];
    let fields = names.into_iter().filter(|name| form.get(*name).is_some()).collect();
    (form, fields)
}

fn line(wish: Wish, fields: &[&str]) -> Option<String> {
    let first = fields.first()?;
    match wish.line {
        1 => Some(format!("{{{{ me.name }}}}, {{{{ me.number }}}} of {{{{ me.role }}}}s: {{{{ reply.{first} }}}}")),
        2 if fields.contains(&"agree") => Some("{{ 'Yes, and all that goes with it' if reply.agree }}".to_owned()),
        3 if fields.contains(&"why") => Some(format!("{{{{ reply.why }}}} ({{{{ reply.{first} }}}})")),
        _ => None,
    }
}

fn prompt(wish: Wish, nth: usize, before: Option<&Before>) -> String {
    let votes = |name: &str, fields: &[&str]| -> String {
        let has = |field| fields.contains(&field);
        match () {
            () if has("order_of") => format!(
                "{{% for place in {name} | borda('order_of') %}}{{{{ place.name }}}}: {{{{ place.points }}}} {{% endfor %}}"
            ),
            () if has("one") => format!("{{{{ {name} | tally('one') }}}}"),
            () if has("often") => format!(
                "{{{{ {name} | mean('often') }}}} {{{{ {name} | spread('often') }}}} {{{{ {name} | median('often') }}}}"
            ),
            () if has("agree") => format!(
                "{{% if {name} | all('agree') %}}All agree.{{% else %}}{{% for line in {name} if not line.reply.agree %}}{{{{ line.text }}}} by {{{{ line.name }}}} {{% endfor %}}{{% endif %}}"
            ),
            () if has("verdict") => format!(
                "{{{{ {name} | tally('verdict') }}}} {{% for line in {name} %}}{{% if line.reply.verdict != 'guilty' %}}{{{{ line.reply.why }}}}{{% endif %}}{{% endfor %}}"
            ),
            () if has("tags") => format!("{{{{ {name} | map(attribute='reply.tags') | list }}}}"),
            () => format!("{{% for line in {name} %}}{{{{ line.name }}}}: {{{{ line.text }}}} {{% endfor %}}"),
        }
    };
    let more = match (wish.prompt, before) {
        (0, _) => "{{ message }} {{ word }}".to_owned(),
        (1, _) => "{% for line in seen %}{{ line.name }} says {{ line.text }}. {% endfor %}".to_owned(),
        (2 | 3, Some(before)) => votes(&before.name, &before.fields),
        (4, _) if !wish.blind => "{{ seats.crowd | join(', ') }}".to_owned(),
        (5, Some(before)) => format!("{{{{ 'You spoke.' if {} | by(me) else 'You did not.' }}}}", before.name),
        (6, _) => "{{ 'Last. ' if last_round }}{{ me.name }} is number {{ me.number }}.".to_owned(),
        _ => String::new(),
    };
    format!("Phase {nth}, round {{{{ round }}}}. {more}")
}

fn phase(nth: usize, wish: Wish, before: Option<&Before>, has_guest: bool) -> (Value, Before) {
    let name = format!("p{nth}");
    let who = who(wish, before, has_guest);
    let has_person = who.to_string().contains("guest");
    let blind = wish.blind && !has_person;
    let wish = Wish { blind, ..wish };
    let (form, fields) = form(wish, before.map_or("crowd", |before| &before.name));
    let mut phase = json!({
        "who": who,
        "sees": sees(wish, before),
        "blind": blind,
        "order": if wish.one_by_one && who.get("pick").is_none() { "one_by_one" } else { "at_once" },
        "prompt": prompt(wish, nth, before),
    });
    let fields = if has_person { Vec::new() } else { fields };
    if !fields.is_empty() {
        phase["reply"] = form;
        phase["line"] = line(wish, &fields).into();
        if fields.contains(&"one") {
            phase["to"] = json!("one");
        }
        let phase = phase.as_object_mut().unwrap();
        phase.retain(|_, value| !value.is_null());
    }
    (json!({name.clone(): phase}), Before { name, fields })
}

prop_compose! {
    fn texts()(
        wishes in prop::collection::vec(wish(), 1..6),
        has_guest in prop::bool::weighted(0.3),
        (outer, inner) in (0usize..5, 0usize..5),
        (times, within) in (1u32..4, 1u32..3),
        least in 1u32..3,
        ends in 0u8..3,
    ) -> String {
        let (mut phases, mut before): (Vec<Value>, Option<Before>) = Default::default();
        for (nth, wish) in wishes.iter().enumerate() {
            let (phase, now) = phase(nth, *wish, before.as_ref(), has_guest);
            phases.push(phase);
            before = Some(now);
        }
        let last = before.unwrap().name;
        let outer = outer.min(phases.len() - 1);
        let mut again = phases.split_off(outer);
        if inner > 0 && inner < again.len() {
            let nested = again.split_off(inner);
            again.push(json!({"repeat": {"at_most": within, "phases": nested}}));
        }
        let mut repeat = json!({"at_most": "{{ times }}", "phases": again});
        match ends {
            0 => repeat["until"] = format!("{{{{ {last} | length > 2 and round > 1 }}}}").into(),
            1 => repeat["until"] = format!("{{{{ {last} | map(attribute='text') | join | length > 40 }}}}").into(),
            _ => {}
        }
        phases.push(json!({"repeat": repeat}));
        let mut roles = json!({
            "crowd": {"seats": format!("{least}..4"), "persona": "You are one of many."},
            "lone": {"seats": 1},
        });
        if has_guest {
            roles["guest"] = json!({"seats": 1, "person": true});
        }
        json!({
            "score": "generated",
            "roles": roles,
            "settings": {"times": times, "word": "indeed"},
            "phases": phases,
            "result": {"said": format!("{{{{ {last} | map(attribute='text') | list }}}}")},
        })
        .to_string()
    }
}

/// Scores that can be played. In others, what is blind here was seen with names there.
pub(crate) fn scores() -> impl Strategy<Value = Score> {
    texts().prop_filter_map("it cannot be played", |text| read_text(&text).ok())
}

/// Who plays: the names of the crowd and of the one apart, and what differs between them.
#[derive(Clone, Debug)]
pub(crate) struct Company {
    pub(crate) crowd: Vec<String>,
    pub(crate) lone: String,
    /// For each of them, the one apart last: output tokens, price, whether it is small.
    pub(crate) kinds: Vec<(u32, u8, bool)>,
    pub(crate) seed: u64,
}

pub(crate) const GUEST: &str = "Guðrún";

prop_compose! {
    pub(crate) fn companies()(
        crowd in 2usize..5,
        kinds in prop::collection::vec((16u32..400, 0u8..3, prop::bool::weighted(0.2)), 5),
        seed in any::<u64>(),
    ) -> Company {
        let names = ["Quorra", "Zephyra", "Xanthe of the Nine Hills", "P"];
        let crowd = names[..crowd].iter().map(|name| (*name).to_owned()).collect();
        Company { crowd, lone: "Vesper".to_owned(), kinds, seed }
    }
}

impl Company {
    pub(crate) fn setup(&self, score: Score, model: &str) -> Setup {
        let has_guest = score.role("guest").is_some();
        let crowd = self.crowd.iter().map(|name| (name, "crowd"));
        let all: Vec<(&String, &str)> = crowd.chain([(&self.lone, "lone")]).collect();
        let mut seats: Vec<Seat> =
            all.iter().map(|(name, role)| Seat { name: name.as_str().into(), role: (*role).into() }).collect();
        let agents = seats.iter().zip(&self.kinds).map(|(seat, (most, price, is_small))| Agent {
            name: seat.name.parse().unwrap(),
            model: format!("{model}/{}", seat.name.len()).parse().unwrap(),
            persona: Some(format!("You are known as {}.", seat.name).into()),
            voice: None,
            sampling: Sampling { max_output_tokens: Some(*most), ..Sampling::default() },
            price: Some(Price {
                input: 1.0 + f64::from(*price),
                output: 10.0 / f64::from(price + 1),
                cached: Some(0.1),
                cache_write: (*price == 2).then_some(4.5),
            }),
            is_small: *is_small,
        });
        let agents = agents.collect();
        let mut people = vec!["you".parse().unwrap()];
        if has_guest {
            seats.push(Seat { name: GUEST.into(), role: "guest".into() });
            people.push(GUEST.parse().unwrap());
        }
        let settings = Settings::new(score.into(), "What is a home?", BTreeMap::new(), seats);
        Setup {
            id: SessionId::from_bytes([0x56; 16]),
            cast: Cast::new(agents, people).unwrap(),
            format: FormatSetup::new(settings),
            limits: Limits {
                max_tokens: u64::MAX,
                max_usd: Money::from_usd(1e6),
                max_seconds: 1_000_000,
                ..Limits::default()
            },
            seed: self.seed,
            speech: false,
            templates: Default::default(),
            room: None,
        }
    }
}

/// A number that follows from a place and a mood.
pub(crate) fn drawn(place: &str, mood: u64) -> usize {
    let mut hash = mood ^ 0xcbf2_9ce4_8422_2325;
    place.bytes().for_each(|byte| hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    ((hash ^ (hash >> 29)) >> 3) as usize
}

/// A good reply, other at each place: `words` are the words of its texts.
pub(crate) fn good(shape: Option<&Shape>, words: &str, number: usize) -> String {
    shape.map_or_else(|| words.to_owned(), |shape| value(shape, words, number).to_string())
}

fn value(shape: &Shape, words: &str, number: usize) -> Value {
    match shape {
        Shape::Text { .. } => words.into(),
        Shape::Bool => number.is_multiple_of(2).into(),
        Shape::Range(least, most) | Shape::Fraction(least, most) => match number % 3 {
            0 => json!(*most as i64),
            1 => json!(least + (most - least) * (number % 1_000) as f64 / 1_000.7),
            _ => json!(*least as i64),
        },
        Shape::Choice(of) => of[number % of.len()].clone().into(),
        Shape::Number(of) => of[number % of.len()].into(),
        Shape::Order(of) => {
            let mut of = of.clone();
            let by = number % of.len().max(1);
            of.rotate_left(by);
            of.into()
        }
        Shape::List(of, most) => (0..=number % most).map(|nth| value(of, words, number + nth)).collect(),
        Shape::Object(fields) => {
            let of = |(nth, field): (usize, &polylogue_core::text::reply::Field)| {
                (field.name.to_string(), value(&field.shape, words, number / (nth + 1)))
            };
            fields.iter().enumerate().map(of).collect()
        }
    }
}

/// Plays to the end with models that do as they like, within what their providers let through: no answer is longer
/// than its limit in tokens. Every ask is shown to `look` before it is answered.
pub(crate) fn misbehaved(mut play: Play, mood: u64, mut look: impl FnMut(&Play, &Ask)) -> Play {
    let mut steps = 0;
    while play.conversation.stage().ended().is_none() {
        steps += 1;
        assert!(steps < 5_000, "it does not end: {}", play.journal());
        let asks = play.begin();
        for ask in &asks {
            look(&play, ask);
            let number = drawn(&ask.id.to_string(), mood);
            play.give(answer(&play, ask, number)).unwrap();
        }
        if asks.is_empty() && play.conversation.stage().ended().is_none() {
            let length = [3, 400, Conversation::MAX_MESSAGE_CHARS][drawn(&steps.to_string(), mood) % 3];
            play.give(said(GUEST, &"家".repeat(length))).unwrap();
        }
    }
    play
}

fn answer(play: &Play, ask: &Ask, number: usize) -> Input {
    let most = ask.request.max_output_tokens() as usize;
    let shape = ask.request.shape.as_deref();
    let words = |count: usize| good(shape, &"x".repeat(count), number / 20);
    let mut is_full = false;
    let text = match number % 20 {
        0 => {
            let failure = CallFailure { kind: FailureKind::Network, message: "gone".into() };
            return Input::AskFailed { ask: ask.id.clone(), failure, usage: Usage::default(), retries: 2 };
        }
        1 => String::new(),
        2 => "{\"next\": \"nobody\", \"one\": 7, \"often\": null}".to_owned(),
        3 => " ".repeat(4 * most),
        4 => {
            is_full = true;
            format!("{{\"why\": \"{}", "x".repeat(4 * most - 9))
        }
        5 => format!("```json\n{}\n```", words(8)),
        6 => format!("<think>{}</think>{}", "hm ".repeat(most / 4), words(most / 8)),
        7 => format!("Vesper: {}\nQuorra: No.", words(4)),
        // Good and as long as it may be, in its words or behind them.
        8 | 9 => {
            let rest = (4 * most).saturating_sub(words(1).len());
            words(rest / 3 + 1)
        }
        10 => {
            let text = words(1);
            let rest = (4 * most).saturating_sub(text.len());
            text + &" ".repeat(rest)
        }
        11 => good(shape, &"家".repeat(most / 5 + 1), number / 20),
        _ => words(12),
    };
    // No provider hands out more than its limit.
    let text: String = within(&text, most);
    let estimate = play.conversation.stage().estimate_of(&ask.id).unwrap();
    let usage = Usage { cached: 0, reasoning: estimate.output / 2, ..estimate };
    let usage = number.is_multiple_of(3).then_some(usage);
    Input::Answered { ask: ask.id.clone(), answer: Answer { text: text.into(), usage, is_full, ..Answer::default() } }
}

/// As much of a text as so many tokens hold.
fn within(text: &str, most: usize) -> String {
    let mut quarters = 0;
    text.chars()
        .take_while(|char| {
            quarters += if char.is_ascii() { 1 } else { 4 };
            quarters <= 4 * most
        })
        .collect()
}

/// The name of the phase that an ask belongs to.
pub(crate) fn phase_of(play: &Play, ask: &Ask) -> String {
    let counter = play.conversation.counter(&ask.id);
    counter.split(',').next().unwrap_or_default().to_owned()
}

/// The phases of a score, those of its repeats included.
pub(crate) fn turns(phases: &[Phase]) -> Vec<&Turn> {
    let mut found = Vec::new();
    for phase in phases {
        match phase {
            Phase::Turn(turn) => found.push(turn),
            Phase::Repeat(repeat) => found.extend(turns(&repeat.phases)),
        }
    }
    found
}
