//! How a tone sounds: what it is said with, and how loud. The words are those that writers and models use for tones;
//! a tone without any of them sounds like plain speech.
//!
//! What a tone says of a character's mood is another question, and its format's.

use serde::Serialize;

/// What a tone sounds like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sounding {
    pub feeling: Option<Feeling>,
    pub effort: Effort,
}

/// The feelings that sound different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Feeling {
    Agitated,
    Bright,
    Tense,
    Sad,
    Firm,
    Calm,
}

/// How much voice is used, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    Whispered,
    Quiet,
    #[default]
    Plain,
    Raised,
    Shouted,
}

/// Beginnings of words that name a feeling, strongest first: of "nervous but calm" the first is heard.
const FEELINGS: [(Feeling, &[&str]); 6] = [
    (
        Feeling::Agitated,
        &[
            "ang",
            "furi",
            "rag",
            "shout",
            "yell",
            "scream",
            "frustrat",
            "outrag",
            "panic",
            "urgent",
            "frantic",
            "irritat",
            "annoy",
            "impatien",
            "exasperat",
            "livid",
            "seeth",
            "snap",
            "desperat",
            "accus",
            "indignan",
        ],
    ),
    (
        Feeling::Bright,
        &[
            "happ", "cheer", "playful", "joy", "amus", "laugh", "delight", "eager", "enthus", "excit", "thrill",
            "teas", "triumph", "elat", "giddy",
        ],
    ),
    (
        Feeling::Tense,
        &[
            "nerv",
            "anxi",
            "afraid",
            "fear",
            "scar",
            "hesita",
            "uncertain",
            "worr",
            "shock",
            "startl",
            "defens",
            "defian",
            "terrif",
            "uneas",
            "trembl",
            "shak",
        ],
    ),
    (
        Feeling::Sad,
        &[
            "sad",
            "grie",
            "remors",
            "sorr",
            "apolog",
            "tired",
            "wear",
            "melanch",
            "resign",
            "regret",
            "hurt",
            "defeat",
            "asham",
            "shame",
            "guilt",
            "subdu",
            "broken",
            "disappoint",
            "contrit",
            "tear",
            "lonel",
        ],
    ),
    (
        Feeling::Firm,
        &[
            "stern", "cold", "firm", "dry", "serious", "control", "sarcas", "flat", "determin", "skeptic", "bitter",
            "blunt", "clipp", "curt", "wry", "icy",
        ],
    ),
    (
        Feeling::Calm,
        &[
            "calm", "gentl", "soft", "warm", "thought", "reflect", "tender", "quiet", "whisper", "earnest", "relie",
            "hope", "sooth", "kind", "hush", "murmur",
        ],
    ),
];

/// Beginnings of words that say how loud it is. The outermost is heard first: a whisper that is furious is a whisper.
const EFFORTS: [(Effort, &[&str]); 4] = [
    (Effort::Whispered, &["whisper", "breathy", "inaudibl", "sotto"]),
    (Effort::Shouted, &["shout", "yell", "scream", "bellow", "roar", "holler", "shriek"]),
    (
        Effort::Quiet,
        &[
            "quiet", "hush", "murmur", "mutter", "mumbl", "soft", "subdu", "faint", "low", "gentl", "tender",
            "intimat", "timid", "meek",
        ],
    ),
    (Effort::Raised, &["loud", "rais", "boom", "snap", "exclaim", "furi", "outrag", "enrag", "livid", "explo"]),
];

impl Sounding {
    pub fn of(tone: Option<&str>) -> Sounding {
        let small = tone.unwrap_or_default().to_lowercase();
        let words: Vec<&str> = small.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
        let names = |starts: &[&str]| words.iter().any(|word| starts.iter().any(|start| word.starts_with(start)));
        Sounding {
            feeling: FEELINGS.iter().find(|(_, starts)| names(starts)).map(|(feeling, _)| *feeling),
            effort: EFFORTS.iter().find(|(_, starts)| names(starts)).map(|(effort, _)| *effort).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Effort, Feeling, Sounding};

    #[test]
    fn tones_are_heard_by_their_words() {
        let cases = [
            ("furious", Some(Feeling::Agitated), Effort::Raised),
            ("stern but controlled", Some(Feeling::Firm), Effort::Plain),
            ("Softening", Some(Feeling::Calm), Effort::Quiet),
            ("remorseful", Some(Feeling::Sad), Effort::Plain),
            ("subdued", Some(Feeling::Sad), Effort::Quiet),
            ("nervous", Some(Feeling::Tense), Effort::Plain),
            ("darkly amused", Some(Feeling::Bright), Effort::Plain),
            ("whispering", Some(Feeling::Calm), Effort::Whispered),
            ("furious, whispering", Some(Feeling::Agitated), Effort::Whispered),
            ("shouting", Some(Feeling::Agitated), Effort::Shouted),
            ("quietly furious", Some(Feeling::Agitated), Effort::Quiet),
            ("neutral", None, Effort::Plain),
            ("language", None, Effort::Plain),
            ("", None, Effort::Plain),
        ];
        for (tone, feeling, effort) in cases {
            assert_eq!(Sounding::of(Some(tone)), Sounding { feeling, effort }, "of {tone}");
        }
        assert_eq!(Sounding::of(None), Sounding::default());
    }
}
