//! What characters bring along from the earlier scenes of their story: memories, and what is left of their feelings.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use polylogue_core::{
    Conversation, Setup, Timestamp,
    format::scene::{Budget, Left, Settings, carried_over, left, recall},
    id::{AgentId, SessionId},
    memory::Memory,
};
use polylogue_runtime::{
    HubError,
    port::{Clock, SystemClock},
};

use crate::{engine::Engine, failure::Failure};

/// Memories of a character that are looked through, the newest; older ones have faded.
const LOOKED_THROUGH: usize = 200;

/// The same setup, in which the characters of a scene have in mind what they remember of the story, and feel what is
/// left of it. The moment is looked up once: what follows from it is part of the setup.
pub(super) async fn brought_along(mut setup: Setup, engine: &Engine) -> Result<Setup, Failure> {
    let characters: Vec<AgentId> = setup.cast.agents().iter().map(|agent| agent.name.clone()).collect();
    let Some(scene) = setup.format.settings_mut::<Settings>() else { return Ok(setup) };
    let Some(story) = scene.story.clone().filter(|_| scene.memory) else { return Ok(setup) };
    let (about, now) = (about(scene, &characters), SystemClock.now());
    let mut known: Vec<Memory> = Vec::new();
    for character in &characters {
        let own = engine.memories.memories(Some(character), Some(&story), LOOKED_THROUGH).await?;
        let recalled: Vec<Arc<str>> = recall(&own, &about, now, Budget::default());
        if !recalled.is_empty() {
            scene.memories.insert(character.clone(), recalled);
        }
        known.extend(own);
    }
    let scenes = played(&newest(&known, &characters), engine).await?;
    let scenes: Vec<Left> = scenes.iter().filter_map(|scene| left(scene, &known)).collect();
    scene.feelings = carried_over(&scenes, &characters, now);
    Ok(setup)
}

/// The scenes that may have left something: the newest that each remembers, and that each two remember.
fn newest(known: &[Memory], characters: &[AgentId]) -> BTreeSet<SessionId> {
    let mut by: BTreeMap<SessionId, (Timestamp, BTreeSet<&AgentId>)> = BTreeMap::new();
    for memory in known {
        let (at, who) = by.entry(memory.session).or_insert((memory.at, BTreeSet::new()));
        *at = memory.at.max(*at);
        who.insert(&memory.agent);
    }
    let newest_of = |one: &AgentId, other: &AgentId| {
        let remembered = by.iter().filter(|(_, (_, who))| who.contains(one) && who.contains(other));
        remembered.max_by_key(|(_, (at, _))| *at).map(|(session, _)| *session)
    };
    let pairs = characters.iter().flat_map(|one| characters.iter().map(move |other| (one, other)));
    pairs.filter_map(|(one, other)| newest_of(one, other)).collect()
}

/// These sessions, from their journals. One that is gone meanwhile leaves nothing.
pub(super) async fn played(
    sessions: impl IntoIterator<Item = &SessionId>,
    engine: &Engine,
) -> Result<Vec<Conversation>, Failure> {
    let mut played = Vec::new();
    for session in sessions {
        match engine.hub.conversation(*session).await {
            Ok(conversation) => played.push(conversation),
            Err(HubError::NoSuchSession(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(played)
}

/// What the scene is about, and who is in it.
fn about(scene: &Settings, characters: &[AgentId]) -> String {
    let told = [Some(&scene.prompt), scene.goal.as_ref(), scene.setting.as_ref()];
    let told = told.into_iter().flatten().map(|text| &**text);
    told.chain(characters.iter().map(|character| scene.name_of(character))).collect::<Vec<_>>().join("\n")
}
