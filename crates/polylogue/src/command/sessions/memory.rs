//! `polylogue sessions memory`: what a character remembers of the scenes that it played, and what it is to forget.

use std::process::ExitCode;

use polylogue_core::{id::AgentId, memory::Memory};
use serde_json::json;

use crate::{
    args::{Common, Forget},
    engine::Engine,
    failure::Failure,
    output,
    view::Style,
};

/// How many memories are shown at most, the newest.
const SHOWN: usize = 1_000;

pub(super) async fn run(
    common: &Common,
    engine: &Engine,
    character: &str,
    story: Option<&str>,
    forget: Option<Forget>,
) -> Result<ExitCode, Failure> {
    let memories = find(engine, character, story).await?;
    match forget {
        None if common.json => {
            memories.iter().zip(1..).for_each(|(memory, number)| output::json(&as_json(memory, number)))
        }
        None if memories.is_empty() => output::line(format!("{character} remembers nothing{}.", of_story(story))),
        None => {
            let style = Style::of_stdout();
            memories.iter().zip(1..).for_each(|(memory, number)| print(memory, number, style));
        }
        Some(which) => {
            let forgotten = chosen(&memories, which)?;
            engine.memories.forget(forgotten.iter().map(|memory| (memory.session, memory.seq)).collect()).await?;
            if common.json {
                output::json(&json!({"type": "forgotten", "memories": forgotten.len()}));
            } else {
                let count = forgotten.len();
                let plural = if count == 1 { "y" } else { "ies" };
                output::line(format!("{count} memor{plural} forgotten; the scenes stay as they are recorded."));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The memories of a character. Its file may be in small letters and its name not.
async fn find(engine: &Engine, character: &str, story: Option<&str>) -> Result<Vec<Memory>, Failure> {
    for name in [character.to_owned(), character.to_lowercase()] {
        let id: AgentId = name.parse().map_err(|error| Failure::request(format!("{error}")))?;
        let found = engine.memories.memories(Some(&id), story, SHOWN).await?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

fn chosen(memories: &[Memory], which: Forget) -> Result<&[Memory], Failure> {
    match which {
        Forget::All => Ok(memories),
        Forget::Number(number) => number
            .checked_sub(1)
            .and_then(|at| memories.get(at..=at))
            .ok_or_else(|| Failure::request(format!("there is no memory {number}: there are {}", memories.len()))),
    }
}

fn of_story(story: Option<&str>) -> String {
    story.map(|story| format!(" of the story `{story}`")).unwrap_or_default()
}

/// A memory with its number, which `--forget` takes.
fn print(memory: &Memory, number: usize, style: Style) {
    let when = memory.at.to_string();
    let id = memory.session.to_string();
    let from = format!("{} · {} · {} · session {}", memory.title, memory.story, &when[..10], &id[..8]);
    output::line(format!("{}  {}", style.bold(&format!("{number:>3}")), style.dim(&from)));
    output::line(format!("{}\n", style.wrap(&memory.text, "     ")));
}

fn as_json(memory: &Memory, number: usize) -> serde_json::Value {
    json!({
        "number": number,
        "character": memory.agent,
        "story": memory.story,
        "scene": memory.title,
        "sessionId": memory.session,
        "seq": memory.seq,
        "at": memory.at.to_string(),
        "text": memory.text,
    })
}
