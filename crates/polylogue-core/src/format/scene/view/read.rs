//! Reads a transcript back.

use super::transcript::{CUT, Entry, SceneText};
use crate::format::scene::bracket::Action;

/// Why a text is not a scene's transcript, and in which line, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct NotATranscript {
    pub line: usize,
    pub problem: TranscriptProblem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptProblem {
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("neither a character's line nor an event")]
    NotAnEntry,
    #[error("the brackets and quotes of this line are not in the form")]
    NotAnAction,
    #[error("text after the end of the scene")]
    AfterTheEnd,
    #[error("a figure is written `- name: value`")]
    NotAFigure,
}

/// Reads what a [`SceneText`] writes. A line may be wrapped anywhere between two words.
pub fn read_transcript(text: &str) -> Result<SceneText, NotATranscript> {
    let mut blocks = blocks(text).into_iter().peekable();
    let mut scene = SceneText::default();
    let head = blocks.next().ok_or(missing(1, "SCENE:"))?;
    let last_line = head.line;
    heading(&head, &mut scene)?;
    blocks.next().filter(Block::is_rule).ok_or(missing(last_line, "---"))?;
    let start = blocks.next().ok_or(missing(last_line, "[SCENE START]"))?;
    opening(&start, &mut scene)?;
    while let Some(block) = blocks.next_if(|block| !block.is_rule()) {
        if scene.end.is_some() {
            return Err(block.wrong(TranscriptProblem::AfterTheEnd));
        }
        match block.scene_end() {
            Some(end) => scene.end = Some(unescaped(end)),
            None => scene.entries.push(entry(&block)?),
        }
    }
    if let Some(rule) = blocks.next() {
        let figures = blocks.next().ok_or(missing(rule.line, "STATISTICS:"))?;
        statistics(&figures, &mut scene)?;
    }
    match blocks.next() {
        Some(block) => Err(block.wrong(TranscriptProblem::AfterTheEnd)),
        None => Ok(scene),
    }
}

/// Lines between blank lines.
struct Block<'a> {
    /// Where it begins, counted from 1.
    line: usize,
    lines: Vec<&'a str>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() {
            is_open = false;
            continue;
        }
        match blocks.last_mut().filter(|_| is_open) {
            Some(block) => block.lines.push(line),
            None => blocks.push(Block { line: number, lines: vec![line] }),
        }
        is_open = true;
    }
    blocks
}

impl Block<'_> {
    fn is_rule(&self) -> bool {
        self.lines == ["---"]
    }

    fn wrong(&self, problem: TranscriptProblem) -> NotATranscript {
        NotATranscript { line: self.line, problem }
    }

    fn scene_end(&self) -> Option<&str> {
        let [line] = self.lines[..] else { return None };
        let inner = line.strip_prefix("[SCENE END")?.strip_suffix(']')?;
        if inner.is_empty() { Some("") } else { inner.strip_prefix(" - ") }
    }
}

fn missing(line: usize, what: &'static str) -> NotATranscript {
    NotATranscript { line, problem: TranscriptProblem::Missing(what) }
}

fn heading(block: &Block<'_>, scene: &mut SceneText) -> Result<(), NotATranscript> {
    let mut lines = block.lines.iter().peekable();
    let mut take = |key: &'static str| {
        let line = lines.next_if(|line| line.starts_with(key))?;
        let value = &line[key.len()..];
        Some(value.strip_prefix(' ').unwrap_or(value))
    };
    scene.title = unescaped(take("SCENE:").ok_or(missing(block.line, "SCENE:"))?);
    let characters = take("CHARACTERS:").ok_or(missing(block.line, "CHARACTERS:"))?;
    if !characters.is_empty() {
        scene.characters = parts(characters, ',').into_iter().map(unescaped).collect();
    }
    scene.goal = take("GOAL:").map(unescaped);
    scene.generated = unescaped(take("GENERATED:").ok_or(missing(block.line, "GENERATED:"))?);
    Ok(())
}

fn opening(block: &Block<'_>, scene: &mut SceneText) -> Result<(), NotATranscript> {
    match block.lines[..] {
        ["[SCENE START]"] => Ok(()),
        ["[SCENE START]", setting] => {
            let setting = setting.strip_prefix("[Setting: ").and_then(|rest| rest.strip_suffix(']'));
            scene.setting = Some(unescaped(setting.ok_or(missing(block.line + 1, "[Setting: …]"))?));
            Ok(())
        }
        _ => Err(missing(block.line, "[SCENE START]")),
    }
}

fn entry(block: &Block<'_>) -> Result<Entry, NotATranscript> {
    let text = block.lines.join(" ");
    for (mark, make) in [("[EVENT: ", Entry::Event as fn(String) -> Entry), ("[SYSTEM: ", Entry::System)] {
        if let Some(inner) = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(']')) {
            return Ok(make(unescaped(inner)));
        }
    }
    let (speaker, bracket) = split_speaker(&text).ok_or(block.wrong(TranscriptProblem::NotAnEntry))?;
    let mut action: Action = bracket.parse().map_err(|_| block.wrong(TranscriptProblem::NotAnAction))?;
    let mut is_cut = false;
    if let Some(words) = action.text.strip_suffix(' ').filter(|words| words.ends_with(CUT)) {
        action.text = words.into();
    } else if let Some(words) = action.text.strip_suffix(CUT) {
        (action.text, is_cut) = (words.into(), true);
    }
    Ok(Entry::Said { speaker: unescaped(speaker), action, is_cut })
}

/// The name before ` [`, and the bracket with what follows.
fn split_speaker(text: &str) -> Option<(&str, &str)> {
    let bracket = unescaped_place(text, '[')?;
    Some((text[..bracket].strip_suffix(' ')?, &text[bracket..]))
}

fn statistics(block: &Block<'_>, scene: &mut SceneText) -> Result<(), NotATranscript> {
    let Some(("STATISTICS:", figures)) = block.lines.split_first().map(|(first, rest)| (*first, rest)) else {
        return Err(missing(block.line, "STATISTICS:"));
    };
    for (line, number) in figures.iter().zip(block.line + 1..) {
        let wrong = NotATranscript { line: number, problem: TranscriptProblem::NotAFigure };
        let figure = line.strip_prefix("- ").ok_or(wrong.clone())?;
        let colon = unescaped_place(figure, ':').ok_or(wrong)?;
        let value = &figure[colon + 1..];
        let value = value.strip_prefix(' ').unwrap_or(value);
        scene.statistics.push((unescaped(&figure[..colon]), unescaped(value)));
    }
    Ok(())
}

/// The parts between a mark with a space after it.
fn parts(text: &str, mark: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = unescaped_place(rest, mark) {
        parts.push(&rest[..at]);
        let after = &rest[at + mark.len_utf8()..];
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    parts.push(rest);
    parts
}

/// Where the mark first stands without a backslash before it.
fn unescaped_place(text: &str, mark: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if c == mark && !is_escaped {
            return Some(at);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some((c, beyond)) = control(rest) {
            out.push(c);
            rest = beyond;
        } else if let Some(c) = rest.chars().next() {
            out.push(if c == 'n' { '\n' } else { c });
            rest = &rest[c.len_utf8()..];
        }
    }
    out.push_str(rest);
    out
}

/// A control character written as `u{…}`.
fn control(text: &str) -> Option<(char, &str)> {
    let (digits, beyond) = text.strip_prefix("u{")?.split_once('}')?;
    Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, beyond))
}

#[cfg(test)]
mod tests;
