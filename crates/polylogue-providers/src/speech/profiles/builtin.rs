//! The profiles that everybody has. Neighbours differ most, since agents without a profile get them in order.

use super::{ElevenLabsVoice, EspeakVoice, KokoroVoice, OpenAiVoice, Profile};

/// A profile in one row.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    description: &'static str,
    /// Voice and speed.
    kokoro: (&'static str, f32),
    /// Voice, pitch, rate.
    espeak: (&'static str, u32, u32),
    /// Voice, and how it is to speak.
    openai: (&'static str, &'static str),
    /// One of the vendor's ready-made voices, stability, style, speed.
    elevenlabs: (&'static str, f32, f32, f32),
}

pub(crate) const BUILT_IN: [BuiltIn; 10] = [
    BuiltIn {
        name: "confident_charming",
        description: "assured and likeable, a man at ease with an audience",
        kokoro: ("am_michael", 1.0),
        espeak: ("en-us+m3", 42, 165),
        openai: ("ash", "Confident and charming, with an easy smile in the voice."),
        elevenlabs: ("nPczCjzI2devNBz1zQrb", 0.5, 0.3, 1.0),
    },
    BuiltIn {
        name: "playful_expressive",
        description: "lively and teasing, a woman who enjoys the moment",
        kokoro: ("af_bella", 1.1),
        espeak: ("en-us+f4", 72, 185),
        openai: ("coral", "Playful and expressive, quick, with wide swings of pitch."),
        elevenlabs: ("cgSgspJ2msm6clMCkdW9", 0.35, 0.5, 1.05),
    },
    BuiltIn {
        name: "dry_precise",
        description: "measured and exact, a British man who wastes no word",
        kokoro: ("bm_george", 0.95),
        espeak: ("en-gb", 35, 150),
        openai: ("onyx", "Dry and precise, understated, every consonant in its place."),
        elevenlabs: ("onwK4e9ZLuTAKqWW03F9", 0.75, 0.0, 0.97),
    },
    BuiltIn {
        name: "warm_reflective",
        description: "gentle and thoughtful, a woman thinking aloud",
        kokoro: ("af_heart", 0.9),
        espeak: ("en-us+f2", 55, 145),
        openai: ("sage", "Warm and reflective, unhurried, with small pauses for thought."),
        elevenlabs: ("XrExE9yKIg1WjnnlVkGX", 0.6, 0.1, 0.93),
    },
    BuiltIn {
        name: "bold_dramatic",
        description: "big and urgent, a man on a stage",
        kokoro: ("am_fenrir", 1.06),
        espeak: ("en-us+m5", 58, 175),
        openai: ("echo", "Bold and dramatic, projecting to the last row."),
        elevenlabs: ("IKne3meq5aSn9XLyUdCD", 0.3, 0.6, 1.05),
    },
    BuiltIn {
        name: "brisk_witty",
        description: "quick and sharp, a British woman with a raised eyebrow",
        kokoro: ("bf_emma", 1.15),
        espeak: ("en-gb+f3", 65, 200),
        openai: ("fable", "Brisk and witty, light on the feet, the joke in the timing."),
        elevenlabs: ("Xb7hH8MSUJpSbSDYk0k2", 0.45, 0.35, 1.1),
    },
    BuiltIn {
        name: "deep_grave",
        description: "low and slow, an older man with weight in every word",
        kokoro: ("am_onyx", 0.86),
        espeak: ("en-us+m7", 12, 128),
        openai: ("cedar", "Deep and grave, slow, letting each sentence settle."),
        elevenlabs: ("pqHfZKP75CvOlQylNhV4", 0.7, 0.1, 0.88),
    },
    BuiltIn {
        name: "soft_intimate",
        description: "hushed and close, almost a whisper",
        kokoro: ("af_nicole", 1.0),
        espeak: ("en-us+f1", 38, 136),
        openai: ("shimmer", "Soft and intimate, close to the ear, nearly whispering."),
        elevenlabs: ("EXAVITQu4vr4xnSDxMaL", 0.65, 0.2, 0.92),
    },
    BuiltIn {
        name: "bright_curious",
        description: "young and wide awake, always on the way to the next question",
        kokoro: ("af_sky", 1.04),
        espeak: ("en-us+f5", 85, 170),
        openai: ("nova", "Bright and curious, rising at the ends, delighted to find out."),
        elevenlabs: ("FGY2WhTYpPnrIDTdsKH5", 0.4, 0.4, 1.03),
    },
    BuiltIn {
        name: "steady_storyteller",
        description: "rounded and patient, a British man by the fire",
        kokoro: ("bm_lewis", 0.92),
        espeak: ("en-gb-scotland+m2", 66, 142),
        openai: ("ballad", "A patient storyteller: rounded, steady, drawing the listener in."),
        elevenlabs: ("JBFqnCBsd6RMkjVDRZzb", 0.55, 0.2, 0.97),
    },
];

impl BuiltIn {
    pub(crate) fn profile(&self) -> Profile {
        let (kokoro, kokoro_speed) = self.kokoro;
        let (espeak, pitch, rate) = self.espeak;
        let (openai, instructions) = self.openai;
        let (elevenlabs, stability, style, speed) = self.elevenlabs;
        Profile {
            name: self.name.into(),
            description: self.description.into(),
            kokoro: KokoroVoice { voice: kokoro.to_owned(), speed: kokoro_speed },
            espeak: EspeakVoice { voice: espeak.to_owned(), pitch, rate },
            openai: OpenAiVoice { instructions: Some(instructions.to_owned()), ..openai.to_owned().into() },
            elevenlabs: ElevenLabsVoice { stability, style, speed, ..elevenlabs.to_owned().into() },
        }
    }
}
