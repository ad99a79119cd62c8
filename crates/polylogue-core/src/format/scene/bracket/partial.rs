//! A reply that is still arriving: its words, and nothing of the bracket.

use super::{MAX_TEXT, cleaned, draft::unescaped, scan};
use crate::text::reply;

/// The words in quotes after the bracket, as far as they have arrived. A reply without that form is shown when it is
/// complete. What more of a reply tells begins with what less of it told.
pub(in super::super) fn words_so_far(partial: &str) -> String {
    let text = reply::thought_through(partial);
    let words = after_bracket(&text).and_then(words).unwrap_or_default();
    // An act in quotes is still an act.
    if words.trim_start().starts_with('*') {
        return String::new();
    }
    cleaned(&unescaped(words.trim_end_matches('\\')), MAX_TEXT)
}

/// What follows the first bracket, once that is closed.
fn after_bracket(text: &str) -> Option<&str> {
    let open = text.find('[')?;
    let rest = &text[open + 1..];
    let (end, close) = scan::bracket_end(rest, '[')?;
    Some(&rest[end + close..])
}

/// What stands in the first quotes, which may be open. A quote at the very end may be the closing one.
fn words(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let open = text.chars().next()?;
    let inner = &text[open.len_utf8()..];
    let closed = match open {
        '"' => scan::straight_end(inner).filter(|(_, is_closed)| *is_closed).map(|(end, _)| end),
        '“' | '„' | '«' | '「' => scan::paired_end(inner, open).map(|(end, _)| end),
        _ => return None,
    };
    Some(closed.map_or_else(|| inner.strip_suffix('"').unwrap_or(inner), |end| &inner[..end]))
}
