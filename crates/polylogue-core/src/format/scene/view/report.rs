//! `metadata.json`: how a scene went, in figures.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use super::{played::PlayedScene, transcript::titled};
use crate::{
    Reason,
    event::{CallFailure, FailureKind},
    format::scene::{Mood, Relations},
    id::{AgentId, SessionId},
    ledger::Account,
    money::Money,
    projection::{AgentCosts, Costs},
    reason::Ending,
    setup::{Limits, ModelRef},
};

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SceneReport {
    /// Whether it ran, if only to a bound.
    pub success: bool,
    pub name: Arc<str>,
    pub title: String,
    pub session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<Arc<str>>,
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// Milliseconds that it took, pauses left out.
    pub duration: u64,
    pub total_beats: u32,
    pub character_count: usize,
    pub characters: Vec<PlayedCharacter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Arc<str>>,
    pub goal_achieved: bool,
    /// `null` while it goes on.
    pub reason: Option<Reason>,
    pub costs: SceneCosts,
    pub errors: Vec<SceneError>,
    pub warnings: Vec<String>,
    /// How the characters feel at the end.
    pub moods: BTreeMap<AgentId, MoodFigures>,
    /// What is between them at the end.
    pub relationships: Vec<Relationship>,
    /// The same after each beat.
    pub dynamics: Vec<BeatDynamics>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlayedCharacter {
    pub id: AgentId,
    pub name: Arc<str>,
    pub model: ModelRef,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SceneCosts {
    pub total_tokens: u64,
    /// `null` when a model's price is not known.
    #[serde(rename = "estimatedUSD")]
    pub estimated_usd: Option<Money>,
    /// The moderator is one of them.
    pub by_character: BTreeMap<AgentId, AgentCosts>,
    pub by_beat: Vec<BeatCosts>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BeatCosts {
    pub beat: u32,
    pub calls: u64,
    pub total_tokens: u64,
    pub cached_tokens: u64,
    #[serde(rename = "estimatedUSD")]
    pub estimated_usd: Option<Money>,
}

/// A character who could not respond.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SceneError {
    pub beat: u32,
    pub character: AgentId,
    pub error: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MoodFigures {
    pub word: &'static str,
    #[serde(flatten)]
    pub mood: Mood,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Relationship {
    pub between: [AgentId; 2],
    /// From -100, hostile, to 100, close.
    pub value: i8,
    pub word: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BeatDynamics {
    pub beat: u32,
    /// How far the moderator thought the scene had come, in percent.
    pub progress: Option<u8>,
    pub moods: BTreeMap<AgentId, MoodFigures>,
    pub relationships: Vec<Relationship>,
}

impl SceneReport {
    pub fn of(played: &PlayedScene) -> SceneReport {
        let PlayedScene { conversation, settings, beats, .. } = played;
        let stage = conversation.stage();
        let costs = Costs::of(conversation);
        let last = beats.iter().rfind(|beat| beat.is_over);
        let errors = beats.iter().flat_map(|beat| {
            let error = |(character, error): &(AgentId, String)| SceneError {
                beat: beat.number,
                character: character.clone(),
                error: error.clone(),
            };
            beat.failed.iter().map(error)
        });
        SceneReport {
            success: stage.ended().is_some_and(|reason| reason.ending() != Ending::BrokenOff),
            name: settings.name.clone(),
            title: titled(&settings.name),
            session_id: stage.setup().id,
            story: settings.story.clone(),
            started_at: stage.started_at().to_string(),
            duration: stage.active_ms(),
            total_beats: played.total_beats(),
            character_count: stage.cast().agents().len(),
            characters: stage
                .cast()
                .agents()
                .iter()
                .map(|agent| PlayedCharacter {
                    id: agent.name.clone(),
                    name: settings.name_of(&agent.name).into(),
                    model: agent.model.clone(),
                })
                .collect(),
            goal: settings.goal.clone(),
            goal_achieved: played.goal_achieved,
            reason: stage.ended(),
            costs: SceneCosts {
                total_tokens: costs.total_tokens,
                estimated_usd: costs.estimated_usd,
                by_character: costs.by_agent,
                by_beat: beats.iter().map(|beat| BeatCosts::of(beat.number, &beat.account)).collect(),
            },
            errors: errors.collect(),
            warnings: played.warnings.clone(),
            moods: last.map(|beat| moods(&beat.moods)).unwrap_or_default(),
            relationships: last.map(|beat| relationships(&beat.relations)).unwrap_or_default(),
            dynamics: beats
                .iter()
                .filter(|beat| beat.is_over)
                .map(|beat| BeatDynamics {
                    beat: beat.number,
                    progress: beat.judgement.as_ref().map(|judgement| judgement.progress),
                    moods: moods(&beat.moods),
                    relationships: relationships(&beat.relations),
                })
                .collect(),
        }
    }
}

impl BeatCosts {
    fn of(beat: u32, account: &Account) -> BeatCosts {
        BeatCosts {
            beat,
            calls: account.calls,
            total_tokens: account.usage.total(),
            cached_tokens: account.usage.cached,
            estimated_usd: account.cost,
        }
    }
}

fn moods(moods: &BTreeMap<AgentId, Mood>) -> BTreeMap<AgentId, MoodFigures> {
    moods.iter().map(|(agent, mood)| (agent.clone(), MoodFigures { word: mood.word(), mood: *mood })).collect()
}

fn relationships(relations: &Relations) -> Vec<Relationship> {
    let pairs = relations.pairs();
    pairs
        .map(|(one, other, value)| Relationship {
            between: [one.clone(), other.clone()],
            value,
            word: Relations::word(value),
        })
        .collect()
}

/// The seconds that a message tells, as in `nothing within 60 s`.
fn seconds_in(message: &str) -> Option<u64> {
    let mut words = message.split(' ').zip(message.split(' ').skip(1));
    words.find_map(|(number, unit)| if unit == "s" { number.parse().ok() } else { None })
}

/// Why a character could not respond, as its report says it.
pub(super) fn failure_in_words(failure: &CallFailure, limits: &Limits) -> String {
    match failure.kind {
        FailureKind::Timeout => {
            let told = seconds_in(&failure.message).unwrap_or(limits.call_timeout_seconds);
            format!("Response timeout after {told}s")
        }
        FailureKind::RateLimited
        | FailureKind::Overloaded
        | FailureKind::Unauthorized
        | FailureKind::Refused
        | FailureKind::ContextTooLong
        | FailureKind::Network
        | FailureKind::BadResponse
        | FailureKind::Rejected
        | FailureKind::Unavailable
        | FailureKind::ScriptChanged => failure.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_tells_the_time_that_was_waited() {
        for (message, expected) in [
            ("openai has said nothing within 60 s (first_token_seconds)", "Response timeout after 60s"),
            ("no answer within 5 s", "Response timeout after 5s"),
            ("the script says so", "Response timeout after 30s"),
        ] {
            let failure = CallFailure { kind: FailureKind::Timeout, message: message.to_owned() };
            assert_eq!(failure_in_words(&failure, &Limits::default()), expected);
        }
    }
}
