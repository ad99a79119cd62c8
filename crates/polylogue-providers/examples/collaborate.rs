//! A collaboration between models, with nothing around it: what `tests/real-servers/run` talks to real servers with.
//!
//! `collaborate ROUNDS MODEL MODEL` reads keys and addresses from the environment as the vendors' own clients do,
//! prints what was said and ends with status 1 unless every reply was understood.

use std::{error::Error, sync::Arc};

use polylogue_core::{
    Event, Setup,
    format::collaboration,
    id::SessionId,
    projection::plain_text,
    reply::Repair,
    setup::{Agent, Cast, FormatSetup, Limits as SessionLimits, Sampling},
};
use polylogue_providers::{Limits, Models, Prices, Settings, catalogue::probe, resolve::resolve};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{NoVoice, SystemClock},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rounds, first, second] = arguments.as_slice() else { return Err("ROUNDS MODEL MODEL".into()) };
    let models = Models::new(&Settings::default(), Limits::default(), |name| std::env::var(name).ok())?;
    let prices = Prices::default();
    let agent = |name: &str, model: &str| -> Result<Agent, Box<dyn Error>> {
        let model = resolve(model)?;
        let price = prices.of(&model);
        let sampling = Sampling { temperature: Some(0.8), max_output_tokens: Some(200), stop: vec![] };
        Ok(Agent { name: name.parse()?, model, persona: None, voice: None, sampling, price })
    };
    let agents = vec![agent("gpt", first)?, agent("claude", second)?];
    for agent in &agents {
        let found = probe(&models, &agent.model).await?;
        println!("{}: {:?}, {:?}, {:?}", found.model, found.round_trip, found.structured, found.caching);
    }
    let settings = collaboration::Settings {
        goal: "Write a fairy tale about a fox, one sentence each. Always hand over to the other.".into(),
        speaker: "gpt".parse()?,
        max_rounds: rounds.parse()?,
    };
    let setup = Setup {
        id: SessionId::from_random([7; 16]),
        format: FormatSetup::Collaboration(settings),
        cast: Cast::new(agents, vec![])?,
        limits: SessionLimits { call_timeout_seconds: 120, ..SessionLimits::default() },
        seed: 1,
        speech: false,
        templates: Default::default(),
    };
    let ports = Ports {
        model: Arc::new(models),
        voice: Arc::new(NoVoice),
        journal: Arc::new(MemoryJournal::default()),
        clock: Arc::new(SystemClock),
    };
    let hub = Hub::new(ports, HubSettings::default());
    let id = hub.start(setup).await?;
    hub.wait(id).await?;
    let conversation = hub.conversation(id).await?;
    println!("{}", plain_text(&conversation));
    let mut is_good = true;
    for record in hub.records(id).await? {
        match record.event {
            Event::Answered { ask, usage, repairs, .. } => {
                println!("{ask}: {usage:?} {repairs:?}");
                // A null for what is absent is how strict schemas say it; anything else was not constrained.
                is_good &= repairs.iter().all(|repair| matches!(repair, Repair::EmptyField | Repair::Cut));
            }
            Event::AskFailed { ask, failure, .. } => {
                println!("{ask}: {failure:?}");
                is_good = false;
            }
            _ => {}
        }
    }
    println!("ended: {:?}", conversation.stage().ended());
    if is_good { Ok(()) } else { Err("a reply was missing or did not fit its schema".into()) }
}
