//! What a message to a room asks for: who is to answer it, and how. What is written in the text goes before the
//! fields beside it.

use polylogue_core::{
    format::collaboration::{Mode, Settings},
    room::{Addressed, Mention, Target, addressed},
    setup::Cast,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    error::{Code, Refusal},
    house::AgentInfo,
};

/// What a person says in a room.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RoomMessage {
    /// `@gpt …`, `@all …` and `@router collaborate gpt claude: GOAL` at its beginning go before the other fields
    #[schemars(length(min = 1, max = 20_000), example = "@gpt What is a cloud?")]
    text: String,
    /// An agent, `router` or `all`; left out, the router passes it on [default: router]
    #[schemars(example = &"gpt")]
    target: Option<String>,
    /// One answers and may hand over once, or several work on it together [default: single]
    mode: Option<MessageMode>,
    /// For a collaboration [default: 6]
    #[schemars(range(min = 1, max = 10_000))]
    max_rounds: Option<u32>,
    /// Who speaks first in a collaboration; left out, the target if it is an agent
    speaker: Option<String>,
    /// Who takes part in a collaboration; left out, those of the house
    #[schemars(length(min = 2, max = 16))]
    participants: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum MessageMode {
    Single,
    Collaborate,
}

/// A message as it is understood.
#[derive(Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) text: String,
    pub(super) target: Target,
    pub(super) mode: Mode,
    pub(super) between: Option<Vec<String>>,
    /// Who speaks first, for each session that is to begin; `None` leaves it to the house.
    pub(super) speakers: Vec<Option<String>>,
    pub(super) max_rounds: Option<u32>,
}

impl Wanted {
    /// Among these agents; whether one that is not among them can be used, the house knows.
    pub(super) fn of(message: &RoomMessage, agents: &[AgentInfo]) -> Result<Wanted, Refusal> {
        let Directed { text, target, mode, between, speaker } = Directed::of(message, agents)?;
        must_be_sayable(text)?;
        let called = match &target {
            Target::Agent(agent) => Some(agent.to_string()),
            Target::Router | Target::All => None,
        };
        let (mode, between, speakers, max_rounds) = match mode {
            MessageMode::Single if between.is_some() => {
                let message = "`participants` are for a collaboration: send `\"mode\": \"collaborate\"`";
                return Err(Refusal::request(message));
            }
            MessageMode::Single if target == Target::All => {
                (Mode::Single, None, everybody(agents)?.into_iter().map(Some).collect(), None)
            }
            MessageMode::Single => (Mode::Single, None, vec![called.or(speaker)], None),
            MessageMode::Collaborate => {
                let between = match between {
                    None if target == Target::All => Some(everybody(agents)?),
                    between => between,
                };
                let speaker = speaker.or(called);
                check_cast(between.as_deref(), speaker.as_deref())?;
                check_rounds(message.max_rounds)?;
                (Mode::Collaborate, between, vec![speaker], message.max_rounds)
            }
        };
        Ok(Wanted { text: text.to_owned(), target, mode, between, speakers, max_rounds })
    }

    /// Whether each of several is asked by itself.
    pub(super) fn is_to_several(&self) -> bool {
        self.mode == Mode::Single && self.target == Target::All
    }
}

/// Whom a message is for, after what is written in it and what stands beside it; names as their agents have them.
struct Directed<'a> {
    text: &'a str,
    target: Target,
    mode: MessageMode,
    between: Option<Vec<String>>,
    speaker: Option<String>,
}

impl<'a> Directed<'a> {
    fn of(message: &'a RoomMessage, agents: &[AgentInfo]) -> Result<Directed<'a>, Refusal> {
        let proper = |name: &str| proper(name, agents);
        let Addressed { mention, text } =
            addressed(&message.text).map_err(|error| Refusal::request(error.to_string()))?;
        let beside = message.target.as_deref().map(|target| target_of(&proper(target))).transpose()?;
        let mut directed = Directed {
            text,
            target: beside.clone().unwrap_or(Target::Router),
            mode: message.mode.unwrap_or(MessageMode::Single),
            between: message.participants.as_ref().map(|names| names.iter().map(|name| proper(name)).collect()),
            speaker: message.speaker.as_deref().map(proper),
        };
        match mention {
            None => {}
            Some(Mention::Router) => directed.target = Target::Router,
            Some(Mention::All) => directed.target = Target::All,
            Some(Mention::Collaborate(names)) => {
                (directed.target, directed.mode) = (Target::Router, MessageMode::Collaborate);
                let names: Vec<String> = names.into_iter().map(proper).collect();
                directed.speaker = directed.speaker.or_else(|| names.first().cloned());
                directed.between = Some(names).filter(|names| !names.is_empty()).or(directed.between);
            }
            Some(Mention::Somebody(name)) => {
                let is_known = agents.iter().any(|agent| agent.name.eq_ignore_ascii_case(name));
                match beside {
                    // With a target beside it, a name that nobody has is a part of what was said.
                    Some(_) if !is_known => directed.text = message.text.trim(),
                    Some(_) | None => directed.target = target_of(&proper(name))?,
                }
            }
        }
        Ok(directed)
    }
}

fn must_be_sayable(text: &str) -> Result<(), Refusal> {
    let (chars, max) = (text.chars().count(), Settings::MAX_GOAL_CHARS);
    if chars == 0 {
        Err(Refusal::request("the message is empty: say something that can be answered"))
    } else if chars > max {
        let message = format!("the message is too long: {chars} characters, at most {max} are taken");
        Err(Refusal::new(Code::TooLarge, message))
    } else {
        Ok(())
    }
}

/// All who can be used as things are.
fn everybody(agents: &[AgentInfo]) -> Result<Vec<String>, Refusal> {
    let names = agents.iter().filter(|agent| agent.available).map(|agent| agent.name.clone());
    let names: Vec<String> = names.take(Cast::MAX_AGENTS).collect();
    if names.is_empty() {
        return Err(Refusal::new(Code::InvalidConfig, "no agent can be used here: GET /v1/agents lists them"));
    }
    Ok(names)
}

fn check_rounds(rounds: Option<u32>) -> Result<(), Refusal> {
    let max = Settings::MAX_ROUNDS;
    match rounds.filter(|rounds| !(1..=max).contains(rounds)) {
        Some(rounds) => Err(Refusal::request(format!("`maxRounds` is {rounds}: choose from 1 to {max}"))),
        None => Ok(()),
    }
}

/// The name as its agent has it: people write names in letters and capitals as they like.
fn proper(name: &str, agents: &[AgentInfo]) -> String {
    let known = agents.iter().find(|agent| agent.name.eq_ignore_ascii_case(name.trim()));
    known.map_or(name.trim(), |agent| &agent.name).to_owned()
}

fn target_of(name: &str) -> Result<Target, Refusal> {
    name.parse().map_err(|error| Refusal::request(format!("{error}")))
}

/// Who takes part, and who of them begins, as far as the caller says.
fn check_cast(between: Option<&[String]>, speaker: Option<&str>) -> Result<(), Refusal> {
    let Some(between) = between else { return Ok(()) };
    if !(2..=Cast::MAX_AGENTS).contains(&between.len()) {
        let max = Cast::MAX_AGENTS;
        return Err(Refusal::request(format!(
            "a collaboration is between 2 and {max} agents: {} are named",
            between.len()
        )));
    }
    if let Some(twice) = between.iter().enumerate().find(|(at, name)| between[..*at].contains(name)) {
        return Err(Refusal::request(format!("`{}` is named twice", twice.1)));
    }
    match speaker.filter(|speaker| !between.iter().any(|name| name == speaker)) {
        Some(speaker) => Err(Refusal::request(format!("`{speaker}` does not take part: {} do", between.join(", ")))),
        None => Ok(()),
    }
}
