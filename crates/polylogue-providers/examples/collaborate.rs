//! A collaboration between models, with nothing around it: what `tests/real-servers/run` talks to real servers with.
//!
//! `collaborate ROUNDS MODEL MODEL [constrained]` reads keys and addresses from the environment as the vendors' own
//! clients do and prints what was said. It fails when an ask failed. With `constrained` it also fails when a reply
//! had to be repaired, and it begins again, a few times, until a collaboration took all its rounds: a small model
//! may well find that it is done.

use std::{error::Error, sync::Arc};

use polylogue_core::{
    Event, Record, Setup,
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

const MAX_COLLABORATIONS: u8 = 8;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rounds, first, second, is_constrained) = match arguments.as_slice() {
        [rounds, first, second] => (rounds.parse()?, first, second, false),
        [rounds, first, second, flag] if flag == "constrained" => (rounds.parse()?, first, second, true),
        _ => return Err("ROUNDS MODEL MODEL [constrained]".into()),
    };
    let models = Models::new(&Settings::default(), Limits::default(), |name| std::env::var(name).ok())?;
    let cast = cast(first, second)?;
    for agent in cast.agents() {
        let found = probe(&models, &agent.model).await?;
        println!("{}: {:?}, {:?}, {:?}", found.model, found.round_trip, found.structured, found.caching);
    }
    let ports = Ports {
        model: Arc::new(models),
        voice: Arc::new(NoVoice),
        journal: Arc::new(MemoryJournal::default()),
        clock: Arc::new(SystemClock),
    };
    let hub = Hub::new(ports, HubSettings::default());
    for number in 1..=MAX_COLLABORATIONS {
        let id = hub.start(setup(number, rounds, cast.clone())?).await?;
        hub.wait(id).await?;
        println!("{}", plain_text(&hub.conversation(id).await?));
        let answers = answers(&hub.records(id).await?, is_constrained)?;
        if !is_constrained || answers == rounds {
            return Ok(());
        }
    }
    Err(format!("none of {MAX_COLLABORATIONS} collaborations took {rounds} rounds").into())
}

fn cast(first: &str, second: &str) -> Result<Cast, Box<dyn Error>> {
    let prices = Prices::default();
    let agent = |name: &str, model: &str| -> Result<Agent, Box<dyn Error>> {
        let model = resolve(model)?;
        let price = prices.of(&model);
        let sampling = Sampling { temperature: Some(0.8), max_output_tokens: Some(200), stop: vec![] };
        Ok(Agent { name: name.parse()?, model, persona: None, voice: None, sampling, price })
    };
    Ok(Cast::new(vec![agent("gpt", first)?, agent("claude", second)?], vec![])?)
}

fn setup(number: u8, max_rounds: u32, cast: Cast) -> Result<Setup, Box<dyn Error>> {
    let goal = "Write a fairy tale about a fox, one sentence each. Always hand over to the other.".into();
    let settings = collaboration::Settings { goal, speaker: "gpt".parse()?, max_rounds };
    Ok(Setup {
        id: SessionId::from_random([number; 16]),
        format: FormatSetup::Collaboration(settings),
        cast,
        limits: SessionLimits { call_timeout_seconds: 120, ..SessionLimits::default() },
        seed: number.into(),
        speech: false,
        templates: Default::default(),
    })
}

/// How many replies there were, or which one was not as it should be.
fn answers(records: &[Record], is_constrained: bool) -> Result<u32, Box<dyn Error>> {
    let mut answers = 0;
    for record in records {
        match &record.event {
            Event::Answered { ask, usage, repairs, .. } => {
                println!("{ask}: {usage:?} {repairs:?}");
                // A null for what is absent is how strict schemas say it; anything else was not constrained.
                let fits = repairs.iter().all(|repair| matches!(repair, Repair::EmptyField | Repair::Cut));
                if is_constrained && !fits {
                    return Err(format!("{ask} was not constrained").into());
                }
                answers += 1;
            }
            Event::AskFailed { ask, failure, .. } => return Err(format!("{ask} failed: {}", failure.message).into()),
            _ => {}
        }
    }
    Ok(answers)
}
