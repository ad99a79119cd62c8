//! How a character feels, from the tones it speaks in: each new tone is mixed in, and all of it fades.
//!
//! A mood is two whole numbers in thousandths, so that a journal's fold is exact on every machine. Tones are
//! free text; the lexicon knows English words, `tones` those of other languages, and a tone that neither knows
//! changes nothing.

mod lexicon;
pub(super) mod tones;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of a mood is left after a beat, in thousandths.
const KEPT: i32 = 850;

/// How much a new tone counts against the mood before it, in thousandths.
const WEIGHT: i32 = 600;

/// The word for a mood of which nothing can be seen.
const NEUTRAL: &str = "neutral";

/// A mood, or what a tone says of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mood {
    /// From unpleasant to pleasant, −1000 to 1000.
    pub valence: i16,
    /// From still to stirred, 0 to 1000.
    pub arousal: i16,
}

impl Mood {
    /// What a tone such as `stern but controlled` says; `None` if no word of it is known.
    pub fn of_tone(tone: &str) -> Option<Mood> {
        lexicon::read(tone)
    }

    /// The mood after speaking in this tone. A tone that is not known changes nothing.
    #[must_use]
    pub fn with_tone(self, tone: &str) -> Mood {
        let Some(felt) = Mood::of_tone(tone) else { return self };
        let mix = |old: i16, new: i16| ((i32::from(old) * (1000 - WEIGHT) + i32::from(new) * WEIGHT) / 1000) as i16;
        Mood { valence: mix(self.valence, felt.valence), arousal: mix(self.arousal, felt.arousal) }
    }

    /// The mood one beat later: nearer to none, and in the end none.
    #[must_use]
    pub fn faded(self) -> Mood {
        let fade = |value: i16| (i32::from(value) * KEPT / 1000) as i16;
        Mood { valence: fade(self.valence), arousal: fade(self.arousal) }
    }

    /// Whether enough of it is left to have a word of its own.
    pub(super) fn is_felt(self) -> bool {
        self.word() != NEUTRAL
    }

    /// One word for it.
    pub fn word(self) -> &'static str {
        let Mood { valence, arousal } = self;
        match (valence, arousal) {
            (..=-400, 600..) => "angry",
            (..=-400, 350..) => "upset",
            (..=-400, _) => "sad",
            (-399..=-150, 330..) => "tense",
            (-399..=-150, _) => "low",
            (-149..=149, 500..) => "agitated",
            (-149..=149, 200..) => "alert",
            (-149..=149, _) => NEUTRAL,
            (150..=399, 450..) => "lively",
            (150..=399, _) => "calm",
            (400.., 550..) => "elated",
            (400.., _) => "warm",
        }
    }
}

impl fmt::Display for Mood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tone_has_a_mood() {
        let cases: &[(&str, Option<&str>)] = &[
            ("angry", Some("angry")),
            ("Furious", Some("angry")),
            ("furiously", Some("angry")),
            ("very angry", Some("angry")),
            ("slightly irritated", Some("tense")),
            ("frustrated", Some("angry")),
            ("nervous", Some("tense")),
            ("defensive", Some("tense")),
            ("stern but controlled", Some("alert")),
            ("sad", Some("sad")),
            ("deeply saddened", Some("sad")),
            ("remorseful", Some("sad")),
            ("apologetic", Some("low")),
            ("shocked", Some("tense")),
            ("relieved", Some("warm")),
            ("softening", Some("calm")),
            ("accepting", Some("calm")),
            ("earnest", Some("calm")),
            ("calm", Some("calm")),
            ("warm, amused", Some("warm")),
            ("overjoyed", Some("elated")),
            ("excited", Some("elated")),
            ("not angry", None),
            ("not angry, calm", Some("calm")),
            ("made of wood", None),
            ("wütend", None),
            ("愤怒", None),
            ("", None),
            ("😡", None),
        ];
        for (tone, word) in cases {
            assert_eq!(Mood::of_tone(tone).map(Mood::word), *word, "{tone}: {:?}", Mood::of_tone(tone));
        }
    }

    #[test]
    fn more_and_less_are_heard() {
        let arousal = |tone: &str| Mood::of_tone(tone).unwrap().arousal;
        assert!(arousal("slightly annoyed") < arousal("annoyed"));
        assert!(arousal("annoyed") < arousal("extremely annoyed"));
    }

    #[test]
    fn a_mood_follows_the_tones_and_fades() {
        let words = |tones: &[&str]| -> Vec<&'static str> {
            let mut mood = Mood::default();
            let word = |tone: &&str| {
                mood = mood.faded().with_tone(tone);
                mood.word()
            };
            tones.iter().map(word).collect()
        };
        assert_eq!(words(&["calm", "gibberish"]), ["calm", "neutral"]);
        assert_eq!(words(&["furious", "furious", "", "", "", "", "", ""]).last(), Some(&"low"));
        assert_eq!(
            words(&["angry", "furious", "stern", "softening", "accepting", "relieved"]),
            ["upset", "angry", "upset", "alert", "calm", "calm"]
        );
    }

    #[test]
    fn it_is_stored_in_whole_numbers() {
        let mood = Mood::default().with_tone("furious");
        let json = serde_json::to_string(&mood).unwrap();
        assert_eq!(json, format!(r#"{{"valence":{},"arousal":{}}}"#, mood.valence, mood.arousal));
        assert_eq!(serde_json::from_str::<Mood>(&json).unwrap(), mood);
    }

    proptest! {
        #[test]
        fn a_mood_only_ever_fades_towards_none(valence in -1000..=1000i16, arousal in 0..=1000i16) {
            let mut mood = Mood { valence, arousal };
            for _ in 0..60 {
                let next = mood.faded();
                prop_assert!(next.valence.abs() <= mood.valence.abs() && next.arousal <= mood.arousal);
                prop_assert!(next.valence.signum() * mood.valence.signum() >= 0);
                prop_assert!(next != mood || mood == Mood::default());
                mood = next;
            }
            prop_assert_eq!(mood, Mood::default());
        }

        #[test]
        fn a_mood_stays_within_its_bounds(tones in proptest::collection::vec("[a-z]{1,8}|very furious|extremely elated", 0..20)) {
            let mut mood = Mood::default();
            for tone in tones {
                mood = mood.with_tone(&tone);
                prop_assert!((-1000..=1000).contains(&mood.valence) && (0..=1000).contains(&mood.arousal));
            }
        }
    }
}
