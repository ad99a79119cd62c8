//! Three hundred scenes on a model that misbehaves in every way there is, each drawn from its seed: all of them
//! end, no slow character holds up a beat for longer than its time, and nothing that was sent is lost or doubled.

#[allow(dead_code, reason = "not every test needs all of it")]
mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    future::pending,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use fastrand::Rng;
use polylogue_core::{
    Event, Reason, Record, Setup, Timestamp,
    format::scene::{AgentMode, Decision, MODERATOR, STAND_IN, Scheduled, Settings, WorldEvents, purpose, reason},
    id::{AgentId, AskId, SessionId},
    money::Price,
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{Call, CallError, Model, NoVoice, Reply},
};
use support::TokioClock;
use tokio::time::sleep;

const SCENES: u64 = 300;
const TIME_LIMIT: Duration = Duration::from_secs(30);
const NAMES: [&str; 5] = ["alice", "bob", "charlie", "daria", "emil"];

/// A model that keeps a list of what it sent.
#[derive(Default)]
struct Misbehaving {
    sent: Mutex<BTreeMap<(u64, AskId), Vec<Sent>>>,
}

#[derive(Clone, Debug)]
struct Sent {
    text: String,
    /// A word that is in no other reply, where the reply has words.
    word: Option<String>,
}

#[async_trait]
impl Model for Misbehaving {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let (id, seed) = (&call.ask.id, seed_of(call));
        let mut chance = Rng::with_seed(hashed(seed, call, "chance"));
        match chance.u32(0..100) {
            0..80 => {}
            // Some of them come late, and some too late.
            80..92 => sleep(Duration::from_millis(chance.u64(1..45_000))).await,
            92..94 => pending().await,
            _ => return Err(failure(&mut chance)),
        }
        // A moderator may be out of order altogether.
        if id.agent.as_str() == MODERATOR && seed.is_multiple_of(7) {
            return Err(CallError::Unauthorized("told to".to_owned()));
        }
        let word = format!("w{:016x}", hashed(seed, call, "word"));
        let sent = match id.purpose {
            purpose::JUDGE => Sent { text: judgement(&mut chance, &call.ask.request.prompt), word: None },
            purpose::ACT => acted(&mut chance, seed, &word),
            _ => Sent { text: format!("I remember {word}."), word: None },
        };
        // Nothing is waited for after this: what is on the list was sent.
        self.sent.lock().unwrap().entry((seed, id.clone())).or_default().push(sent.clone());
        Ok(Reply { text: sent.text.into(), ..Reply::default() })
    }
}

/// The seed is the model's name, so that one model plays all scenes at once.
fn seed_of(call: &Call) -> u64 {
    call.ask.request.model.model.parse().unwrap()
}

/// A number for a try at an ask. It follows from how the ask is called, so that it stays the same as asks change.
fn hashed(seed: u64, call: &Call, what: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{seed} {} {} {what}", call.ask.id, call.retry).hash(&mut hasher);
    hasher.finish()
}

fn failure(chance: &mut Rng) -> CallError {
    let message = || "told to".to_owned();
    let wait = Some(Duration::from_secs(chance.u64(0..60)));
    match chance.u32(0..10) {
        0 => CallError::Timeout("slow".into()),
        1 => CallError::RateLimited { retry_after: wait, message: message() },
        2 => CallError::RateLimited { retry_after: None, message: message() },
        3 => CallError::Overloaded { retry_after: wait, message: message() },
        4 => CallError::Unauthorized(message()),
        5 => CallError::Refused(message()),
        6 => CallError::ContextTooLong(message()),
        7 => CallError::Network(message()),
        8 => CallError::BadResponse(message()),
        _ => CallError::Rejected(message()),
    }
}

/// What a character answers: in form, out of form, or nothing. Characters of some seeds hardly ever speak.
fn acted(chance: &mut Rng, seed: u64, word: &str) -> Sent {
    if chance.u32(0..100) < if seed.is_multiple_of(5) { 90 } else { 25 } {
        let silent = ["[SILENT]", "[SILENT, *shifts in the chair*]", "[silent]"];
        return Sent { text: (*chance.choice(&silent).unwrap()).to_owned(), word: None };
    }
    let other = NAMES[chance.usize(..NAMES.len())];
    let text = match chance.u32(0..14) {
        0 => format!("[TO: {other}, TONE: angry] \"I tell you {word}!\""),
        1 => format!("[TONE: nervous] \"Maybe {word}, all of you.\""),
        2 => format!("[TO: {other}, TONE: sad, *looks down*] \"I am sorry about {word}.\""),
        3 => format!("[INTERRUPT after \"I tell you\", TONE: furious] \"No {word}!\""),
        4 => format!("[REACT, TONE: shocked, *drops the {word}*]"),
        5 => format!("Just some text with {word} and without any form"),
        6 => format!("[tone: calm, to: {other}] I have {word} without quotes"),
        7 => format!("Sure! Here it is:\n\n[TO: {other}, TONE: warm] “Look at {word}”"),
        8 => format!("[TONE: calm \"The bracket of {word} does not close"),
        9 => format!("**{other}**: I am not {other}, but {word}"),
        10 => format!("{{\"action\": \"speak\", \"tone\": \"dry\", \"content\": \"JSON with {word}\"}}"),
        11 => format!("\u{feff}\n[TONE: 静か] \"日本語で {word} と言う。\"\n"),
        12 => format!("[TONE: tired] \"The same old story, again and again, {word}.\""),
        _ => format!("\"{word}\""),
    };
    Sent { text, word: Some(word.to_owned()) }
}

/// What a moderator answers: now and then what nobody can use, and rarely the end.
fn judgement(chance: &mut Rng, prompt: &str) -> String {
    // Now and then it quotes what was said, as a goal that is reached has to be shown.
    let quote = prompt.lines().rfind(|line| line.ends_with('"')).and_then(|line| line.rsplit('"').nth(1));
    let evidence =
        quote.map(|quote| format!(r#""evidence": [{{"part": 1, "line": "{quote}"}}], "#)).unwrap_or_default();
    let progress = f64::from(chance.u32(0..=100)) / 100.0;
    let (is_reached, is_over) = (chance.u32(0..60) == 0, chance.u32(0..60) == 0);
    match chance.u32(0..10) {
        0 => "I think that it goes rather well.".to_owned(),
        1 => "{\"progress\": \"very far\"".to_owned(),
        2 => format!(
            r#"```json
{{"progress": {progress}, "goalReached": {is_reached}, "naturalEnd": {is_over}, "onTrack": false, "event": "A door slams",
"characters": [{{"name": "alice", "arc": "resolved", "note": "Breathe.", "drift": "Too loud."}}],
"relationships": [{{"from": "alice", "to": "bob", "change": -0.4}}]}}
```"#
        ),
        _ => format!(r#"{{{evidence}"progress": {progress}, "goalReached": {is_reached}, "naturalEnd": {is_over}}}"#),
    }
}

fn set_up(seed: u64) -> Setup {
    let mut chance = Rng::with_seed(seed);
    let agent = |name: &str| Agent {
        name: name.parse().unwrap(),
        model: format!("test/{seed}").parse().unwrap(),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small: false,
    };
    let names = &NAMES[..chance.usize(2..=5)];
    let crew = [MODERATOR, STAND_IN].iter().take(1 + usize::from(chance.bool())).map(|name| agent(name)).collect();
    let max_beats = chance.u32(1..=12);
    let settings = Settings {
        initial_speaker: chance.bool().then(|| names[0].parse().unwrap()),
        max_beats,
        agent_mode: if chance.bool() { AgentMode::Thread } else { AgentMode::Fresh },
        events: match chance.u32(0..3) {
            0 => WorldEvents::Off,
            1 => WorldEvents::At(vec![Scheduled { beat: chance.u32(..max_beats), text: "Thunder".into() }]),
            _ => WorldEvents::Auto,
        },
        story: Some("all of them".into()),
        memory: chance.bool(),
        ..Settings::new(format!("scene {seed}"), "They have to agree on something.")
    };
    let cast = Cast::new(names.iter().map(|name| agent(name)).collect(), Vec::new()).unwrap();
    // Most have all the time they want, some run out of it.
    let max_seconds = if chance.u32(0..10) == 0 { 40 } else { 24 * 3_600 };
    Setup {
        id: SessionId::from_random(u128::from(seed + 1).to_be_bytes()),
        format: FormatSetup::new(settings),
        cast: cast.with_crew(crew).unwrap(),
        limits: Limits {
            max_seconds,
            max_tokens: u64::MAX,
            // Whoever says nothing has as long as these two together.
            call_timeout_seconds: TIME_LIMIT.as_secs() / 3,
            first_token_seconds: Some(TIME_LIMIT.as_secs() * 2 / 3),
            call_max_seconds: TIME_LIMIT.as_secs(),
            ..Limits::default()
        },
        seed,
        speech: false,
        templates: BTreeMap::new(),
        room: None,
        tenant: None,
    }
}

#[tokio::test(start_paused = true)]
async fn three_hundred_scenes_end_and_lose_nothing() {
    let model = Arc::new(Misbehaving::default());
    let (store, clock) = (Arc::new(MemoryJournal::default()), Arc::new(TokioClock::default()));
    let ports = Ports::new(model.clone(), Arc::new(NoVoice), store, clock);
    let hub = Hub::new(ports, HubSettings::default());
    let mut begun = Vec::new();
    for seed in 0..SCENES {
        begun.push((seed, hub.start(set_up(seed)).await.unwrap()));
    }
    let mut reasons: BTreeSet<Reason> = BTreeSet::new();
    let mut sent = std::mem::take(&mut *model.sent.lock().unwrap());
    for (seed, id) in begun {
        hub.wait(id).await.unwrap();
        sent.append(&mut model.sent.lock().unwrap());
        let records = hub.records(id).await.unwrap();
        reasons.insert(it_ends_within_its_beats(seed, &records));
        nobody_holds_up_a_beat(seed, &records);
        nothing_is_lost_or_doubled(seed, &records, &sent);
    }
    let all = [
        reason::GOAL_ACHIEVED,
        reason::NATURAL_END,
        reason::MAX_BEATS_EXCEEDED,
        reason::STALLED,
        Reason::LIMIT_SECONDS,
    ];
    assert!(all.iter().all(|reason| reasons.contains(reason)), "the seeds come to every end: {reasons:?}");
}

fn it_ends_within_its_beats(seed: u64, records: &[Record]) -> Reason {
    let Event::Started { setup, .. } = &records[0].event else { panic!("{seed}: no start") };
    let settings = setup.format.settings::<Settings>().unwrap();
    let beats = records.iter().filter_map(|record| match &record.event {
        Event::Asked { ask, .. } => Some(ask.turn),
        event => match event.decided() {
            Some(Decision::BeatBegun { beat, .. }) => Some(*beat),
            _ => None,
        },
    });
    assert!(beats.max() < Some(settings.max_beats), "seed {seed} goes beyond {} beats", settings.max_beats);
    match records.last().map(|record| &record.event) {
        Some(Event::Ended { reason, .. }) => *reason,
        other => panic!("seed {seed} has no end but {other:?}"),
    }
}

/// From a beat's first ask to its last answer it takes no longer than one answer may.
fn nobody_holds_up_a_beat(seed: u64, records: &[Record]) {
    let mut beats: BTreeMap<u32, [Option<Timestamp>; 2]> = BTreeMap::new();
    for record in records {
        let (ask, is_asked) = match &record.event {
            Event::Asked { ask, .. } => (ask, true),
            Event::Answered { ask, .. } | Event::AskFailed { ask, .. } | Event::AskCut { ask, .. } => (ask, false),
            _ => continue,
        };
        if ask.purpose == purpose::ACT {
            let [from, to] = beats.entry(ask.turn).or_default();
            assert!(!is_asked || from.is_none_or(|from| from == record.at), "seed {seed}: all are asked at once");
            from.get_or_insert(record.at);
            *to = Some(record.at);
        }
    }
    for (beat, [from, to]) in beats {
        let took = to.unwrap().since(from.unwrap());
        // The clock of the runtime counts in milliseconds.
        assert!(took <= TIME_LIMIT.as_millis() as u64 + 2, "seed {seed}: beat {beat} took {took} ms");
    }
}

/// What the model sent is what the journal has: every reply once, and every word of it in one line.
fn nothing_is_lost_or_doubled(seed: u64, records: &[Record], sent: &BTreeMap<(u64, AskId), Vec<Sent>>) {
    let mut heard: BTreeMap<AskId, &str> = BTreeMap::new();
    let mut lines: BTreeMap<AskId, &str> = BTreeMap::new();
    let mut silences: BTreeSet<AskId> = BTreeSet::new();
    for record in records {
        let is_new = match &record.event {
            Event::Answered { ask, text, .. } => heard.insert(ask.clone(), text).is_none(),
            Event::LineSpoken { ask: Some(ask), text, .. } => lines.insert(ask.clone(), text).is_none(),
            event => match event.decided() {
                Some(Decision::StayedSilent { ask, .. }) => silences.insert(ask.clone()),
                _ => true,
            },
        };
        assert!(is_new, "seed {seed}: record {} says it again: {:?}", record.seq, record.event);
    }
    let mut count = 0;
    for ((_, ask), replies) in sent.range((seed, first())..).take_while(|((of, _), _)| *of == seed) {
        count += 1;
        let [reply] = replies.as_slice() else { panic!("seed {seed}: {ask} was answered {} times", replies.len()) };
        assert_eq!(heard.get(ask), Some(&reply.text.as_str()), "seed {seed}: {ask}");
        if ask.purpose != purpose::ACT {
            continue;
        }
        match &reply.word {
            None => assert!(silences.contains(ask) && !lines.contains_key(ask), "seed {seed}: {ask} was silent"),
            Some(word) => {
                let line = lines.get(ask).unwrap_or_else(|| panic!("seed {seed}: the line of {ask} is lost"));
                assert!(line.contains(word.as_str()), "seed {seed}: {ask} said {:?}, not {line:?}", reply.text);
                let others = lines.iter().filter(|(other, line)| *other != ask && line.contains(word.as_str()));
                assert_eq!(others.count(), 0, "seed {seed}: {word} is said twice");
            }
        }
    }
    assert_eq!(heard.len(), count, "seed {seed}: the journal has what was never sent");
    let failed = records
        .iter()
        .filter(|record| matches!(&record.event, Event::AskFailed { ask, .. } if ask.purpose == purpose::ACT));
    let acts = heard.keys().filter(|ask| ask.purpose == purpose::ACT).count();
    assert_eq!(lines.len() + silences.len(), acts + failed.count(), "seed {seed}: each ask comes to one thing");
}

/// The first ask that there can be in the order of asks.
fn first() -> AskId {
    let agent: AgentId = "!".parse().unwrap();
    AskId { purpose: purpose::ACT, turn: 0, agent, attempt: 0 }
}
