//! Scenes on a model that takes a fixed time and counts what it is sent: what the engine adds to a beat, and
//! what a thread that grows saves against the last ten exchanges sent anew.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use polylogue_core::{
    Setup,
    ask::Request,
    format::scene::{AgentMode, MODERATOR, Settings, WorldEvents, purpose, reason},
    id::AgentId,
    ledger::estimate_tokens,
    money::Price,
    setup::{Agent, Cast, FormatSetup, Limits, ModelRef, Sampling},
};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{Call, CallError, Model, NoVoice, Reply, SystemClock},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{engine, failure::Failure};

/// What is paid for a token that the provider has in its cache.
const CACHED: f64 = 0.1;

/// Answers after a while with a line that nobody has said before, and keeps count of prefixes as a provider's
/// prompt cache would: whole messages, from the first on, that were sent before.
struct Counting {
    delay: Duration,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    last: BTreeMap<AgentId, Vec<String>>,
    input: u64,
    cached: u64,
}

#[async_trait]
impl Model for Counting {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        sleep(self.delay).await;
        let id = &call.ask.id;
        self.counts.lock().expect("nobody panics while counting").add(&id.agent, &call.ask.request);
        let text = match id.purpose {
            purpose::ACT => line(id.agent.as_str(), id.turn),
            _ => JUDGED.to_owned(),
        };
        Ok(Reply { text: text.into(), ..Reply::default() })
    }
}

impl Counts {
    fn add(&mut self, agent: &AgentId, request: &Request) {
        let thread = request.thread.messages().iter().map(|message| message.text.to_string());
        let sent: Vec<String> =
            [request.system.to_string()].into_iter().chain(thread).chain([request.prompt.to_string()]).collect();
        let before = self.last.get(agent).map(Vec::as_slice).unwrap_or_default();
        let known = sent.iter().zip(before).take_while(|(now, before)| now == before).count();
        let tokens = |messages: &[String]| messages.iter().map(|text| estimate_tokens(text)).sum::<u64>();
        self.input += tokens(&sent);
        self.cached += tokens(&sent[..known]);
        self.last.insert(agent.clone(), sent);
    }

    fn billed(&self) -> f64 {
        (self.input - self.cached) as f64 + self.cached as f64 * CACHED
    }
}

/// What the moderator thinks of every beat.
pub(super) const JUDGED: &str = r#"{"progress": 0.3, "goalReached": false, "naturalEnd": false, "onTrack": true}"#;

/// A line of about twenty words.
pub(super) fn line(agent: &str, beat: u32) -> String {
    let mut chance = u64::from(beat) * 31 + agent.bytes().map(u64::from).sum::<u64>() * 1_009;
    let mut word = || {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let letters = (0..5).map(|at| char::from(b'a' + ((chance >> (at * 9 + 14)) % 26) as u8));
        letters.collect::<String>()
    };
    let words: Vec<String> = (0..20).map(|_| word()).collect();
    format!("[TONE: calm, *looks up*] \"{}.\"", words.join(" "))
}

/// Beats of five characters: the time against one ask of the characters and one of the moderator each.
pub(super) async fn run_beats(name: String, beats: u32, ask_ms: u64) -> Result<Value, Failure> {
    let began = Instant::now();
    play(beats, 5, ask_ms, AgentMode::Thread).await?;
    let least = Duration::from_millis(ask_ms) * 2 * beats;
    Ok(json!({
        "case": name,
        "askMs": ask_ms,
        "characters": 5,
        "beats": beats,
        "ratioToLeastTime": (began.elapsed().as_secs_f64() / least.as_secs_f64() * 1e3).round() / 1e3,
    }))
}

/// The input of three characters and their moderator, both ways.
pub(super) async fn run_tokens(name: String, beats: u32) -> Result<Value, Failure> {
    let thread = play(beats, 3, 0, AgentMode::Thread).await?;
    let fresh = play(beats, 3, 0, AgentMode::Fresh).await?;
    let lower = |than: f64| ((1.0 - thread.billed() / than) * 1e3).round() / 10.0;
    Ok(json!({
        "case": name,
        "characters": 3,
        "beats": beats,
        "threadInputTokens": thread.input,
        "threadCachedTokens": thread.cached,
        "freshInputTokens": fresh.input,
        "freshCachedTokens": fresh.cached,
        "threadBilledTokens": thread.billed().round(),
        "percentLowerThanFreshWithoutCache": lower(fresh.input as f64),
        "percentLowerThanFreshWithCachedHead": lower(fresh.billed()),
    }))
}

async fn play(beats: u32, characters: usize, ask_ms: u64, mode: AgentMode) -> Result<Counts, Failure> {
    let model = Arc::new(Counting { delay: Duration::from_millis(ask_ms), counts: Mutex::default() });
    let (store, clock) = (Arc::new(MemoryJournal::default()), Arc::new(SystemClock));
    let ports = Ports::new(model.clone(), Arc::new(NoVoice), store, clock);
    let hub = Hub::new(ports, HubSettings::default());
    let id = hub.start(setup(beats, characters, mode, &"slow/model".parse()?)?).await?;
    hub.wait(id).await?;
    if hub.conversation(id).await?.stage().ended() != Some(reason::MAX_BEATS_EXCEEDED) {
        return Err(Failure::internal("the scene of the bench did not run to its end"));
    }
    let counts = std::mem::take(&mut *model.counts.lock().expect("nobody panics while counting"));
    Ok(counts)
}

pub(super) fn setup(beats: u32, characters: usize, mode: AgentMode, model: &ModelRef) -> Result<Setup, Failure> {
    let agent = |name: &str| -> Result<Agent, Failure> {
        Ok(Agent {
            name: name.parse().map_err(|_| Failure::internal("a bad name"))?,
            model: model.clone(),
            persona: (name != MODERATOR).then(|| PERSONA.into()),
            voice: None,
            sampling: Sampling::default(),
            price: Some(Price::FREE),
            is_small: false,
        })
    };
    let names = ["alice", "bob", "charlie", "dora", "emil"];
    let agents = names[..characters].iter().map(|name| agent(name)).collect::<Result<_, _>>()?;
    let prompt = "They have lost a client, and each of them has a part in it. Scene goal: they find out how, and agree \
                  on what they will do otherwise.";
    let settings = Settings {
        goal: Some("They agree on what they will do otherwise.".into()),
        setting: Some("A conference room, late in the afternoon".into()),
        max_beats: beats,
        agent_mode: mode,
        events: WorldEvents::Off,
        ..Settings::new("bench", prompt)
    };
    Ok(Setup {
        id: engine::new_session_id()?,
        format: FormatSetup::new(settings),
        cast: Cast::new(agents, Vec::new())?.with_crew(vec![agent(MODERATOR)?])?,
        limits: Limits { max_tokens: u64::MAX, ..Limits::default() },
        seed: 1,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    })
}

/// A character of the length that people write.
const PERSONA: &str = "\
# A senior project manager

## Personality
- Organised to a fault, and proud of it
- Says what is on the table, sometimes before anybody has sat down
- Feels responsible for everyone in the room, and does not say so
- Sleeps badly in the weeks before a deadline

## Communication
- Short sentences, exact words, numbers where others have adjectives
- Grows louder when a promise is broken, and very quiet when it is broken twice
- Looks people in the eye for as long as it takes
- Interrupts when somebody explains what needs no explanation

## Background
- Eight years in the house, two of them in charge
- Has taught most of those present what they know
- Was called upstairs this morning, and has told nobody

## When it matters
- Angry: clipped, fast, no names
- Disappointed: measured, formal, full names
- Pleased: leans back, makes a joke at own expense

## In this scene
- Wants somebody to say what happened, in one sentence
- Would forgive a mistake, and not an excuse
- Has already written the letter to the client, and not sent it
";
