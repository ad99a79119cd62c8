//! A person who plays a character, as the terminal shows them their part: who they are, what they can do, the notes to
//! them, the line that they type, and how much time is left. What the other characters are told in private is not shown.

use std::{
    collections::BTreeMap,
    io::{IsTerminal, stderr},
};

use polylogue_core::{
    Conversation, Timestamp,
    format::scene::{self, Cue, Part},
    id::AgentId,
};
use polylogue_runtime::port::{Clock, SystemClock};

use crate::{
    output,
    printable::{tail, width},
    view::Style,
};

/// What a person can do in their beat.
const HOW: &str = "Type a line and press Enter. *act* is done instead of said; an empty line or /pass says nothing. \
                   [TO: Name, TONE: angry] \"words\" says to whom and how, and [INTERRUPT after \"their words\"] \
                   \"yours\" cuts somebody off.";

/// Columns that the terminal needs beside the prompt.
const MARGIN: usize = 8;

pub(super) struct Player {
    has_keys: bool,
    draft: String,
    /// How many notes of a beat were told, by character.
    told: BTreeMap<AgentId, (u32, usize)>,
}

impl Player {
    pub(super) fn new(has_keys: bool) -> Player {
        Player { has_keys, draft: String::new(), told: BTreeMap::new() }
    }

    pub(super) fn has_keys(&self) -> bool {
        self.has_keys
    }

    pub(super) fn typed(&mut self, draft: &str) {
        draft.clone_into(&mut self.draft);
    }

    /// Tells who they are and what they can do, once.
    pub(super) fn introduce(&self, conversation: &Conversation, style: Style) {
        if !stderr().is_terminal() {
            return;
        }
        let people = conversation.stage().cast().people();
        let parts: Vec<Part> = people.iter().filter_map(|who| scene::part(conversation, who)).collect();
        for Part { name, persona, brief, memories, .. } in &parts {
            output::notice(format!("You play {}.", style.bold(name)));
            let told = persona.iter().chain(brief).map(ToString::to_string);
            let told = told.chain(memories.iter().map(|memory| format!("You remember: {memory}")));
            told.for_each(|text| output::notice(style.dim(&style.wrap(&text, "  "))));
        }
        if !parts.is_empty() {
            output::notice(format!("{}\n", style.remark(&style.wrap(HOW, ""))));
        }
    }

    /// Tells the notes that are new.
    pub(super) fn tell_notes(&mut self, conversation: &Conversation, style: Style) {
        for Cue { character, name, beat, notes, .. } in scene::cues(conversation) {
            let (of_beat, told) = self.told.entry(character).or_default();
            if *of_beat != beat {
                (*of_beat, *told) = (beat, 0);
            }
            for note in notes.iter().skip(*told) {
                output::notice(style.remark(&style.wrap(&format!("Director, to {name}: {note}"), "")));
            }
            *told = (*told).max(notes.len());
        }
    }

    /// Whose line is being typed, the line, and the time that is left.
    pub(super) fn prompt(&self, conversation: &Conversation, style: Style) -> Option<String> {
        let cue = scene::cues(conversation).into_iter().next()?;
        let left = cue.until.map(left_until).unwrap_or_default();
        let before = format!("{}{left} › ", cue.name);
        let room = style.width().saturating_sub(width(&before) + MARGIN);
        let space = if self.draft.ends_with(' ') { " " } else { "" };
        Some(format!("{}{left} › {}{space}▏", style.bold(&cue.name), tail(&self.draft, room)))
    }
}

/// The time up to a moment, as a clock shows it.
fn left_until(until: Timestamp) -> String {
    let seconds = until.since(SystemClock.now()).div_ceil(1_000);
    format!(" ({}:{:02})", seconds / 60, seconds % 60)
}
