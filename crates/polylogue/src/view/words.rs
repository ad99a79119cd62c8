//! How a session stands, in the words that all views share.

use polylogue_core::{
    Conversation, Step,
    ledger::Account,
    line::ClipState,
    projection::{Costs, Status, grouped},
};

/// How the session stands, in words.
pub(crate) fn state(conversation: &Conversation, status: Status) -> String {
    let awaited = || {
        conversation.next().into_iter().find_map(|step| match step {
            Step::AwaitHuman(person) => Some(person),
            Step::Ask(_) | Step::Speak(_) | Step::Narrate(_) | Step::End(_) => None,
        })
    };
    match (conversation.stage().ended(), status) {
        (Some(reason), _) => format!("ended: {reason}"),
        (None, Status::Waiting) => match awaited() {
            Some(person) => format!("waiting for {person}"),
            None => "waiting".to_owned(),
        },
        (None, Status::Left) => {
            let id = conversation.stage().setup().id.to_string();
            format!("left: its process is gone · polylogue sessions resume {}", &id[..8])
        }
        (None, Status::Running | Status::Ended) => "running".to_owned(),
    }
}

/// What some calls cost.
pub(crate) fn costs_of(account: &Account) -> String {
    let costs = account.cost.map_or("price unknown".to_owned(), |usd| usd.to_string());
    format!("{} · {} tokens · {costs}", calls(account.calls), grouped(account.usage.total()))
}

/// So many calls.
pub(crate) fn calls(count: u64) -> String {
    match count {
        1 => "1 call".to_owned(),
        _ => format!("{count} calls"),
    }
}

pub(crate) fn costs_in_words(costs: &Costs) -> String {
    let tokens = grouped(costs.total_tokens);
    match costs.estimated_usd {
        Some(usd) => format!("{tokens} tokens · {usd}"),
        None => format!("{tokens} tokens · price unknown"),
    }
}

/// How far the clips are, while some are still being made.
pub(crate) fn clips_in_words(conversation: &Conversation) -> Option<String> {
    let lines = conversation.stage().transcript().lines().iter();
    let clips: Vec<&ClipState> = lines.map(|line| &line.clip).filter(|clip| **clip != ClipState::Unspoken).collect();
    let over = clips.iter().filter(|clip| **clip != &ClipState::Wanted).count();
    (over < clips.len()).then(|| format!("making clips ({} of {})", over + 1, clips.len()))
}
