//! An external program as a model: one JSON request on its standard input, one JSON reply on its output.
//!
//! The request explains itself, so that a program which reads its input as a prompt understands it too; the
//! reply may be ours or that of `claude -p --output-format json`. `docs/models.md` has both in full.

use std::{
    borrow::Cow,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    ask::{Ask, Role},
    ledger::Usage,
    setup::ModelRef,
};
use polylogue_runtime::port::{Call, CallError, FIRST_TOKEN, Model, Reply};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command as Process},
    time::timeout,
};

use crate::{
    answer::{Answer, End},
    anthropic,
    connector::{Count, Reported, tokens},
    secret::Secret,
    settings::CommandSettings,
};

/// Bytes of a program's output that are read.
const MAX_OUTPUT: usize = 4 * 1024 * 1024;

/// Bytes of its complaints that are logged.
const MAX_COMPLAINT: usize = 2 * 1024;

const INSTRUCTIONS: &str = "You take part in a conversation. `system` says who you are and what the rules are; \
    `messages` is what was said so far, oldest first, where `assistant` is you. Answer the last message. If there is \
    a `schema`, answer with one JSON object that fits it and nothing else.";

/// The variables that a program is given: where it finds itself, its files and its language, and no key or token.
const ENVIRONMENT: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "SystemRoot",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "PATHEXT",
];

/// A program that answers.
#[derive(Debug)]
pub(crate) struct Command {
    settings: CommandSettings,
    /// The keys that this process knows: a program may print one.
    keys: Vec<Secret>,
    /// All that the program sees of this process's environment.
    environment: Vec<(String, Secret)>,
}

impl Command {
    pub(crate) fn new(settings: CommandSettings, mut keys: Vec<Secret>, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let found = |name: &str| Some((name.to_owned(), Secret::new(&env(name)?)?));
        let given: Vec<(String, Secret)> = settings.env.iter().filter_map(|name| found(name)).collect();
        keys.extend(given.iter().map(|(_, value)| value.clone()));
        let environment = ENVIRONMENT.into_iter().filter_map(found).chain(given).collect();
        Command { settings, keys, environment }
    }

    async fn run(&self, call: &Call) -> Result<Vec<u8>, CallError> {
        let mut running = self.start()?;
        call.deltas.alive();
        let request = request(&call.ask);
        let (mut stdin, stdout, stderr) = running.pipes();
        let request = request.to_string();
        let writing = async move {
            // A program that does not read its input to the end is no error.
            let _ = stdin.write_all(request.as_bytes()).await;
        };
        let ((), output, complaint) = tokio::join!(
            writing,
            read(stdout, MAX_OUTPUT, || call.deltas.alive()),
            read(stderr, MAX_COMPLAINT, || call.deltas.alive())
        );
        let status = running.wait().await?;
        if !status.success() {
            self.log(&complaint);
            let said = format!("the program `{}` ended with {}", self.name(), describe(status));
            return Err(CallError::BadResponse(said));
        }
        if output.len() >= MAX_OUTPUT {
            return Err(CallError::BadResponse("the program's output is larger than is read".to_owned()));
        }
        Ok(output)
    }

    fn limit(&self) -> Option<Duration> {
        self.settings.timeout_seconds.map(Duration::from_secs)
    }

    /// The program without its folder, which is nobody's business.
    fn name(&self) -> Cow<'_, str> {
        let path = Path::new(&self.settings.program);
        path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()
    }

    fn start(&self) -> Result<Running, CallError> {
        let mut process = Process::new(&self.settings.program);
        process
            .args(&self.settings.args)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value.reveal())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // A group of its own, so that what it started ends with it.
        #[cfg(unix)]
        process.process_group(0);
        let child = process.spawn().map_err(|error| {
            let problem = match error.kind() {
                io::ErrorKind::NotFound => "there is no such program".to_owned(),
                kind => kind.to_string(),
            };
            CallError::Unavailable(format!("the program `{}` cannot be started: {problem}", self.name()))
        })?;
        Ok(Running { child, has_ended: false })
    }

    /// A program's complaints go to the log only: they may tell paths.
    fn log(&self, complaint: &[u8]) {
        let text = String::from_utf8_lossy(complaint);
        let text = self.keys.iter().fold(text.trim().to_owned(), |text, key| key.scrub(&text));
        tracing::warn!(program = %self.settings.program, "the program failed: {text}");
    }
}

#[async_trait]
impl Model for Command {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let output = match self.limit() {
            Some(limit) => timeout(limit, self.run(call)).await.map_err(|_| too_slow(limit))??,
            None => self.run(call).await?,
        };
        let said: Said = serde_json::from_slice(&output)
            .map_err(|_| CallError::BadResponse("the program's output is no JSON reply".to_owned()))?;
        let mut answer = Answer::new(&call.deltas, &call.ask.request.sampling.stop);
        answer.reported(said.usage);
        let text = said.text().map_err(|problem| {
            CallError::BadResponse(self.keys.iter().fold(problem, |problem, key| key.scrub(&problem)))
        })?;
        answer.text(&text);
        answer.end(End::Complete);
        answer.finish()
    }

    fn first_token(&self, _: &ModelRef, asked: Option<Duration>) -> Duration {
        self.limit().or(asked).unwrap_or(FIRST_TOKEN)
    }
}

fn too_slow(limit: Duration) -> CallError {
    CallError::Timeout(format!("the program has not ended within {} s (its timeout_seconds)", limit.as_secs()))
}

fn request(ask: &Ask) -> Value {
    let request = &ask.request;
    let thread = request.thread.messages().iter().map(|message| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        json!({"role": role, "content": message.text})
    });
    let now = json!({"role": "user", "content": request.prompt});
    let mut body = json!({
        "instructions": INSTRUCTIONS,
        "model": request.model,
        "agent": ask.id.agent,
        "purpose": ask.id.purpose,
        "turn": ask.id.turn,
        "system": request.system,
        "messages": thread.chain([now]).collect::<Vec<_>>(),
        "sampling": request.sampling,
    });
    if let Some(shape) = &request.shape {
        body["schema"] = shape.schema();
    }
    body
}

/// A reply: ours, or Claude Code's.
#[derive(Deserialize)]
struct Said {
    text: Option<String>,
    result: Option<String>,
    /// What Claude Code has when it was given a schema of its own.
    structured_output: Option<Value>,
    #[serde(default)]
    is_error: bool,
    error: Option<String>,
    #[serde(default)]
    usage: Reported<SaidUsage>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum SaidUsage {
    Ours { input: Count, output: Count, cached: Option<Count>, reasoning: Option<Count> },
    Claude(anthropic::WireUsage),
}

impl From<SaidUsage> for Usage {
    fn from(said: SaidUsage) -> Usage {
        match said {
            SaidUsage::Ours { input, output, cached, reasoning } => Usage {
                input: tokens(Some(input)),
                output: tokens(Some(output)),
                cached: tokens(cached),
                reasoning: tokens(reasoning),
                ..Usage::default()
            },
            SaidUsage::Claude(usage) => usage.into(),
        }
    }
}

impl Said {
    fn text(self) -> Result<String, String> {
        if self.is_error || self.error.is_some() {
            return Err(self.error.or(self.result).unwrap_or_else(|| "the program reports an error".to_owned()));
        }
        let structured = self.structured_output.filter(|value| !value.is_null()).map(|value| value.to_string());
        structured.or(self.text).or(self.result).ok_or_else(|| "the program's reply has no `text`".to_owned())
    }
}

/// A program that was started. Dropping it ends it, and with it all that it started.
struct Running {
    child: Child,
    has_ended: bool,
}

impl Running {
    fn pipes(&mut self) -> (tokio::process::ChildStdin, tokio::process::ChildStdout, tokio::process::ChildStderr) {
        let Child { stdin, stdout, stderr, .. } = &mut self.child;
        stdin.take().zip(stdout.take()).zip(stderr.take()).map(|((i, o), e)| (i, o, e)).expect("all three are piped")
    }

    async fn wait(&mut self) -> Result<ExitStatus, CallError> {
        let status = self.child.wait().await;
        self.has_ended = true;
        status.map_err(|error| CallError::BadResponse(format!("the program was lost: {}", error.kind())))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id as i32))
            && !self.has_ended
        {
            // It may have ended by itself in the meantime.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// Up to `limit` bytes; what is beyond is read and dropped, so that the program is not held up by a full pipe.
async fn read(mut from: impl AsyncRead + Unpin, limit: usize, alive: impl Fn()) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut piece = [0; 8 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        alive();
        let room = limit - kept.len();
        kept.extend_from_slice(&piece[..length.min(room)]);
    }
    kept
}

fn describe(status: ExitStatus) -> String {
    status.code().map_or_else(|| "a signal".to_owned(), |code| format!("status {code}"))
}
