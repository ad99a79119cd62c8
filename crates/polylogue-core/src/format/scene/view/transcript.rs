//! The text of a scene's transcript.
//!
//! Ordinary text stands as it is. A backslash stands before what would end its part too early, and line breaks
//! and other control characters are written as escapes, so that [`super::read_transcript`] finds what was there.

use std::fmt;

use crate::format::scene::bracket::Action;

/// Columns that a line of dialogue may take before it is wrapped.
const COLUMNS: usize = 88;

/// What stands at the end of a line that was cut.
pub(super) const CUT: char = '—';

/// A transcript, as yet without its form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SceneText {
    pub title: String,
    pub characters: Vec<String>,
    pub goal: Option<String>,
    /// When it was made, such as `2025-10-03 14:32:18`.
    pub generated: String,
    pub setting: Option<String>,
    pub entries: Vec<Entry>,
    /// How it ended, such as `Goal: Achieved`; absent while it goes on.
    pub end: Option<String>,
    /// Names and values, such as `Duration` and `12 beats`.
    pub statistics: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// What a character did. A line that was cut has the words up to the phrase, without the dash.
    Said {
        speaker: String,
        action: Action,
        is_cut: bool,
    },
    Event(String),
    System(String),
}

impl fmt::Display for SceneText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "SCENE: {}", escaped(&self.title, &[]))?;
        let characters: Vec<String> = self.characters.iter().map(|name| escaped(name, &[','])).collect();
        writeln!(f, "CHARACTERS: {}", characters.join(", "))?;
        if let Some(goal) = &self.goal {
            writeln!(f, "GOAL: {}", escaped(goal, &[]))?;
        }
        writeln!(f, "GENERATED: {}\n\n---\n\n[SCENE START]", escaped(&self.generated, &[]))?;
        if let Some(setting) = &self.setting {
            writeln!(f, "[Setting: {}]", escaped(setting, &[]))?;
        }
        for entry in &self.entries {
            writeln!(f, "\n{entry}")?;
        }
        if let Some(end) = &self.end {
            match end.as_str() {
                "" => writeln!(f, "\n[SCENE END]")?,
                end => writeln!(f, "\n[SCENE END - {}]", escaped(end, &[]))?,
            }
        }
        if !self.statistics.is_empty() {
            writeln!(f, "\n---\n\nSTATISTICS:")?;
        }
        for (name, value) in &self.statistics {
            writeln!(f, "- {}: {}", escaped(name, &[':']), escaped(value, &[]))?;
        }
        Ok(())
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Said { speaker, action, is_cut } => {
                let mut action = action.clone();
                // A space, which no line ends with, tells a dash of the speaker's own from that of a cut.
                if *is_cut {
                    action.text = format!("{}{CUT}", action.text).into();
                } else if action.text.ends_with(CUT) {
                    action.text = format!("{} ", action.text).into();
                }
                let bracket = action.bracket();
                let whole = action.to_string();
                let head = format!("{} {}", escaped(speaker, &['[']), without_breaks(&bracket));
                f.write_str(&head)?;
                wrap(f, head.chars().count(), &without_breaks(&whole[bracket.len()..]))
            }
            Entry::Event(text) => write!(f, "[EVENT: {}]", escaped(text, &[])),
            Entry::System(text) => write!(f, "[SYSTEM: {}]", escaped(text, &[])),
        }
    }
}

/// Writes `words` after `column` columns, broken at single spaces where a line would grow too long.
fn wrap(f: &mut fmt::Formatter<'_>, mut column: usize, words: &str) -> fmt::Result {
    let mut words = words.split(' ');
    // The first piece is what stands before the first space: nothing, or a whole line of it.
    f.write_str(words.next().unwrap_or(""))?;
    let mut is_opening = true;
    let mut was_empty = false;
    for word in words {
        let width = word.chars().count();
        let may_break = !is_opening && !word.is_empty() && !was_empty;
        if may_break && column + 1 + width > COLUMNS {
            f.write_str("\n")?;
            column = width;
        } else {
            f.write_str(" ")?;
            column += 1 + width;
        }
        f.write_str(word)?;
        is_opening = false;
        was_empty = word.is_empty();
    }
    Ok(())
}

/// The text on one line, with a backslash before each of `marks` and before each backslash.
pub(super) fn escaped(text: &str, marks: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\\' || marks.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    without_breaks(&out)
}

/// Line breaks and control characters as escapes. An action that was read has none.
fn without_breaks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' {
            out.push_str("\\n");
        } else if c.is_control() {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// A name as a title: a bare identifier such as `the-apology` becomes The Apology, anything else stays as it is.
pub fn titled(name: &str) -> String {
    let is_identifier = !name.chars().any(|c| c.is_uppercase() || c.is_whitespace());
    let spaced = if is_identifier { name.replace(['-', '_'], " ") } else { name.to_owned() };
    let words = spaced.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let words: Vec<String> =
        words.map(|word| if is_identifier { capitalised(word) } else { word.to_owned() }).collect();
    words.join(" ")
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
