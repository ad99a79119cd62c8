//! English words for feelings, by their stems, with how pleasant and how stirred they are.

use super::Mood;

/// The mean of the words that are known, each with the modifier before it.
pub(super) fn read(tone: &str) -> Option<Mood> {
    let tone = tone.to_lowercase();
    let mut sum = (0i32, 0i32);
    let mut known = 0;
    // In thousandths; 0 after a negation, which says what is not felt and nothing else.
    let mut degree = 1000;
    for word in tone.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).take(MAX_WORDS)
    {
        if let Some(said) = modifier(word) {
            degree = if said == 0 { 0 } else { degree * said / 1000 };
            continue;
        }
        if let Some((valence, arousal)) = find(word) {
            if degree > 0 {
                sum.0 += i32::from(valence) * degree / 1000;
                sum.1 += i32::from(arousal) * degree / 1000;
                known += 1;
            }
            degree = 1000;
        }
    }
    (known > 0).then(|| Mood {
        valence: (sum.0 / known).clamp(-1000, 1000) as i16,
        arousal: (sum.1 / known).clamp(0, 1000) as i16,
    })
}

const MAX_WORDS: usize = 32;

/// The degree in thousandths that a word gives to the one after it.
fn modifier(word: &str) -> Option<i32> {
    match word {
        "not" | "no" | "without" | "never" | "hardly" | "isn't" | "barely" => Some(0),
        "slightly" | "somewhat" | "mildly" | "bit" | "little" | "faintly" | "almost" | "vaguely" | "half" => Some(600),
        "quite" | "rather" | "fairly" | "mostly" => Some(900),
        "very" | "really" | "deeply" | "highly" | "so" | "increasingly" | "truly" => Some(1200),
        "extremely" | "utterly" | "completely" | "absolutely" | "intensely" => Some(1400),
        _ => None,
    }
}

/// Words that are made like those of feelings and are none.
const OTHER_WORDS: &[&str] =
    &["made", "wearing", "kinds", "loves", "interests", "resolution", "contents", "contention"];

/// The longest stem that the word is made of.
fn find(word: &str) -> Option<(i16, i16)> {
    if OTHER_WORDS.contains(&word) {
        return None;
    }
    STEMS
        .iter()
        .filter(|(stem, ..)| word.strip_prefix(stem).is_some_and(|ending| ENDINGS.contains(&ending)))
        .max_by_key(|(stem, ..)| stem.len())
        .map(|(_, valence, arousal)| (*valence, *arousal))
}

#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    "", "s", "y", "ly", "ily", "ed", "d", "edly", "dly", "ing", "ingly", "e", "es", "er", "ened", "ening", "en",
    "dened", "ful", "fully", "fulness", "ness", "iness", "less", "lessly", "ous", "ously", "ious", "iously", "us",
    "usly", "ation", "ion", "ate", "ated", "ately", "ating", "ant", "antly", "ance", "ent", "ently", "ence", "ive",
    "ively", "iveness", "ic", "ically", "al", "ally", "able", "ably", "ble", "bly", "ment", "ety", "ity", "ied",
    "ish", "ishly", "some", "hearted", "heartedly", "st", "t", "tly", "ce", "ism", "istic", "istically", "or", "ying",
    "yingly", "ely", "nt", "ntly", "ting", "tion", "tory", "atory", "tic", "tically", "sy", "etic", "etically", "f",
    "ving", "ved", "vous", "vously", "atious", "atiously", "m", "atic", "atically",
];

/// Stem, valence and arousal in thousandths.
#[rustfmt::skip]
const STEMS: &[(&str, i16, i16)] = &[
    // Angry.
    ("angr", -750, 800), ("anger", -750, 800), ("furi", -850, 950), ("fury", -850, 950), ("rag", -850, 950),
    ("enrag", -850, 950), ("irate", -800, 850), ("livid", -850, 900), ("outrag", -800, 900), ("seeth", -800, 850),
    ("mad", -700, 800), ("hostil", -750, 700), ("aggress", -650, 800), ("hate", -900, 750),
    ("hatred", -900, 750), ("contempt", -700, 500), ("contemptu", -700, 500), ("scorn", -650, 500),
    ("disgust", -750, 600), ("bitter", -600, 500), ("resent", -600, 500), ("frustrat", -600, 650),
    ("exasperat", -600, 650), ("irritat", -500, 600), ("annoy", -450, 550), ("impatient", -400, 600),
    ("impatience", -400, 600), ("indignan", -600, 700), ("accus", -550, 650), ("confrontation", -500, 700),
    ("threaten", -700, 750), ("menac", -700, 700), ("snap", -500, 700), ("harsh", -550, 600), ("sharp", -400, 600),
    ("cold", -450, 300), ("ic", -500, 300), ("sarcas", -350, 450), ("sarcast", -350, 450), ("mock", -400, 450),
    ("sneer", -500, 500), ("spiteful", -650, 550), ("vengeful", -700, 650), ("betray", -750, 650),
    ("offend", -550, 550), ("insult", -550, 550), ("jealous", -550, 550), ("envi", -500, 450),
    // Strict, guarded.
    ("stern", -300, 450), ("strict", -250, 400), ("firm", -50, 400), ("defens", -350, 550), ("defian", -350, 650),
    ("guarded", -200, 350), ("suspici", -350, 450), ("wary", -250, 400), ("skeptic", -250, 300),
    ("sceptic", -250, 300), ("doubt", -300, 300), ("dismiss", -350, 300), ("cynic", -350, 300), ("blunt", -200, 400),
    ("cautio", -100, 300), ("reluctan", -250, 250), ("stubborn", -250, 500), ("formal", 0, 200), ("clipp", -250, 450),
    ("curt", -300, 400),
    // Afraid, tense, startled.
    ("afraid", -650, 700), ("fear", -650, 700), ("scar", -650, 750), ("terrif", -850, 900), ("terror", -850, 900),
    ("panic", -750, 950), ("panick", -750, 950), ("nervous", -350, 600), ("anxi", -390, 650), ("worr", -390, 500),
    ("concern", -250, 400), ("uneas", -350, 450), ("uncomfortabl", -350, 400), ("awkward", -250, 400),
    ("tens", -350, 650), ("stress", -390, 700), ("apprehens", -350, 500), ("hesita", -200, 350),
    ("timid", -250, 300), ("desperat", -700, 800), ("frantic", -600, 900), ("alarm", -390, 800), ("shock", -350, 850),
    ("stunn", -300, 700), ("startl", -250, 800), ("horrif", -850, 900), ("horror", -850, 900),
    ("incredulo", -250, 600), ("disbelie", -300, 600), ("confus", -200, 400), ("bewilder", -250, 500),
    ("overwhelm", -390, 700), ("agitat", -390, 750), ("restless", -250, 600), ("urgent", -150, 750),
    ("breathless", -100, 750), ("dismay", -550, 550),
    // Sad, sorry, tired.
    ("sad", -650, 250), ("sorrow", -700, 250), ("grie", -750, 300), ("mourn", -700, 250), ("melanchol", -500, 150),
    ("depress", -750, 150), ("despair", -850, 300), ("hopeless", -800, 200), ("miserab", -750, 250),
    ("heartbroken", -850, 300), ("tear", -600, 340), ("cry", -650, 340), ("weep", -700, 340), ("hurt", -600, 340),
    ("pain", -600, 340), ("disappoint", -500, 250), ("dejected", -600, 200), ("defeat", -550, 200),
    ("resign", -350, 150), ("lonel", -550, 200), ("gloom", -500, 150), ("somber", -400, 200), ("sombre", -400, 200),
    ("tire", -300, 100), ("wear", -300, 100), ("exhaust", -390, 100), ("bored", -250, 50), ("flat", -150, 50),
    ("asham", -600, 340), ("shame", -600, 340), ("guilt", -550, 340), ("remorse", -500, 300), ("regret", -450, 250),
    ("apolog", -300, 300), ("sorry", -350, 300), ("contrit", -390, 250), ("embarrass", -390, 440), ("humbl", 50, 150),
    ("plead", -390, 600), ("subdu", -250, 100), ("vulnerab", -300, 300), ("quiet", 0, 100), ("pensiv", -50, 150),
    ("thoughtful", 100, 150), ("wistful", -150, 150),
    // Calm, kind, warm.
    ("calm", 250, 100), ("composed", 200, 100), ("controll", 50, 200), ("measur", 50, 150), ("steady", 150, 200),
    ("patient", 250, 100), ("patience", 250, 100), ("peace", 390, 50), ("seren", 390, 50), ("relax", 390, 100),
    ("gentl", 390, 150), ("soft", 250, 150), ("kind", 500, 200), ("tender", 550, 250), ("warm", 550, 300),
    ("lov", 750, 450), ("affection", 650, 350), ("caring", 550, 250), ("compassion", 450, 250), ("sympath", 300, 200),
    ("empath", 300, 200), ("reassur", 390, 200), ("comfort", 390, 150), ("support", 390, 250),
    ("understanding", 350, 150), ("forgiv", 450, 200), ("accept", 300, 150), ("agree", 300, 200),
    ("concilia", 300, 200), ("diplomat", 200, 200), ("sincer", 250, 250), ("earnest", 250, 350), ("honest", 200, 250),
    ("genuin", 250, 250), ("reasonabl", 200, 150), ("polit", 200, 150), ("professional", 100, 200),
    ("respect", 300, 150), ("grateful", 600, 300), ("gratitude", 600, 300), ("thank", 550, 300),
    ("appreciat", 500, 250), ("reliev", 500, 250), ("relief", 500, 250), ("hope", 390, 350), ("optimis", 450, 400),
    ("optim", 450, 400), ("confiden", 350, 400), ("proud", 550, 450), ("pride", 500, 450), ("content", 450, 150),
    ("satisf", 500, 250), ("friend", 500, 300), ("trust", 400, 200), ("nostalg", 150, 150),
    // Glad, stirred.
    ("happ", 650, 500), ("glad", 550, 400), ("joy", 800, 650), ("overjoy", 900, 800), ("delight", 750, 600),
    ("elat", 850, 800), ("ecsta", 900, 900), ("thrill", 800, 850), ("excit", 650, 800), ("enthusias", 650, 750),
    ("eager", 390, 650), ("passion", 300, 750), ("triumph", 700, 750), ("cheer", 600, 550), ("playful", 500, 500),
    ("amus", 500, 400), ("teas", 300, 400), ("joking", 450, 450), ("humor", 450, 400), ("laugh", 600, 550),
    ("wry", 100, 250), ("curio", 200, 400), ("interest", 250, 350), ("surpris", 50, 650), ("amaz", 500, 700),
    ("awe", 400, 500), ("determin", 150, 550), ("resolut", 150, 500), ("resolv", 150, 450), ("intens", -50, 750),
    ("assertiv", 50, 500), ("smug", 100, 300), ("flirt", 500, 500), ("mischie", 300, 500),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stem_is_there_once_and_within_bounds() {
        let mut stems: Vec<&str> = STEMS.iter().map(|(stem, ..)| *stem).collect();
        stems.sort_unstable();
        let count = stems.len();
        stems.dedup();
        assert_eq!(stems.len(), count);
        assert!(
            STEMS.iter().all(|(_, valence, arousal)| (-1000..=1000).contains(valence) && (0..=1000).contains(arousal))
        );
    }
}
