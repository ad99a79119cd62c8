//! How the lines of a conversation follow each other when they are heard: the silence before each, and how loud it is.
//!
//! Both are read from what was said and how: the sign that a line ends with, its tone and the tone before it, whether
//! somebody did something or nobody said anything in between.

use crate::text::tone::{Effort, Feeling, Sounding};

/// A turn in which nobody says anything is heard as a silence of so long, for at most [`MAX_SILENT_TURNS`] of them.
const SILENT_TURN_MS: u64 = 1_200;
const MAX_SILENT_TURNS: u64 = 3;
/// What somebody does without a word takes so long.
const ACT_MS: u64 = 600;
const MAX_ACTS: u64 = 2;

const LEAST_MS: i64 = 120;
const MOST_MS: i64 = 5_000;

/// What the pause before a line, and its loudness, follow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'a> {
    pub(super) name: &'a str,
    pub(super) is_narrator: bool,
    pub(super) words: &'a str,
    pub(super) tone: Option<&'a str>,
    pub(super) duration_ms: u64,
}

/// What lies between two lines and is not heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Turns in which nobody said anything.
    pub silent_turns: u32,
    /// What was done without a word.
    pub acts: u32,
}

impl Rest {
    fn ms(self) -> u64 {
        u64::from(self.silent_turns).min(MAX_SILENT_TURNS) * SILENT_TURN_MS
            + u64::from(self.acts).min(MAX_ACTS) * ACT_MS
    }
}

/// The silence between two lines.
pub(super) fn pause_ms(before: Said<'_>, rest: Rest, next: Said<'_>) -> u64 {
    let mut pause = ending_ms(before.words);
    if before.is_narrator || next.is_narrator {
        // A narrator stands beside what is said: a breath before and after.
        pause = pause.max(600);
    } else {
        if before.name == next.name {
            pause = pause * 3 / 5;
        }
        pause += heaviness_ms(before.tone) / 2 + eagerness_ms(next.tone);
        // After much was said, it sinks in.
        pause += (before.duration_ms as i64 / 40).min(250);
    }
    (pause + rest.ms() as i64).clamp(LEAST_MS, MOST_MS) as u64
}

/// The pause that the last sign of a line makes.
fn ending_ms(words: &str) -> i64 {
    let end = words.trim_end_matches(['"', '”', '“', '»', '«', '’', '\'', ')', '」', '』', ' ']);
    if end.ends_with("...") || end.ends_with(['…', '—', '–', '-']) {
        850
    } else if end.ends_with(['?', '？']) {
        300
    } else if end.ends_with(['!', '！']) {
        250
    } else if end.ends_with([',', ';', ':', '、', '，']) {
        200
    } else {
        450
    }
}

/// How long what was said weighs on.
fn heaviness_ms(tone: Option<&str>) -> i64 {
    match Sounding::of(tone).feeling {
        Some(Feeling::Sad) => 300,
        Some(Feeling::Calm | Feeling::Firm) => 100,
        Some(Feeling::Tense | Feeling::Bright | Feeling::Agitated) | None => 0,
    }
}

/// How long whoever speaks in a tone waits before the first word, or how much sooner they come in.
fn eagerness_ms(tone: Option<&str>) -> i64 {
    let sounding = Sounding::of(tone);
    let quiet = if sounding.effort <= Effort::Quiet { 200 } else { 0 };
    let feeling = match sounding.feeling {
        Some(Feeling::Agitated) => -200,
        Some(Feeling::Bright) => -100,
        Some(Feeling::Firm) | None => 0,
        Some(Feeling::Calm) => 150,
        Some(Feeling::Tense) => 200,
        Some(Feeling::Sad) => 350,
    };
    quiet + feeling
}

/// How much louder than plain speech a line is, in decibels.
pub(super) fn level_db(said: Said<'_>) -> f32 {
    let sounding = Sounding::of(said.tone);
    let effort = match sounding.effort {
        Effort::Whispered => -9.0,
        Effort::Quiet => -5.0,
        Effort::Plain => of_feeling(sounding.feeling),
        Effort::Raised => 4.0,
        Effort::Shouted => 6.0,
    };
    let stress = if sounding.effort <= Effort::Quiet { 0.0 } else { exclaimed_db(said.words) };
    (effort + stress).clamp(-9.0, 6.0)
}

fn of_feeling(feeling: Option<Feeling>) -> f32 {
    match feeling {
        Some(Feeling::Agitated) => 3.0,
        Some(Feeling::Bright) => 1.0,
        Some(Feeling::Firm) => 0.5,
        Some(Feeling::Tense) => -1.0,
        Some(Feeling::Calm) => -1.5,
        Some(Feeling::Sad) => -3.0,
        None => 0.0,
    }
}

/// Exclamation marks raise the voice, and so do WORDS in capitals among others.
fn exclaimed_db(words: &str) -> f32 {
    let sentences = words.split_inclusive(['.', '!', '?', '…', '。', '！', '？']);
    let (mut all, mut exclaimed) = (0u32, 0u32);
    for sentence in sentences.filter(|sentence| sentence.contains(char::is_alphanumeric)) {
        all += 1;
        exclaimed += u32::from(sentence.ends_with(['!', '！']));
    }
    let is_capital = |word: &str| word.chars().filter(|c| c.is_uppercase()).count() >= 4;
    let of_marks = match exclaimed {
        0 => 0.0,
        some if some == all => 2.5,
        _ => 1.5,
    };
    let is_mixed = words.chars().any(char::is_lowercase);
    of_marks + if is_mixed && words.split_whitespace().any(is_capital) { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<'a>(name: &'a str, words: &'a str, tone: &'a str) -> Said<'a> {
        Said { name, is_narrator: name == "Narrator", words, tone: Some(tone), duration_ms: 2_000 }
    }

    #[test]
    fn a_pause_follows_what_was_said_and_what_comes() {
        let none = Rest::default();
        let cases = [
            // Questions are answered sooner than statements, and what trails off is left hanging.
            (said("a", "Did you see it?", ""), none, said("b", "Yes.", ""), 350),
            (said("a", "I saw it.", ""), none, said("b", "Yes.", ""), 500),
            (said("a", "I saw it…", ""), none, said("b", "Yes.", ""), 900),
            (said("a", "I saw it.", ""), none, said("a", "And so did you.", ""), 320),
            // Anger comes in at once; an apology takes its time.
            (said("a", "I saw it!", "furious"), none, said("b", "No!", "angry"), 120),
            (said("a", "Why?", "calm"), none, said("b", "I am sorry.", "remorseful"), 750),
            (said("a", "I am sorry.", "remorseful"), none, said("b", "I know.", "quiet"), 1_000),
            // Silence and acts are heard.
            (said("a", "I saw it.", ""), Rest { silent_turns: 2, acts: 0 }, said("b", "Yes.", ""), 2_900),
            (said("a", "I saw it.", ""), Rest { silent_turns: 90, acts: 90 }, said("b", "Yes.", ""), 5_000),
            (said("a", "I saw it.", ""), Rest { silent_turns: 0, acts: 1 }, said("b", "Yes.", ""), 1_100),
            (said("a", "I saw it.", "angry"), none, said("Narrator", "The door opens.", ""), 600),
            (said("a", "見ました。", ""), none, said("b", "本当？", ""), 500),
        ];
        for (before, rest, next, expected) in cases {
            assert_eq!(pause_ms(before, rest, next), expected, "{} {}", before.words, next.words);
        }
    }

    #[test]
    fn a_line_is_as_loud_as_its_tone() {
        let level = |words, tone| level_db(said("a", words, tone));
        let rising = [
            level("Come here.", "whispering"),
            level("Come here.", "subdued"),
            level("Come here.", "remorseful"),
            level("Come here.", ""),
            level("Come here. Now!", ""),
            level("Come here!", ""),
            level("Come HERE now!", ""),
            level("Come here!", "angry"),
            level("Come here!", "shouting"),
        ];
        assert!(rising.windows(2).all(|pair| pair[0] < pair[1]), "{rising:?}");
        // Who whispers an exclamation whispers it.
        assert_eq!(level("Come here!", "whispering"), rising[0]);
        assert!(rising[0] >= -9.0 && rising[8] <= 6.0);
    }
}
