//! The result of a session as programs read it: what was said, what it cost, why it ended.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    Awaited, Conversation, Reason,
    event::FailureKind,
    id::{AgentId, PersonId, Seq, SessionId},
    ledger::Account,
    line::{ClipState, Delivery, Line, LineKind},
    money::Money,
    setup::ModelRef,
};

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    #[schemars(extend("const" = "result"))]
    r#type: &'static str,
    pub session_id: SessionId,
    pub format: Arc<str>,
    pub title: Arc<str>,
    pub status: Status,
    pub reason: Option<Reason>,
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    #[schemars(extend("format" = "date-time"))]
    pub ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    pub cast: Vec<OutcomeAgent>,
    /// The people whose turn it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub awaits: Vec<OutcomeAwaited>,
    pub lines: Vec<OutcomeLine>,
    /// What came out in the end, by name, where the format works something out.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub results: Map<String, Value>,
    pub costs: Costs,
    pub errors: Vec<OutcomeError>,
    /// Files that the session made, relative to the artifacts folder.
    pub artifacts: Vec<String>,
    /// What a newer version wrote and this one cannot read, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SessionStatus")]
pub enum Status {
    Running,
    /// For a person.
    Waiting,
    /// Its process is gone, and nobody runs it. The journal does not tell: whoever knows the processes does.
    Left,
    Ended,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Left => "left",
            Status::Ended => "ended",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkedFrom {
    pub session_id: SessionId,
    pub seq: Seq,
}

/// A person whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutcomeAwaited {
    pub who: PersonId,
    /// When it goes on without them; left out while others are asked as well, and where it waits however long it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<String>,
    /// What they are asked, where that is more than to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutcomeAgent {
    pub name: AgentId,
    pub model: ModelRef,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeLine {
    pub seq: Seq,
    pub speaker: String,
    pub kind: LineKind,
    pub text: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    /// The round, beat or turn that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The voice profile that the speaker chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice_profile: Option<Arc<str>>,
    #[serde(flatten)]
    pub delivery: Delivery,
    /// The words after which somebody else came in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_after: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_path: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Costs {
    pub total_tokens: u64,
    /// `null` when a model's price is not known.
    #[serde(rename = "estimatedUSD")]
    pub estimated_usd: Option<Money>,
    pub by_agent: BTreeMap<AgentId, AgentCosts>,
    /// Where the format's phases have names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_phase: BTreeMap<Arc<str>, AgentCosts>,
    /// What engines that bill by character billed; it is in the sums above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speech: Option<SpeechCosts>,
    /// The models whose price nobody knows: no limit in dollars holds them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unpriced: BTreeSet<ModelRef>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpeechCosts {
    pub clips: u64,
    pub characters: u64,
    /// `null` when the price of an engine is not known.
    #[serde(rename = "estimatedUSD")]
    pub estimated_usd: Option<Money>,
}

impl SpeechCosts {
    fn of(conversation: &Conversation) -> Option<SpeechCosts> {
        let none = SpeechCosts { clips: 0, characters: 0, estimated_usd: Some(Money::ZERO) };
        let stage = conversation.stage();
        let lines = stage.transcript().lines().iter().map(|line| &line.clip);
        let narrations = stage.narrations().iter().map(|narration| &narration.clip);
        let bills = lines.chain(narrations).filter_map(|clip| match clip {
            ClipState::Made(clip) => clip.billed,
            ClipState::Unspoken | ClipState::Wanted | ClipState::Failed => None,
        });
        let sum = bills.fold(none, |sum, bill| SpeechCosts {
            clips: sum.clips + 1,
            characters: sum.characters + bill.characters,
            estimated_usd: sum.estimated_usd.zip(bill.cost).map(|(sum, cost)| sum.plus(cost)),
        });
        (sum.clips > 0).then_some(sum)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCosts {
    pub calls: u64,
    pub total_tokens: u64,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    #[serde(rename = "estimatedUSD")]
    pub estimated_usd: Option<Money>,
}

/// A call that failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutcomeError {
    pub seq: Seq,
    pub agent: AgentId,
    pub turn: u32,
    pub kind: FailureKind,
    pub message: String,
}

impl Outcome {
    pub fn of(conversation: &Conversation) -> Outcome {
        let stage = conversation.stage();
        let setup = stage.setup();
        let status = match (stage.ended(), stage.is_waiting()) {
            (Some(_), _) => Status::Ended,
            (None, true) => Status::Waiting,
            (None, false) => Status::Running,
        };
        let lines = stage.transcript().lines();
        Outcome {
            r#type: "result",
            session_id: setup.id,
            format: setup.format.name().into(),
            title: setup.format.title().into(),
            status,
            reason: stage.ended(),
            started_at: stage.started_at().to_string(),
            ended_at: stage.ended().map(|_| stage.last_at().to_string()),
            forked_from: stage.forked_from().map(|(session_id, seq)| ForkedFrom { session_id, seq }),
            cast: stage
                .cast()
                .everyone()
                .map(|agent| OutcomeAgent { name: agent.name.clone(), model: agent.model.clone() })
                .collect(),
            awaits: conversation
                .awaited()
                .into_iter()
                .map(|Awaited { who, until }| OutcomeAwaited {
                    until: until.map(|until| until.to_string()),
                    asked: conversation.asked(&who),
                    who,
                })
                .collect(),
            lines: lines.iter().map(OutcomeLine::of).collect(),
            results: setup.format.results(conversation),
            costs: Costs::of(conversation),
            errors: stage
                .failures()
                .iter()
                .map(|failed| OutcomeError {
                    seq: failed.seq,
                    agent: failed.ask.agent.clone(),
                    turn: failed.ask.turn,
                    kind: failed.failure.kind,
                    message: failed.failure.message.clone(),
                })
                .collect(),
            artifacts: artifacts(conversation),
            unread: stage.unread().to_vec(),
        }
    }

    /// The same with a status that whoever knows the processes has found.
    #[must_use]
    pub fn with_status(self, status: Status) -> Outcome {
        Outcome { status, ..self }
    }
}

impl OutcomeLine {
    pub fn of(line: &Line) -> OutcomeLine {
        OutcomeLine {
            seq: line.seq,
            speaker: line.speaker.to_string(),
            kind: line.kind,
            text: line.text.clone(),
            to: line.to.clone(),
            turn: line.ask.as_ref().map(|ask| ask.turn),
            voice_profile: line.voice.clone(),
            delivery: line.delivery.clone(),
            cut_after: line.cut_after.clone(),
            audio_path: path_of(&line.clip),
        }
    }
}

/// The clips, and what else the format leaves.
fn artifacts(conversation: &Conversation) -> Vec<String> {
    let stage = conversation.stage();
    let lines = stage.transcript().lines().iter().map(|line| &line.clip);
    let clips = lines.chain(stage.narrations().iter().map(|narration| &narration.clip)).filter_map(path_of);
    let files = stage.ended().map(|_| stage.setup().format.artifacts(conversation)).unwrap_or_default();
    clips.chain(files).collect()
}

fn path_of(clip: &ClipState) -> Option<String> {
    match clip {
        ClipState::Made(clip) => Some(clip.path.clone()),
        ClipState::Unspoken | ClipState::Wanted | ClipState::Failed => None,
    }
}

impl Costs {
    pub fn of(conversation: &Conversation) -> Costs {
        let ledger = conversation.stage().ledger();
        let mut phases: BTreeMap<Arc<str>, Account> = BTreeMap::new();
        for (turn, account) in ledger.turns() {
            if let Some(phase) = conversation.phase(turn) {
                *phases.entry(phase).or_default() += *account;
            }
        }
        let unpriced = conversation.stage().cast().everyone().filter(|agent| agent.price.is_none());
        Costs {
            total_tokens: ledger.total().usage.total(),
            estimated_usd: ledger.total().cost,
            by_agent: ledger.by_agent().into_iter().map(|(agent, sum)| (agent.clone(), AgentCosts::of(&sum))).collect(),
            by_phase: phases.into_iter().map(|(phase, sum)| (phase, AgentCosts::of(&sum))).collect(),
            speech: SpeechCosts::of(conversation),
            unpriced: unpriced.map(|agent| agent.model.clone()).collect(),
        }
    }
}

impl AgentCosts {
    fn of(account: &Account) -> AgentCosts {
        AgentCosts {
            calls: account.calls,
            total_tokens: account.usage.total(),
            input_tokens: account.usage.input,
            cached_tokens: account.usage.cached,
            output_tokens: account.usage.output,
            estimated_usd: account.cost,
        }
    }
}
