//! Finds what may be the value in a reply: past thinking, inside fences, between prose.

use std::borrow::Cow;

use serde_json::Value;

use super::{MAX_BYTES, Repair, lenient};

/// How many places are tried as the start of the value.
const MAX_CANDIDATES: usize = 64;

/// How many passages of thinking are removed, of each kind.
const MAX_THOUGHTS: usize = 16;

/// A value found in a reply and what it took to read it.
pub(super) struct Candidate {
    pub(super) value: Value,
    pub(super) repairs: Vec<Repair>,
}

/// Bounds the text and removes thinking aloud.
pub(super) fn prepare(text: &str) -> (Cow<'_, str>, Vec<Repair>) {
    let mut repairs = Vec::new();
    let mut end = text.len().min(MAX_BYTES);
    if end < text.len() {
        repairs.push(Repair::TooLong);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
    }
    let mut text = Cow::Borrowed(&text[..end]);
    for tag in ["think", "thinking", "reasoning"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        for _ in 0..MAX_THOUGHTS {
            let Some(end) = text.find(&close) else { break };
            let start = text[..end].find(&open).unwrap_or(0);
            text = Cow::Owned(format!("{}{}", &text[..start], &text[end + close.len()..]));
            repairs.push(Repair::Thinking);
        }
    }
    (text, repairs)
}

/// Every object that can be read from some place of the text: fenced places first, then left to right.
pub(super) fn candidates(text: &str) -> impl Iterator<Item = Candidate> + '_ {
    let fenced = fences(text);
    let starts: Vec<(usize, bool)> = text
        .match_indices('{')
        .take(MAX_CANDIDATES)
        .map(|(at, _)| (at, fenced.iter().any(|(from, to)| (*from..*to).contains(&at))))
        .collect();
    let inside = starts.clone().into_iter().filter(|(_, fenced)| *fenced);
    let outside = starts.into_iter().filter(|(_, fenced)| !*fenced);
    inside.chain(outside).filter_map(move |(start, is_fenced)| {
        let read = lenient::read(&text[start..])?;
        let mut repairs = read.repairs;
        let (before, after) = (&text[..start], &text[start + read.length..]);
        if is_fenced {
            repairs.push(Repair::Fence);
        } else if !before.trim().is_empty() || !after.trim().is_empty() {
            repairs.push(Repair::Prose);
        }
        if after.contains('{') {
            repairs.push(Repair::FirstOfSeveral);
        }
        Some(Candidate { value: read.value, repairs })
    })
}

/// The insides of code fences; the last may be open.
fn fences(text: &str) -> Vec<(usize, usize)> {
    let marks: Vec<usize> = text.match_indices("```").map(|(at, _)| at).collect();
    marks.chunks(2).map(|pair| (pair[0], pair.get(1).copied().unwrap_or(text.len()))).collect()
}
