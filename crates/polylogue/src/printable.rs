//! Text on a terminal: what came from outside as [`printable`] shows it, what is painted here in ink, and how wide both
//! are.
//!
//! [`output`](crate::output) sends everything that it prints through [`in_ink`], so no command can forget it. What is
//! painted here on purpose is told apart from what came from outside by a mark that nobody outside can know.

use std::sync::LazyLock;

use polylogue_core::text::printable::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a text is set in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Bold,
    Dim,
    Italic,
    /// Bold, in a colour that ANSI numbers.
    Hue(u8),
}

impl Ink {
    fn code(self) -> String {
        match self {
            Ink::Bold => "\u{1b}[1m".to_owned(),
            Ink::Dim => "\u{1b}[2m".to_owned(),
            Ink::Italic => "\u{1b}[3m".to_owned(),
            Ink::Hue(hue) => format!("\u{1b}[1;{}m", 30 + hue),
        }
    }

    /// The letter that stands for it after a mark.
    fn letter(self) -> char {
        match self {
            Ink::Bold => 'b',
            Ink::Dim => 'd',
            Ink::Italic => 'i',
            Ink::Hue(hue) => char::from(b'0' + hue % 8),
        }
    }

    fn of(letter: char) -> Option<Ink> {
        match letter {
            'b' => Some(Ink::Bold),
            'd' => Some(Ink::Dim),
            'i' => Some(Ink::Italic),
            '0'..='7' => Some(Ink::Hue(letter as u8 - b'0')),
            _ => None,
        }
    }
}

/// The letter after a mark that ends the last ink.
const END: char = 'e';
const RESET: &str = "\u{1b}[0m";

/// Code points that Unicode gives to programs for their own use; no text has them.
const FIRST_NONCHARACTER: u32 = 0xfdd0;
const NONCHARACTERS: u64 = 32;
const MARK_CHARS: usize = 12;

/// What comes before the letter of an ink. It is drawn anew in every process, so that no text can contain it.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let drawn = |_| char::from_u32(FIRST_NONCHARACTER + fastrand::u64(..NONCHARACTERS) as u32);
    (0..MARK_CHARS).filter_map(drawn).collect()
});

/// The text in this ink, once it is printed.
pub(crate) fn painted(text: &str, ink: Ink) -> String {
    format!("{mark}{}{text}{mark}{END}", ink.letter(), mark = *MARK)
}

/// Whether a character only changes the emoji beside it.
fn is_joint(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

/// Printable text, with what was painted as escape codes.
pub(crate) fn in_ink(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    let mut inks = Vec::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => shown += &printable(text),
            Piece::Begin(ink) => {
                shown += &ink.code();
                inks.push(ink);
            }
            Piece::End => {
                inks.pop();
                shown += RESET;
                inks.iter().for_each(|ink| shown += &ink.code());
            }
        }
    }
    shown
}

/// The text in at most so many columns, in one line; an ellipsis stands for what is left out at its end. Of joined
/// emoji only the parts are shown, because terminals disagree about how wide the whole is.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    let (mut fitted, mut left, mut is_full) = (String::new(), columns, false);
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) if !is_full => {
                let text = printable(text).replace(['\n', '\t'], " ").replace(is_joint, "");
                if width(&text) <= left {
                    left -= width(&text);
                    fitted += &text;
                } else {
                    fitted += &head(&text, left.saturating_sub(1));
                    fitted.push('…');
                    is_full = true;
                }
            }
            Piece::Text(_) => {}
            Piece::Begin(ink) => fitted += &format!("{}{}", *MARK, ink.letter()),
            Piece::End => fitted += &format!("{}{END}", *MARK),
        }
    }
    fitted
}

/// The end of a text in one line of at most so many columns.
pub(crate) fn tail(text: &str, columns: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = printable(&line);
    if width(&line) <= columns {
        return line.into_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut kept = Vec::new();
    for c in line.chars().rev() {
        let wide = width_of(c);
        if wide > left {
            break;
        }
        left -= wide;
        kept.push(c);
    }
    // A mark that belongs to a letter that was left out would hang in the air.
    while kept.last().is_some_and(|c| c.width() == Some(0)) {
        kept.pop();
    }
    ['…'].into_iter().chain(kept.into_iter().rev()).collect()
}

/// The text and as many spaces as it needs to fill these columns.
pub(crate) fn filled(text: &str, columns: usize) -> String {
    let text = printable(text);
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(&text))))
}

fn head(text: &str, columns: usize) -> String {
    let mut left = columns;
    let fits = |c: &char| {
        let wide = width_of(*c);
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    };
    text.chars().take_while(fits).collect()
}

/// How many columns a text takes at most: terminals disagree about joined emoji.
pub(crate) fn width(text: &str) -> usize {
    text.width().max(text.chars().map(width_of).sum())
}

fn width_of(c: char) -> usize {
    match c {
        // The letter before it is shown as an emoji, which is wider.
        '\u{fe0f}' => 1,
        _ => c.width().unwrap_or_default(),
    }
}

enum Piece<'a> {
    Text(&'a str),
    Begin(Ink),
    End,
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut parts = text.split(MARK.as_str());
    pieces.extend(parts.next().map(Piece::Text));
    for part in parts {
        let mut rest = part.chars();
        match rest.next() {
            Some(END) => pieces.push(Piece::End),
            Some(letter) => pieces.extend(Ink::of(letter).map(Piece::Begin)),
            None => {}
        }
        pieces.push(Piece::Text(rest.as_str()));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ink_is_a_color_and_what_is_in_it_is_text() {
        let inner = painted("b\u{1b}[31m", Ink::Bold);
        let text = painted(&format!("a {inner} c"), Ink::Dim);
        assert_eq!(in_ink(&text), "\u{1b}[2ma \u{1b}[1mb␛[31m\u{1b}[0m\u{1b}[2m c\u{1b}[0m");
        assert_eq!(in_ink(&painted("x", Ink::Hue(3))), "\u{1b}[1;33mx\u{1b}[0m");
    }

    #[test]
    fn a_line_fits_its_columns_whatever_is_in_it() {
        for (text, columns, shown) in [
            ("short", 5, "short"),
            ("too long", 5, "too …"),
            ("雪雪雪", 5, "雪雪…"),
            ("雪雪雪", 4, "雪…"),
            ("a\nb\tc", 9, "a b c"),
            ("\u{1b}[2J", 3, "␛[…"),
            ("👩‍🚀 ☀️", 9, "👩🚀 ☀"),
        ] {
            assert_eq!(fitted(text, columns), shown);
        }
        let fitted = in_ink(&fitted(&format!("{} and more", painted("bold", Ink::Bold)), 6));
        assert_eq!(fitted, "\u{1b}[1mbold\u{1b}[0m …");
        for (text, columns, shown) in [("a  b\nc", 9, "a b c"), ("one two", 4, "…two"), ("雪雪雪", 4, "…雪")] {
            assert_eq!(tail(text, columns), shown);
        }
        assert_eq!((filled("雪", 4), filled("long", 2)), ("雪  ".to_owned(), "long".to_owned()));
    }
}
