//! What a fork changes: a line's words, what the agents are told, who they are.

use polylogue_core::{
    id::AgentId,
    setup::{Change, Note},
};

use crate::{args::Otherwise, failure::Failure};

/// The change with what goes otherwise from there on. Who takes part is looked at where the fork is made.
pub(super) fn otherwise(change: Change, otherwise: Otherwise) -> Result<Change, Failure> {
    let Otherwise { edit, note, to, persona } = otherwise;
    let mut personas = change.personas.clone();
    for (name, file) in persona {
        let problem = |error: std::io::Error| Failure::config(format!("{} cannot be read: {error}", file.display()));
        let text = std::fs::read_to_string(&file).map_err(problem)?;
        personas.insert(named(&name)?, text.trim().into());
    }
    let notes = note_to(note, to)?.into_iter().collect();
    Ok(Change { edit: edit.map(Into::into), notes, personas, ..change })
}

/// What the agents are told.
pub(super) fn note_to(text: Option<String>, to: Option<String>) -> Result<Option<Note>, Failure> {
    let to = to.map(|name| named(&name)).transpose()?;
    Ok(text.map(|text| Note { to, text: text.trim().into() }))
}

fn named(name: &str) -> Result<AgentId, Failure> {
    name.parse().map_err(|error| Failure::request(format!("{error}")))
}
