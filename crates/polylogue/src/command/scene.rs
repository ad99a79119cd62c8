//! `polylogue scene`: characters play a scene file, directed to its end.

use std::{path::Path, process::ExitCode};

use polylogue_core::id::Seq;

use crate::{
    args::{Common, Scene},
    config::Config,
    engine::Engine,
    failure::Failure,
    follow::follow,
    memory,
    scene::{self, Folder, Wish},
    speech, view,
};

pub(crate) async fn run(common: &Common, args: Scene) -> Result<ExitCode, Failure> {
    let mut config = Config::read(common.config.as_deref())?;
    config.scene.out = args.out.unwrap_or(config.scene.out);
    let file = scene::read(&args.file)?;
    let engine = Engine::open(common, &config)?;
    let characters = Folder(args.agents.unwrap_or_else(|| config.characters()));
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let setup = scene::setup(Wish { file, folder: Some(folder), characters: &characters }, common, &config, &engine)?;
    let setup = memory::brought_along(setup, &*engine.journal).await?;
    if setup.speech {
        speech::pull_if_wanted(&config).await;
    }
    let mut view = view::of(common, &setup.format, &config.scene.out);
    let id = engine.hub.start(setup).await?;
    follow(&engine, id, Seq::START, view.as_mut()).await
}
