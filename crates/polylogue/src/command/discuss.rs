//! `polylogue discuss`: a discussion that waits for its people, from one command to the next.

use std::process::ExitCode;

use polylogue_core::{
    Conversation, Step,
    id::{PersonId, SessionId},
    projection::{DiscussionState, DiscussionStatus},
    setup::FormatSetup,
};
use polylogue_server::{DiscussionRequest, ParticipantRequest};

use crate::{
    args::{Common, Discuss},
    config::Config,
    discussion,
    engine::Engine,
    failure::Failure,
    follow::follow,
    output,
    view::{self, Style},
};

pub(crate) async fn run(common: &Common, args: Discuss) -> Result<ExitCode, Failure> {
    let config = Config::read(common.config.as_deref())?;
    let engine = Engine::open(common, &config)?;
    match args {
        Discuss::New { title, topic, participant, max_rounds } => {
            let participants = participant.iter().map(|written| seat(written)).collect();
            let request = DiscussionRequest { title, topic, participants, max_rounds };
            let setup = discussion::setup(request, common, &config, &engine)?;
            let id = engine.hub.start(setup).await?;
            follow(&engine, id, polylogue_core::id::Seq::START, view::new(common).as_mut()).await
        }
        Discuss::Say { id, text, person } => {
            let id = engine.find(&id).await?;
            let conversation = a_discussion(&engine, id).await?;
            let (who, seen) = (speaker(&conversation, person.as_deref())?, conversation.stage().head());
            engine.hub.say(id, who, text.trim().into()).await?;
            follow(&engine, id, seen, view::new(common).as_mut()).await
        }
        Discuss::Show { id } => show(common, &engine, engine.find(&id).await?).await,
    }
}

/// A participant as it is written: `manager=gpt`, `user` or `user=ada`.
fn seat(written: &str) -> ParticipantRequest {
    let (role, name) = written.split_once('=').map_or((written, None), |(role, name)| (role, Some(name.to_owned())));
    let (agent, user_id) = if role.trim() == "user" { (None, name) } else { (name, None) };
    ParticipantRequest { role: role.to_owned(), agent, user_id, ..ParticipantRequest::default() }
}

async fn a_discussion(engine: &Engine, id: SessionId) -> Result<Conversation, Failure> {
    let conversation = engine.hub.conversation(id).await?;
    match conversation.stage().setup().format {
        FormatSetup::Discussion(_) => Ok(conversation),
        FormatSetup::Collaboration(_) | FormatSetup::Chorus(_) | FormatSetup::Scene(_) | FormatSetup::Interview(_) => {
            Err(Failure::request(format!("session {id} is not a discussion")))
        }
    }
}

/// Who speaks: the one who is named, or whoever is waited for, or else the first of the people.
fn speaker(conversation: &Conversation, named: Option<&str>) -> Result<PersonId, Failure> {
    if let Some(name) = named {
        return name.parse().map_err(|error| Failure::request(format!("{error}")));
    }
    let awaited = conversation.next().into_iter().find_map(|step| match step {
        Step::AwaitHuman(person) => Some(person),
        Step::Ask(_) | Step::Speak(_) | Step::End(_) => None,
    });
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
        if entry.round_number != round {
            round = entry.round_number;
            output::line(style.dim(&format!("— round {round} of {} —\n", project.max_rounds)));
        }
        let said = match &entry.metadata.failure {
            Some(failure) => style.dim(&style.wrap(&format!("[no answer: {}]", failure.message), "  ")),
            None => style.wrap(&entry.content, "  "),
        };
        output::line(format!("{} {}\n{said}\n", style.bold(&entry.speaker), style.dim(entry.role.as_str())));
    }
    let next = state.next_speaker.as_deref().unwrap_or_default();
    output::line(style.bold(&match project.status {
        DiscussionStatus::Active => {
            format!("round {} of {} · it is {next}'s turn", project.current_round, project.max_rounds)
        }
        DiscussionStatus::Paused => format!("paused before {next}'s turn · polylogue sessions resume {}", project.id),
        DiscussionStatus::Completed => "completed".to_owned(),
    }));
    Ok(ExitCode::SUCCESS)
}
