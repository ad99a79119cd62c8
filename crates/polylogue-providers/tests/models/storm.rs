//! Two hundred collaborations in a storm of faults: all end, nothing is tried too often, and the books agree.

use std::{sync::Arc, time::Duration};

use polylogue_core::{
    Event, Reason, Setup,
    format::collaboration,
    id::SessionId,
    ledger::Usage,
    setup::{Agent, Cast, FormatSetup, Limits as SessionLimits, Sampling},
};
use polylogue_providers::Limits;
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports, Retries,
    port::{NoVoice, SystemClock},
};
use serde_json::{Value, json};

use crate::support::{ask::models_at, faults::FaultServer};

const SESSIONS: u64 = 200;
const ROUNDS: u32 = 4;
const RETRIES: Retries =
    Retries { max: 3, first_wait: Duration::from_millis(1), longest_wait: Duration::from_millis(8) };

const AGENTS: [(&str, &str); 2] = [("gpt", "openai/gpt-6.1-terra"), ("claude", "anthropic/claude-sonnet-5-5")];

/// Hands over to the other, whoever is asked.
fn reply(body: &Value) -> String {
    let other = if body["model"] == "gpt-6.1-terra" { "claude" } else { "gpt" };
    json!({"message": "A sentence of the tale.", "handoff": {"to": other, "task": "Go on."}}).to_string()
}

fn setup(number: u64) -> Setup {
    let agent = |(name, model): (&str, &str)| Agent {
        name: name.parse().unwrap(),
        model: model.parse().unwrap(),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: None,
    };
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.to_be_bytes());
    let settings =
        collaboration::Settings::new("Write a tale.", AGENTS[number as usize % 2].0.parse().unwrap(), ROUNDS);
    Setup {
        id: SessionId::from_random(id),
        format: FormatSetup::new(settings),
        cast: Cast::new(AGENTS.map(agent).to_vec(), vec![]).unwrap(),
        limits: SessionLimits::default(),
        seed: number,
        speech: false,
        templates: Default::default(),
        room: None,
    }
}

#[tokio::test]
async fn every_session_ends_and_the_ledger_is_what_the_server_billed() {
    let server = FaultServer::start(2026, reply).await;
    let model = Arc::new(models_at(&server.base(), Limits::default()));
    let ports = Ports::new(model, Arc::new(NoVoice), Arc::new(MemoryJournal::default()), Arc::new(SystemClock));
    let hub = Hub::new(ports, HubSettings { retries: RETRIES, ..HubSettings::default() });
    let mut ids = Vec::new();
    for number in 0..SESSIONS {
        ids.push(hub.start(setup(number)).await.unwrap());
    }
    let (mut billed, mut tries) = (Usage::default(), 0);
    let (mut reached_the_end, mut failed) = (0, 0);
    for id in ids {
        hub.wait(id).await.unwrap();
        let conversation = hub.conversation(id).await.unwrap();
        match conversation.stage().ended() {
            Some(Reason::CAP_REACHED) => reached_the_end += 1,
            Some(Reason::FAILED) => failed += 1,
            other => panic!("{id} ended with {other:?}"),
        }
        billed += conversation.stage().ledger().total().usage;
        for record in hub.records(id).await.unwrap() {
            if let Event::Answered { retries, .. } | Event::AskFailed { retries, .. } = record.event {
                assert!(retries <= RETRIES.max, "{retries}");
                tries += u64::from(retries) + 1;
            }
        }
    }
    let books = server.books();
    println!("{reached_the_end} sessions reached the end, {failed} failed; {books:?}");
    assert_eq!(tries, books.requests, "every request is a try that the journal knows");
    assert!(books.failed.values().all(|count| *count > 50), "each fault happens to one request in ten: {books:?}");
    assert!(reached_the_end > 50 && failed > 50, "{reached_the_end} {failed}");
    assert_eq!((billed.input, billed.output), (books.billed.input, books.billed.output));
}
