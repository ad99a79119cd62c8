//! What is left of the feelings of a scene: how each character feels, and what is between them. It comes along into
//! the next scene of the story with the memories, and fades as they do.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Mood, Relations, Scene, recall::freshness};
use crate::{Conversation, id::AgentId, time::Timestamp};

/// How characters feel, and what is between them, at one moment. What is nothing is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SceneFeelings")]
pub struct Feelings {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub moods: BTreeMap<AgentId, Mood>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Bond>,
}

/// What is between two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SceneBond")]
pub struct Bond {
    pub between: [AgentId; 2],
    /// From -100, hostile, to 100, close.
    pub value: i8,
}

/// A scene that is over, as far as its characters still remember it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// When it was over.
    pub at: Timestamp,
    pub remembered_by: BTreeSet<AgentId>,
    pub feelings: Feelings,
}

impl Feelings {
    /// Those of a scene as it stands; `None` in a session of another format.
    pub fn of(conversation: &Conversation) -> Option<Feelings> {
        let scene = conversation.rules::<Scene>()?;
        let moods = scene.players.iter().filter(|player| player.has_mood());
        let bonds = scene.relations.pairs().filter(|(_, _, value)| *value != 0);
        Some(Feelings {
            moods: moods.map(|player| (player.id.clone(), player.mood)).collect(),
            relations: bonds.map(|(one, other, value)| Bond { between: [one.clone(), other.clone()], value }).collect(),
        })
    }

    pub fn is_empty(&self) -> bool {
        self.moods.is_empty() && self.relations.is_empty()
    }

    pub(super) fn mood_of(&self, character: &AgentId) -> Mood {
        self.moods.get(character).copied().unwrap_or_default()
    }

    pub(super) fn relations(&self) -> Relations {
        self.relations.iter().map(|bond| (bond.between.clone(), bond.value)).collect()
    }

    fn between(&self, one: &AgentId, other: &AgentId) -> i8 {
        let is_theirs = |bond: &&Bond| bond.between.contains(one) && bond.between.contains(other);
        self.relations.iter().find(is_theirs).map_or(0, |bond| bond.value)
    }
}

/// What these bring along from the scenes before. How a character feels is left from the newest scene that it
/// remembers; what is between two, from the newest that both remember. What a scene began with is in what it ended
/// with, so no other has to be asked. A scene that was forgotten leaves nothing.
pub fn carried_over(scenes: &[Left], characters: &[AgentId], now: Timestamp) -> Feelings {
    let newest = |who: &[&AgentId]| {
        let knows = |scene: &&Left| who.iter().all(|character| scene.remembered_by.contains(*character));
        scenes.iter().filter(knows).max_by_key(|scene| scene.at)
    };
    let mut feelings = Feelings::default();
    for (at, character) in characters.iter().enumerate() {
        if let Some(scene) = newest(&[character]) {
            let left = freshness(now.since(scene.at));
            let mood = scene.feelings.mood_of(character);
            let mood = Mood { valence: fade(mood.valence, left), arousal: fade(mood.arousal, left) };
            if mood != Mood::default() {
                feelings.moods.insert(character.clone(), mood);
            }
        }
        for other in &characters[at + 1..] {
            let Some(scene) = newest(&[character, other]) else { continue };
            let value = fade(scene.feelings.between(character, other).into(), freshness(now.since(scene.at))) as i8;
            if value != 0 {
                let mut between = [character.clone(), other.clone()];
                between.sort();
                feelings.relations.push(Bond { between, value });
            }
        }
    }
    feelings
}

/// A whole number, nearer to nothing.
fn fade(value: i16, left: f64) -> i16 {
    (f64::from(value) * left.clamp(0.0, 1.0)) as i16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY_MS: u64 = 24 * 3_600_000;
    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn id(name: &str) -> AgentId {
        name.parse().expect("a name")
    }

    /// A scene of so many days ago that these remember, with Alice's mood and what is between her and Bob.
    fn scene(days: u64, by: &[&str], valence: i16, value: i8) -> Left {
        let bond = Bond { between: [id("alice"), id("bob")], value };
        let mood = Mood { valence, arousal: 400 };
        Left {
            at: Timestamp(NOW.0 - days * DAY_MS),
            remembered_by: by.iter().map(|name| id(name)).collect(),
            feelings: Feelings { moods: [(id("alice"), mood)].into(), relations: vec![bond] },
        }
    }

    #[test]
    fn the_newest_scene_that_they_remember_says_what_is_left() {
        let both = ["alice", "bob"];
        // Scenes, Alice's valence, and what is between the two.
        let cases: &[(&[Left], Option<i16>, Option<i8>)] = &[
            (&[], None, None),
            (&[scene(0, &both, -800, -60)], Some(-800), Some(-60)),
            (&[scene(7, &both, -800, -60)], Some(-400), Some(-30)),
            (&[scene(14, &both, -800, -60)], Some(-200), Some(-15)),
            (&[scene(7, &both, -800, -60), scene(0, &both, 200, 10)], Some(200), Some(10)),
            (&[scene(0, &both, 200, 10), scene(7, &both, -800, -60)], Some(200), Some(10)),
            (&[scene(7, &both, -800, -60), scene(0, &["alice"], 200, 10)], Some(200), Some(-30)),
            (&[scene(7, &both, -800, -60), scene(0, &["bob"], 200, 10)], Some(-400), Some(-30)),
            (&[scene(0, &["bob"], 200, 10)], None, None),
            (&[scene(7, &both, -800, -60), scene(0, &both, 200, 0)], Some(200), None),
            (&[scene(400, &both, -800, -60)], None, None),
        ];
        for (scenes, valence, value) in cases {
            let left = carried_over(scenes, &[id("bob"), id("alice")], NOW);
            assert_eq!(left.moods.get(&id("alice")).map(|mood| mood.valence), *valence, "{scenes:?}");
            assert_eq!(left.relations.first().map(|bond| bond.value), *value, "{scenes:?}");
            assert!(left.relations.iter().all(|bond| bond.between == [id("alice"), id("bob")]));
        }
    }

    proptest! {
        #[test]
        fn what_is_left_is_never_more_than_there_was(
            valence in -1000..=1000i16, value in -100..=100i8, days in 0..500u64, more in 0..500u64,
        ) {
            let scenes = |days| [scene(days, &["alice", "bob"], valence, value)];
            let characters = [id("alice"), id("bob")];
            let (soon, late) =
                (carried_over(&scenes(days), &characters, NOW), carried_over(&scenes(days + more), &characters, NOW));
            let (soon, late) = (
                (soon.mood_of(&id("alice")).valence, soon.between(&id("alice"), &id("bob"))),
                (late.mood_of(&id("alice")).valence, late.between(&id("alice"), &id("bob"))),
            );
            prop_assert!(soon.0.abs() <= valence.abs() && late.0.abs() <= soon.0.abs());
            prop_assert!(soon.1.unsigned_abs() <= value.unsigned_abs() && late.1.unsigned_abs() <= soon.1.unsigned_abs());
            prop_assert!(i32::from(late.0) * i32::from(valence) >= 0 && i32::from(late.1) * i32::from(value) >= 0);
        }
    }
}
