//! A model that behaves as a test tells it, and a hub around it on tokio's paused clock.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    Conversation, Reason, Setup, Timestamp,
    format::collaboration::Settings,
    id::SessionId,
    money::Price,
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{Call, CallError, Clock, Model, NoVoice, Reply, Store},
};
use tokio::time::{Instant, sleep};

pub(crate) enum Behaviour {
    /// Says which turn it is and hands on to the other.
    HandsOn,
    HandsOnAfter(Duration),
    /// Writes this much and then nothing for 30 s.
    Hangs {
        after: &'static str,
    },
    /// Writes a word a second, so many, and then hands on.
    WritesFor {
        seconds: u32,
    },
    Fails(CallError),
}

type Rule = dyn Fn(&Call) -> Behaviour + Send + Sync;

pub(crate) struct TestModel {
    rule: Box<Rule>,
    calls: AtomicU32,
    dropped: AtomicU32,
    prompts: Mutex<Vec<String>>,
}

/// Counts a call that was dropped before it was done.
struct InFlight<'a>(&'a AtomicU32, bool);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl TestModel {
    pub(crate) fn new(rule: impl Fn(&Call) -> Behaviour + Send + Sync + 'static) -> Arc<TestModel> {
        Arc::new(TestModel {
            rule: Box::new(rule),
            calls: AtomicU32::new(0),
            dropped: AtomicU32::new(0),
            prompts: Mutex::default(),
        })
    }

    pub(crate) fn handing_on() -> Arc<TestModel> {
        TestModel::new(|_| Behaviour::HandsOn)
    }

    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::SeqCst)
    }

    pub(crate) fn prompts(&self) -> Vec<String> {
        self.prompts.lock().unwrap().clone()
    }
}

#[async_trait]
impl Model for TestModel {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.prompts.lock().unwrap().push(call.ask.request.prompt.to_string());
        let mut in_flight = InFlight(&self.dropped, false);
        let result = match (self.rule)(call) {
            Behaviour::HandsOn => Ok(handing_on(call)),
            Behaviour::HandsOnAfter(wait) => {
                sleep(wait).await;
                Ok(handing_on(call))
            }
            Behaviour::Hangs { after } => {
                call.deltas.push(after);
                sleep(Duration::from_secs(30)).await;
                pending().await
            }
            Behaviour::WritesFor { seconds } => {
                for _ in 0..seconds {
                    sleep(Duration::from_secs(1)).await;
                    call.deltas.push("word ");
                }
                Ok(handing_on(call))
            }
            Behaviour::Fails(error) => Err(error),
        };
        in_flight.1 = true;
        result
    }
}

fn handing_on(call: &Call) -> Reply {
    let id = &call.ask.id;
    let to = if id.agent.as_str() == "gpt" { "claude" } else { "gpt" };
    let message = format!("turn {} of {}", id.turn, id.agent);
    let text = format!(r#"{{"message": "{message}", "handoff": {{"to": "{to}", "task": "go on, {to}"}}}}"#);
    Reply { text: text.into(), ..Reply::default() }
}

/// The moments of tokio's clock, which tests pause and move.
pub(crate) struct TokioClock {
    began: Instant,
}

impl Default for TokioClock {
    fn default() -> Self {
        TokioClock { began: Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000 + self.began.elapsed().as_millis() as u64)
    }
}

pub(crate) struct Bench {
    pub(crate) hub: Hub,
    pub(crate) model: Arc<TestModel>,
    pub(crate) ports: Ports,
}

impl Bench {
    pub(crate) fn new(model: Arc<TestModel>) -> Bench {
        Bench::with(model, Arc::new(MemoryJournal::default()), HubSettings::default())
    }

    pub(crate) fn with(model: Arc<TestModel>, store: Arc<dyn Store>, settings: HubSettings) -> Bench {
        let clock = Arc::new(TokioClock::default());
        let ports = Ports::new(model.clone(), Arc::new(NoVoice), store, clock);
        Bench { hub: Hub::new(ports.clone(), settings), model, ports }
    }

    /// Another process on the same journal.
    pub(crate) fn next_process(&self, model: Arc<TestModel>) -> Bench {
        let ports = Ports { model: model.clone(), ..self.ports.clone() };
        Bench { hub: Hub::new(ports.clone(), HubSettings::default()), model, ports }
    }

    pub(crate) async fn run(&self, setup: Setup) -> SessionId {
        let id = self.hub.start(setup).await.unwrap();
        self.hub.wait(id).await.unwrap();
        id
    }

    pub(crate) async fn reason(&self, id: SessionId) -> Option<Reason> {
        self.hub.conversation(id).await.unwrap().stage().ended()
    }
}

pub(crate) fn setup(max_rounds: u32) -> Setup {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&NEXT.fetch_add(1, Ordering::SeqCst).to_be_bytes());
    let agent = |name: &str| Agent {
        name: name.parse().unwrap(),
        model: "test/model".parse().unwrap(),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small: false,
    };
    let (goal, speaker) = ("Work it out.", "gpt".parse().unwrap());
    Setup {
        id: SessionId::from_random(bytes),
        format: FormatSetup::new(Settings::new(goal, speaker, max_rounds)),
        cast: Cast::new(vec![agent("gpt"), agent("claude")], vec!["you".parse().unwrap()]).unwrap(),
        limits: Limits::default(),
        seed: 7,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    }
}

pub(crate) fn texts(conversation: &Conversation) -> Vec<String> {
    let lines = conversation.stage().transcript().lines();
    lines.iter().map(|line| format!("{}: {}", line.speaker, line.text)).collect()
}
