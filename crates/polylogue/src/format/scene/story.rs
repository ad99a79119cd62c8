//! `polylogue story show`: who remembers what, and who feels what for whom, over the scenes of a story.

use std::{collections::BTreeSet, process::ExitCode};

use clap::Subcommand;
use polylogue_core::{
    format::scene::{Story as Told, StoryScene, StoryStanding},
    id::SessionId,
    memory::Memory,
};
use polylogue_runtime::port::{Clock, SystemClock};

use super::memory::played;
use crate::{args::Common, config::Config, engine::Engine, failure::Failure, output, view::Style};

/// How many memories of a story are looked at, the newest.
const MOST: usize = 1_000;

#[derive(Debug, Subcommand)]
pub(crate) enum Story {
    /// Who remembers what, and who feels what for whom, scene by scene
    Show {
        /// The story, as its scene files name it
        name: String,
    },
}

impl Story {
    pub(crate) async fn run(self, common: &Common) -> Result<ExitCode, Failure> {
        let Story::Show { name } = self;
        let config = Config::read(common.config.as_deref())?;
        let engine = Engine::open(common, &config).await?;
        let memories: Vec<Memory> = engine.memories.memories(None, Some(&name), MOST).await?;
        if memories.is_empty() {
            let advice = "a scene is part of a story where its file has `story: NAME` and `memory: true`";
            return Err(Failure::not_found(format!("nobody remembers anything of a story `{name}`: {advice}")));
        }
        let sessions: BTreeSet<SessionId> = memories.iter().map(|memory| memory.session).collect();
        let story = Told::of(&name, &played(&sessions, &engine).await?, &memories, SystemClock.now());
        match common.json {
            true => output::json(&story),
            false => print(&story, Style::of_stdout()),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print(story: &Told, style: Style) {
    let scenes = story.scenes.len();
    let count = if scenes == 1 { "1 scene".to_owned() } else { format!("{scenes} scenes") };
    output::line(format!("{} {}\n", style.bold(&story.story), style.dim(&format!("· {count}"))));
    for (scene, number) in story.scenes.iter().zip(1..) {
        print_scene(scene, number, style);
    }
    output::line(style.bold("In a scene that began now"));
    print_standing("", &story.now, style);
    output::line("");
}

fn print_scene(scene: &StoryScene, number: usize, style: Style) {
    let reason = scene.reason.map(|reason| format!(" · {reason}")).unwrap_or_default();
    let from = format!("{}{reason} · session {}", &scene.ended_at[..10], style.session(scene.session_id));
    output::line(format!(
        "{}\n{}",
        style.bold(&format!("{number}. {}", scene.scene)),
        style.remark(&format!("   {from}"))
    ));
    if scene.began != StoryStanding::default() {
        print_standing("began", &scene.began, style);
    }
    print_standing("ended", &scene.ended, style);
    for memory in &scene.memories {
        output::line(format!("   {} remembers", memory.name));
        output::line(style.wrap(&memory.text, "      "));
    }
    output::line("");
}

/// Moods and what is between them, a row each; what is nothing is not said.
fn print_standing(when: &str, standing: &StoryStanding, style: Style) {
    let mut rows: Vec<String> = standing.moods.iter().map(|mood| format!("{} is {}", mood.name, mood.word)).collect();
    rows.extend(standing.relationships.iter().map(|bond| {
        let [one, other] = &bond.names;
        format!("{one} and {other} are {} ({:+})", bond.word, bond.value)
    }));
    if rows.is_empty() {
        rows.push("nobody feels anything in particular".to_owned());
    }
    let label = if when.is_empty() { String::new() } else { format!("{when}: ") };
    output::line(style.wrap(&format!("{label}{}", rows.join("; ")), "   "));
}
