//! What went wrong, where, and what to do: one line for a person, one object for a program.

use std::process::ExitCode;

use polylogue_core::{NotAJournal, Rejected, projection::CannotFork, setup::BadSetup};
use polylogue_providers::script::BadScript;
use polylogue_runtime::{HubError, port::JournalError};
use polylogue_store::{CopyError, OpenError};
use serde_json::{Map, Value, json};

use crate::{output, view::Style};

/// The codes of the public contract that a command can end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    InvalidConfig,
    CharacterLoadError,
    InvalidRequest,
    NotFound,
    Conflict,
    RateLimited,
    Internal,
}

impl Code {
    fn as_str(self) -> &'static str {
        match self {
            Code::InvalidConfig => "INVALID_CONFIG",
            Code::CharacterLoadError => "CHARACTER_LOAD_ERROR",
            Code::InvalidRequest => "INVALID_REQUEST",
            Code::NotFound => "NOT_FOUND",
            Code::Conflict => "CONFLICT",
            Code::RateLimited => "RATE_LIMITED",
            Code::Internal => "INTERNAL",
        }
    }

    fn exit(self) -> ExitCode {
        match self {
            Code::InvalidConfig | Code::CharacterLoadError | Code::InvalidRequest => ExitCode::from(2),
            Code::NotFound | Code::Conflict | Code::RateLimited | Code::Internal => ExitCode::from(1),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    message: String,
    /// What programs are told besides; in a box, so that results stay small.
    context: Box<Map<String, Value>>,
    /// What a person is told besides.
    advice: Option<String>,
}

impl Failure {
    fn new(code: Code, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), context: Box::default(), advice: None }
    }

    pub(crate) fn config(message: impl Into<String>) -> Failure {
        Failure::new(Code::InvalidConfig, message)
    }

    pub(crate) fn character(message: impl Into<String>) -> Failure {
        Failure::new(Code::CharacterLoadError, message)
    }

    pub(crate) fn request(message: impl Into<String>) -> Failure {
        Failure::new(Code::InvalidRequest, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(Code::NotFound, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Failure {
        Failure::new(Code::Internal, message)
    }

    /// The same, with this for programs.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Failure {
        self.context.insert(key.to_owned(), value.into());
        self
    }

    /// The same, with this for people.
    pub(crate) fn advising(mut self, advice: String) -> Failure {
        self.advice = Some(advice);
        self
    }

    /// The same, with one more thing that can be done.
    pub(crate) fn and(self, more: &str) -> Failure {
        Failure { message: format!("{}, {more}", self.message), ..self }
    }

    /// Whether the caller can do something about it.
    pub(crate) fn is_of_the_caller(&self) -> bool {
        self.is_request() || self.code == Code::InvalidConfig || self.is_of_a_character()
    }

    pub(crate) fn is_of_a_character(&self) -> bool {
        self.code == Code::CharacterLoadError
    }

    pub(crate) fn is_request(&self) -> bool {
        self.code == Code::InvalidRequest
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn context(&self) -> &Map<String, Value> {
        &self.context
    }

    /// Tells it, and what the process is to end with.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        if json {
            let error = json!({"code": self.code.as_str(), "message": self.message, "context": self.context});
            output::json(&json!({"success": false, "error": error}));
        } else {
            let advice = self.advice.as_ref().map(|advice| format!(": {advice}")).unwrap_or_default();
            let text = format!("error: {}{advice}", self.message);
            output::notice(Style::of_stderr().in_words(&text, "  "));
        }
        self.code.exit()
    }
}

/// A command line that cannot be understood. Help and version arrive here too, and are no failure.
pub(crate) fn of_usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args().any(|arg| arg == "--json") {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        return Failure::request(first.trim_start_matches("error: ")).report(true);
    }
    if error.use_stderr() {
        output::notice(error.render().to_string().trim_end());
    } else {
        // Help and version are this program's own words. Nobody is left to tell when even they cannot be printed.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Failure {
        let code = match &error {
            HubError::NoSuchSession(_) => Code::NotFound,
            HubError::Rejected(Rejected::EmptyMessage | Rejected::TooLong(..) | Rejected::NotInCast(_)) => {
                Code::InvalidRequest
            }
            HubError::Rejected(Rejected::BadSetup(_)) | HubError::CannotFork(CannotFork::BadChange(_)) => {
                Code::InvalidConfig
            }
            HubError::Running
            | HubError::NotRunning
            | HubError::Elsewhere
            | HubError::Unheard
            | HubError::NotStopped
            | HubError::Rejected(_) => Code::Conflict,
            HubError::Journal(JournalError::Fenced { .. }) => Code::Conflict,
            HubError::Busy(_) | HubError::DaySpent { .. } | HubError::ShareSpent { .. } => Code::RateLimited,
            HubError::BadSetup(_) => Code::InvalidConfig,
            HubError::CannotFork(_) => Code::InvalidRequest,
            HubError::NotAJournal(_) | HubError::Journal(_) | HubError::Broken => Code::Internal,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Failure {
        Failure::internal(error.to_string())
    }
}

impl From<NotAJournal> for Failure {
    fn from(error: NotAJournal) -> Failure {
        Failure::internal(error.to_string())
    }
}

impl From<BadSetup> for Failure {
    fn from(error: BadSetup) -> Failure {
        Failure::config(error.to_string())
    }
}

impl From<BadScript> for Failure {
    fn from(error: BadScript) -> Failure {
        Failure::config(error.to_string())
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        let is_of_the_caller = matches!(error, OpenError::Address { .. } | OpenError::Unknown { .. });
        let code = if is_of_the_caller { Code::InvalidConfig } else { Code::Internal };
        Failure::new(code, error.to_string())
    }
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Failure {
        let code = match error {
            CopyError::Running(_) | CopyError::Differs(_) => Code::Conflict,
            CopyError::From(_) | CopyError::To(_) => Code::Internal,
        };
        Failure::new(code, error.to_string())
    }
}
