//! How a line is said: a scene's tone as settings that engines have.

use polylogue_core::text::{
    language::Language,
    tone::{Feeling, Sounding},
};
use serde::Serialize;

/// How a line is said, beside the voice itself. Engines use what they have.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Manner {
    /// In the format's own words, for engines that take directions in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tone: Option<String>,
    feeling: Option<Feeling>,
    /// What it is said in.
    #[serde(skip_serializing_if = "Language::is_english")]
    pub language: Language,
}

impl Manner {
    /// The longest tone that is passed on in words.
    const MAX_TONE: usize = 80;

    pub fn of_tone(tone: Option<&str>) -> Manner {
        let Some(tone) = tone.map(str::trim).filter(|tone| !tone.is_empty()) else { return Manner::default() };
        let plain = tone.chars().filter(|c| !c.is_control()).take(Self::MAX_TONE).collect();
        Manner { tone: Some(plain), feeling: Sounding::of(Some(tone)).feeling, ..Manner::default() }
    }

    /// The same in a language.
    #[must_use]
    pub fn in_language(self, language: Language) -> Manner {
        Manner { language, ..self }
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
    use super::Manner;

    #[test]
    fn a_tone_changes_speed_and_pitch() {
        let manner = |tone| Manner::of_tone(Some(tone));
        assert!(manner("furious").speed() > 1.0 && manner("furious").pitch() > 0);
        assert!(manner("remorseful").speed() < 1.0 && manner("remorseful").pitch() < 0);
        for plain in ["", "  ", "made of wood"] {
            assert_eq!((manner(plain).speed(), manner(plain).pitch()), (1.0, 0), "{plain}");
        }
        assert_eq!(Manner::of_tone(None), Manner::default());
    }
}
