//! An action in the making: what was found so far, and how it becomes a sound action in the end.

use std::sync::Arc;

use super::{
    Action, ActionKind, MAX_ACTS, MAX_TEXT, MAX_VALUE, Problem, cleaned,
    header::{self, looks_like_act},
    problem::told,
};

#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) kind: Option<ActionKind>,
    pub(super) to: Option<Arc<str>>,
    tone: Option<String>,
    /// Whether the tone is one by its looks only.
    is_bare_tone: bool,
    acts: Vec<String>,
    after: Option<String>,
    text: String,
    is_quoted: bool,
    /// Words and acts that were left out: they count only if nothing else does.
    spare: Vec<String>,
    spare_acts: Vec<String>,
    /// Whether there was a bracket with something in it.
    pub(super) has_header: bool,
    pub(super) problems: Vec<Problem>,
}

impl Draft {
    pub(super) fn note(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    pub(super) fn has_tone(&self) -> bool {
        self.tone.is_some()
    }

    pub(super) fn feel(&mut self, tone: &str) {
        let tone = value(tone);
        if tone.is_empty() {
            return;
        }
        match &self.tone {
            Some(_) => {
                self.note(Problem::SecondTone { tone: told(&tone) });
                self.feel_also(&tone);
                self.is_bare_tone = false;
            }
            None => self.tone = Some(tone),
        }
    }

    /// More words of the tone before.
    pub(super) fn feel_also(&mut self, words: &str) {
        match &mut self.tone {
            Some(tone) => *tone = format!("{tone}, {}", value(words)),
            None => self.feel(words),
        }
    }

    /// Words that are a tone by their looks.
    pub(super) fn feel_barely(&mut self, words: &str) {
        self.feel(words);
        self.is_bare_tone = true;
    }

    pub(super) fn act(&mut self, act: &str) {
        let act = value(act);
        if !act.is_empty() {
            self.acts.push(act);
        }
    }

    pub(super) fn after_phrase(&mut self, phrase: &str) {
        let phrase = cleaned(&unescaped(phrase.trim().trim_matches(QUOTES)), MAX_VALUE);
        if self.after.is_none() && !phrase.is_empty() {
            self.after = Some(phrase);
        }
    }

    pub(super) fn has_phrase(&self) -> bool {
        self.after.is_some()
    }

    pub(super) fn phrase_goes_on(&mut self, words: &str) {
        if let Some(phrase) = &mut self.after {
            *phrase = format!("{phrase}, {}", words.trim_matches(QUOTES));
        }
    }

    /// Words that stand in the bracket itself.
    pub(super) fn say_in_bracket(&mut self, words: &str) {
        let words = words.trim();
        let is_quoted = words.starts_with(QUOTES);
        self.say(words.trim_matches(QUOTES), is_quoted);
    }

    pub(super) fn say(&mut self, words: &str, is_quoted: bool) {
        let words = words.trim();
        if words.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(words);
        self.is_quoted |= is_quoted;
    }

    pub(super) fn spare(&mut self, words: &str) {
        if words.contains(char::is_alphanumeric) {
            self.spare.push(words.to_owned());
        }
    }

    pub(super) fn spare_act(&mut self, act: String) {
        self.spare_acts.push(act);
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty() && self.acts.is_empty()
    }

    pub(super) fn finish(mut self) -> (Action, Vec<Problem>) {
        let whole = cleaned(&unescaped(&self.text), usize::MAX);
        let mut text = cleaned(&whole, MAX_TEXT);
        if text.len() < whole.len() {
            self.note(Problem::TooLong);
        }
        // Dots alone are silence, unless they stand where words should be.
        let may_be_dots = self.is_quoted && self.has_header;
        if !may_be_dots && !text.contains(char::is_alphanumeric) {
            text.clear();
        }
        self.without_words_of_silence(&mut text);
        if text.is_empty() && self.acts.is_empty() && self.kind.is_none_or(ActionKind::is_verbal) {
            self.take_spare(&mut text);
        }
        let nonverbal = self.kept_acts();
        let kind = match self.kind.unwrap_or(ActionKind::Speak) {
            ActionKind::Speak | ActionKind::Silent | ActionKind::React if !text.is_empty() => {
                if self.kind.is_some_and(|kind| !kind.is_verbal()) {
                    self.note(Problem::WordsWithSilence);
                }
                ActionKind::Speak
            }
            ActionKind::Interrupt if !text.is_empty() => ActionKind::Interrupt,
            ActionKind::Interrupt => {
                self.note(Problem::InterruptionWithoutWords);
                ActionKind::React
            }
            ActionKind::Speak if nonverbal.is_empty() && self.tone.is_none() && self.to.is_none() => ActionKind::Silent,
            ActionKind::Speak | ActionKind::React => ActionKind::React,
            ActionKind::Silent => ActionKind::Silent,
        };
        let bounded = |value: String| Some(cleaned(&value, MAX_VALUE)).filter(|value| !value.is_empty()).map(Arc::from);
        let action = Action {
            kind,
            to: self.to,
            tone: self.tone.map(plain_tone).and_then(bounded).filter(|tone| header::is_plain_tone(tone)),
            nonverbal,
            after: self.after.filter(|_| kind == ActionKind::Interrupt).and_then(bounded),
            text: text.into(),
        };
        (action, self.problems)
    }

    /// With `SILENT` only quoted words are speech, with `REACT` also others that do not read like an act.
    fn without_words_of_silence(&mut self, text: &mut String) {
        let is_act = match self.kind {
            Some(ActionKind::Silent) => !self.is_quoted,
            Some(ActionKind::React) => {
                !self.is_quoted && (looks_like_act(text) || text.starts_with(char::is_lowercase))
            }
            Some(ActionKind::Speak | ActionKind::Interrupt) | None => false,
        };
        if is_act && !text.is_empty() {
            self.note(Problem::Narration { text: told(text) });
            let act = std::mem::take(text);
            self.act(&act);
        }
    }

    /// Where nothing was said or done, what was left out is what there is.
    fn take_spare(&mut self, text: &mut String) {
        if self.is_bare_tone
            && let Some(tone) = self.tone.take()
        {
            self.acts.push(tone);
        } else if let Some(words) = self.spare.pop() {
            *text = cleaned(&words, MAX_TEXT);
        } else {
            self.acts.append(&mut self.spare_acts);
        }
    }

    fn kept_acts(&mut self) -> Vec<Arc<str>> {
        let mut kept: Vec<Arc<str>> = Vec::new();
        for act in std::mem::take(&mut self.acts) {
            let short = cleaned(&act, MAX_VALUE);
            if short.len() < act.len() || kept.len() == MAX_ACTS {
                self.note(Problem::ActsCut);
            }
            if !short.is_empty() && kept.len() < MAX_ACTS {
                kept.push(short.into());
            }
        }
        kept
    }
}

/// A tone that can stand in a bracket.
fn plain_tone(tone: String) -> String {
    let short = cleaned(&tone, MAX_VALUE);
    if header::is_plain_tone(&short) {
        return short;
    }
    short.replace(|c: char| !c.is_alphanumeric() && !c.is_whitespace() && !"-'’".contains(c), " ")
}

const QUOTES: &[char] = &['"', '“', '”', '„', '«', '»', '「', '」', '\'', '‘', '’', ' ', '…'];

/// A value of the bracket: on one line, without the marks around it.
pub(super) fn value(text: &str) -> String {
    let plain = unescaped(text).replace('*', " ");
    let trimmed = plain.trim().trim_matches(['"', '“', '”', '«', '»', '「', '」', '`', '_', '<', '>']).trim();
    cleaned(trimmed.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(trimmed), usize::MAX)
}

/// Without the backslashes that stand before marks.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(mark) if c == '\\' && matches!(mark, '"' | '\\' | '\'' | '[' | ']' | ',' | '*') => {
                out.extend(chars.next());
            }
            _ => out.push(c),
        }
    }
    out
}
