//! The pieces of a reply: brackets, quotes, acts between asterisks, and what stands between them.
//!
//! Each piece is looked for from where the last one ended, and what does not close within a bound is plain text:
//! the time grows with the length of the reply, whatever it is made of.

use super::{header, items};

/// How far the end of a bracket or an act is looked for, in bytes.
const MAX_MARKED: usize = 1_000;

/// How many brackets that do not close are looked into.
const MAX_UNCLOSED: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token {
    Bracket { is_closed: bool },
    Quoted { is_closed: bool },
    Act,
    Plain,
}

/// A piece with what is inside its marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) token: Token,
    pub(super) inner: &'a str,
    /// Where it begins and ends in the text, marks included.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Piece<'_> {
    pub(super) fn has_words(&self) -> bool {
        self.inner.contains(char::is_alphanumeric)
    }
}

pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut plain_from = 0;
    let mut at = 0;
    let mut tries = MAX_UNCLOSED;
    while let Some(c) = text[at..].chars().next() {
        match marked(text, plain_from, at, c, &mut tries) {
            Some(piece) => {
                push_plain(text, plain_from, at, &mut pieces);
                (at, plain_from) = (piece.end, piece.end);
                pieces.push(piece);
            }
            None => at += c.len_utf8(),
        }
    }
    push_plain(text, plain_from, text.len(), &mut pieces);
    pieces
}

fn push_plain<'a>(text: &'a str, start: usize, end: usize, pieces: &mut Vec<Piece<'a>>) {
    let inner = &text[start..end];
    if !inner.trim().is_empty() {
        pieces.push(Piece { token: Token::Plain, inner, start, end });
    }
}

/// The piece that begins with the mark `c` at `at`, after plain text from `plain_from` on.
fn marked<'a>(text: &'a str, plain_from: usize, at: usize, c: char, tries: &mut usize) -> Option<Piece<'a>> {
    let from = at + c.len_utf8();
    let rest = &text[from..];
    let before = text[plain_from..at].chars().next_back();
    let is_word_start = before.is_none_or(|c| !c.is_alphanumeric() && c != '\\');
    let piece = |token, inner: usize, close: usize| {
        Some(Piece { token, inner: &rest[..inner], start: at, end: from + inner + close })
    };
    match c {
        '[' | '【' | '［' => match bracket_end(rest, c) {
            Some((end, close)) => piece(Token::Bracket { is_closed: true }, end, close),
            None => {
                *tries = tries.checked_sub(1)?;
                let end = items::open_end(rest);
                items::is_keyed(&rest[..end]).then(|| piece(Token::Bracket { is_closed: false }, end, 0))?
            }
        },
        '(' | '（' => {
            let (end, close) = bracket_end(rest, c)?;
            let inner = &rest[..end];
            let is_aside = is_word_start && is_between_sentences(&text[plain_from..at], &rest[end + close..]);
            if items::is_keyed(inner) {
                piece(Token::Bracket { is_closed: true }, end, close)
            } else if is_aside && header::looks_like_act(inner) {
                piece(Token::Act, end, close)
            } else {
                None
            }
        }
        '*' if is_word_start => {
            let end = within(rest).find('*').filter(|end| !rest[..*end].trim().is_empty())?;
            // Stress around a bracket is neither an act nor a word.
            if rest.trim_start().starts_with(['[', '【', '［']) {
                return None;
            }
            is_act(&text[plain_from..at], &rest[..end], &rest[end + 1..]).then(|| piece(Token::Act, end, 1))?
        }
        // A quote that stands before a bracket opens nothing.
        '"' | '“' | '„' | '«' | '「' | '『' if is_before_header(rest, tries) => None,
        '"' if is_word_start => match straight_end(rest) {
            Some((end, is_closed)) => piece(Token::Quoted { is_closed }, end, 1),
            None => piece(Token::Quoted { is_closed: false }, rest.len(), 0),
        },
        '\'' | '`' if is_word_start && text[plain_from..at].trim().is_empty() => {
            let end = single_end(rest, c)?;
            piece(Token::Quoted { is_closed: true }, end, 1)
        }
        '“' | '„' | '«' | '「' | '『' | '‘' | '〝' | '‹' | '＂' => {
            // One that may be an apostrophe is not looked for far.
            match paired_end(if c == '‘' { within(rest) } else { rest }, c) {
                Some((end, close)) => piece(Token::Quoted { is_closed: true }, end, close),
                None if c == '‘' => None,
                None => piece(Token::Quoted { is_closed: false }, rest.len(), 0),
            }
        }
        _ => None,
    }
}

/// How many signs may stand between a stray quote and a bracket.
const MAX_LEAD: usize = 16;

/// Whether nothing stands before a bracket with keys.
fn is_before_header(text: &str, tries: &mut usize) -> bool {
    let lead = text.char_indices().take(MAX_LEAD).find(|(_, c)| c.is_alphanumeric() || *c == '[');
    let Some(inner) = lead.and_then(|(at, _)| text[at..].strip_prefix('[')).filter(|_| *tries > 0) else {
        return false;
    };
    *tries -= 1;
    let end = items::open_end(inner);
    items::is_keyed(inner[..end].split('[').next().unwrap_or_default())
}

fn within(text: &str) -> &str {
    let mut end = text.len().min(MAX_MARKED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Where the bracket that was opened before `text` closes, and the length of its mark. A closing mark in quotes is
/// passed over, unless the quotes do not close.
pub(super) fn bracket_end(text: &str, open: char) -> Option<(usize, usize)> {
    let close = match open {
        '[' => ']',
        '【' => '】',
        '［' => '］',
        '（' => '）',
        _ => ')',
    };
    let text = within(text);
    if !text.contains(close) {
        return None;
    }
    let mut first = None;
    let mut depth = 0usize;
    let mut in_quotes = false;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' {
            is_escaped = true;
        } else if c == '"' {
            in_quotes = !in_quotes;
        } else if c == open && !in_quotes {
            depth += 1;
        } else if c == close {
            first = first.or(Some((at, c.len_utf8())));
            if !in_quotes {
                match depth.checked_sub(1) {
                    Some(less) => depth = less,
                    None => return Some((at, c.len_utf8())),
                }
            }
        }
    }
    first
}

/// Where straight quotes close that were opened before `text`, and whether they really do. A quote that begins a
/// word opens an inner quotation, one that ends a word closes it.
pub(super) fn straight_end(text: &str) -> Option<(usize, bool)> {
    let mut depth = 1;
    let mut last = None;
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            // Whatever is escaped is part of the text.
            before = chars.next().map(|(_, c)| c);
            continue;
        }
        if c == '"' {
            let next = chars.peek().map(|(_, c)| *c);
            let is_after_gap = before.is_some_and(|c: char| c.is_whitespace() || "([—-".contains(c));
            let opens = is_after_gap && next.is_some_and(|c| c.is_alphanumeric() || c == '\'' || c == '*');
            if opens {
                depth += 1;
            } else {
                depth -= 1;
            }
            if depth == 0 {
                return Some((at, true));
            }
            last = Some((at, false));
        }
        before = Some(c);
    }
    last
}

/// Where single quotes close: at the end of a sentence or of the text, never within a word.
fn single_end(text: &str, mark: char) -> Option<usize> {
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == mark {
            let next = chars.peek().map(|(_, c)| *c);
            let is_outer = next.is_none_or(|c| c == '\n' || c == '[' || c == '*' || c == ']');
            let ends_sentence = next.is_none_or(char::is_whitespace) && before.is_some_and(|c| ".!?,…—".contains(c));
            if is_outer || ends_sentence {
                return Some(at);
            }
        }
        before = Some(c);
    }
    None
}

/// Where quotes close whose two marks differ, and the length of the mark.
pub(super) fn paired_end(text: &str, open: char) -> Option<(usize, usize)> {
    let closes: &[char] = match open {
        '“' => &['”', '"'],
        '„' => &['“', '”', '"'],
        '«' => &['»'],
        '「' => &['」'],
        '『' => &['』'],
        '‘' => &['’'],
        '〝' => &['〞', '〟'],
        '‹' => &['›'],
        _ => &['＂'],
    };
    if !text.contains(closes) {
        return None;
    }
    let mut depth = 1;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if closes.contains(&c) {
            // An apostrophe within a word is no closing mark.
            let is_inside = c == '’' && chars.peek().is_some_and(|(_, c)| c.is_alphanumeric());
            depth -= i32::from(!is_inside);
            if depth == 0 {
                return Some((at, c.len_utf8()));
            }
        } else if c == open {
            depth += 1;
        }
    }
    None
}

/// Whether words between asterisks tell what is done, and do not stress what is said.
fn is_act(before: &str, inner: &str, after: &str) -> bool {
    let begins = before.trim_end().chars().next_back().is_none_or(|c| ".!?…\"”»」:—)]".contains(c) || c == '\n')
        || before.ends_with('\n');
    is_between_sentences(before, after) || (begins && inner.trim_start().starts_with(char::is_lowercase))
}

/// Whether what stands before ends a sentence or nothing, and what follows begins one.
fn is_between_sentences(before: &str, after: &str) -> bool {
    let begins = before.trim_end().chars().next_back().is_none_or(|c| !c.is_alphanumeric());
    let ends = after.trim_start().chars().next().is_none_or(|c| !c.is_lowercase() && !",;:.!?".contains(c));
    begins && ends
}
