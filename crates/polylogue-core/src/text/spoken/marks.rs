//! Signs that stand for a face or a picture, and have no sound.

/// Pictures, dingbats, flags, and the invisible characters that join them.
pub(super) fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{200d}' | '\u{20e3}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2460}'..='\u{24ff}' | '\u{25a0}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}' | '\u{e0020}'..='\u{e007f}')
}

/// `:smile:` at the start: its length. A clock time is none.
pub(super) fn is_shortcode(text: &str) -> Option<usize> {
    let name = &text[1..][..text[1..].find(':')?];
    let is_name = name.len() >= 2
        && name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c == '+' || c == '-')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_+-".contains(c));
    is_name.then_some(name.len() + 2)
}

/// `:-)` and its like at the start: its length.
pub(super) fn is_emoticon(text: &str) -> Option<usize> {
    const FACES: [&str; 15] =
        [":-)", ":-(", ";-)", ":-D", ":-P", ":-/", ":-|", ":)", ":(", ";)", ":D", ":P", ":/", ":|", ":'("];
    let face = FACES.into_iter().find(|face| text.starts_with(face))?;
    text[face.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '/').then_some(face.len())
}
