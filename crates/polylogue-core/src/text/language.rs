//! Languages: by what people call them, and by the looks of a text. It knows a few dozen by name and the commoner
//! ones by sight, needs no tables but its own, and says nothing rather than guess.

/// A language with its code and its English name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language {
    /// Of two letters, as in ISO 639-1.
    pub code: &'static str,
    pub name: &'static str,
}

impl Language {
    pub const ENGLISH: Language = Language { code: "en", name: "English" };

    /// The language that is called so: by a code (`de`, `de-AT`), in English, or by itself.
    pub fn named(name: &str) -> Option<Language> {
        let name = name.trim().to_lowercase();
        let code = name.split(['-', '_']).next().unwrap_or_default();
        let known = LANGUAGES.iter().find(|known| {
            known.code == code || known.name.to_lowercase() == name || known.called.contains(&name.as_str())
        });
        known.map(Known::language)
    }

    /// The language that a text is written in, if it can be told: by its script, or by the small words that every
    /// text has.
    pub fn of(text: &str) -> Option<Language> {
        let text: String = text.chars().take(MAX_CHARS).collect();
        by_script(&text).or_else(|| by_words(&text)).and_then(Language::named)
    }

    /// What somebody calls a language, in English words: its name where it is known, else as it was written.
    pub fn in_words(written: &str) -> &str {
        Language::named(written).map_or(written.trim(), |language| language.name)
    }
}

/// How much of a text is looked at.
const MAX_CHARS: usize = 4_000;

/// So many small words of a language make a text one of it.
const ENOUGH: usize = 2;

struct Known {
    code: &'static str,
    name: &'static str,
    /// What it calls itself, and what else it is called.
    called: &'static [&'static str],
    /// Small words of it, where it is told by them.
    words: &'static str,
    /// Letters and signs that hardly any other of these has.
    signs: &'static str,
}

impl Known {
    const fn new(code: &'static str, name: &'static str, called: &'static [&'static str]) -> Known {
        Known { code, name, called, words: "", signs: "" }
    }

    const fn told_by(self, words: &'static str, signs: &'static str) -> Known {
        Known { words, signs, ..self }
    }

    fn language(&self) -> Language {
        Language { code: self.code, name: self.name }
    }
}

const LANGUAGES: &[Known] = &[
    Known::new("en", "English", &["englisch", "anglais", "inglés"]).told_by(
        "the and of to is that it was for with his her she he they are not you this has have but from at who when what \
         their be by an as on will would which must about into there do does did can could should been were had them him \
         if so just out up or",
        "",
    ),
    Known::new("de", "German", &["deutsch"]).told_by(
        "der die das und ist nicht ein eine einen ich du er sie es wir ihr mit von zu auf für sich den dem des im auch \
         hat haben war aber wie was nur noch nach bei aus um wenn dass über mich dich ihm ihn ihnen sein seine wird",
        "ß",
    ),
    Known::new("fr", "French", &["français", "francais", "französisch"]).told_by(
        "le la les et est un une des du de que qui il elle je tu nous vous ne pas dans pour sur avec ce cette son sa \
         ses mais au aux par plus l d j c n s qu être était leur où très",
        "œêûî",
    ),
    Known::new("es", "Spanish", &["español", "espanol", "castellano", "spanisch"]).told_by(
        "el la los las y es un una de que en no se por con su para lo como pero más él ella yo tú mi al del está fue \
         ha hay muy cuando ya sin sobre quien le les",
        "ñ¿¡",
    ),
    Known::new("it", "Italian", &["italiano", "italienisch"]).told_by(
        "il lo la gli le e è un una di che non per con si del della dei delle sono ma come io tu lui lei noi ha hanno \
         al alla nel nella da dal più anche questo questa suo sua perché chi era",
        "òì",
    ),
    Known::new("pt", "Portuguese", &["português", "portugues", "portugiesisch", "brazilian portuguese"]).told_by(
        "o a os as e é um uma de que não em se por com para do da dos das no na nos nas mas ele ela eu você está foi \
         mais como ao à seu sua também já muito quando",
        "ãõ",
    ),
    Known::new("nl", "Dutch", &["nederlands", "niederländisch", "flemish", "vlaams"]).told_by(
        "de het een en is van dat niet ik je hij zij ze we met op te voor aan zijn haar er maar om ook als bij nog uit \
         naar wat dan heeft was worden wordt deze die geen door over",
        "",
    ),
    Known::new("pl", "Polish", &["polski", "polnisch"]).told_by(
        "i w z na do nie się jest to że o jak ale po co za od przez tak jego jej są był była który która ona on oni \
         tylko już dla czy bardzo kiedy też przy",
        "łżśęąźń",
    ),
    Known::new("sv", "Swedish", &["svenska", "schwedisch"]).told_by(
        "och att det är en ett som på i inte han hon jag du vi de med för av den till har var men om sig så från när \
         hans hennes efter vad",
        "",
    ),
    Known::new("da", "Danish", &["dansk", "dänisch"]).told_by(
        "og at det er en et som på i ikke han hun jeg du vi de med for af den til har var men om sig så fra når hans \
         hendes efter hvad der",
        "",
    ),
    Known::new("nb", "Norwegian", &["norsk", "norwegisch", "bokmål", "no"])
        .told_by("og å ikke jeg hva deg meg hun", ""),
    Known::new("fi", "Finnish", &["suomi", "finnisch"])
        .told_by("ja on ei se että hän minä sinä me te he mutta kun niin myös oli ovat mitä joka tämä kuin", ""),
    Known::new("cs", "Czech", &["čeština", "cestina", "tschechisch"])
        .told_by("a v na je se že to s z do i ale jak jsem jsi by byl byla který která ona oni pro po za co", "ěřů"),
    Known::new("tr", "Turkish", &["türkçe", "turkce", "türkisch"])
        .told_by("ve bir bu da de için ile ne ben sen o biz siz onlar değil var yok çok gibi ama daha mi", "ğı"),
    Known::new("ro", "Romanian", &["română", "romana", "rumänisch"])
        .told_by("și în nu este un o de la cu pe care mai să din el ea eu tu ce dar sunt era", "șț"),
    Known::new("hu", "Hungarian", &["magyar", "ungarisch"])
        .told_by("a az és nem hogy egy is ez azt de van volt csak én te ő mi ti meg már ha mint", "őű"),
    Known::new("ru", "Russian", &["русский", "russisch"]),
    Known::new("uk", "Ukrainian", &["українська", "ukrainisch"]),
    Known::new("el", "Greek", &["ελληνικά", "griechisch"]),
    Known::new("ar", "Arabic", &["العربية", "arabisch"]),
    Known::new("he", "Hebrew", &["עברית", "hebräisch"]),
    Known::new("hi", "Hindi", &["हिन्दी"]),
    Known::new("th", "Thai", &["ไทย"]),
    Known::new("ja", "Japanese", &["日本語", "nihongo", "japanisch"]),
    Known::new("zh", "Chinese", &["中文", "汉语", "漢語", "普通话", "mandarin", "chinesisch"]),
    Known::new("ko", "Korean", &["한국어", "koreanisch"]),
    Known::new("vi", "Vietnamese", &["tiếng việt"]),
    Known::new("id", "Indonesian", &["bahasa indonesia"]),
];

/// The code of the language whose script most of the letters are of, where a script belongs to one.
fn by_script(text: &str) -> Option<&'static str> {
    let mut counts: [(&str, usize); 9] =
        [("kana", 0), ("han", 0), ("ko", 0), ("ru", 0), ("el", 0), ("ar", 0), ("he", 0), ("hi", 0), ("th", 0)];
    let (mut latin, mut is_ukrainian) = (0, false);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        let script = match c {
            '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => 0,
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => 1,
            '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}' => 2,
            '\u{400}'..='\u{52f}' => 3,
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => 4,
            '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => 5,
            '\u{590}'..='\u{5ff}' => 6,
            '\u{900}'..='\u{97f}' => 7,
            '\u{e00}'..='\u{e7f}' => 8,
            _ => {
                latin += 1;
                continue;
            }
        };
        is_ukrainian |= matches!(c, 'і' | 'ї' | 'є' | 'ґ' | 'І' | 'Ї' | 'Є' | 'Ґ');
        counts[script].1 += 1;
    }
    let [(_, kana), (_, han), ..] = counts;
    let others = &counts[2..];
    let (code, most) = others.iter().copied().max_by_key(|(_, count)| *count)?;
    // A sign of these says more than a letter does, and names may be written in others.
    let signs = 2 * (kana + han);
    if signs > latin && signs >= most {
        // Japanese is written with both; a stray syllable does not make Chinese Japanese.
        return Some(if 10 * kana >= han { "ja" } else { "zh" });
    }
    match code {
        _ if most <= latin => None,
        "ru" if is_ukrainian => Some("uk"),
        code => Some(code),
    }
}

/// The code of the language that has most of its small words in the text, and more than any other.
fn by_words(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let score = |known: &Known| {
        let small = |word: &&&str| known.words.split_whitespace().any(|small| small == **word);
        let signs = text.chars().filter(|c| known.signs.contains(*c)).take(ENOUGH).count();
        words.iter().filter(small).count() + signs
    };
    let told = LANGUAGES.iter().filter(|known| !known.words.is_empty());
    let mut scores: Vec<(usize, &'static str)> = told.map(|known| (score(known), known.code)).collect();
    scores.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    match scores.as_slice() {
        [(best, code), (second, _), ..] if *best >= ENOUGH && best > second => Some(code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_language_is_known_by_its_names() {
        for (name, code) in [
            ("de", "de"),
            ("DE", "de"),
            ("de-AT", "de"),
            ("de_CH", "de"),
            ("German", "de"),
            (" deutsch ", "de"),
            ("Français", "fr"),
            ("pt-BR", "pt"),
            ("日本語", "ja"),
            ("zh-Hans", "zh"),
            ("Русский", "ru"),
            ("no", "nb"),
            ("English", "en"),
        ] {
            assert_eq!(Language::named(name).map(|language| language.code), Some(code), "{name}");
        }
        for name in ["", "Klingon", "the dialect of Bern", "x"] {
            assert_eq!(Language::named(name), None, "{name}");
        }
        assert_eq!(Language::in_words("de"), "German");
        assert_eq!(Language::in_words(" the dialect of Bern "), "the dialect of Bern");
        let mut names = BTreeSet::new();
        for known in LANGUAGES {
            for name in known.called.iter().copied().chain([known.code, known.name]) {
                assert!(names.insert(name.to_lowercase()), "{name} is there twice");
            }
        }
    }

    #[test]
    fn a_text_is_known_by_its_looks() {
        for (text, code) in [
            ("Alice confronts Bob about his unprofessional behavior. Goal: Bob apologizes.", Some("en")),
            ("They meet at the station, and she will not look at him.", Some("en")),
            ("Anna stellt ihren Bruder zur Rede. Ziel: Er entschuldigt sich, und sie nimmt es an.", Some("de")),
            ("Zwei Schwestern räumen das Haus der Mutter aus.", Some("de")),
            ("Marie attend Paul à la gare. Elle ne lui a pas pardonné.", Some("fr")),
            ("¿Dónde estás? Marta espera en la cocina con su hermano.", Some("es")),
            ("Giulia non parla con il padre da due anni. Oggi è il giorno della festa.", Some("it")),
            ("O João não quer vender a casa. A irmã está com pressa.", Some("pt")),
            ("Jan heeft het geld van zijn zus geleend en is het niet vergeten.", Some("nl")),
            ("Ola nie rozmawia z bratem, bo się na niego gniewa.", Some("pl")),
            ("Анна ждёт брата на вокзале.", Some("ru")),
            ("Оля чекає на брата, її їжа холоне.", Some("uk")),
            ("姉が弟に嘘を問い詰める。", Some("ja")),
            ("ハルカが田中さんに謝る。", Some("ja")),
            ("姐姐质问弟弟为什么撒谎。", Some("zh")),
            ("누나가 동생에게 거짓말을 따져 묻는다.", Some("ko")),
            ("Η Άννα περιμένει τον αδελφό της.", Some("el")),
            ("Haruka と Kenji が駅で会う。謝罪の場面。", Some("ja")),
            ("Anna und Haruka (春香) treffen sich auf dem Bahnhof.", Some("de")),
            ("Alice. Bob.", None),
            ("", None),
            ("12345 !?", None),
            ("😀😀", None),
        ] {
            assert_eq!(Language::of(text).map(|language| language.code), code, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_text_it_is_a_known_language_or_none(text: String) {
            if let Some(language) = Language::of(&text) {
                prop_assert_eq!(Language::named(language.code), Some(language));
            }
            let _ = Language::named(&text);
            prop_assert!(Language::in_words(&text).len() <= text.len().max(16));
        }
    }
}
