//! The languages that are told apart, with their scripts and their commonest words.

/// What a language is known by.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) code: &'static str,
    pub(super) english: &'static str,
    /// In small letters, in English and in its own words.
    pub(super) names: &'static [&'static str],
    pub(super) script: Script,
    /// Common words, where others share the script. A word may be in several lists.
    pub(super) words: &'static str,
    /// Letters that hardly any other language of the script has.
    pub(super) letters: &'static [char],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    Japanese,
    Han,
    Hangul,
    Cyrillic,
    Greek,
    Arabic,
    Hebrew,
    Devanagari,
    Thai,
}

impl Script {
    pub(super) const COUNT: usize = 10;
    pub(super) const ALL: [Script; Script::COUNT] = [
        Script::Latin,
        Script::Japanese,
        Script::Han,
        Script::Hangul,
        Script::Cyrillic,
        Script::Greek,
        Script::Arabic,
        Script::Hebrew,
        Script::Devanagari,
        Script::Thai,
    ];

    /// Whether several of the languages here are written in it.
    pub(super) fn is_shared(self) -> bool {
        matches!(self, Script::Latin | Script::Cyrillic)
    }

    pub(super) fn of(c: char) -> Option<Script> {
        if c.is_ascii_alphabetic() {
            return Some(Script::Latin);
        }
        Some(match c {
            '\u{00c0}'..='\u{024f}' | '\u{1e00}'..='\u{1eff}' if c.is_alphabetic() => Script::Latin,
            '\u{0370}'..='\u{03ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
            '\u{0400}'..='\u{052f}' => Script::Cyrillic,
            '\u{0590}'..='\u{05ff}' => Script::Hebrew,
            '\u{0600}'..='\u{06ff}' | '\u{0750}'..='\u{077f}' => Script::Arabic,
            '\u{0900}'..='\u{097f}' => Script::Devanagari,
            '\u{0e00}'..='\u{0e7f}' => Script::Thai,
            '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => Script::Japanese,
            '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}' => Script::Hangul,
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
                Script::Han
            }
            _ => return None,
        })
    }
}

const fn latin(
    code: &'static str,
    english: &'static str,
    names: &'static [&'static str],
    words: &'static str,
    letters: &'static [char],
) -> Known {
    Known { code, english, names, script: Script::Latin, words, letters }
}

const fn alone(code: &'static str, english: &'static str, names: &'static [&'static str], script: Script) -> Known {
    Known { code, english, names, script, words: "", letters: &[] }
}

/// English is the first: it is what is spoken where nothing else is known.
pub(super) const KNOWN: [Known; 25] = [
    latin(
        "en",
        "English",
        &["english"],
        "the and you that it is was to of i for not are with this have be your what they we my there don't it's i'm \
         she he his her from will would can't didn't know about just been has had if but so all out who how why did do \
         were could should them then than you're that's let's on at an me as when our us their one more no by or",
        &[],
    ),
    latin(
        "de",
        "German",
        &["german", "deutsch", "deutsche", "deutscher"],
        "der die das und ich nicht du ist es sie wir ein eine einen zu mit auf für dass den dem mir mich dir dich was \
         wie war hat haben habe hast bin bist sind auch noch nur aber wenn dann doch schon ja nein kein keine mehr so \
         ihr euch uns ihn ihm aus bei nach von vor über sich wird werden kann muss will weil warum wer wo hier jetzt \
         immer wieder etwas nichts alles gut danke bitte um an er im am zum zur oder als damit",
        &['ß'],
    ),
    latin(
        "fr",
        "French",
        &["french", "français", "francais", "française"],
        "le la les et je tu il elle nous vous ne pas que qui est un une des du de en dans pour sur avec ce cette c'est \
         j'ai mais ou où plus bien si tout on son sa ses mon ma mes ton ta tes au aux être avoir fait suis es êtes sont \
         était comme moi toi lui leur même rien jamais encore oui non merci quoi pourquoi l'as qu'il n'est d'un t'ai",
        &['œ'],
    ),
    latin(
        "es",
        "Spanish",
        &["spanish", "español", "espanol", "castellano", "española"],
        "el la los las y que de no en es un una por con para se lo me te mi tu su yo él ella nosotros como más pero \
         sí si muy ya qué cuando todo nada nunca siempre está estoy estás están eres soy son fue ha he has hay esto \
         eso porque dónde bien gracias del al le les nos tiene tengo puedo quiero otra vez hace sin sobre también",
        &['ñ', '¿', '¡'],
    ),
    latin(
        "it",
        "Italian",
        &["italian", "italiano", "italiana"],
        "il lo la gli le e che di non un una per con sono è sei ho hai ha abbiamo mi ti ci vi si io tu lui lei noi voi \
         ma come più anche se tutto niente mai sempre perché dove quando bene grazie questo questa quello della del \
         dello dei nel nella alla allo al da su era stato fatto posso voglio ancora già così cosa mio mia tuo tua suo",
        &[],
    ),
    latin(
        "pt",
        "Portuguese",
        &["portuguese", "português", "portugues", "brazilian", "portuguesa"],
        "o os as e que de não um uma em no na por com para se eu tu você ele ela nós vocês é são foi está estou tem \
         tenho mas mais como muito já quando tudo nada nunca sempre porque onde bem obrigado obrigada isso isto esse \
         essa do da dos das ao à meu minha seu sua me te lhe também ainda sim ser ter fazer posso quero",
        &['ã', 'õ'],
    ),
    latin(
        "nl",
        "Dutch",
        &["dutch", "nederlands", "nederlandse", "vlaams", "flemish"],
        "de het een en ik je jij niet is dat die van in op te met voor zijn was heeft heb hebben ben bent we wij ze \
         zij hij hem haar maar ook nog wel naar aan als dan dit er mijn jouw kan moet wil waarom wat wie waar hier \
         geen meer nooit altijd goed dank ja nee om uit bij weer",
        &[],
    ),
    latin(
        "sv",
        "Swedish",
        &["swedish", "svenska"],
        "och det att jag du är inte en ett som på för med han hon vi ni de var har hade kan ska vill men om så vad \
         varför hur här där nu aldrig alltid tack ja nej mig dig sig min din sin av till från igen måste när",
        &[],
    ),
    latin(
        "da",
        "Danish",
        &["danish", "dansk"],
        "og det at jeg du er ikke en et som på for med han hun vi i de var har havde kan skal vil men om så hvad \
         hvorfor hvordan her der nu aldrig altid tak ja nej mig dig sig min din af til fra igen må når også meget",
        &[],
    ),
    latin(
        "nb",
        "Norwegian",
        &["norwegian", "norsk", "bokmål", "no", "nn"],
        "og det at jeg du er ikke en et som på for med han hun vi dere de var har hadde kan skal vil men om så hva \
         hvorfor hvordan her der nå aldri alltid takk ja nei meg deg seg min din av til fra igjen må når også mye",
        &[],
    ),
    latin(
        "fi",
        "Finnish",
        &["finnish", "suomi", "suomeksi"],
        "ja on ei se että minä sinä hän me te he olen olet oli mutta kun jos niin mitä miksi kuka missä tämä tuo en et \
         eikä vain nyt aina koskaan kiitos kyllä minun sinun sitä ole voi pitää sen",
        &[],
    ),
    latin(
        "pl",
        "Polish",
        &["polish", "polski", "polska"],
        "i nie to się w na jest że z do ja ty on ona my wy co jak ale tak o po za od mnie ci mi go czy już tylko \
         dlaczego gdzie kiedy był była jestem jesteś są dziękuję proszę dla bardzo nigdy zawsze tego",
        &['ł', 'ą', 'ę', 'ż'],
    ),
    latin(
        "cs",
        "Czech",
        &["czech", "čeština", "česky"],
        "a to se je na že v ne s já ty on ona my vy co jak ale ano i po za od mi tě ho už jen proč kde kdy byl byla \
         jsem jsi jsou děkuji prosím pro nikdy vždy ještě tak do by si",
        &['ř', 'ě', 'ů'],
    ),
    latin(
        "hu",
        "Hungarian",
        &["hungarian", "magyar"],
        "a az és nem hogy ez is egy én te ő mi ti van volt de ha csak mert miért hol mikor igen már még nagyon soha \
         mindig köszönöm kérem meg vagyok vagy azt ezt mit ki lesz kell",
        &['ő', 'ű'],
    ),
    latin(
        "ro",
        "Romanian",
        &["romanian", "română", "romana"],
        "și nu că de în la cu un o este sunt ești eu tu el ea noi voi ce cum dar da pe pentru mai să mi te îl am ai a \
         fost unde când niciodată mereu mulțumesc din care asta dacă ca",
        &['ș', 'ț', 'ă'],
    ),
    latin(
        "tr",
        "Turkish",
        &["turkish", "türkçe"],
        "ve bir bu ne ben sen o biz siz değil için var yok ama çok daha gibi mi mı mu da de neden nerede nasıl evet \
         hayır şimdi hiç hep teşekkür lütfen bana sana beni seni oldu",
        &['ğ', 'ş', 'ı'],
    ),
    alone("ja", "Japanese", &["japanese", "日本語", "にほんご"], Script::Japanese),
    alone("zh", "Chinese", &["chinese", "mandarin", "中文", "汉语", "漢語", "普通话", "cmn"], Script::Han),
    alone("ko", "Korean", &["korean", "한국어"], Script::Hangul),
    Known {
        code: "ru",
        english: "Russian",
        names: &["russian", "русский", "русском"],
        script: Script::Cyrillic,
        words: "и в не что я на ты он она мы вы это как но да с по же так за от меня мне тебя его её бы у к из уже \
                только почему где когда был была есть нет спасибо опять если то все",
        letters: &['ы', 'э', 'ё', 'ъ'],
    },
    Known {
        code: "uk",
        english: "Ukrainian",
        names: &["ukrainian", "українська", "українською"],
        script: Script::Cyrillic,
        words: "і в не що я на ти він вона ми ви це як але так з по ж за від мене мені тебе його її би у до вже тільки \
                чому де коли був була є ні дякую знову якщо та",
        letters: &['і', 'ї', 'є', 'ґ'],
    },
    alone("el", "Greek", &["greek", "ελληνικά"], Script::Greek),
    alone("ar", "Arabic", &["arabic", "العربية"], Script::Arabic),
    alone("he", "Hebrew", &["hebrew", "עברית"], Script::Hebrew),
    alone("hi", "Hindi", &["hindi", "हिन्दी", "हिंदी"], Script::Devanagari),
];
