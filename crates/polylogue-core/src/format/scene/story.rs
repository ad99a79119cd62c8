//! A story: the scenes of it that somebody remembers, each with what its characters brought along, what they felt in
//! the end, and what they put down; and what they would bring into a scene that began now.

use std::{collections::BTreeSet, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Bond, Feelings, Left, Mood, Relations, Settings, carried_over};
use crate::{
    Conversation, Reason, Timestamp,
    id::{AgentId, Seq, SessionId},
    memory::Memory,
};

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Story {
    pub story: Arc<str>,
    /// The oldest first.
    pub scenes: Vec<StoryScene>,
    /// What everybody would bring into a scene that began now.
    pub now: Standing,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoryScene {
    pub session_id: SessionId,
    pub scene: Arc<str>,
    #[schemars(extend("format" = "date-time"))]
    pub ended_at: String,
    /// `null` while it goes on.
    pub reason: Option<Reason>,
    /// What its characters felt when it began.
    pub began: Standing,
    /// What they felt when it was over.
    pub ended: Standing,
    pub memories: Vec<StoryMemory>,
}

/// How everybody feels, and who feels what for whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "StoryStanding")]
pub struct Standing {
    pub moods: Vec<StoryMood>,
    pub relationships: Vec<StoryBond>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StoryMood {
    pub character: AgentId,
    pub name: Arc<str>,
    pub word: &'static str,
    #[serde(flatten)]
    pub mood: Mood,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StoryBond {
    pub between: [AgentId; 2],
    pub names: [Arc<str>; 2],
    pub word: &'static str,
    /// From -100, hostile, to 100, close.
    pub value: i8,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StoryMemory {
    pub character: AgentId,
    pub name: Arc<str>,
    pub seq: Seq,
    pub text: Arc<str>,
}

impl Story {
    /// The story of these scenes and of what is remembered of them. Scenes that nobody remembers are left out.
    pub fn of(story: &str, played: &[Conversation], memories: &[Memory], now: Timestamp) -> Story {
        let mut played: Vec<&Conversation> = played.iter().collect();
        played.sort_by_key(|scene| (scene.stage().last_at(), scene.stage().setup().id));
        let scenes: Vec<StoryScene> = played.iter().filter_map(|scene| StoryScene::of(scene, memories)).collect();
        let left: Vec<Left> = played.iter().filter_map(|scene| left(scene, memories)).collect();
        let characters: BTreeSet<AgentId> = left.iter().flat_map(|left| left.remembered_by.clone()).collect();
        let characters: Vec<AgentId> = characters.into_iter().collect();
        let carried = carried_over(&left, &characters, now);
        // Whoever was renamed goes by the newest name.
        let name = |character: &AgentId| {
            let scenes = played.iter().rev().filter_map(|scene| settings(scene));
            let mut named = scenes.filter_map(|settings| settings.names.get(character).cloned());
            named.next().unwrap_or_else(|| character.as_str().into())
        };
        Story { story: story.into(), scenes, now: Standing::of(&carried, name) }
    }
}

impl StoryScene {
    fn of(played: &Conversation, memories: &[Memory]) -> Option<StoryScene> {
        let (stage, settings) = (played.stage(), settings(played)?);
        let (session_id, name) = (stage.setup().id, |character: &AgentId| settings.name_of(character).into());
        let own = memories.iter().filter(|memory| memory.session == session_id);
        let memory = |memory: &Memory| StoryMemory {
            character: memory.agent.clone(),
            name: name(&memory.agent),
            seq: memory.seq,
            text: memory.text.clone(),
        };
        let memories: Vec<StoryMemory> = own.map(memory).collect();
        (!memories.is_empty()).then(|| StoryScene {
            session_id,
            scene: settings.name.clone(),
            ended_at: stage.last_at().to_string(),
            reason: stage.ended(),
            began: Standing::of(&settings.feelings, name),
            ended: Standing::of(&Feelings::of(played).unwrap_or_default(), name),
            memories,
        })
    }
}

impl Standing {
    fn of(feelings: &Feelings, name: impl Fn(&AgentId) -> Arc<str>) -> Standing {
        let mood = |(character, mood): (&AgentId, &Mood)| StoryMood {
            character: character.clone(),
            name: name(character),
            word: mood.word(),
            mood: *mood,
        };
        let bond = |Bond { between, value }: &Bond| StoryBond {
            between: between.clone(),
            names: [name(&between[0]), name(&between[1])],
            word: Relations::word(*value),
            value: *value,
        };
        Standing {
            moods: feelings.moods.iter().map(mood).collect(),
            relationships: feelings.relations.iter().map(bond).collect(),
        }
    }
}

/// What a scene has left behind, as far as it is remembered.
pub fn left(played: &Conversation, memories: &[Memory]) -> Option<Left> {
    let (stage, feelings) = (played.stage(), Feelings::of(played)?);
    let own = memories.iter().filter(|memory| memory.session == stage.setup().id);
    Some(Left { at: stage.last_at(), remembered_by: own.map(|memory| memory.agent.clone()).collect(), feelings })
}

fn settings(played: &Conversation) -> Option<&Settings> {
    played.stage().setup().format.settings::<Settings>()
}
