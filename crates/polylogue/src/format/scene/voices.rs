//! Who sounds how: a voice for every character, chosen from its file, and one for the narrator. It is recorded in the
//! setup, and the next scene of a story takes it over.

use std::{collections::BTreeMap, sync::Arc};

use polylogue_core::{
    Event, Setup,
    format::scene::Settings,
    id::{AgentId, Seq},
    setup::{Agent, Cast},
};
use polylogue_providers::speech::{Part, Profiles};
use polylogue_runtime::port::{Journal, Memories};

use crate::{config::Config, failure::Failure};

/// What a scene file that only says that there is a narrator is read as, until a voice is chosen.
pub(super) const ANY: &str = "any";

/// The same setup, in which everybody has a voice.
pub(super) async fn chosen(
    mut setup: Setup,
    config: &Config,
    journal: &dyn Journal,
    memories: &dyn Memories,
) -> Result<Setup, Failure> {
    let profiles = Profiles::with(config.voices.clone());
    let before = before(&setup, &profiles, journal, memories).await?;
    let Some(scene) = setup.format.settings_mut::<Settings>() else { return Ok(setup) };
    let parts: Vec<Part<'_>> = setup
        .cast
        .agents()
        .iter()
        .map(|agent| Part {
            id: agent.name.as_str(),
            name: scene.name_of(&agent.name),
            persona: agent.persona.as_deref(),
            voice: agent.voice.clone().or_else(|| before.get(&agent.name).cloned()),
        })
        .collect();
    // A narrator whose voice is named comes before the characters whose voices are not.
    let named: Vec<Arc<str>> = scene.narrator.iter().filter(|voice| &***voice != ANY).cloned().collect();
    let voices = profiles.cast(&parts, &named);
    if scene.narrator.is_some() && named.is_empty() {
        scene.narrator = Some(profiles.narrator(&voices));
    }
    let voiced = setup.cast.agents().iter().zip(voices);
    let agents = voiced.map(|(agent, voice)| Agent { voice: Some(voice), ..agent.clone() }).collect();
    let (people, crew) = (setup.cast.people().to_vec(), setup.cast.crew().to_vec());
    let cast = Cast::new(agents, people).and_then(|cast| cast.with_crew(crew));
    setup.cast = cast.map_err(|problem| Failure::internal(problem.to_string()))?;
    Ok(setup)
}

/// The voices that the characters had in the story's scene that they remember last.
async fn before(
    setup: &Setup,
    profiles: &Profiles,
    journal: &dyn Journal,
    memories: &dyn Memories,
) -> Result<BTreeMap<AgentId, Arc<str>>, Failure> {
    let mut voices = BTreeMap::new();
    let Some(story) = setup.format.story() else { return Ok(voices) };
    for agent in setup.cast.agents().iter().filter(|agent| agent.voice.is_none()) {
        let Some(last) = memories.memories(Some(&agent.name), Some(story), 1).await?.pop() else { continue };
        let first = journal.read(last.session, Seq::START, 1).await?;
        let Some(Event::Started { setup, .. }) = first.first().map(|record| &record.event) else { continue };
        let had = setup.cast.agent(&agent.name).and_then(|agent| agent.voice.clone());
        if let Some(voice) = had.filter(|voice| profiles.get(voice).is_ok()) {
            voices.insert(agent.name.clone(), voice);
        }
    }
    Ok(voices)
}
