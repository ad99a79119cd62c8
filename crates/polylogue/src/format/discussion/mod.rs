//! `polylogue discuss`: a discussion that waits for its people, from one command to the next.

mod setup;
mod view;

use std::process::ExitCode;

use async_trait::async_trait;
use polylogue_core::{
    Conversation, Setup,
    format::{
        Format as _,
        discussion::{Closing, DiscussionState, DiscussionStatus, Settings, kind},
    },
    id::{PersonId, Seq, SessionId},
};
use polylogue_server::{
    Refusal, Request,
    format::discussion::{DiscussionRequest, ParticipantRequest},
};
use serde_json::{Value, json};

use self::view::Turns;
use super::{Format, Left};
use crate::{
    agents,
    args::Common,
    config::Config,
    engine::Engine,
    failure::Failure,
    follow::follow,
    format,
    house::{ThisHouse, refusal},
    output, speech,
    view::{Style, View},
    words,
};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Args {
    /// Begin one; agents before the first person speak at once
    New {
        /// What it is called
        #[arg(long, value_name = "TITLE")]
        title: String,
        /// What it is about, in more words, `-` for standard input, or `@FILE`
        #[arg(long, value_name = "TEXT")]
        topic: Option<String>,
        /// Who takes part, in the order in which they speak: manager, leader or specialist with an agent, or
        /// user, who is a person [default: the participants of the configuration]
        #[arg(long, value_name = "ROLE=AGENT|user[=NAME]")]
        participant: Vec<String>,
        /// After how many rounds it is complete [default: 3]
        #[arg(long, value_name = "N")]
        max_rounds: Option<u32>,
        /// How it closes after its rounds: `decision` has the leader (else the manager, else the last agent) state
        /// what was decided [default: open]
        #[arg(long, value_name = "decision|open", value_parser = closing)]
        closing: Option<Closing>,
    },
    /// Say something when it is a person's turn, and hear the agents up to the next
    Say {
        /// The discussion: its id, the beginning of it, or `last`
        id: String,
        /// The words, `-` for standard input, or `@FILE`
        text: String,
        /// Who speaks [default: whose turn it is]
        #[arg(long = "as", value_name = "PERSON")]
        person: Option<String>,
    },
    /// Show one: what was said, and whose turn it is
    Show {
        /// The discussion: its id, the beginning of it, or `last`
        id: String,
    },
}

pub(crate) async fn run(common: &Common, args: Args) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let engine = Engine::open(common, &config).await?;
    match args {
        Args::New { title, topic, participant, max_rounds, closing } => {
            let usual = config.discussion.participants.iter().flatten();
            let participants = if participant.is_empty() { usual.collect() } else { participant.iter().collect() };
            let participants: Vec<&String> = participants;
            if participants.is_empty() {
                return Err(Failure::request(NOBODY));
            }
            let participants = participants.into_iter().map(|written| seat(written)).collect();
            let topic = topic.map(words::given).transpose()?;
            let closing = closing.unwrap_or_default();
            let request = DiscussionRequest { title, topic, participants, max_rounds, closing };
            engine.look_around(common, &config).await;
            let setup = setup::setup(request, common, &config, &engine)?;
            if setup.speech {
                speech::pull_if_wanted(&config).await;
            }
            let mut view = format::view(common, &setup.format, &config);
            let id = engine.hub.start(setup).await?;
            follow(&engine, id, Seq::START, view.as_mut()).await
        }
        Args::Say { id, text, person } => {
            let (id, text) = (engine.find(&id).await?, words::given(text)?);
            let conversation = a_discussion(&engine, id).await?;
            let (who, seen) = (speaker(&conversation, person.as_deref())?, conversation.stage().head());
            let mut view = format::view(common, &conversation.stage().setup().format, &config);
            engine.hub.say(id, who, text.trim().into()).await?;
            follow(&engine, id, seen, view.as_mut()).await
        }
        Args::Show { id } => show(common, &engine, engine.find(&id).await?).await,
    }
}

fn closing(text: &str) -> Result<Closing, String> {
    Closing::named(text).map_err(|problem| problem.to_string())
}

const NOBODY: &str = "who takes part? Name everybody in the order in which they speak: --participant user --participant manager=gpt --participant specialist=claude";

/// A participant as it is written: `manager=gpt`, `user` or `user=ada`.
fn seat(written: &str) -> ParticipantRequest {
    let (role, name) = written.split_once('=').map_or((written, None), |(role, name)| (role, Some(name.to_owned())));
    let (agent, user_id) = if role.trim() == "user" { (None, name) } else { (name, None) };
    ParticipantRequest { role: role.to_owned(), agent, user_id, ..ParticipantRequest::default() }
}

async fn a_discussion(engine: &Engine, id: SessionId) -> Result<Conversation, Failure> {
    let conversation = engine.hub.conversation(id).await?;
    match conversation.stage().setup().format.is::<Settings>() {
        true => Ok(conversation),
        false => Err(Failure::request(format!("session {id} is not a discussion"))),
    }
}

/// Who speaks: the one who is named, or the one who is waited for, or else the first of the people.
fn speaker(conversation: &Conversation, named: Option<&str>) -> Result<PersonId, Failure> {
    if let Some(name) = named {
        return name.parse().map_err(|error| Failure::request(format!("{error}")));
    }
    let awaited = conversation.awaited().into_iter().next().map(|awaited| awaited.who);
    let first = || conversation.stage().cast().people().first().cloned();
    awaited.or_else(first).ok_or_else(|| Failure::request("no person takes part in this discussion"))
}

async fn show(common: &Common, engine: &Engine, id: SessionId) -> Result<ExitCode, Failure> {
    let records = engine.hub.records(id).await?;
    let not_one = |_| Failure::request(format!("session {id} is not a discussion"));
    let state = DiscussionState::of(&records).map_err(not_one)?;
    if common.json {
        output::json(&state);
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::of_stdout();
    let project = &state.project;
    output::line(format!("{} {}", style.bold(&project.title), project.id));
    output::line(style.dim(&format!("{}\n", state.speaker_order.join(" → "))));
    let mut round = 0;
    for entry in &state.entries {
        if entry.metadata.kind == Some(kind::DECISION) {
            output::line(style.dim("— the decision —\n"));
        } else if entry.round_number != round {
            round = entry.round_number;
            output::line(style.dim(&format!("— round {round} of {} —\n", project.max_rounds)));
        }
        let said = match &entry.metadata.failure {
            Some(failure) => style.dim(&style.wrap(&format!("[no answer: {}]", failure.message), "  ")),
            None => style.wrap(&entry.content, "  "),
        };
        let role = entry.role.as_str();
        let role = if *role == *entry.speaker { String::new() } else { style.dim(&format!(" ({role})")) };
        output::line(format!("{}{role}\n{said}\n", style.bold(&entry.speaker)));
    }
    let next = state.next_speaker.as_deref().unwrap_or_default();
    let is_closing = project.current_turn_index as usize >= state.speaker_order.len();
    output::line(style.bold(&match project.status {
        DiscussionStatus::Active if is_closing => format!("the rounds are over · {next} states the decision"),
        DiscussionStatus::Active => {
            format!("round {} of {} · it is {next}'s turn", project.current_round, project.max_rounds)
        }
        DiscussionStatus::Paused => format!("paused before {next}'s turn · polylogue sessions resume {}", project.id),
        DiscussionStatus::Completed => "completed".to_owned(),
    }));
    Ok(ExitCode::SUCCESS)
}

/// What the process knows of a discussion.
pub(super) struct Discussion;

#[async_trait]
impl Format for Discussion {
    fn name(&self) -> &'static str {
        Settings::NAME
    }

    /// A person, one who leads and two who know something, where the configuration seats nobody.
    fn example(&self, house: &ThisHouse) -> Option<Value> {
        let seats: Vec<ParticipantRequest> = match &house.config.discussion.participants {
            Some(written) => written.iter().map(|written| seat(written)).collect(),
            None => {
                let agents = agents::names(&house.config).into_iter();
                let usable =
                    agents.filter(|name| agents::agent(name, &house.common, &house.config, &house.engine).is_ok());
                let roles = ["manager", "specialist", "specialist"];
                let agents = usable.zip(roles).map(|(agent, role)| seat(&format!("{role}={agent}")));
                [seat("user")].into_iter().chain(agents).collect()
            }
        };
        let participants = seats.into_iter().map(|seat| {
            let fields = [("role", Some(seat.role)), ("agent", seat.agent), ("userId", seat.user_id)];
            let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
            Value::Object(fields.collect())
        });
        Some(json!({
            "title": "Repair the roof, or replace it?",
            "topic": "It leaks over the stairs. The slate is from 1931, and there is money for one thing this year.",
            "participants": participants.collect::<Vec<_>>(),
        }))
    }

    async fn setup(&self, request: Request, house: &ThisHouse) -> Result<Setup, Refusal> {
        let request: DiscussionRequest =
            request.open().ok_or_else(|| Refusal::internal("a request of another format"))?;
        for participant in &request.participants {
            let model = participant.ai_model_config.as_ref().and_then(|config| config.model.as_ref());
            participant.agent.iter().chain(model).try_for_each(|name| house.must_be_open(name))?;
        }
        setup::setup(request, &house.common, &house.config, &house.engine).map_err(refusal)
    }

    fn next(&self, conversation: &Conversation) -> Vec<String> {
        match conversation.stage().is_waiting() {
            true => vec!["discuss say last \"…\"".to_owned(), "discuss show last".to_owned()],
            false => Vec::new(),
        }
    }

    fn view(&self, _: Option<Left>) -> Box<dyn View> {
        Box::new(Turns::new())
    }
}
