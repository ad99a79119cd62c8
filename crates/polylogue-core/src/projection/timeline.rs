//! When each clip is heard in the whole conversation: in the order of the transcript, with natural gaps, and
//! with interruptions that cut.
//!
//! It is computed from durations and words alone, so captions and the mixed file agree without either reading
//! the other.

use std::sync::Arc;

use crate::{
    id::LineId,
    line::{Clip, ClipState, Speaker, Transcript},
    text::{cut::cut_after, spoken::spoken},
};

/// How long two voices are heard at once when one cuts the other off.
pub const OVERLAP_MS: u64 = 200;
/// How long a voice that is cut off takes to fall silent. It lies within the overlap.
pub const FADE_MS: u64 = 60;

/// A line that can be heard.
#[derive(Clone, Debug, PartialEq)]
pub struct Audible {
    pub line: LineId,
    pub speaker: Speaker,
    /// What is spoken in the clip.
    pub words: String,
    pub clip: Clip,
    /// The phrase after which somebody else begins to speak.
    pub cut_after: Option<Arc<str>>,
}

/// A line in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub line: LineId,
    pub speaker: Speaker,
    /// What is heard: a line that is cut ends with a dash.
    pub words: String,
    pub path: String,
    pub start_ms: u64,
    /// When it falls silent; before the clip's own end when it is cut.
    pub end_ms: u64,
    pub is_cut: bool,
}

/// The lines of a transcript that have a clip.
pub fn audible(transcript: &Transcript) -> Vec<Audible> {
    let mut lines = Vec::new();
    for line in transcript.lines() {
        if let ClipState::Made(clip) = &line.clip {
            lines.push(Audible {
                line: line.id,
                speaker: line.speaker.clone(),
                words: spoken(&line.text),
                clip: clip.clone(),
                cut_after: line.cut_after.clone(),
            });
        }
    }
    lines
}

/// Places clips one after the other.
pub fn timeline(lines: &[Audible]) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let start_ms = placed.last().map_or(0, |before| match before.is_cut {
            true => before.end_ms.saturating_sub(OVERLAP_MS).max(before.start_ms),
            false => before.end_ms + gap_ms(before, line),
        });
        // There is nobody to be cut off by after the last line.
        let cut = line.cut_after.as_deref().filter(|_| at + 1 < lines.len()).and_then(|phrase| {
            let end = cut_after(&line.words, phrase)?;
            line.words[end..].contains(char::is_alphanumeric).then_some(end)
        });
        let (words, heard_ms) = match cut {
            None => (line.words.clone(), line.clip.duration_ms),
            Some(end) => {
                let phrase_ms = elapsed_ms(&line.words, end, line.clip.duration_ms);
                let said = line.words[..end].trim_end_matches(|c: char| !c.is_alphanumeric());
                // The voice that is cut off goes on while the other begins.
                (format!("{said}—"), (phrase_ms + OVERLAP_MS).min(line.clip.duration_ms))
            }
        };
        placed.push(Placed {
            line: line.line,
            speaker: line.speaker.clone(),
            words,
            path: line.clip.path.clone(),
            start_ms,
            end_ms: start_ms + heard_ms,
            is_cut: cut.is_some(),
        });
    }
    placed
}

/// The silence between two lines: short after a question and within one speaker's words, longer after words
/// that trail off.
fn gap_ms(before: &Placed, next: &Audible) -> u64 {
    if before.speaker == next.speaker {
        250
    } else if before.words.ends_with('?') {
        300
    } else if before.words.ends_with(['…', '-', '—']) || before.words.ends_with("...") {
        700
    } else {
        450
    }
}

/// When a place in a text is reached in its clip. Every sign takes its time, a pause that of several.
fn elapsed_ms(words: &str, end: usize, duration_ms: u64) -> u64 {
    let weight = |text: &str| -> u64 {
        text.chars()
            .map(|c| match c {
                '.' | '!' | '?' | '…' => 6,
                ',' | ';' | ':' | '—' | '(' | ')' => 4,
                c if c.is_alphanumeric() => 2,
                _ => 1,
            })
            .sum()
    };
    // The pause after the last word is not in the clip.
    let whole = weight(words.trim_end_matches(|c: char| !c.is_alphanumeric())).max(1);
    let part = weight(words[..end].trim_end_matches(|c: char| !c.is_alphanumeric()));
    duration_ms * part.min(whole) / whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::AgentId;

    fn line(id: u32, speaker: &str, words: &str, duration_ms: u64, cut_after: Option<&str>) -> Audible {
        Audible {
            line: LineId(id),
            speaker: Speaker::Agent(speaker.parse::<AgentId>().expect("a name")),
            words: words.to_owned(),
            clip: Clip { path: format!("{id}.wav"), duration_ms, ..Clip::default() },
            cut_after: cut_after.map(Arc::from),
        }
    }

    #[test]
    fn clips_follow_each_other_and_a_cut_one_is_overlapped() {
        let lines = [
            line(1, "alice", "Did you see it?", 1000, None),
            line(2, "bob", "Look, I can explain what happened.", 3000, Some("I can explain")),
            line(3, "alice", "No excuses!", 900, None),
            line(4, "alice", "We lost them...", 1100, None),
            line(5, "bob", "Well", 500, Some("Well")),
        ];
        let told: Vec<String> = timeline(&lines)
            .iter()
            .map(|placed| format!("{}-{} {}: {}", placed.start_ms, placed.end_ms, placed.speaker, placed.words))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        0-1000 alice: Did you see it?
        1300-3261 bob: Look, I can explain—
        3061-3961 alice: No excuses!
        4211-5311 alice: We lost them...
        6011-6511 bob: Well
        ");
    }
}
