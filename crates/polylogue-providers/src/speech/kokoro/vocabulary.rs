//! The signs that the model knows, with their numbers. Fixed by its training.

/// Runs of signs whose numbers follow each other.
const RUNS: [(i64, &str); 37] = [
    (1, ";:,.!?"),
    (9, "—…\"()“” \u{303}ʣʥʦʨᵝ\u{ab67}AI"),
    (31, "O"),
    (33, "Q"),
    (35, "ST"),
    (39, "W"),
    (41, "Yᵊabcdef"),
    (50, "hijklmnopqrstuvwxyzɑɐɒæ"),
    (75, "βɔɕç"),
    (80, "ɖðʤə"),
    (85, "ɚɛɜ"),
    (90, "ɟ"),
    (92, "ɡ"),
    (99, "ɥ"),
    (101, "ɨɪʝ"),
    (110, "ɯɰŋɳɲɴø"),
    (118, "ɸθœ"),
    (123, "ɹ"),
    (125, "ɾɻ"),
    (128, "ʁɽʂʃʈʧ"),
    (135, "ʊʋ"),
    (138, "ʌɣɤ"),
    (142, "χʎ"),
    (147, "ʒʔ"),
    (156, "ˈˌː"),
    (162, "ʰ"),
    (164, "ʲ"),
    (169, "↓"),
    (171, "→↗↘"),
    (177, "ᵻ"),
    // Signs that others write for the same sounds.
    (92, "g"),
    (123, "r"),
    (1, "；"),
    (3, "、"),
    (11, "«"),
    (11, "»"),
    (9, "–"),
];

/// The numbers of the signs that the model knows; others have no sound.
pub(super) fn tokens(phonemes: &str) -> Vec<i64> {
    phonemes.chars().filter_map(token).collect()
}

fn token(sign: char) -> Option<i64> {
    RUNS.iter().find_map(|(first, signs)| signs.chars().position(|known| known == sign).map(|at| first + at as i64))
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn signs_have_the_numbers_of_the_model() {
        assert_eq!(tokens("həlˈO wˈɜɹld!"), [50, 83, 54, 156, 31, 16, 65, 156, 87, 123, 54, 46, 5]);
        assert_eq!(tokens("AIQSTWYfhzæβçʤɚɜɟɡɥɨʝøɸœɾɻʁʧʊʋʌɤχʎʒʔːᵻ❓é").len(), 38);
        assert_eq!(
            tokens("Yfhæçəɜʝøœɻʧʋɤʎʔːᵻ"),
            [41, 48, 50, 72, 78, 83, 87, 103, 116, 120, 126, 133, 136, 140, 143, 148, 158, 177]
        );
    }
}
