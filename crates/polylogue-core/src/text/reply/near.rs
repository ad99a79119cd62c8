//! A word that is nearly one of those that were asked for.

/// Shorter words are too like each other for a slip to be told from another word.
const MIN_CHARS: usize = 3;

/// The word that was meant: the same in another case, with an `@` before it or with one slip of a letter. `None` when
/// it could be several.
pub(crate) fn nearest<'a>(said: &str, words: &'a [String]) -> Option<&'a String> {
    let said: Vec<char> = plain(said);
    let same = words.iter().find(|word| plain(word) == said);
    same.or_else(|| {
        let mut near = words.iter().filter(|word| is_slip(&said, &plain(word)));
        near.next().filter(|_| near.next().is_none())
    })
}

fn plain(word: &str) -> Vec<char> {
    let word = word.trim();
    word.strip_prefix('@').unwrap_or(word).trim().to_lowercase().chars().collect()
}

/// Whether one letter is another, too many or missing, or two have changed places. Digits are no letters: `gpt-5` is
/// not `gpt-4`.
fn is_slip(one: &[char], other: &[char]) -> bool {
    let before = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one_rest, other_rest) = (&one[before..], &other[before..]);
    let after = one_rest.iter().rev().zip(other_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let differ = (&one_rest[..one_rest.len() - after], &other_rest[..other_rest.len() - after]);
    let is_letters = |letters: &[char]| letters.iter().all(|c| c.is_alphabetic());
    one.len().min(other.len()) >= MIN_CHARS
        && match differ {
            ([a], [b]) => is_letters(&[*a, *b]),
            ([a], []) | ([], [a]) => a.is_alphabetic(),
            ([a, b], [c, d]) => (a, b) == (d, c) && is_letters(&[*a, *b]),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_word() {
        for (words, said, meant) in [
            ("gpt claude", "gpt", Some("gpt")),
            ("gpt claude", "GPT", Some("gpt")),
            ("gpt claude", "@Claude", Some("claude")),
            ("gpt claude", " @ claude ", Some("claude")),
            ("gpt claude", "cluade", Some("claude")),
            ("gpt claude", "clude", Some("claude")),
            ("gpt claude", "claudde", Some("claude")),
            ("gpt claude", "clavde", Some("claude")),
            ("gpt claude", "gtp", Some("gpt")),
            ("gpt claude", "bob", None),
            ("gpt claude", "", None),
            ("gpt claude", "@", None),
            ("gpt claude", "cloud", None),
            ("gpt claude", "gpt and claude", None),
            ("gpt-4 claude", "gpt-5", None),
            ("gpt-4 claude", "gpt-44", None),
            ("al bo", "el", None),
            ("anna anne", "ann", None),
            ("zoë jo", "Zoë", Some("zoë")),
            ("zoë jo", "zoe", Some("zoë")),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(nearest(said, &words).map(String::as_str), meant, "{said} of {words:?}");
        }
    }
}
