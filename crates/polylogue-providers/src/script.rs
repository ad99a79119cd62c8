//! The scripted model, `script/FILE`: replies from a YAML file instead of a model, for examples, tests and
//! demonstrations. `docs/scripts.md` describes the file for its users.
//!
//! A script has no memory: which reply is given depends on the request alone. So a session that is killed and
//! resumed gets the same replies as one that was not.

mod file;
mod record;

use std::{
    collections::HashMap,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use polylogue_core::ask::Ask;
use polylogue_runtime::port::{Call, CallError, Model, Reply};
use similar::TextDiff;
use tokio::time::sleep;

pub use file::BadScript;
use file::{Entry, Failing, FailureName, File};
pub use record::Recorder;

/// A script that has been read.
#[derive(Debug)]
pub struct Script {
    path: PathBuf,
    file: File,
}

impl Script {
    pub fn read(path: &Path) -> Result<Script, BadScript> {
        Ok(Script { file: File::read(path)?, path: path.to_owned() })
    }

    fn entry(&self, ask: &Ask) -> Result<&Entry, CallError> {
        let fits = |entry: &&Entry| entry.fits(ask);
        let entry = self.file.replies.iter().find(fits).ok_or_else(|| {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            CallError::Unavailable(format!("the script {name} has no reply for {}: add one", ask.id))
        })?;
        if self.file.strict {
            same_request(entry, ask)?;
        }
        Ok(entry)
    }

    /// Adds the call to the script's log, so that a test can count what really reached the model.
    fn log(&self, call: &Call) -> Result<(), CallError> {
        let Some(log) = &self.file.log else { return Ok(()) };
        let path = self.path.parent().unwrap_or(Path::new("")).join(log);
        // In one write, so that a process that is killed leaves no half line.
        let line = format!("{}\n", serde_json::json!({"ask": call.ask.id, "retry": call.retry}));
        let mut options = std::fs::OpenOptions::new();
        let log = options.create(true).append(true).open(path);
        let written = log.and_then(|mut log| log.write_all(line.as_bytes()));
        written.map_err(|error| CallError::Unavailable(format!("the script's log cannot be written: {error}")))
    }
}

/// A strict script answers only the request that it was recorded from.
fn same_request(entry: &Entry, ask: &Ask) -> Result<(), CallError> {
    let (recorded, now) = (entry.request.as_deref().unwrap_or_default().trim_end(), ask.request.to_string());
    let now = now.trim_end();
    if recorded == now {
        return Ok(());
    }
    let diff = TextDiff::from_lines(recorded, now).unified_diff().header("recorded", "now").to_string();
    Err(CallError::ScriptChanged(format!(
        "the request of {} is not the one that was recorded (record it again with --record):\n{diff}",
        ask.id
    )))
}

#[async_trait]
impl Model for Script {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        self.log(call)?;
        let entry = self.entry(&call.ask)?;
        sleep(entry.delay.0).await;
        if let Some(fail) = &entry.fail
            && call.retry < fail.times.unwrap_or(u32::MAX)
        {
            return Err(failure(fail));
        }
        let text = entry.reply.text();
        for piece in text.split_inclusive(' ') {
            if !entry.pace.0.is_zero() {
                sleep(entry.pace.0).await;
            }
            call.deltas.push(piece);
        }
        Ok(Reply { text: text.into(), usage: entry.usage, is_full: entry.full, drafts: None })
    }
}

fn failure(fail: &Failing) -> CallError {
    let message = fail.message.clone().unwrap_or_else(|| "the script says so".to_owned());
    let retry_after = fail.retry_after.map(|wait| wait.0);
    match fail.kind {
        FailureName::Timeout => CallError::Timeout(message),
        FailureName::RateLimited => CallError::RateLimited { retry_after, message },
        FailureName::Overloaded => CallError::Overloaded { retry_after, message },
        FailureName::Unauthorized => CallError::Unauthorized(message),
        FailureName::Refused => CallError::Refused(message),
        FailureName::ContextTooLong => CallError::ContextTooLong(message),
        FailureName::Network => CallError::Network(message),
        FailureName::BadResponse => CallError::BadResponse(message),
    }
}

/// The provider `script`: the model's name is the path of its file.
#[derive(Debug, Default)]
pub struct Scripts {
    read: Mutex<HashMap<Arc<str>, Arc<Script>>>,
}

impl Scripts {
    /// Whether a script can be used. It is read again when it is first asked, and may have been changed until then.
    pub fn check(&self, path: &Arc<str>) -> Result<(), BadScript> {
        let is_read = self.read.lock().unwrap_or_else(PoisonError::into_inner).contains_key(path);
        if is_read { Ok(()) } else { Script::read(Path::new(&**path)).map(drop) }
    }

    /// Reads a script unless it has been read before.
    pub fn script(&self, path: &Arc<str>) -> Result<Arc<Script>, BadScript> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = read.get(path) {
            return Ok(script.clone());
        }
        let script = Arc::new(Script::read(Path::new(&**path))?);
        read.insert(path.clone(), script.clone());
        Ok(script)
    }
}

#[async_trait]
impl Model for Scripts {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let script = self.script(&call.ask.request.model.model);
        let script = script.map_err(|error| CallError::Unavailable(error.to_string()))?;
        script.answer(call).await
    }
}
