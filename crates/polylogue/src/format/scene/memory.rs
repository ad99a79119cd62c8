//! What characters bring along from the earlier scenes of their story.

use std::sync::Arc;

use polylogue_core::{
    Setup,
    format::scene::{Budget, Settings, recall},
    id::AgentId,
};
use polylogue_runtime::port::{Clock, Memories, SystemClock};

use crate::failure::Failure;

/// Memories of a character that are looked through, the newest; older ones have faded.
const LOOKED_THROUGH: usize = 200;

/// The same setup, in which the characters of a scene have in mind what they remember of the story.
pub(super) async fn brought_along(mut setup: Setup, memories: &dyn Memories) -> Result<Setup, Failure> {
    let characters: Vec<AgentId> = setup.cast.agents().iter().map(|agent| agent.name.clone()).collect();
    let Some(scene) = setup.format.settings_mut::<Settings>() else { return Ok(setup) };
    let Some(story) = scene.story.clone().filter(|_| scene.memory) else { return Ok(setup) };
    let about = about(scene, &characters);
    for character in characters {
        let known = memories.memories(&character, Some(&story), LOOKED_THROUGH).await?;
        let recalled: Vec<Arc<str>> = recall(&known, &about, SystemClock.now(), Budget::default());
        if !recalled.is_empty() {
            scene.memories.insert(character, recalled);
        }
    }
    Ok(setup)
}

/// What the scene is about, and who is in it.
fn about(scene: &Settings, characters: &[AgentId]) -> String {
    let told = [Some(&scene.prompt), scene.goal.as_ref(), scene.setting.as_ref()];
    let told = told.into_iter().flatten().map(|text| &**text);
    told.chain(characters.iter().map(|character| scene.name_of(character))).collect::<Vec<_>>().join("\n")
}
