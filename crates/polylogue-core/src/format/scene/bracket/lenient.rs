//! The reading of a reply that is not in the canonical form.

use super::{
    Action, MAX_BYTES, Problem, body,
    cast::Cast,
    draft::Draft,
    header, items, object,
    problem::told,
    scan::{self, Piece, Token},
};
use crate::text::reply::{self, Repair};

pub(super) fn read(reply: &str, speaker: &str, others: &[&str]) -> (Action, Vec<Problem>) {
    let cast = Cast { speaker, others };
    let mut draft = Draft::default();
    let text = prepared(reply, &mut draft);
    if text.trim_start().starts_with('{')
        && let Some(mut read) = object::read(&text, &cast)
    {
        read.problems.append(&mut draft.problems);
        return read.finish();
    }
    if text.trim().is_empty() {
        draft.note(Problem::EmptyReply);
        return draft.finish();
    }
    let own = own_part(&text, &cast, &mut draft);
    response(own, &cast, &mut draft);
    draft.finish()
}

/// The languages that models give a fence around a reply.
const FENCED: &[&str] = &["", "text", "txt", "plaintext", "plain", "json", "markdown", "md", "yaml", "xml"];

/// The reply within its bounds, without thinking, fences, and doubled asterisks.
fn prepared(reply: &str, draft: &mut Draft) -> String {
    let (text, repairs) = reply::without_thinking(reply);
    for repair in repairs {
        draft.note(if repair == Repair::TooLong { Problem::TooLong } else { Problem::Thinking });
    }
    let mut end = text.len().min(MAX_BYTES);
    if end < text.len() {
        draft.note(Problem::TooLong);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
    }
    let mut out = String::with_capacity(end);
    let mut is_fenced = false;
    for line in text[..end].split_inclusive('\n') {
        match line.trim_start().strip_prefix("```") {
            // A fence line may name a language; what else it has is text.
            Some(rest) => {
                is_fenced = true;
                let rest = rest.trim();
                if !FENCED.contains(&rest.to_lowercase().as_str()) {
                    out.push_str(rest.trim_end_matches('`'));
                }
                out.push('\n');
            }
            None => out.push_str(line),
        }
    }
    if is_fenced {
        draft.note(Problem::Fence);
    }
    let mut plain = String::with_capacity(out.len());
    for c in out.chars() {
        if c != '*' || !plain.ends_with('*') {
            plain.push(c);
        }
    }
    let trimmed = plain.trim();
    match trimmed.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        Some(inner) if !inner.contains('`') => inner.to_owned(),
        _ => trimmed.to_owned(),
    }
}

/// The part of the reply that is the speaker's own first response: without names before it, and up to the place
/// where it goes on as another, as the moderator, or as the speaker once more.
fn own_part<'t>(text: &'t str, cast: &Cast<'_>, draft: &mut Draft) -> &'t str {
    let mut start = 0;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let (at, end) = (offset, offset + line.len());
        offset = end;
        let own = text[start.min(at)..at].trim();
        let has_own = own.contains(char::is_alphanumeric);
        if let Some(rest) = cast.after_speaker(line) {
            if is_response(own) && own.contains(['"', '[', '*', '“', '「', '«']) {
                draft.note(Problem::SecondResponse { text: told(&text[at..]) });
                return own;
            }
            if has_own {
                draft.note(Problem::TextBeforeBracket { text: told(own) });
            }
            if rest.contains(char::is_alphanumeric) || text[end..].contains(char::is_alphanumeric) {
                draft.note(Problem::NamePrefix);
                start = end - rest.len();
            }
        } else if let Some(rest) = cast.after_other(line) {
            draft.note(Problem::WentOnAsAnother { text: told(&text[at..]) });
            if has_own {
                draft.spare(&bare(&text[end - rest.len()..]));
                return own;
            }
            // The reply begins as another: without that name it is still what was said.
            start = end - rest.len();
        } else if is_moderators(line) {
            draft.note(Problem::WentOnAsAnother { text: told(&text[at..]) });
            draft.spare(&bare(line));
            if has_own {
                return own;
            }
            start = end;
        }
    }
    text[start..].trim()
}

/// Whether somebody says or does something here. Marks without a word are no response, and neither is a bracket
/// that only says to whom and how.
fn is_response(text: &str) -> bool {
    let mut outside = text.split('[').map(|part| part.rsplit(']').next().unwrap_or_default());
    let lower = text.to_lowercase();
    let is_done = text.contains('*') || ["silen", "react", "interrupt"].iter().any(|word| lower.contains(word));
    text.contains(char::is_alphanumeric) && (is_done || outside.any(|part| part.contains(char::is_alphanumeric)))
}

fn is_moderators(line: &str) -> bool {
    let line = line.trim_start_matches(['*', '_', '#', '>', ' ', '\t']);
    line.strip_prefix('[').and_then(|rest| rest.split_once(']')).is_some_and(|(inner, _)| items::is_foreign(inner))
}

/// Words without the marks of the form.
fn bare(text: &str) -> String {
    text.replace(['[', ']', '"', '*', '“', '”'], " ")
}

/// One response: the bracket, and what is said and done around it.
fn response(text: &str, cast: &Cast<'_>, draft: &mut Draft) {
    let text = unbracketed(text, cast, draft);
    let pieces = scan::pieces(text);
    let mut before: Vec<Piece<'_>> = Vec::new();
    let mut body: Vec<Piece<'_>> = Vec::new();
    for (place, piece) in pieces.iter().enumerate() {
        let is_bracket = matches!(piece.token, Token::Bracket { .. });
        let is_header = is_bracket && (items::is_keyed(piece.inner) || (place == 0 && !draft.has_header));
        if !is_header {
            body.push(*piece);
            continue;
        }
        let has_body = body.iter().any(|piece| piece.token != Token::Act && piece.has_words());
        if draft.has_header && has_body {
            draft.note(Problem::SecondResponse { text: told(&text[piece.start..]) });
            break;
        }
        if piece.token == (Token::Bracket { is_closed: false }) {
            draft.note(Problem::NoClosingBracket);
        }
        draft.has_header = true;
        header::read(piece.inner, cast, draft);
        before.append(&mut body);
    }
    if !draft.has_header {
        draft.note(Problem::NoBracket);
    }
    let says = |pieces: &[Piece<'_>]| {
        pieces.iter().any(|piece| match piece.token {
            Token::Quoted { .. } => !piece.inner.trim().is_empty(),
            Token::Plain | Token::Bracket { .. } => piece.has_words(),
            Token::Act => false,
        })
    };
    if says(&body) || draft.kind.is_some_and(|kind| !kind.is_verbal()) {
        leave_out(before, draft);
    } else if !before.is_empty() {
        // Nothing follows the bracket: what stands before it is what was said.
        before.append(&mut body);
        body = before;
    }
    let body = without_second(text, body, draft);
    body::read(text, &body, draft);
}

/// Takes a header that stands without its opening bracket, and returns what follows it.
fn unbracketed<'t>(text: &'t str, cast: &Cast<'_>, draft: &mut Draft) -> &'t str {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric());
    let is_word = matches!(word.to_lowercase().as_str(), "silent" | "silence") && !text.contains('*');
    if !(items::begins_bare(text) || (is_word && !text.starts_with('['))) {
        return text;
    }
    draft.note(Problem::NoBracket);
    draft.has_header = true;
    let mut rest = text;
    // Each key may stand on a line of its own.
    for _ in 0..MAX_INNER {
        let end = items::open_end(rest);
        header::read(&rest[..end], cast, draft);
        rest = rest[end..].trim_start_matches([']', ' ', '\n']);
        if !items::begins_bare(rest) {
            break;
        }
    }
    rest
}

/// What stands before the bracket is left out, but for acts.
fn leave_out(before: Vec<Piece<'_>>, draft: &mut Draft) {
    for piece in before {
        match piece.token {
            Token::Act => draft.act(piece.inner),
            Token::Plain | Token::Quoted { .. } | Token::Bracket { .. } => {
                if piece.has_words() {
                    draft.note(Problem::TextBeforeBracket { text: told(piece.inner) });
                    draft.spare(piece.inner);
                }
            }
        }
    }
}

/// How many brackets within quotes that do not close are looked at.
const MAX_INNER: usize = 16;

/// Quotes that do not close end before the next response.
fn without_second<'t>(text: &'t str, body: Vec<Piece<'t>>, draft: &mut Draft) -> Vec<Piece<'t>> {
    let mut kept = Vec::new();
    for piece in body {
        if piece.token == (Token::Quoted { is_closed: false }) {
            let brackets = piece.inner.match_indices('[').take(MAX_INNER).map(|(at, _)| at);
            let second = brackets.filter(|at| piece.inner[..*at].contains(char::is_alphanumeric)).find(|at| {
                let inner = &piece.inner[at + 1..];
                let inner = &inner[..items::open_end(inner)];
                items::is_keyed(inner.split('[').next().unwrap_or_default())
            });
            if let Some(at) = second {
                let start = piece.start + text[piece.start..].find(piece.inner).unwrap_or(0) + at;
                draft.note(Problem::SecondResponse { text: told(&text[start..]) });
                kept.push(Piece { inner: &piece.inner[..at], end: start, ..piece });
                break;
            }
        }
        kept.push(piece);
    }
    kept
}
