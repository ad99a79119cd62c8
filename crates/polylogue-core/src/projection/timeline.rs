//! When each clip is heard in the whole conversation, and how loud: in the order of the transcript, with pauses that
//! follow the text, and with interruptions that cut.
//!
//! It is computed from durations and words alone, so captions and the mixed file agree without either reading
//! the other.

use std::sync::Arc;

use super::pacing::{Rest, Said, level_db, pause_ms};
use crate::{
    Conversation,
    id::Seq,
    line::{Clip, ClipState, Line, LineForm, Speaker},
    narration::{NARRATOR, Narration},
    text::{cut::cut_after, spoken::spoken},
};

/// How long two voices are heard at once when one cuts the other off.
pub const OVERLAP_MS: u64 = 200;
/// How long a voice that is cut off takes to fall silent. It lies within the overlap.
pub const FADE_MS: u64 = 60;

/// Something that can be heard.
#[derive(Clone, Debug, PartialEq)]
pub struct Audible {
    /// The record that says it.
    pub seq: Seq,
    /// Who is heard, as they are called.
    pub name: Arc<str>,
    pub is_narrator: bool,
    /// What is spoken in the clip.
    pub words: String,
    pub tone: Option<Arc<str>>,
    pub clip: Clip,
    /// The phrase after which somebody else begins to speak.
    pub cut_after: Option<Arc<str>>,
    /// What lies before it and is not heard.
    pub rest: Rest,
}

/// A line in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    pub seq: Seq,
    pub name: Arc<str>,
    pub is_narrator: bool,
    /// What is heard: a line that is cut ends with a dash.
    pub words: String,
    pub path: String,
    pub start_ms: u64,
    /// When it falls silent; before the clip's own end when it is cut.
    pub end_ms: u64,
    pub is_cut: bool,
    /// How much louder than plain speech, in decibels.
    pub level_db: f32,
}

impl Audible {
    pub fn new(seq: Seq, name: &str, words: String, clip: Clip) -> Audible {
        let (tone, cut_after, rest) = (None, None, Rest::default());
        Audible { seq, name: name.into(), is_narrator: false, words, tone, clip, cut_after, rest }
    }

    fn said(&self) -> Said<'_> {
        Said {
            name: &self.name,
            is_narrator: self.is_narrator,
            words: &self.words,
            tone: self.tone.as_deref(),
            duration_ms: self.clip.duration_ms,
        }
    }
}

/// What of a conversation has a clip, in the order in which it is heard.
pub fn audible(conversation: &Conversation) -> Vec<Audible> {
    let stage = conversation.stage();
    let mut heard = Vec::new();
    let mut gap = Gap::default();
    for part in parts(stage.transcript().lines(), stage.narrations()) {
        match part {
            Part::Line(line) => match &line.clip {
                ClipState::Made(clip) => heard.push(Audible {
                    tone: line.delivery.tone.clone(),
                    cut_after: line.cut_after.clone(),
                    rest: gap.close(line.ask.as_ref().map(|ask| ask.turn)),
                    ..Audible::new(line.seq, &called(conversation, &line.speaker), spoken(&line.text), clip.clone())
                }),
                _ => gap.acts += u32::from(line.kind.form() == LineForm::Act && line.clip == ClipState::Unspoken),
            },
            Part::Narration(narration) => {
                if let ClipState::Made(clip) = &narration.clip {
                    // What is done is heard as the narrator's words.
                    gap.acts = 0;
                    heard.push(Audible {
                        is_narrator: true,
                        rest: gap.close(narration.turn),
                        ..Audible::new(narration.seq, NARRATOR, spoken(&narration.text), clip.clone())
                    });
                }
            }
        }
    }
    heard
}

/// How a speaker is called where people read it.
fn called(conversation: &Conversation, speaker: &Speaker) -> Arc<str> {
    let format = &conversation.stage().setup().format;
    match speaker {
        Speaker::Agent(agent) => format.called(agent).map_or_else(|| agent.shared(), Arc::from),
        _ => speaker.shared_name(),
    }
}

/// What lies between what is heard.
#[derive(Default)]
struct Gap {
    turn: Option<u32>,
    acts: u32,
}

impl Gap {
    /// Somebody is heard in this turn.
    fn close(&mut self, turn: Option<u32>) -> Rest {
        let silent_turns = match (self.turn, turn) {
            (Some(last), Some(turn)) => turn.saturating_sub(last + 1),
            _ => 0,
        };
        self.turn = turn.or(self.turn);
        Rest { silent_turns, acts: std::mem::take(&mut self.acts) }
    }
}

/// A line, or what a narrator reads.
enum Part<'a> {
    Line(&'a Line),
    Narration(&'a Narration),
}

/// Lines and narrations in the order in which they are heard. An interruption comes at once, before what was said and
/// done meanwhile. What somebody does is told before their words, unless they interrupt.
fn parts<'a>(lines: &'a [Line], narrations: &'a [Narration]) -> Vec<Part<'a>> {
    // Where a line is heard: at its record, or right after the line that it cuts.
    let mut places: Vec<(Seq, u32)> = lines.iter().map(|line| (line.seq, 1)).collect();
    for (at, cut) in lines.iter().enumerate() {
        let by = cut.cut_at.and_then(|cut_at| lines.partition_point(|line| line.seq < cut_at).checked_sub(1));
        if let Some(by) = by.filter(|by| *by > at) {
            places[by] = (places[at].0, places[at].1 + 2);
        }
    }
    let mut parts: Vec<((Seq, u32), Part<'a>)> = Vec::with_capacity(lines.len() + narrations.len());
    for narration in narrations {
        let at = lines.partition_point(|line| line.seq < narration.seq);
        let line = lines.get(at).filter(|line| line.seq == narration.seq);
        let place = match line.is_some_and(|line| line.delivery.interrupts_after.is_some()) {
            true => (places[at].0, places[at].1 + 1),
            false => (narration.seq, 0),
        };
        parts.push((place, Part::Narration(narration)));
    }
    parts.extend(places.iter().zip(lines).map(|(place, line)| (*place, Part::Line(line))));
    parts.sort_by_key(|(place, _)| *place);
    parts.into_iter().map(|(_, part)| part).collect()
}

/// Places clips one after the other.
pub fn timeline(heard: &[Audible]) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::with_capacity(heard.len());
    for (at, line) in heard.iter().enumerate() {
        let start_ms = placed.last().map_or(0, |before| match before.is_cut {
            true => before.end_ms.saturating_sub(OVERLAP_MS).max(before.start_ms),
            false => before.end_ms + pause_ms(heard[at - 1].said(), line.rest, line.said()),
        });
        // There is nobody to be cut off by after the last line.
        let cut = line.cut_after.as_deref().filter(|_| at + 1 < heard.len()).and_then(|phrase| {
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
            seq: line.seq,
            name: line.name.clone(),
            is_narrator: line.is_narrator,
            words,
            path: line.clip.path.clone(),
            start_ms,
            end_ms: start_ms + heard_ms,
            is_cut: cut.is_some(),
            level_db: level_db(line.said()),
        });
    }
    placed
}

/// When a place in a text is reached in its clip. Every sign takes its time, a pause that of several.
fn elapsed_ms(words: &str, end: usize, duration_ms: u64) -> u64 {
    let weight = |text: &str| -> u64 {
        text.chars()
            .map(|c| match c {
                '.' | '!' | '?' | '…' | '。' | '！' | '？' => 6,
                ',' | ';' | ':' | '—' | '(' | ')' | '、' | '，' => 4,
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

    fn line(seq: u64, name: &str, words: &str, duration_ms: u64, cut_after: Option<&str>) -> Audible {
        let clip = Clip { path: format!("{seq}.wav"), duration_ms, ..Clip::default() };
        Audible { cut_after: cut_after.map(Arc::from), ..Audible::new(Seq(seq), name, words.to_owned(), clip) }
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
            .map(|placed| format!("{}-{} {}: {}", placed.start_ms, placed.end_ms, placed.name, placed.words))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        0-1000 alice: Did you see it?
        1325-3286 bob: Look, I can explain—
        3086-3986 alice: No excuses!
        4158-5258 alice: We lost them...
        6135-6635 bob: Well
        ");
    }
}
