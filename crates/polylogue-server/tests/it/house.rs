//! A server on a port of its own, with a model and a voice that do as a test tells them.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use polylogue_artifacts::Folder;
use polylogue_core::{
    Setup,
    ask::Ask,
    format::chorus::{kind, purpose},
    format::{
        chorus::{self, Slot, SlotId, VoiceProfile},
        collaboration::{self, Mode},
        discussion::{self, Participant, Role, Who},
        scene,
    },
    id::{AgentId, SessionId},
    line::{Clip, LineKind},
    money::Price,
    setup::{Agent, Cast, FormatSetup, Limits, Sampling},
};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{Call, CallError, Model, Reply, Speech, Store, SystemClock, Voice, VoiceError},
};
use polylogue_server::{
    AgentInfo, App, Code, House, ModelInfo, Refusal, Request, Settings, VoiceInfo,
    format::{
        chorus::{ChorusRequest, SlotRequest},
        collaboration::CollaborationRequest,
        discussion::DiscussionRequest,
        scene::SceneRequest,
    },
    listen, serve,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncWriteExt, copy},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::sleep,
};

/// What a slot says, or `None` for a call that fails.
pub(crate) type Says = dyn Fn(&Ask) -> Option<String> + Send + Sync;
/// Whether the clip of this slot's line of this kind is made.
pub(crate) type Sounds = dyn Fn(u8, LineKind) -> bool + Send + Sync;

pub(crate) fn slot_of(name: &str) -> u8 {
    name.trim_start_matches("slot-").parse().expect("a slot")
}

/// What a well-behaved slot of so many says: it comments on the next one.
pub(crate) fn good(ask: &Ask, slots: u8) -> Option<String> {
    let slot = slot_of(ask.id.agent.as_str());
    Some(match ask.id.purpose {
        purpose::COMMENT => comment_on(slot % slots + 1),
        _ => spoken(&format!("I am {slot}.")),
    })
}

pub(crate) fn spoken(words: &str) -> String {
    format!(r#"{{"text": "{words}", "voice_profile": "dry_precise"}}"#)
}

pub(crate) fn comment_on(target: u8) -> String {
    format!(r#"{{"targetSlotId": {target}, "comment": "Well said.", "voice_profile": "playful"}}"#)
}

/// A moment of a call or a clip, for tests of what overlaps.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) what: &'static str,
    pub(crate) turn: u32,
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

pub(crate) struct Told {
    says: Box<Says>,
    sounds: Box<Sounds>,
    think: Duration,
    write: Duration,
    speak: Duration,
    artifacts: PathBuf,
    pub(crate) moments: Mutex<Vec<Moment>>,
}

impl Told {
    fn note(&self, what: &'static str, turn: u32, from: Instant) {
        self.moments.lock().unwrap().push(Moment { what, turn, from, to: Instant::now() });
    }
}

#[async_trait]
impl Model for Told {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let from = Instant::now();
        if !self.think.is_zero() {
            sleep(self.think).await;
        }
        self.note("ask", call.ask.id.turn, from);
        let text = (self.says)(&call.ask).ok_or_else(|| CallError::Refused("told to".to_owned()))?;
        call.deltas.push(&text);
        if !self.write.is_zero() {
            sleep(self.write).await;
        }
        Ok(Reply { text: text.into(), ..Reply::default() })
    }
}

#[async_trait]
impl Voice for Told {
    async fn speak(&self, speech: &Speech) -> Result<Clip, VoiceError> {
        let from = Instant::now();
        if !self.speak.is_zero() {
            sleep(self.speak).await;
        }
        let (turn, kind) = turn_of(&speech.place);
        self.note("clip", turn, from);
        if !(self.sounds)(slot_of(&speech.by), kind) {
            return Err(VoiceError::Failed("told to".to_owned()));
        }
        let path = format!("tts/sessions/{}/{}.wav", speech.session, speech.place.join("/"));
        let file = self.artifacts.join(&path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let part = file.with_extension("part");
        std::fs::write(&part, wav()).unwrap();
        std::fs::rename(part, file).unwrap();
        Ok(Clip { path, duration_ms: 10, ..Clip::default() })
    }
}

/// Which turn of a chorus a clip belongs to, and what is said in it, by the place that the source document gives it.
fn turn_of(place: &[String]) -> (u32, LineKind) {
    let turn = place.iter().find_map(|part| part.strip_prefix("turn_")).and_then(|turn| turn.parse().ok());
    let turn = turn.expect("only choruses speak here");
    (turn, [kind::RESPONSE, kind::COMMENT, kind::REPLY][turn as usize - 1])
}

/// Ten milliseconds of silence at 8 kHz.
pub(crate) fn wav() -> Vec<u8> {
    let samples = [0u8; 160];
    let mut wav = Vec::new();
    wav.extend(b"RIFF");
    wav.extend((36 + samples.len() as u32).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16u32.to_le_bytes());
    wav.extend([1, 0, 1, 0]);
    wav.extend(8_000u32.to_le_bytes());
    wav.extend(16_000u32.to_le_bytes());
    wav.extend([2, 0, 16, 0]);
    wav.extend(b"data");
    wav.extend((samples.len() as u32).to_le_bytes());
    wav.extend(samples);
    wav
}

/// More sessions than a test has.
const MANY: usize = 10_000;

/// How a test wants its server.
pub(crate) struct Wanted {
    pub(crate) says: Box<Says>,
    pub(crate) sounds: Box<Sounds>,
    pub(crate) think: Duration,
    /// How long an answer takes that has been written.
    pub(crate) write: Duration,
    pub(crate) speak: Duration,
    pub(crate) max_live: usize,
    pub(crate) journal: Arc<MemoryJournal>,
    pub(crate) settings: fn(&mut Settings),
    /// Whether it is about one server, whatever others there may be.
    pub(crate) is_alone: bool,
}

impl Wanted {
    pub(crate) fn good(slots: u8) -> Wanted {
        Wanted::saying(move |ask| good(ask, slots))
    }

    pub(crate) fn saying(says: impl Fn(&Ask) -> Option<String> + Send + Sync + 'static) -> Wanted {
        Wanted {
            says: Box::new(says),
            sounds: Box::new(|_, _| true),
            think: Duration::ZERO,
            write: Duration::ZERO,
            speak: Duration::ZERO,
            max_live: MANY,
            journal: Arc::default(),
            settings: |_| {},
            is_alone: false,
        }
    }

    pub(crate) async fn start(self) -> Served {
        let store = self.journal.clone();
        self.start_on(store).await
    }

    /// The same on another store.
    pub(crate) async fn start_on(self, store: Arc<dyn Store>) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = folder.path().join("artifacts");
        std::fs::create_dir_all(&artifacts).unwrap();
        let Wanted { says, sounds, think, write, speak, .. } = self;
        let told = Arc::new(Told {
            says,
            sounds,
            think,
            write,
            speak,
            artifacts: artifacts.clone(),
            moments: Mutex::default(),
        });
        // Hubs that have the same ports have the same signals.
        let ports = Ports::new(told.clone(), told.clone(), store.clone(), Arc::new(SystemClock));
        let mut settings = Settings::default();
        (self.settings)(&mut settings);
        let mut nodes = Vec::new();
        // How many may run is a matter of each server.
        let number = if self.is_alone || self.max_live < MANY { 1 } else { number_of_nodes() };
        for _ in 0..number {
            let hub = Hub::new(ports.clone(), HubSettings { max_live: self.max_live, ..HubSettings::default() });
            let artifacts = Arc::new(Folder::new(artifacts.clone()));
            nodes.push(
                Node::start(App::new(hub, store.clone(), artifacts, Arc::new(TestHouse), settings.clone())).await,
            );
        }
        let at = match nodes.as_slice() {
            [only] => only.at,
            several => balance(several.iter().map(|node| node.at).collect()).await,
        };
        Served { at, told, journal: self.journal, nodes, folder }
    }
}

/// How many servers share the store; each connection is to one of them at random.
/// `POLYLOGUE_TEST_NODES=3 cargo nextest run -p polylogue-server` runs every test on three.
fn number_of_nodes() -> usize {
    std::env::var("POLYLOGUE_TEST_NODES").map_or(1, |nodes| nodes.parse().expect("a number of nodes"))
}

/// A server on its own port.
struct Node {
    at: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Node {
    async fn start(app: App) -> Node {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            let shutdown = async {
                let _ = stopped.await;
            };
            serve(app, listener, shutdown).await.unwrap();
        });
        Node { at, stop, running }
    }
}

/// Takes every connection to one of these, at random.
async fn balance(nodes: Vec<SocketAddr>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let node = fastrand::choice(&nodes).copied().unwrap();
            tokio::spawn(async move {
                let Ok(mut server) = TcpStream::connect(node).await else { return };
                let (mut from_client, mut to_client) = client.split();
                let (mut from_server, mut to_server) = server.split();
                // A server may answer before it has read everything, and either may leave when it wants to.
                let asking = async {
                    let _ = copy(&mut from_client, &mut to_server).await;
                    let _ = to_server.shutdown().await;
                };
                let answering = async {
                    let _ = copy(&mut from_server, &mut to_client).await;
                    let _ = to_client.shutdown().await;
                };
                tokio::join!(asking, answering);
            });
        }
    });
    at
}

pub(crate) struct Served {
    pub(crate) at: SocketAddr,
    pub(crate) told: Arc<Told>,
    pub(crate) journal: Arc<MemoryJournal>,
    nodes: Vec<Node>,
    pub(crate) folder: TempDir,
}

impl Served {
    /// Ends the servers in their orderly way.
    pub(crate) async fn stop(self) {
        for node in self.nodes {
            node.stop.send(()).unwrap();
            node.running.await.unwrap();
        }
    }
}

/// Who can be spoken to in a room.
pub(crate) const AGENTS: [&str; 3] = ["gpt", "claude", "critic"];

fn agent(name: AgentId) -> Agent {
    Agent {
        name,
        model: "script/test.yaml".parse().unwrap(),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(Price::FREE),
        is_small: false,
    }
}

struct TestHouse;

impl TestHouse {
    fn chorus(&self, request: ChorusRequest) -> Result<Setup, Refusal> {
        let given = request.slots.unwrap_or_else(|| {
            (1..=6)
                .map(|slot_id| SlotRequest {
                    slot_id,
                    agent_id: format!("agent-{slot_id}"),
                    name: None,
                    persona: None,
                    voice: None,
                })
                .collect()
        });
        let bad = |error: String| Refusal::request(error);
        let (mut slots, mut agents) = (Vec::new(), Vec::new());
        for SlotRequest { slot_id, agent_id, .. } in given {
            if agent_id == "nobody" {
                return Err(Refusal::new(Code::InvalidConfig, "there is no agent `nobody`"));
            }
            let slot_id = SlotId::try_from(slot_id).map_err(|error| bad(error.to_string()))?;
            let agent_id = agent_id.parse().map_err(|error| bad(format!("{error}")))?;
            slots.push(Slot { slot_id, agent_id, name: None });
            agents.push(agent(slot_id.agent()));
        }
        let voice = |name: &str| VoiceProfile { name: name.into(), description: "as it is called".into() };
        Ok(Setup {
            id: self.new_session_id()?,
            format: FormatSetup::new(chorus::Settings {
                message: request.message.into(),
                slots,
                voices: vec![voice("dry_precise"), voice("playful")],
            }),
            cast: Cast::new(agents, vec!["you".parse().unwrap()]).map_err(|error| bad(error.to_string()))?,
            limits: Limits::default(),
            seed: request.seed.unwrap_or(7),
            speech: request.speech.unwrap_or(true),
            templates: Default::default(),
            room: None,
            tenant: None,
        })
    }

    fn collaboration(&self, request: CollaborationRequest) -> Result<Setup, Refusal> {
        let usual = match request.mode {
            Mode::Collaborate => vec!["gpt".to_owned(), "claude".to_owned()],
            Mode::Single => AGENTS.map(str::to_owned).to_vec(),
        };
        let mut names = request.between.unwrap_or(usual);
        let speaker = request.speaker.unwrap_or_else(|| names[0].clone());
        if let Some(unknown) = names.iter().chain([&speaker]).find(|name| !AGENTS.contains(&name.as_str())) {
            return Err(Refusal::request(format!("there is no agent `{unknown}`: the agents here are {AGENTS:?}")));
        }
        if request.mode == Mode::Single {
            names.sort_by_key(|name| *name != speaker);
        }
        let rounds = match request.mode {
            Mode::Collaborate => request.max_rounds.unwrap_or(collaboration::Settings::DEFAULT_ROUNDS),
            Mode::Single => collaboration::Settings::SINGLE_CALL_ROUNDS,
        };
        let settings = collaboration::Settings {
            mode: request.mode,
            background: request.background,
            ..collaboration::Settings::new(request.goal, speaker.parse().unwrap(), rounds)
        };
        let agents = names.iter().map(|name| agent(name.parse().unwrap())).collect();
        Ok(Setup {
            id: self.new_session_id()?,
            format: FormatSetup::new(settings),
            cast: Cast::new(agents, vec!["you".parse().unwrap()]).unwrap(),
            limits: Limits::default(),
            seed: 7,
            speech: false,
            templates: Default::default(),
            room: request.room,
            tenant: None,
        })
    }

    fn discussion(&self, request: DiscussionRequest) -> Result<Setup, Refusal> {
        let bad = |error: &dyn std::fmt::Display| Refusal::request(error.to_string());
        let (mut participants, mut agents, mut people) = (Vec::new(), Vec::new(), Vec::new());
        for asked in request.participants {
            let role = Role::named(&asked.role).map_err(|error| bad(&error))?;
            let who = match (asked.agent, asked.user_id) {
                (Some(agent), _) => Who::Agent(agent.parse().map_err(|error| bad(&error))?),
                (None, user) => Who::Person(user.as_deref().unwrap_or("user").parse().map_err(|error| bad(&error))?),
            };
            match &who {
                Who::Agent(name) => agents.push(Agent {
                    name: name.clone(),
                    model: "script/test.yaml".parse().unwrap(),
                    persona: None,
                    voice: None,
                    sampling: Sampling {
                        stop: discussion::Settings::DEFAULT_STOP.map(str::to_owned).to_vec(),
                        ..Sampling::default()
                    },
                    price: Some(Price::FREE),
                    is_small: false,
                }),
                Who::Person(person) => people.push(person.clone()),
            }
            participants.push(Participant { role, who });
        }
        let (title, topic) = (request.title.into(), request.topic.map(Into::into));
        let max_rounds = request.max_rounds.unwrap_or(discussion::Settings::DEFAULT_ROUNDS);
        let closing = request.closing;
        Ok(Setup {
            id: self.new_session_id()?,
            format: FormatSetup::new(discussion::Settings {
                title,
                topic,
                participants,
                max_rounds,
                key: None,
                closing,
            }),
            cast: Cast::new(agents, people).map_err(|error| bad(&error))?,
            limits: Limits::default(),
            seed: 7,
            speech: false,
            templates: Default::default(),
            room: None,
            tenant: None,
        })
    }

    /// Everybody but `nobody` is here; whoever comes along brings a persona.
    fn scene(&self, request: SceneRequest) -> Result<Setup, Refusal> {
        let names: Vec<String> = serde_json::from_value(request.file["characters"].clone()).unwrap_or_default();
        let settings = serde_json::json!({
            "title": request.file["name"], "prompt": request.file["prompt"], "maxBeats": request.file["maxBeats"]});
        let settings: scene::Settings = serde_json::from_value(settings).map_err(|error| {
            Refusal::new(Code::InvalidConfig, error.to_string()).with("provided", request.file.clone())
        })?;
        if names.iter().any(|name| name == "nobody") {
            return Err(Refusal::new(Code::CharacterLoadError, "Failed to load character 'nobody'")
                .with("character", "nobody")
                .with("reason", "file not found"));
        }
        let persona = |name: &String| request.agents.get(name).map(|text| text.as_str().into());
        let cast = Cast::new(
            names.iter().map(|name| Agent { persona: persona(name), ..agent(name.parse().unwrap()) }).collect(),
            Vec::new(),
        );
        let cast = cast.and_then(|cast| cast.with_crew(vec![agent(scene::MODERATOR.parse().unwrap())]));
        Ok(Setup {
            id: self.new_session_id()?,
            format: FormatSetup::new(settings),
            cast: cast.map_err(|error| Refusal::new(Code::InvalidConfig, error.to_string()))?,
            limits: Limits::default(),
            seed: 7,
            speech: false,
            templates: Default::default(),
            room: None,
            tenant: None,
        })
    }
}

#[async_trait]
impl House for TestHouse {
    async fn setup(&self, request: Request) -> Result<Setup, Refusal> {
        match request.format() {
            "chorus" => self.chorus(request.open().unwrap()),
            "collaboration" => self.collaboration(request.open().unwrap()),
            "discussion" => self.discussion(request.open().unwrap()),
            "scene" => self.scene(request.open().unwrap()),
            other => panic!("nobody asks for {other}"),
        }
    }

    fn new_session_id(&self) -> Result<SessionId, Refusal> {
        Ok(SessionId::from_random(fastrand::u128(..).to_be_bytes()))
    }

    fn agents(&self) -> Vec<AgentInfo> {
        let info = |name: &str, available| AgentInfo { name: name.to_owned(), model: None, voice: None, available };
        AGENTS.iter().map(|name| info(name, true)).chain([info("absent", false)]).collect()
    }

    fn voices(&self) -> Vec<VoiceInfo> {
        vec![VoiceInfo { name: "playful".to_owned(), description: "lively".to_owned() }]
    }

    fn models(&self) -> Vec<ModelInfo> {
        vec![ModelInfo { name: "script/test.yaml".to_owned(), available: true }]
    }
}
