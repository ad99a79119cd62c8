//! Many choruses at once through HTTP on loopback, on the scripted model of the example: how long after its
//! append an event reaches a client.
//!
//! Server and clients share this process and its cores, so the delay holds the clients' own work too.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use polylogue_artifacts::Folder;
use polylogue_core::{Record, Setup, id::SessionId, setup::ModelRef};
use polylogue_providers::script::Scripts;
use polylogue_runtime::{
    Hub, HubSettings, Listener, Overheard, Ports,
    port::{NoVoice, SystemClock},
};
use polylogue_server::{AgentInfo, App, House, ModelInfo, Refusal, Request, Settings, VoiceInfo, serve};
use polylogue_store::SqliteJournal;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

use super::{
    case::{memory_mb, rounded, scratch},
    pipeline::six_slots,
};
use crate::{engine, failure::Failure};

/// When each record was on disk.
#[derive(Default)]
struct Appended(Mutex<HashMap<(String, u64), Instant>>);

#[async_trait]
impl Listener for Appended {
    async fn heard(&self, session: SessionId, records: &[Arc<Record>]) {
        let (now, session) = (Instant::now(), session.to_string());
        let mut appended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        appended.extend(records.iter().map(|record| ((session.clone(), record.seq.0), now)));
    }
}

/// What the six voices say.
const SCRIPT: &str = include_str!("../../../../../examples/chorus/replies.yaml");

/// Six slots for everybody, on this model.
struct BenchHouse {
    model: ModelRef,
}

#[async_trait]
impl House for BenchHouse {
    async fn setup(&self, _: Request) -> Result<Setup, Refusal> {
        let setup = six_slots(&self.model, false).map_err(|failure| Refusal::internal(failure.message()))?;
        Ok(Setup { speech: false, ..setup })
    }

    fn new_session_id(&self) -> Result<SessionId, Refusal> {
        engine::new_session_id().map_err(|failure| Refusal::internal(failure.message()))
    }

    fn agents(&self) -> Vec<AgentInfo> {
        Vec::new()
    }

    fn voices(&self) -> Vec<VoiceInfo> {
        Vec::new()
    }

    fn models(&self) -> Vec<ModelInfo> {
        Vec::new()
    }
}

pub(super) async fn run(name: String, chats: u32) -> Result<Value, Failure> {
    let folder = scratch()?;
    let script = folder.path().join("replies.yaml");
    std::fs::write(&script, SCRIPT).map_err(|error| Failure::internal(error.to_string()))?;
    let model = ModelRef { provider: "script".into(), model: script.to_string_lossy().into() };
    let store = Arc::new(SqliteJournal::open(folder.path().join("bench.db"))?);
    let appended = Arc::new(Appended::default());
    let journal = Arc::new(Overheard::new(store.clone(), vec![appended.clone()]));
    let clock = Arc::new(SystemClock);
    let ports = Ports::new(Arc::new(Scripts::default()), Arc::new(NoVoice), store.clone(), clock);
    let app = App::new(
        Hub::new(Ports { journal, ..ports }, HubSettings::default()),
        store,
        Arc::new(Folder::new(folder.path().join("artifacts"))),
        Arc::new(BenchHouse { model }),
        Settings::default(),
    );
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| Failure::internal(error.to_string()))?;
    let at = listener.local_addr().map_err(|error| Failure::internal(error.to_string()))?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(app, listener, async { stopped.await.unwrap_or_default() }));

    let clients: Vec<_> = (0..chats).map(|_| tokio::spawn(chat(at))).collect();
    let mut delays = Vec::new();
    for client in clients {
        let heard = client.await.map_err(|error| Failure::internal(error.to_string()))?;
        let heard = heard.map_err(|error| Failure::internal(format!("a chat broke off: {error}")))?;
        let appended = appended.0.lock().unwrap_or_else(PoisonError::into_inner);
        delays.extend(
            heard.into_iter().filter_map(|(place, at)| Some(at.saturating_duration_since(*appended.get(&place)?))),
        );
    }
    let _ = stop.send(());
    server.await.map_err(|error| Failure::internal(error.to_string()))??;
    delays.sort_unstable();
    let share = |share: f64| delays.get(((delays.len() - 1) as f64 * share) as usize).copied().unwrap_or_default();
    let ms = |delay: Duration| rounded(delay.as_secs_f64() * 1e3);
    Ok(json!({
        "case": name,
        "chats": chats,
        "events": delays.len(),
        "delayMs": {"p50": ms(share(0.5)), "p90": ms(share(0.9)), "p99": ms(share(0.99)), "max": ms(share(1.0))},
        "peakMb": memory_mb("VmHWM"),
    }))
}

/// Every event of one chorus by session and place, with the moment of its arrival.
async fn chat(at: SocketAddr) -> std::io::Result<Vec<((String, u64), Instant)>> {
    let mut socket = TcpStream::connect(at).await?;
    let body = r#"{"message": "What is a home?"}"#;
    let head = format!(
        "POST /v1/chat HTTP/1.1\r\nhost: {at}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    let mut lines = BufReader::new(socket).lines();
    let (mut heard, mut seq) = (Vec::new(), 0);
    let mut is_done = false;
    while let Some(line) = lines.next_line().await? {
        if let Some(id) = line.strip_prefix("id: ") {
            seq = id.trim().parse().unwrap_or_default();
        } else if let Some(data) = line.strip_prefix("data: ") {
            let now = Instant::now();
            let data: Value = serde_json::from_str(data)?;
            is_done = data["completedSlots"] == 6;
            heard.push(((data["sessionId"].as_str().unwrap_or_default().to_owned(), seq), now));
        }
    }
    if is_done { Ok(heard) } else { Err(std::io::Error::other("it did not end with six slots complete")) }
}
