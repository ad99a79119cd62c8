//! The configuration file. Every key is known: a misspelt one is an error that names it.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use polylogue_core::{Tenant, money::Money, setup::Limits};
use polylogue_providers::{
    CommandSettings, LocalSettings, OwnPrice, ProviderSettings, Settings,
    speech::{EngineName, ProfileSettings},
};
use polylogue_runtime::port;
use polylogue_server::{Scope, Token};
use polylogue_signals::NatsSettings;
use serde::Deserialize;

use crate::{failure::Failure, format::Moderator, osc::Sender};

const DEFAULT_FILE: &str = "polylogue.toml";
const DEFAULT_CHARACTERS: &str = ".claude/agents";
const DEFAULT_SCORES: &str = "scores";
const DEFAULT_STORE: &str = "sqlite:data/polylogue.db";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    pub(crate) store: Store,
    pub(crate) cluster: Cluster,
    pub(crate) limits: LimitsTable,
    pub(crate) agents: BTreeMap<String, AgentTable>,
    pub(crate) collaboration: Collaboration,
    pub(crate) chorus: Chorus,
    pub(crate) discussion: Discussion,
    pub(crate) scene: Scene,
    pub(crate) scores: Scores,
    pub(crate) server: Server,
    pub(crate) artifacts: Artifacts,
    pub(crate) retention: Retention,
    osc: OscTable,
    pub(crate) speech: Speech,
    pub(crate) voices: BTreeMap<String, ProfileSettings>,
    /// Prompt templates to use instead of the built-in ones: name to file.
    pub(crate) templates: BTreeMap<String, PathBuf>,
    pub(crate) providers: BTreeMap<String, ProviderSettings>,
    pub(crate) commands: BTreeMap<String, CommandSettings>,
    pub(crate) local: LocalSettings,
    /// Prices of models, in dollars per million tokens, and of speech, per million characters.
    pub(crate) prices: BTreeMap<String, OwnPrice>,
    /// The folder of the file, which paths in it are relative to.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Store {
    pub(crate) url: String,
    /// The variable that holds the password of an address that has none.
    pub(crate) password_env: String,
}

impl Default for Store {
    fn default() -> Self {
        Store { url: DEFAULT_STORE.to_owned(), password_env: "PGPASSWORD".to_owned() }
    }
}

/// How processes that share a store go together.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cluster {
    /// How long a process counts as alive after it has said so, and keeps what it runs.
    lease_seconds: Option<u64>,
    /// The NATS servers through which processes tell each other what is new, separated by commas.
    nats: Option<String>,
    /// What the processes of one store call themselves there.
    name: Option<String>,
    /// The variables that hold the password of the user in the address, or a token.
    nats_password_env: Option<String>,
    nats_token_env: Option<String>,
}

impl Cluster {
    /// The name where the file says none.
    const NAME: &str = "polylogue";

    /// How to reach NATS, where that is wanted. What a variable holds is read here, and is not in the file.
    pub(crate) fn nats(&self, env: impl Fn(&str) -> Option<String>) -> Result<Option<NatsSettings>, Failure> {
        let Some(servers) = &self.nats else { return Ok(None) };
        let secret = |key: &str, variable: &Option<String>| match variable {
            None => Ok(None),
            Some(variable) => {
                let missing = || Failure::config(format!("[cluster] {key}: the variable {variable} is not set"));
                env(variable).map(Some).ok_or_else(missing)
            }
        };
        Ok(Some(NatsSettings {
            servers: servers.clone(),
            name: self.name.as_deref().unwrap_or(Cluster::NAME).to_owned(),
            password: secret("nats_password_env", &self.nats_password_env)?,
            token: secret("nats_token_env", &self.nats_token_env)?,
        }))
    }

    /// On one machine the end of a process is noticed at once, and the lease is only for one that hangs; across
    /// machines it is how every end is noticed.
    pub(crate) fn lease(&self, store: &str) -> Result<Duration, Failure> {
        let usual = if store.starts_with("sqlite:") { 30 } else { 10 };
        match self.lease_seconds.unwrap_or(usual) {
            seconds @ 3..=3_600 => Ok(Duration::from_secs(seconds)),
            _ => Err(Failure::config("[cluster] lease_seconds is between 3 and 3600")),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Server {
    pub(crate) listen: String,
    /// The variable that holds the bearer tokens, comma-separated.
    pub(crate) tokens_env: String,
    /// Tokens that see and do only what is their own, by name.
    pub(crate) tokens: BTreeMap<String, TokenTable>,
    /// Pages of these origins may call the API.
    pub(crate) cors_origins: Vec<String>,
    /// How many sessions run at once.
    pub(crate) max_sessions: usize,
    /// Which models a request may name besides the agents: `provider/model`, or `provider/*`.
    pub(crate) models: Option<Vec<String>>,
}

impl Server {
    /// The operator's bearer tokens, as the environment has them.
    pub(crate) fn operators(&self) -> BTreeSet<String> {
        let tokens = std::env::var(&self.tokens_env).unwrap_or_default();
        tokens.split(',').map(str::trim).filter(|token| !token.is_empty()).map(str::to_owned).collect()
    }
}

impl Default for Server {
    fn default() -> Self {
        Server {
            listen: "127.0.0.1:7654".to_owned(),
            tokens_env: "POLYLOGUE_TOKENS".to_owned(),
            tokens: BTreeMap::new(),
            cors_origins: Vec::new(),
            max_sessions: 1_000,
            models: None,
        }
    }
}

/// A token with a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenTable {
    /// The variable that holds it.
    token_env: String,
    scope: ScopeName,
    /// Whose sessions it sees; its own, where that is left out.
    tenant: Option<String>,
    requests_per_minute: Option<u32>,
    /// What the sessions of its tenant may cost in a day.
    usd_per_day: Option<Money>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ScopeName {
    Read,
    Run,
    Admin,
}

impl TokenTable {
    fn tenant(&self, name: &str) -> Result<Tenant, Failure> {
        let tenant = self.tenant.as_deref().unwrap_or(name).parse();
        tenant.map_err(|error| Failure::config(format!("[server.tokens.{name}]: {error}")))
    }
}

impl Server {
    /// The tokens that have names. What a variable holds is read here, and is not in the file.
    pub(crate) fn named(&self, env: impl Fn(&str) -> Option<String>) -> Result<Vec<Arc<Token>>, Failure> {
        let mut secrets = self.operators();
        let mut tokens = Vec::new();
        for (name, table) in &self.tokens {
            let wrong = |problem: String| Failure::config(format!("[server.tokens.{name}] {problem}"));
            let variable = &table.token_env;
            let secret = env(variable).map(|secret| secret.trim().to_owned()).filter(|secret| !secret.is_empty());
            let secret = secret.ok_or_else(|| wrong(format!("token_env: the variable {variable} is not set")))?;
            if !secrets.insert(secret.clone()) {
                return Err(wrong(format!("token_env: {variable} holds the token of somebody else")));
            }
            if table.requests_per_minute == Some(0) {
                return Err(wrong("requests_per_minute is at least 1".to_owned()));
            }
            let scope = match table.scope {
                ScopeName::Read => Scope::Read,
                ScopeName::Run => Scope::Run,
                ScopeName::Admin => Scope::Admin,
            };
            tokens.push(Arc::new(Token::new(&secret, table.tenant(name)?, scope, table.requests_per_minute)));
        }
        Ok(tokens)
    }

    /// What the sessions of each tenant may cost in a day: the least that any of its tokens says.
    pub(crate) fn usd_per_day(&self) -> Result<BTreeMap<Tenant, Money>, Failure> {
        let mut limits: BTreeMap<Tenant, Money> = BTreeMap::new();
        for (name, table) in &self.tokens {
            let Some(limit) = table.usd_per_day else { continue };
            let least = limits.entry(table.tenant(name)?).or_insert(limit);
            *least = limit.min(*least);
        }
        Ok(limits)
    }
}

/// How long sessions are kept.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Retention {
    /// A server removes what is over and older than so many days; without it, nothing.
    days: Option<u32>,
}

impl Retention {
    pub(crate) fn age(&self) -> Result<Option<Duration>, Failure> {
        match self.days {
            None => Ok(None),
            Some(days @ 1..=36_500) => Ok(Some(Duration::from_secs(u64::from(days) * 24 * 3_600))),
            Some(_) => Err(Failure::config("[retention] days is between 1 and 36500")),
        }
    }
}

/// Where files that sessions make are kept.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Artifacts {
    /// The folder that they are in; where they are in a bucket, the folder of this machine's copies.
    pub(crate) dir: PathBuf,
    /// The bucket that they are in: `s3://bucket/prefix`.
    pub(crate) url: Option<String>,
    /// The server of the bucket, where it is not Amazon's own.
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    /// Whether the bucket is named in the path and not in the host.
    pub(crate) path_style: Option<bool>,
    /// The variables that hold the key and its secret.
    pub(crate) access_key_env: Option<String>,
    pub(crate) secret_key_env: Option<String>,
}

impl Default for Artifacts {
    fn default() -> Self {
        Artifacts {
            dir: PathBuf::from("artifacts"),
            url: None,
            endpoint: None,
            region: None,
            path_style: None,
            access_key_env: None,
            secret_key_env: None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Speech {
    /// The engine to speak with; without it, the best that is there.
    pub(crate) engine: Option<EngineName>,
    pub(crate) elevenlabs_model: Option<String>,
    pub(crate) openai_model: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsTable {
    max_usd: Option<Money>,
    /// What all sessions of the store may cost in a day.
    pub(crate) per_day_usd: Option<Money>,
    max_tokens: Option<u64>,
    max_seconds: Option<u64>,
    call_timeout_seconds: Option<u64>,
    first_token_seconds: Option<u64>,
    call_max_seconds: Option<u64>,
    /// Whether `max_usd` may be set where nobody knows what a model costs.
    pub(crate) allow_unpriced: bool,
}

impl LimitsTable {
    /// Whether somebody wants a limit in dollars to hold, which needs the price of every model.
    pub(crate) fn needs_prices(&self) -> bool {
        self.max_usd.is_some() && !self.allow_unpriced
    }

    pub(crate) fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits {
            max_usd: self.max_usd.unwrap_or(default.max_usd),
            max_tokens: self.max_tokens.unwrap_or(default.max_tokens),
            max_seconds: self.max_seconds.unwrap_or(default.max_seconds),
            call_timeout_seconds: self.call_timeout_seconds.unwrap_or(default.call_timeout_seconds),
            first_token_seconds: self.first_token_seconds.or(default.first_token_seconds),
            call_max_seconds: self.call_max_seconds.unwrap_or(default.call_max_seconds),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentTable {
    /// Built-in agents have one without it.
    pub(crate) model: Option<String>,
    pub(crate) persona: Option<String>,
    pub(crate) voice: Option<String>,
    pub(crate) temperature: Option<f64>,
    pub(crate) max_tokens: Option<u32>,
    #[serde(default)]
    pub(crate) stop: Vec<String>,
    /// Whether its model is asked as small ones are: in a few plain sentences, without a form.
    pub(crate) small: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Collaboration {
    /// Whether its lines are spoken unless the command says otherwise.
    pub(crate) speech: bool,
    pub(crate) between: Option<Vec<String>>,
    pub(crate) start: Option<String>,
    pub(crate) max_rounds: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Chorus {
    /// Whether its lines are spoken unless somebody says otherwise; they are.
    pub(crate) speech: Option<bool>,
    /// Who sits in slot 1, 2 and so on when nobody else is named.
    pub(crate) slots: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Discussion {
    /// Who takes part when nobody else is named, in the order in which they speak, as `ROLE=AGENT` or `user`.
    pub(crate) participants: Option<Vec<String>>,
}

/// Formats from files.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Scores {
    /// Where the files are.
    dir: Option<PathBuf>,
    /// Whether a server plays scores that come with the request.
    pub(crate) allow_sent: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Scene {
    /// What plays the characters that name no model of their own.
    pub(crate) model: Option<String>,
    pub(crate) moderator: Option<Moderator>,
    /// Whether lines are spoken unless the scene or the command says otherwise.
    pub(crate) speech: bool,
    /// Where the characters are, beside the file.
    agents: Option<PathBuf>,
    /// Where the transcripts go.
    pub(crate) out: PathBuf,
}

impl Default for Scene {
    fn default() -> Self {
        Scene { model: None, moderator: None, speech: false, agents: None, out: PathBuf::from("data/scenes") }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OscTable {
    /// Where what is said goes as OSC messages over UDP.
    target: Option<String>,
}

impl Config {
    /// The templates that it puts in place of the built-in ones.
    pub(crate) fn templates(&self) -> Result<BTreeMap<String, Arc<str>>, Failure> {
        let mut templates = BTreeMap::new();
        for (name, file) in &self.templates {
            let text = std::fs::read_to_string(self.folder.join(file)).map_err(|error| {
                let problem = error.kind();
                Failure::config(format!("the template `{name}`: {} cannot be read: {problem}", file.display()))
            })?;
            let name = if name.ends_with(".j2") { name.clone() } else { format!("{name}.j2") };
            templates.insert(name, text.into());
        }
        Ok(templates)
    }

    /// Where playback systems are told what is said, if anywhere.
    pub(crate) fn osc(&self, artifacts: &Arc<dyn port::Artifacts>) -> Result<Option<Sender>, Failure> {
        let Some(target) = &self.osc.target else { return Ok(None) };
        let problem = |error| Failure::config(format!("OSC cannot be sent to {target}: {error}"));
        Sender::new(target, &self.artifacts.dir, artifacts.clone()).map(Some).map_err(problem)
    }

    /// Where the characters of scenes are.
    pub(crate) fn characters(&self) -> PathBuf {
        let beside = self.scene.agents.as_ref().map(|agents| self.folder.join(agents));
        beside.unwrap_or_else(|| PathBuf::from(DEFAULT_CHARACTERS))
    }

    /// Where scores of one's own are.
    pub(crate) fn scores(&self) -> PathBuf {
        let beside = self.scores.dir.as_ref().map(|dir| self.folder.join(dir));
        beside.unwrap_or_else(|| PathBuf::from(DEFAULT_SCORES))
    }

    /// What it says about models.
    pub(crate) fn models(&self) -> Settings {
        Settings { providers: self.providers.clone(), commands: self.commands.clone(), prices: self.prices.clone() }
    }

    /// What it says about the embedded model.
    pub(crate) fn local(&self) -> LocalSettings {
        let models = self.local.models.iter().map(|(name, path)| (name.clone(), self.folder.join(path))).collect();
        LocalSettings { models, ..self.local.clone() }
    }

    /// Reads the named file, or the usual one if there is one.
    pub(crate) fn read(named: Option<&Path>) -> Result<Config, Failure> {
        let path = named.unwrap_or(Path::new(DEFAULT_FILE));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
            Err(error) => {
                let problem = match error.kind() {
                    io::ErrorKind::NotFound => "there is no such file".to_owned(),
                    kind => kind.to_string(),
                };
                return Err(Failure::config(format!("the configuration {} cannot be read: {problem}", path.display())));
            }
        };
        let mut config: Config = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
            let problem = error.message().replace('\n', ", ");
            Failure::config(format!("the configuration {}{place}: {problem}", path.display()))
        })?;
        config.folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(config)
    }
}
