//! The formats on the command line: each has a folder with its command, how a session of it is set up, its view, and
//! the files that it leaves.

mod chorus;
mod collaboration;
mod discussion;
pub(crate) mod interview;
mod keepsake;
mod scene;
mod score;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use async_trait::async_trait;
use clap::Subcommand;
use polylogue_core::{
    Conversation, Event, Record, Setup,
    format::{self as core, Decision},
    id::{Seq, SessionId},
    line::Line,
    setup::{FormatSetup, Note},
};
use polylogue_runtime::{
    Listener, Opened,
    port::{Artifacts, Journal},
};
use polylogue_server::{Refusal, Request};
use serde_json::Value;

use crate::{
    args::Common,
    config::Config,
    failure::Failure,
    house::ThisHouse,
    view::{Json, Style, Terminal, View},
};
pub(crate) use chorus::voices;
pub(crate) use scene::{Moderator, characters};

/// The commands that begin a session, one for a format, and what else a format has to show.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Three turns between up to six voices: respond, comment, reply
    Chorus(chorus::Args),
    /// Two agents or more hand a task back and forth, within bounds
    Collaborate(collaboration::Args),
    /// An orderly discussion that waits for its people
    #[command(subcommand)]
    Discuss(discussion::Args),
    /// Characters play a scene, directed to its end by a moderator
    Scene(scene::Args),
    /// What a story has come to, scene by scene
    #[command(subcommand)]
    Story(scene::Story),
    /// A format from a file: a score
    Play(score::Args),
    /// The scores that can be played
    #[command(subcommand)]
    Scores(score::Scores),
}

pub(crate) async fn run(common: &Common, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Chorus(args) => chorus::run(common, args).await,
        Command::Collaborate(args) => collaboration::run(common, args).await,
        Command::Discuss(args) => discussion::run(common, args).await,
        Command::Scene(args) => scene::run(common, args).await,
        Command::Story(story) => story.run(common).await,
        Command::Play(args) => score::play(common, args).await,
        Command::Scores(args) => score::scores(common, args).await,
    }
}

/// Every format that this process has more to say of than the core, a line each.
const FORMATS: &[&dyn Format] = &[
    &chorus::Chorus,
    &collaboration::Collaboration,
    &discussion::Discussion,
    &interview::Interview,
    &scene::Scene,
    &score::Scored,
];

/// What the process knows of a format. What a format leaves out is done as for all.
#[async_trait]
pub(crate) trait Format: Sync {
    /// The name under which the core knows it.
    fn name(&self) -> &'static str;

    /// The setup that a request over HTTP asks for.
    async fn setup(&self, request: Request, house: &ThisHouse) -> Result<Setup, Refusal>;

    /// Something to begin with, as its route takes it.
    fn example(&self, _house: &ThisHouse) -> Option<Value> {
        None
    }

    /// What there is to begin one from, where it begins from something that is written down.
    fn offer(&self, _house: &ThisHouse) -> Option<Value> {
        None
    }

    /// Whether a session of it is a conversation by itself, and not a question about one.
    fn is_conversation(&self) -> bool {
        true
    }

    /// A session of it on a terminal.
    fn view(&self, _left: Option<Left>) -> Box<dyn View> {
        Box::new(Terminal::new())
    }

    /// Where to look for the files that a session of it leaves beside the artifacts.
    fn left(&self, _config: &Config) -> Option<Left> {
        None
    }

    /// What is made of the records of its sessions beside the journal.
    fn listeners(
        &self,
        _journal: &Arc<dyn Journal>,
        _artifacts: &Arc<dyn Artifacts>,
        _config: &Config,
    ) -> Result<Vec<Arc<dyn Listener>>, Failure> {
        Ok(Vec::new())
    }

    /// A line in a session that is shown, where it is set otherwise than usual.
    fn line(&self, _style: Style, _line: &Line, _conversation: &Conversation) -> Option<String> {
        None
    }

    /// A session in the steps that its format counts, where they can be shown one by one.
    fn steps(&self, _opened: &Opened, _style: Style) -> Option<Vec<Step>> {
        None
    }

    /// Commands that go on from how a session of it stands, without the name of the program.
    fn next(&self, _conversation: &Conversation) -> Vec<String> {
        Vec::new()
    }

    /// What a director wants, as the decision of a format that can be directed.
    fn direction(&self, _note: Option<Note>, _event: Option<&str>) -> Option<Decision> {
        None
    }

    /// Whether people who take part speak at the terminal where a session of it runs.
    fn hears(&self, _conversation: &Conversation) -> bool {
        false
    }

    /// What each of its steps cost, a row each.
    fn costs(&self, _opened: &Opened, _style: Style) -> Vec<String> {
        Vec::new()
    }
}

/// Where a session has left its files, once it has.
pub(crate) type Left = Box<dyn Fn(&Conversation) -> Option<PathBuf> + Send>;

/// A step of a session, such as a beat, to be shown by itself.
pub(crate) struct Step {
    pub(crate) text: String,
    pub(crate) json: Value,
}

pub(crate) fn named(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().find(|format| format.name() == name).copied()
}

pub(crate) fn all() -> impl Iterator<Item = &'static dyn Format> {
    FORMATS.iter().copied()
}

/// Whether a session is of this format. Only its first record is read.
async fn is_of<F: core::Format>(journal: &dyn Journal, session: SessionId) -> bool {
    let first = journal.read(session, Seq::START, 1).await.unwrap_or_default();
    first.first().is_some_and(|record| begins::<F>(record))
}

/// Whether a session of this format begins with this record.
fn begins<F: core::Format>(first: &Record) -> bool {
    matches!(&first.event, Event::Started { setup, .. } if setup.format.is::<F>())
}

/// The view of a session, as the person wants it.
pub(crate) fn view(common: &Common, format: &FormatSetup, config: &Config) -> Box<dyn View> {
    let known = named(format.name());
    let left = known.and_then(|known| known.left(config));
    match known {
        _ if common.json => Box::new(Json { left }),
        Some(known) => known.view(left),
        None => Box::new(Terminal::new()),
    }
}
