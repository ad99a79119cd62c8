//! What can happen anywhere, when a scene needs a push and the moderator has no wish: in the scene's language, since it
//! stands in the transcript.

use crate::text::language::Language;

/// As many in every language, each in the same place.
type Events = [&'static str; 6];

const ENGLISH: Events = [
    "A phone rings nearby, and stops",
    "The lights flicker",
    "Thunder rolls in the distance",
    "Somebody knocks at the door",
    "A glass breaks in the next room",
    "A long silence falls",
];

#[rustfmt::skip]
const OTHERS: [(&str, Events); 11] = [
    ("de", ["In der Nähe klingelt ein Telefon und verstummt", "Das Licht flackert", "In der Ferne grollt Donner",
            "Jemand klopft an die Tür", "Im Nebenzimmer zerbricht ein Glas", "Es wird lange still"]),
    ("fr", ["Un téléphone sonne tout près, puis se tait", "La lumière vacille", "Le tonnerre gronde au loin",
            "On frappe à la porte", "Un verre se brise dans la pièce voisine", "Un long silence s'installe"]),
    ("es", ["Un teléfono suena cerca y se calla", "Las luces parpadean", "Un trueno retumba a lo lejos",
            "Alguien llama a la puerta", "Un vaso se rompe en la habitación de al lado", "Cae un largo silencio"]),
    ("it", ["Un telefono squilla lì vicino, poi smette", "Le luci tremolano", "Un tuono brontola in lontananza",
            "Qualcuno bussa alla porta", "Un bicchiere si rompe nella stanza accanto", "Cala un lungo silenzio"]),
    ("pt", ["Um telefone toca por perto e para", "As luzes tremeluzem", "Um trovão ressoa ao longe",
            "Alguém bate à porta", "Um copo se quebra na sala ao lado", "Faz-se um longo silêncio"]),
    ("nl", ["Vlakbij gaat een telefoon over, en stopt", "Het licht flikkert", "In de verte rommelt de donder",
            "Er wordt op de deur geklopt", "In de kamer ernaast breekt een glas", "Er valt een lange stilte"]),
    ("pl", ["W pobliżu dzwoni telefon i milknie", "Światło migocze", "W oddali przetacza się grzmot",
            "Ktoś puka do drzwi", "W sąsiednim pokoju tłucze się szklanka", "Zapada długa cisza"]),
    ("ru", ["Рядом звонит телефон и умолкает", "Свет мигает", "Вдали гремит гром",
            "Кто-то стучит в дверь", "В соседней комнате разбивается стакан", "Наступает долгая тишина"]),
    ("ja", ["近くで電話が鳴り、やむ", "明かりがちらつく", "遠くで雷が鳴る",
            "誰かがドアをノックする", "隣の部屋でグラスが割れる", "長い沈黙が落ちる"]),
    ("zh", ["附近的电话响了，又停了", "灯光闪烁", "远处传来雷声",
            "有人敲门", "隔壁房间有杯子碎了", "一阵长久的沉默"]),
    ("ko", ["가까이에서 전화가 울리다 멈춘다", "불빛이 깜박인다", "멀리서 천둥이 친다",
            "누군가 문을 두드린다", "옆방에서 유리잔이 깨진다", "긴 침묵이 흐른다"]),
];

/// Those of a scene in this language; in English where there are none in its own.
pub(super) fn events(language: Option<&str>) -> &'static Events {
    let code = language.and_then(Language::called).map(|language| language.code());
    OTHERS.iter().find(|(known, _)| Some(*known) == code).map_or(&ENGLISH, |(_, events)| events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_is_told_in_the_language_of_the_scene() {
        assert_eq!(events(Some("de"))[1], "Das Licht flackert");
        assert_eq!(events(Some("Japanese"))[1], "明かりがちらつく");
        for language in [None, Some("en"), Some("Klingon"), Some("sv")] {
            assert_eq!(events(language), &ENGLISH, "{language:?}");
        }
        for (code, told) in OTHERS {
            let found = Language::of(&told.join(". ")).map(|language| language.code());
            assert_eq!(found, Some(code), "{told:?}");
        }
    }
}
