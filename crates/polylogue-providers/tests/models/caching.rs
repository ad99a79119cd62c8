//! Prompt caches hit: of a scene's requests, most of each is the beginning of an earlier one.

use std::collections::HashMap;

use polylogue_core::{
    ask::{Role, Thread},
    ledger::estimate_tokens,
};
use polylogue_providers::Limits;
use polylogue_runtime::port::Model;
use serde_json::Value;

use crate::{
    support::{
        ask::{call, models_at, request, shape},
        server::Server,
    },
    vendor::{self, Vendor},
};

const BEATS: usize = 20;
const CHARACTERS: [&str; 3] = ["Ada", "Bob", "Cleo"];

/// What a cache sees of a request: its texts in the order in which the model reads them, and from which text on
/// an earlier request may not be reused because nothing was marked.
fn texts(body: &Value) -> Vec<String> {
    let content = |content: &Value| match content {
        Value::String(text) => text.clone(),
        parts => parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect(),
    };
    let head = body.get("system").map(content);
    let messages = body["messages"].as_array().unwrap().iter();
    let said =
        messages.map(|message| format!("{}:{}", message["role"].as_str().unwrap(), content(&message["content"])));
    // What decides the answer besides the texts belongs to the prefix too: another schema is another prompt.
    let form = body.get("response_format").or_else(|| body.get("output_config")).map(Value::to_string);
    form.into_iter().chain(head).chain(said).collect()
}

/// How many tokens of a request are the beginning of an earlier request of the same character.
fn prefix_tokens(now: &[String], earlier: &[Vec<String>]) -> u64 {
    let common = |before: &Vec<String>| now.iter().zip(before).take_while(|(a, b)| a == b).count();
    let texts = earlier.iter().map(common).max().unwrap_or(0);
    now[..texts].iter().map(|text| estimate_tokens(text)).sum()
}

async fn share_of_prefixes(vendor: &Vendor) -> f64 {
    let answers = (0..BEATS * CHARACTERS.len()).map(|at| (vendor.stream)(&[&line(at)])).collect();
    let server = Server::start(answers).await;
    let models = models_at(&server.base(), Limits::default());
    let mut threads: HashMap<&str, Thread> = HashMap::new();
    for beat in 0..BEATS {
        for (at, name) in CHARACTERS.iter().enumerate() {
            let thread = threads.entry(name).or_default();
            let prompt = format!("Beat {beat}. What happened: {}", line(beat * 7 + at));
            let mut request = request(vendor.model);
            request.system =
                format!("You are {name}. {}", "Stay who you are, and speak in short lines. ".repeat(12)).into();
            request.thread = thread.clone();
            request.prompt = prompt.as_str().into();
            request.shape = Some(shape());
            let reply = models.answer(&call(request)).await.unwrap();
            thread.push(Role::User, prompt.into());
            thread.push(Role::Assistant, reply.text.into());
        }
    }
    let mut earlier: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    let (mut all, mut prefix) = (0, 0);
    for seen in server.seen() {
        let texts = texts(&seen.body);
        let name = CHARACTERS.iter().find(|name| seen.text.contains(&format!("You are {name}."))).unwrap();
        let before = earlier.entry((*name).to_owned()).or_default();
        all += texts.iter().map(|text| estimate_tokens(text)).sum::<u64>();
        prefix += prefix_tokens(&texts, before);
        before.push(texts);
    }
    prefix as f64 / all as f64
}

fn line(at: usize) -> String {
    let words = ["the door", "a letter", "someone", "the rain", "a promise", "the old house", "nobody"];
    (0..12).map(|word| words[(at * 3 + word * 5 + word * word) % words.len()]).collect::<Vec<_>>().join(" and ")
}

#[tokio::test]
async fn four_fifths_of_all_input_are_a_prefix_of_an_earlier_request() {
    for vendor in [vendor::OPENAI, vendor::ANTHROPIC] {
        let share = share_of_prefixes(&vendor).await;
        println!("{}: {:.1} % of the input is a prefix", vendor.model, share * 100.0);
        assert!(share >= 0.8, "{}: {share}", vendor.model);
    }
}
