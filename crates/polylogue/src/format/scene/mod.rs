//! `polylogue scene`: characters play a scene file, directed to its end.

mod beats;
mod character;
mod fields;
mod file;
mod folders;
mod memory;
mod outputs;
mod parts;
mod player;
mod setup;
mod source;
mod story;
mod view;
mod voices;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

pub(crate) use self::story::Story;
use async_trait::async_trait;
use polylogue_core::{
    Conversation, Setup,
    format::{
        Decision, Format as _,
        scene::{self, PlayedScene, Settings},
    },
    id::Seq,
    line::Line,
    setup::Note,
    text::language::Language,
};
use polylogue_runtime::{
    Listener, Opened,
    port::{Artifacts, Journal},
};
use polylogue_server::{Refusal, Request, format::scene::SceneRequest};
use serde_json::{Value, json};

pub(crate) use self::{fields::Moderator, source::characters};
use self::{
    outputs::Files,
    setup::{Origin, Wish},
    source::{Folder, Given},
};
use super::{Format, Left, Step, keepsake::Keepsakes};
use crate::{
    args::Common,
    config::Config,
    engine::Engine,
    failure::Failure,
    follow::follow,
    format,
    house::{ThisHouse, refusal},
    speech,
    view::{Style, View},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The scene: a .json, .yaml or .toml file, or `-` for JSON or YAML on standard input
    file: PathBuf,
    /// Where the characters are, a Markdown file for each [default: .claude/agents]
    #[arg(long, value_name = "DIR")]
    agents: Option<PathBuf>,
    /// Where the transcript goes, in a folder of the scene's name [default: data/scenes]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) async fn run(common: &Common, args: Args) -> Result<ExitCode, Failure> {
    let mut config = Config::read(common.config.as_deref())?;
    config.scene.out = args.out.unwrap_or(config.scene.out);
    let file = file::read(&args.file)?;
    let engine = Engine::open(common, &config).await?;
    engine.look_around(common, &config).await;
    let characters = Folder(args.agents.unwrap_or_else(|| config.characters()));
    let origin = Origin::Folder(args.file.parent().unwrap_or(Path::new("")));
    let setup = setup::setup(Wish { file, origin, characters: &characters }, common, &config, &engine)?;
    let setup = memory::brought_along(setup, &engine).await?;
    let setup = voices::chosen(setup, &config, &*engine.journal, &*engine.memories).await?;
    // The neural voice speaks English: for a scene in another language it need not be fetched.
    let language = setup.format.language().and_then(Language::called).unwrap_or_default();
    if setup.speech && language.is_english() {
        speech::pull_if_wanted(&config).await;
    }
    let mut view = format::view(common, &setup.format, &config);
    let id = engine.hub.start(setup).await?;
    follow(&engine, id, Seq::START, view.as_mut()).await
}

/// What the process knows of a scene.
pub(super) struct Scene;

#[async_trait]
impl Format for Scene {
    fn name(&self) -> &'static str {
        Settings::NAME
    }

    async fn setup(&self, request: Request, house: &ThisHouse) -> Result<Setup, Refusal> {
        let request: SceneRequest = request.open().ok_or_else(|| Refusal::internal("a request of another format"))?;
        let folder = Folder(house.config.characters());
        let characters = Given { texts: request.agents, or: &folder };
        let wish = Wish { file: request.file, origin: Origin::Request(&house.opened), characters: &characters };
        let setup = setup::setup(wish, &house.common, &house.config, &house.engine).map_err(refusal)?;
        let setup = memory::brought_along(setup, &house.engine).await.map_err(refusal)?;
        let (journal, memories) = (&*house.engine.journal, &*house.engine.memories);
        voices::chosen(setup, &house.config, journal, memories).await.map_err(refusal)
    }

    /// The characters come along, so that it can be played wherever the server is.
    fn example(&self, _: &ThisHouse) -> Option<Value> {
        let mut scene = file::yaml(include_str!("../../../../../examples/scenes/the-apology.yaml")).ok()?;
        scene["agents"] = json!({
            "alice": include_str!("../../../../../examples/scenes/agents/alice.md"),
            "bob": include_str!("../../../../../examples/scenes/agents/bob.md"),
            "charlie": include_str!("../../../../../examples/scenes/agents/charlie.md"),
        });
        // What plays them is this house's own affair.
        scene.as_object_mut()?.retain(|name, _| name != "moderator");
        Some(scene)
    }

    fn view(&self, left: Option<Left>) -> Box<dyn View> {
        Box::new(view::Scene::new(left))
    }

    fn left(&self, config: &Config) -> Option<Left> {
        let out = config.scene.out.clone();
        Some(Box::new(move |conversation| outputs::left(&out, conversation)))
    }

    fn listeners(
        &self,
        journal: &Arc<dyn Journal>,
        _: &Arc<dyn Artifacts>,
        config: &Config,
    ) -> Result<Vec<Arc<dyn Listener>>, Failure> {
        Ok(vec![Arc::new(Keepsakes::<Files>::new(journal.clone(), config.scene.out.clone()))])
    }

    fn line(&self, style: Style, line: &Line, conversation: &Conversation) -> Option<String> {
        let settings = conversation.stage().setup().format.settings()?;
        Some(view::in_style(style, line, settings, conversation))
    }

    fn direction(&self, note: Option<Note>, event: Option<&str>) -> Option<Decision> {
        Some(scene::Decision::directed(note, event))
    }

    fn hears(&self, conversation: &Conversation) -> bool {
        !conversation.stage().cast().people().is_empty()
    }

    fn next(&self, _: &Conversation) -> Vec<String> {
        vec!["sessions replay last --step".to_owned()]
    }

    fn steps(&self, opened: &Opened, style: Style) -> Option<Vec<Step>> {
        Some(beats::steps(&PlayedScene::of(&opened.records)?, style))
    }

    fn costs(&self, opened: &Opened, style: Style) -> Vec<String> {
        PlayedScene::of(&opened.records).map(|played| beats::costs(&played, style)).unwrap_or_default()
    }
}
