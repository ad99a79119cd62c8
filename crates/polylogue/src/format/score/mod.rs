//! `polylogue play` and `polylogue scores`: formats from files.

mod library;
mod setup;
mod view;

use std::{collections::BTreeMap, process::ExitCode, sync::Arc};

use async_trait::async_trait;
use polylogue_core::{
    Conversation, Setup,
    format::{
        Format as _,
        score::{Bound, Problem, Score, Settings, read_text},
    },
    id::Seq,
    projection::grouped,
    setup::Limits,
};
use polylogue_server::{Code, Refusal, Request, format::score::ScoreRequest};
use serde_json::{Value, json};

use self::setup::Wish;
use super::{Format, Left};
use crate::{
    args::Common,
    config::Config,
    engine::Engine,
    failure::Failure,
    follow::follow,
    format,
    house::{ThisHouse, refusal},
    output, speech,
    view::{Style, View},
    words,
};

/// A score to begin with.
const BLANK: &str = include_str!("new.yaml");

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The score: a name of `polylogue scores list`, or a file
    score: String,
    /// What it is about, `-` for standard input, or `@FILE`
    message: String,
    /// Who has the seats of a role
    #[arg(long, value_name = "ROLE=AGENT,…")]
    seat: Vec<String>,
    /// Something that the score lets one set
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Only say what would be played and what it can come to
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Scores {
    /// The scores that there are
    List,
    /// A score as it is written
    Show {
        /// A name, or a file
        score: String,
    },
    /// Whether scores can be played, with everything that is wrong
    Check {
        /// Names, or files
        #[arg(required = true)]
        scores: Vec<String>,
    },
    /// Begin a score of one's own
    New {
        /// What it is called
        name: String,
    },
    /// Say something when a score waits for a person, and hear what follows
    Say {
        /// The session: its id, the beginning of it, or `last`
        id: String,
        /// The words, `-` for standard input, or `@FILE`
        text: String,
    },
}

pub(crate) async fn play(common: &Common, args: Args) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let score = library::find(&args.score, &config)?.good()?;
    let wish = Wish {
        message: words::given(args.message)?,
        seats: seats(&args.seat)?,
        values: values(&score, &args.set)?,
        score,
    };
    let engine = Engine::open(common, &config).await?;
    engine.look_around(common, &config).await;
    let setup = setup::setup(wish, common, &config, &engine)?;
    setup.check()?;
    let bound = bound(&setup)?;
    if args.dry_run {
        tell(common, &setup, &bound);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(short) = short(&bound, &setup.limits) {
        output::notice(short);
    }
    if setup.speech {
        speech::pull_if_wanted(&config).await;
    }
    let mut view = format::view(common, &setup.format, &config);
    let id = engine.hub.start(setup).await?;
    follow(&engine, id, Seq::START, view.as_mut()).await
}

pub(crate) async fn scores(common: &Common, args: Scores) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    match args {
        Scores::List => list(common, &config),
        Scores::Show { score } => {
            let listed = library::find(&score, &config)?;
            match common.json {
                true => output::json(&json!({"score": listed.name, "text": listed.text})),
                false => output::text(listed.text),
            }
        }
        Scores::Check { scores } => return check(common, &scores, &config),
        Scores::New { name } => new(&name, &config)?,
        Scores::Say { id, text } => {
            let engine = Engine::open(common, &config).await?;
            let (id, text) = (engine.find(&id).await?, words::given(text)?);
            let conversation = engine.hub.conversation(id).await?;
            let waited_for = conversation.awaited().into_iter().next();
            let who = waited_for.ok_or_else(|| Failure::request(format!("session {id} waits for nobody")))?.who;
            let seen = conversation.stage().head();
            let mut view = format::view(common, &conversation.stage().setup().format, &config);
            engine.hub.say(id, who, text.trim().into()).await?;
            return follow(&engine, id, seen, view.as_mut()).await;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(common: &Common, config: &Config) {
    let style = Style::of_stdout();
    for listed in library::all(config) {
        let about = match &listed.score {
            Ok(score) => score.about.trim().to_owned(),
            Err(problems) => format!("cannot be played: `polylogue scores check` names {} problems", problems.len()),
        };
        if common.json {
            output::json(&json!({"score": listed.name, "about": about, "isOwn": listed.path.is_some()}));
            continue;
        }
        let own = listed.path.map(|path| format!(" ({})", path.display())).unwrap_or_default();
        output::line(format!("{}{}", style.bold(&listed.name), style.dim(&own)));
        output::line(format!("{}\n", style.wrap(&about, "  ")));
    }
}

fn check(common: &Common, wanted: &[String], config: &Config) -> Result<ExitCode, Failure> {
    let mut is_good = true;
    for name in wanted {
        let listed = library::find(name, config)?;
        let problems: &[Problem] = listed.score.as_ref().err().map(Vec::as_slice).unwrap_or_default();
        is_good &= problems.is_empty();
        if common.json {
            output::json(&json!({"score": name, "problems": problems}));
        } else if problems.is_empty() {
            output::line(format!("{name}: can be played"));
        } else {
            problems.iter().for_each(|problem| output::line(format!("{name}: {problem}")));
        }
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// A score to begin with, beside the others.
fn new(name: &str, config: &Config) -> Result<(), Failure> {
    let fits = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') && name != "check";
    if !fits || name.is_empty() || name.len() > 64 {
        return Err(Failure::request(format!("`{name}`: a score's name is made of small letters, digits and `-`")));
    }
    let folder = config.scores();
    let path = folder.join(format!("{name}.yaml"));
    if path.exists() {
        return Err(Failure::request(format!("{} is there already", path.display())));
    }
    let cannot = |error: std::io::Error| Failure::config(format!("{} cannot be written: {error}", path.display()));
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    let text = BLANK.replace("NAME", name);
    std::fs::write(&path, text).map_err(cannot)?;
    output::line(format!("{}: polylogue play {name} \"…\" --dry-run", path.display()));
    Ok(())
}

/// What is written as `ROLE=AGENT,…`.
fn seats(written: &[String]) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut seats: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for written in written {
        let (role, names) = written.split_once('=').ok_or_else(|| {
            Failure::request(format!("`{written}` is no seat: write --seat ROLE=AGENT, or ROLE=AGENT,AGENT"))
        })?;
        let names = names.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        seats.entry(role.trim().to_owned()).or_default().extend(names);
    }
    Ok(seats)
}

/// What is written as `KEY=VALUE`.
fn values(score: &Score, written: &[String]) -> Result<BTreeMap<Arc<str>, Value>, Failure> {
    let mut values = BTreeMap::new();
    for written in written {
        let (name, value) = written
            .split_once('=')
            .ok_or_else(|| Failure::request(format!("`{written}` sets nothing: write --set KEY=VALUE")))?;
        let setting = score.settings.iter().find(|setting| *setting.name == *name.trim());
        let setting = setting.ok_or_else(|| {
            let names: Vec<&str> = score.settings.iter().map(|setting| &*setting.name).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Failure::request(format!("`{}` has no setting `{}`: it has {known}", score.name, name.trim()))
        })?;
        let value = Settings::parsed(setting, value).map_err(Failure::request)?;
        values.insert(setting.name.clone(), value);
    }
    Ok(values)
}

fn bound(setup: &Setup) -> Result<Bound, Failure> {
    let settings = setup.format.settings::<Settings>().ok_or_else(|| Failure::internal("it is no score"))?;
    Ok(Bound::of(settings, &setup.cast)?)
}

/// What is to be known where a limit is below what it can come to.
fn short(bound: &Bound, limits: &Limits) -> Option<String> {
    let tokens = (bound.tokens > limits.max_tokens).then(|| Short {
        most: format!("{} tokens", grouped(bound.tokens)),
        limit: format!("{} tokens", grouped(limits.max_tokens)),
        enough: format!("max_tokens = {}", bound.tokens),
    });
    let cost = bound.cost.filter(|cost| *cost > limits.max_usd).map(|cost| Short {
        most: cost.to_string(),
        limit: limits.max_usd.to_string(),
        // Whole cents, and not less.
        enough: format!("max_usd = {:.2}", (cost.usd() * 100.0).ceil() / 100.0),
    });
    let short: Vec<Short> = tokens.into_iter().chain(cost).collect();
    let joined = |of: fn(&Short) -> &str| short.iter().map(of).collect::<Vec<_>>().join(" and ");
    (!short.is_empty()).then(|| {
        format!(
            "At the very most this comes to {}; [limits] ends it at {}. Most runs stay far below, and one that is ended \
             can be resumed. {} would leave room for all of it.",
            joined(|short| &short.most),
            joined(|short| &short.limit),
            joined(|short| &short.enough),
        )
    })
}

/// A limit that is below what a score can come to, in words.
struct Short {
    most: String,
    limit: String,
    /// The setting that would be enough.
    enough: String,
}

/// What would be played, and what it can come to.
fn tell(common: &Common, setup: &Setup, bound: &Bound) {
    let Some(settings) = setup.format.settings::<Settings>() else { return };
    let short = short(bound, &setup.limits);
    if common.json {
        let limits = (setup.limits.max_tokens, setup.limits.max_usd);
        return output::json(&json!({
            "type": "dry_run",
            "score": settings.score,
            "seats": settings.seats,
            "bound": bound,
            "limits": {"maxTokens": limits.0, "maxUsd": limits.1},
            "isEnough": short.is_none(),
        }));
    }
    let style = Style::of_stdout();
    output::line(format!("{}: {}\n", style.bold(&settings.score.name), settings.score.about.trim()));
    for (seat, agent) in view::seats(settings, &setup.cast) {
        let model = agent.map_or_else(|| "a person".to_owned(), |agent| agent.model.shown());
        output::line(format!("  {seat} ({model})"));
    }
    output::line("");
    view::phases(settings).into_iter().for_each(output::line);
    let cost = bound.cost.map_or_else(|| "dollars unknown".to_owned(), |cost| cost.to_string());
    output::line(format!(
        "\nat most {} turns, {} asks, {} tokens, {cost}",
        bound.turns,
        bound.asks,
        grouped(bound.tokens)
    ));
    if let Some(short) = short {
        output::line(style.remark(&short));
    }
}

/// What the process knows of scores.
pub(super) struct Scored;

#[async_trait]
impl Format for Scored {
    fn name(&self) -> &'static str {
        Settings::NAME
    }

    fn view(&self, _: Option<Left>) -> Box<dyn View> {
        Box::new(view::Phases::new())
    }

    fn next(&self, conversation: &Conversation) -> Vec<String> {
        match conversation.stage().is_waiting() {
            true => vec!["scores say last \"…\"".to_owned(), "sessions show last".to_owned()],
            false => Vec::new(),
        }
    }

    /// The scores that can be played here, as they are written, and what one begins to write.
    fn offer(&self, house: &ThisHouse) -> Option<Value> {
        let offered = |listed: library::Listed| {
            let score = listed.score.ok()?;
            Some(json!({"name": listed.name, "isOwn": listed.path.is_some(), "score": score, "text": listed.text}))
        };
        let scores: Vec<Value> = library::all(&house.config).into_iter().filter_map(offered).collect();
        Some(json!({"scores": scores, "blank": BLANK, "allowSent": house.config.scores.allow_sent}))
    }

    async fn setup(&self, request: Request, house: &ThisHouse) -> Result<Setup, Refusal> {
        let request: ScoreRequest = request.open().ok_or_else(|| Refusal::internal("a request of another format"))?;
        let score = match request.text {
            None => {
                let listed = library::named(&request.name, &house.config);
                let listed = listed.map_err(|failure| Refusal::new(Code::NotFound, failure.message()))?;
                library::Listed { path: None, ..listed }.good().map_err(refusal)?
            }
            Some(_) if !house.config.scores.allow_sent && !request.is_tried => {
                return Err(Refusal::request(
                    "scores cannot be sent to this server: its operator allows it with allow_sent = true under [scores]",
                ));
            }
            Some(text) => {
                read_text(&text).map_err(|problems| refusal(library::bad("that was sent", &problems)))?.into()
            }
        };
        for name in request.seats.values().flatten() {
            house.must_be_open(name)?;
        }
        let values = request.settings.into_iter().map(|(name, value)| (Arc::from(name), value)).collect();
        let wish = Wish { score, message: request.message, seats: request.seats, values };
        setup::setup(wish, &house.common, &house.config, &house.engine).map_err(refusal)
    }
}
