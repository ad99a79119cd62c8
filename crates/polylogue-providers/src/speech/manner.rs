//! How a line is said: a scene's tone as settings that engines have.

use serde::Serialize;

/// What a tone changes, beside the voice itself. Engines use what they have.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Manner {
    /// In the format's own words, for engines that take directions in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tone: Option<String>,
    feeling: Option<Feeling>,
}

/// The tones that sound different, as far as settings go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Feeling {
    Agitated,
    Bright,
    Tense,
    Sad,
    Firm,
    Calm,
}

/// Beginnings of words that name a feeling, strongest first: of "nervous but calm" the first is heard.
const WORDS: [(Feeling, &[&str]); 6] = [
    (
        Feeling::Agitated,
        &[
            "ang", "furi", "rag", "shout", "yell", "frustrat", "outrag", "panic", "urgent", "frantic", "irritat",
            "annoy",
        ],
    ),
    (
        Feeling::Bright,
        &["happ", "cheer", "playful", "joy", "amus", "laugh", "delight", "eager", "enthus", "excit", "thrill", "teas"],
    ),
    (
        Feeling::Tense,
        &["nerv", "anxi", "afraid", "fear", "scar", "hesita", "uncertain", "worr", "shock", "startl", "defens"],
    ),
    (
        Feeling::Sad,
        &["sad", "grie", "remors", "sorr", "apolog", "tired", "wear", "melanch", "resign", "regret", "hurt", "defeat"],
    ),
    (Feeling::Firm, &["stern", "cold", "firm", "dry", "serious", "control", "sarcas", "flat", "determin", "skeptic"]),
    (
        Feeling::Calm,
        &[
            "calm", "gentl", "soft", "warm", "thought", "reflect", "tender", "quiet", "whisper", "earnest", "relie",
            "hope",
        ],
    ),
];

impl Manner {
    /// The longest tone that is passed on in words.
    const MAX_TONE: usize = 80;

    pub fn of_tone(tone: Option<&str>) -> Manner {
        let Some(tone) = tone.map(str::trim).filter(|tone| !tone.is_empty()) else { return Manner::default() };
        let small = tone.to_lowercase();
        let is_in = |starts: &[&str]| {
            small.split(|c: char| !c.is_alphabetic()).any(|word| starts.iter().any(|start| word.starts_with(start)))
        };
        let feeling = WORDS.iter().find(|(_, starts)| is_in(starts)).map(|(feeling, _)| *feeling);
        let plain = tone.chars().filter(|c| !c.is_control()).take(Self::MAX_TONE).collect();
        Manner { tone: Some(plain), feeling }
    }

    /// What the voice's own speed is multiplied with.
    pub fn speed(&self) -> f32 {
        match self.feeling {
            Some(Feeling::Agitated) => 1.08,
            Some(Feeling::Bright | Feeling::Tense) => 1.05,
            Some(Feeling::Firm) => 0.97,
            Some(Feeling::Calm) => 0.95,
            Some(Feeling::Sad) => 0.91,
            None => 1.0,
        }
    }

    /// What is added to a pitch between 0 and 99.
    pub fn pitch(&self) -> i32 {
        match self.feeling {
            Some(Feeling::Agitated | Feeling::Bright) => 8,
            Some(Feeling::Tense) => 6,
            Some(Feeling::Calm) => -3,
            Some(Feeling::Firm) => -5,
            Some(Feeling::Sad) => -8,
            None => 0,
        }
    }

    /// What is added to a stability between 0 (varied) and 1 (even).
    pub fn stability(&self) -> f32 {
        match self.feeling {
            Some(Feeling::Agitated) => -0.2,
            Some(Feeling::Bright | Feeling::Tense) => -0.12,
            Some(Feeling::Sad) => 0.05,
            Some(Feeling::Firm | Feeling::Calm) => 0.15,
            None => 0.0,
        }
    }

    /// What is added to a style between 0 (plain) and 1 (exaggerated).
    pub fn style(&self) -> f32 {
        match self.feeling {
            Some(Feeling::Agitated) => 0.35,
            Some(Feeling::Bright) => 0.25,
            Some(Feeling::Tense | Feeling::Sad) => 0.15,
            Some(Feeling::Firm | Feeling::Calm) | None => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Feeling, Manner};

    #[test]
    fn tones_are_heard_by_their_words() {
        let cases = [
            ("furious", Some(Feeling::Agitated)),
            ("stern but controlled", Some(Feeling::Firm)),
            ("Softening", Some(Feeling::Calm)),
            ("remorseful", Some(Feeling::Sad)),
            ("nervous", Some(Feeling::Tense)),
            ("darkly amused", Some(Feeling::Bright)),
            ("neutral", None),
            ("language", None),
            ("", None),
        ];
        for (tone, expected) in cases {
            assert_eq!(Manner::of_tone(Some(tone)).feeling, expected, "of {tone}");
        }
        assert_eq!(Manner::of_tone(None), Manner::default());
    }
}
