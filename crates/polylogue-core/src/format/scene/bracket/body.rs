//! What is said, from the pieces around the bracket.

use super::{
    Problem,
    draft::Draft,
    problem::told,
    scan::{Piece, Token},
};

/// Takes the words and acts of these pieces of `text` into the draft.
pub(super) fn read(text: &str, pieces: &[Piece<'_>], draft: &mut Draft) {
    let is_quoted = is_quotation(pieces);
    let mut plain = String::new();
    let mut plain_end = 0;
    for piece in pieces {
        match piece.token {
            Token::Quoted { is_closed } if is_quoted => {
                let inner = piece.inner.trim();
                match inner.strip_prefix('*').and_then(|inner| inner.strip_suffix('*')) {
                    // An act in quotes is still an act.
                    Some(act) if !act.contains('*') => draft.act(act),
                    _ => draft.say(inner, true),
                }
                if !is_closed {
                    draft.note(Problem::UnclosedQuotes);
                }
            }
            Token::Plain if is_quoted => {
                if piece.has_words() {
                    draft.note(Problem::Narration { text: told(piece.inner) });
                    draft.act(piece.inner.trim().trim_start_matches([',', '-', '–', '—']));
                }
            }
            Token::Quoted { .. } | Token::Plain => {
                if !plain.is_empty() && piece.start > plain_end {
                    plain.push(' ');
                }
                plain.push_str(&text[piece.start..piece.end]);
                plain_end = piece.end;
            }
            Token::Act => draft.act(piece.inner),
            Token::Bracket { .. } => draft.act(&piece.inner.replace('*', "")),
        }
    }
    if plain.contains(char::is_alphanumeric) {
        draft.note(Problem::MissingQuotes);
    }
    // A quote at the end that nothing opened.
    let plain = plain.trim().trim_start_matches(']').trim_start();
    let unopened = plain.strip_suffix(['"', '”', '»', '」']).filter(|rest| !rest.contains(['"', '“', '«', '「']));
    draft.say(unopened.unwrap_or(plain), false);
}

/// Whether the quoted pieces are what is said, and the rest is narration: the first of them begins the text, or
/// comes after the end of a sentence. Otherwise it is a quotation within words that stand without quotes.
fn is_quotation(pieces: &[Piece<'_>]) -> bool {
    let mut before: Option<&str> = None;
    for piece in pieces {
        match piece.token {
            Token::Quoted { .. } if !piece.inner.trim().is_empty() => {
                let ends_sentence = |text: &str| {
                    let ends = text.trim_end().ends_with(|c: char| ".!?:,;…—)：，。！？".contains(c));
                    ends || text.ends_with('\n') || !text.contains(char::is_alphanumeric)
                };
                return before.is_none_or(ends_sentence);
            }
            Token::Plain => before = Some(piece.inner),
            Token::Quoted { .. } | Token::Act | Token::Bracket { .. } => {}
        }
    }
    false
}
