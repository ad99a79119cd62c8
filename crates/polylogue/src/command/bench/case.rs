//! The cases, and how each is measured.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use polylogue_core::{Reason, id::SessionId, setup::Change};
use polylogue_providers::speech::EngineName;
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{self, NoVoice, SystemClock},
};
use polylogue_store::{PostgresJournal, SqliteJournal};
use serde_json::{Value, json};

use super::{
    flat, http,
    instant::{self, round_robin},
    pipeline, scene, voice,
};
use crate::failure::Failure;

#[derive(Clone, Copy, Debug)]
pub(super) enum Store {
    Memory,
    Sqlite,
    /// Where there is a server for tests and measurements (`scripts/postgres.sh run`).
    Postgres,
}

/// The variable that names that server.
const SERVER: &str = "POLYLOGUE_TEST_POSTGRES";

#[derive(Clone, Copy, Debug)]
pub(super) enum Case {
    /// So many sessions at once, of so many turns each.
    Turns { store: Store, sessions: u32, turns: u32 },
    /// So many turns of a scene of three characters, in memory.
    Scene { turns: u32 },
    /// So many turns of a discussion of four, in memory.
    Discussion { turns: u32 },
    /// A session of about so many events, opened from disk, resumed, and run for one more turn.
    Reopen { events: u32 },
    /// A chorus of six whose asks and clips take so long each.
    Pipeline { ask_ms: u64, clip_ms: u64 },
    /// So many beats of five characters and a moderator whose asks take so long each.
    Beats { beats: u32, ask_ms: u64 },
    /// The input tokens of so many beats of three characters, in a thread and anew each beat.
    Threads { beats: u32 },
    /// So many choruses of six at once through HTTP.
    Http { chats: u32 },
    /// A line spoken on this machine.
    Voice { engine: EngineName },
}

impl Case {
    pub(super) fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for store in [Store::Memory, Store::Sqlite] {
            for (sessions, turns) in [(1, 100), (1, 1_000), (1, 3_000), (100, 100), (500, 10), (5_000, 10)] {
                cases.push(Case::Turns { store, sessions, turns });
            }
        }
        if std::env::var_os(SERVER).is_some() {
            for (sessions, turns) in [(1, 100), (100, 100), (500, 10)] {
                cases.push(Case::Turns { store: Store::Postgres, sessions, turns });
            }
        }
        for turns in [100, 1_000] {
            cases.extend([Case::Scene { turns }, Case::Discussion { turns }]);
        }
        cases.push(Case::Reopen { events: 10_000 });
        cases.push(Case::Pipeline { ask_ms: 200, clip_ms: 0 });
        cases.push(Case::Pipeline { ask_ms: 500, clip_ms: 300 });
        cases.push(Case::Beats { beats: 10, ask_ms: 200 });
        cases.push(Case::Threads { beats: 20 });
        cases.push(Case::Http { chats: 200 });
        cases.extend([EngineName::Kokoro, EngineName::Espeak].map(|engine| Case::Voice { engine }));
        cases
    }

    pub(super) fn name(&self) -> String {
        match self {
            Case::Turns { store, sessions, turns } => format!("{}-{sessions}x{turns}", store.name()),
            Case::Scene { turns } => format!("memory-scene-1x{turns}"),
            Case::Discussion { turns } => format!("memory-discussion-1x{turns}"),
            Case::Reopen { events } => format!("reopen-{events}"),
            Case::Pipeline { ask_ms, clip_ms } => format!("chorus-{ask_ms}-{clip_ms}"),
            Case::Beats { beats, ask_ms } => format!("scene-{beats}-{ask_ms}"),
            Case::Threads { beats } => format!("scene-threads-{beats}"),
            Case::Http { chats } => format!("http-{chats}"),
            Case::Voice { engine } => format!("voice-{engine}"),
        }
    }

    pub(super) async fn run(&self) -> Result<Value, Failure> {
        match *self {
            Case::Turns { store, sessions, turns } => run_turns(self.name(), store, sessions, turns).await,
            Case::Scene { turns } => flat::run_scene(self.name(), turns).await,
            Case::Discussion { turns } => flat::run_discussion(self.name(), turns).await,
            Case::Reopen { events } => run_reopen(self.name(), events).await,
            Case::Pipeline { ask_ms, clip_ms } => pipeline::run(self.name(), ask_ms, clip_ms).await,
            Case::Beats { beats, ask_ms } => scene::run_beats(self.name(), beats, ask_ms).await,
            Case::Threads { beats } => scene::run_tokens(self.name(), beats).await,
            Case::Http { chats } => http::run(self.name(), chats).await,
            Case::Voice { engine } => voice::run(self.name(), engine).await,
        }
    }
}

impl Store {
    fn name(self) -> &'static str {
        match self {
            Store::Memory => "memory",
            Store::Sqlite => "sqlite",
            Store::Postgres => "postgres",
        }
    }
}

async fn run_turns(name: String, store: Store, sessions: u32, turns: u32) -> Result<Value, Failure> {
    let folder = scratch()?;
    let path = folder.path().join("bench.db");
    let base_mb = memory_mb("VmRSS");
    let (time, bytes) = match store {
        Store::Memory => (play(Arc::new(MemoryJournal::default()), sessions, turns).await?, None),
        Store::Sqlite => {
            let journal = Arc::new(SqliteJournal::open(&path)?);
            let time = play(journal.clone(), sessions, turns).await?;
            journal.close().await;
            (time, Some(bytes_in(folder.path())))
        }
        Store::Postgres => {
            let server = std::env::var(SERVER).map_err(|_| Failure::request(format!("set {SERVER} to a server")))?;
            let url = format!("{server}?sslmode=disable&schema=bench_{:x}", fastrand::u64(..));
            let journal = Arc::new(PostgresJournal::open(&url, None).await?);
            (play(journal, sessions, turns).await?, None)
        }
    };
    let total = f64::from(sessions) * f64::from(turns);
    let text: u64 = (1..=turns).map(|turn| instant::message(turn).len() as u64).sum::<u64>() * u64::from(sessions);
    let mut line = json!({
        "case": name,
        "store": store.name(),
        "sessions": sessions,
        "turns": turns,
        "msPerTurn": rounded(time.as_secs_f64() * 1e3 / total),
        "turnsPerSecond": (total / time.as_secs_f64()).round(),
        "peakMb": memory_mb("VmHWM"),
        "baseMb": base_mb,
    });
    if let Some(bytes) = bytes {
        line["bytesPerTurn"] = json!((bytes as f64 / total).round());
        line["bytesPerTurnBeyondText"] = json!(((bytes.saturating_sub(text)) as f64 / total).round());
    }
    Ok(line)
}

async fn run_reopen(name: String, events: u32) -> Result<Value, Failure> {
    // A turn is four events; the last begins another.
    let (folder, turns) = (scratch()?, events / 4);
    let path = folder.path().join("bench.db");
    let journal = Arc::new(SqliteJournal::open(&path)?);
    let ids = run_sessions(&hub(journal.clone()), 1, turns).await?;
    journal.close().await;

    let began = Instant::now();
    let journal = Arc::new(SqliteJournal::open(&path)?);
    let hub = hub(journal);
    let events = hub.conversation(ids[0]).await?.stage().head();
    let opened = began.elapsed();
    hub.resume(ids[0], Change { max_rounds: Some(turns + 1), ..Change::default() }).await?;
    hub.wait(ids[0]).await?;
    let resumed = began.elapsed();
    Ok(json!({
        "case": name,
        "store": "sqlite",
        "events": events,
        "msToOpen": rounded(opened.as_secs_f64() * 1e3),
        "msToOpenResumeAndTakeATurn": rounded(resumed.as_secs_f64() * 1e3),
        "peakMb": memory_mb("VmHWM"),
    }))
}

async fn play(journal: Arc<dyn port::Store>, sessions: u32, turns: u32) -> Result<Duration, Failure> {
    let hub = hub(journal);
    let began = Instant::now();
    let ids = run_sessions(&hub, sessions, turns).await?;
    let time = began.elapsed();
    for id in ids {
        if hub.conversation(id).await?.stage().ended() != Some(Reason::CAP_REACHED) {
            return Err(Failure::internal("a session of the bench did not run to its end"));
        }
    }
    Ok(time)
}

fn hub(store: Arc<dyn port::Store>) -> Hub {
    let ports = Ports::new(Arc::new(instant::Instant), Arc::new(NoVoice), store, Arc::new(SystemClock));
    Hub::new(ports, HubSettings::default())
}

/// Starts all sessions before it waits for the first, so that all are live at once.
async fn run_sessions(hub: &Hub, sessions: u32, turns: u32) -> Result<Vec<SessionId>, Failure> {
    let starts = (0..sessions).map(|_| async { hub.start(round_robin(turns)?).await.map_err(Failure::from) });
    let ids = futures_util::future::try_join_all(starts).await?;
    for id in &ids {
        hub.wait(*id).await?;
    }
    Ok(ids)
}

pub(super) fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|error| Failure::internal(format!("no folder for the bench's files: {error}")))
}

fn bytes_in(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// A line of this process's status, where the system has one.
pub(super) fn memory_mb(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kb: u64 = line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kb / 1024)
}

pub(super) fn rounded(ms: f64) -> f64 {
    (ms * 1e4).round() / 1e4
}
