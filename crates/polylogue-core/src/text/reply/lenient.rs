//! A reader of almost-JSON: total, bounded in depth, and honest about what it repaired.
//!
//! It accepts what models write instead of JSON: other quotes, quotes and line breaks that were not
//! escaped, bare words, commas too many or too few, comments, and replies that break off.

use serde_json::{Map, Number, Value};

use super::Repair;

const MAX_DEPTH: usize = 48;

pub(super) struct Read {
    pub(super) value: Value,
    /// Bytes that the value took.
    pub(super) length: usize,
    pub(super) repairs: Vec<Repair>,
}

/// Reads one object from the start of the text. `None` when it is nested too deeply or says nothing.
pub(super) fn read(text: &str) -> Option<Read> {
    let mut reader = Reader { text, at: 0, repairs: Vec::new() };
    let value = reader.value(0)?;
    let says_something = value.as_object().is_some_and(|map| !map.is_empty());
    says_something.then_some(Read { value, length: reader.at, repairs: reader.repairs })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    repairs: Vec<Repair>,
}

#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Key,
    Object,
    Array,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn note(&mut self, repair: Repair) {
        if self.repairs.last() != Some(&repair) {
            self.repairs.push(repair);
        }
    }

    fn skip_blank(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += comment;
            self.note(Repair::Comment);
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_blank();
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some(quote) if closing(quote).is_some() => Some(Value::String(self.string(Inside::Object))),
            Some(_) => Some(self.word()),
            None => {
                self.note(Repair::Truncated);
                Some(Value::Null)
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.bump();
        let mut map = Map::new();
        loop {
            self.skip_blank();
            match self.peek() {
                None => {
                    self.note(Repair::Truncated);
                    break;
                }
                Some('}') => {
                    self.bump();
                    break;
                }
                // A bracket that closes something else: the object was not closed.
                Some(']') => {
                    self.note(Repair::Truncated);
                    break;
                }
                Some(',') => {
                    self.bump();
                    self.note(Repair::Comma);
                    continue;
                }
                Some(_) => {}
            }
            let key = self.key();
            self.skip_blank();
            if self.peek() == Some(':') {
                self.bump();
            } else if self.peek().is_none() {
                // A key without its value says nothing.
                self.note(Repair::Truncated);
                break;
            } else {
                self.note(Repair::BareWord);
            }
            let value = self.value(depth + 1)?;
            map.entry(key).or_insert(value);
            self.between('}');
        }
        Some(Value::Object(map))
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.bump();
        let mut items = Vec::new();
        loop {
            self.skip_blank();
            match self.peek() {
                None => {
                    self.note(Repair::Truncated);
                    break;
                }
                Some(']') => {
                    self.bump();
                    break;
                }
                Some('}') => {
                    self.note(Repair::Truncated);
                    break;
                }
                Some(',') => {
                    self.bump();
                    self.note(Repair::Comma);
                    continue;
                }
                Some(quote) if closing(quote).is_some() => {
                    let text = self.string(Inside::Array);
                    items.push(Value::String(text));
                }
                Some(_) => items.push(self.value(depth + 1)?),
            }
            self.between(']');
        }
        Some(Value::Array(items))
    }

    /// What stands between two members: a comma, which may be missing, or stand before the end.
    fn between(&mut self, end: char) {
        self.skip_blank();
        match self.peek() {
            Some(',') => {
                self.bump();
                self.skip_blank();
                if self.peek() == Some(end) {
                    self.note(Repair::Comma);
                }
            }
            Some(next) if next != '}' && next != ']' => self.note(Repair::Comma),
            Some(_) | None => {}
        }
    }

    fn key(&mut self) -> String {
        match self.peek() {
            Some(quote) if closing(quote).is_some() => self.string(Inside::Key),
            _ => {
                self.note(Repair::BareWord);
                let start = self.at;
                // At least one character, so that the reader always moves on.
                self.bump();
                while self.peek().is_some_and(|c| c != ':' && c != '{' && c != '}' && c != ',' && c != '\n') {
                    self.bump();
                }
                self.text[start..self.at].trim().to_owned()
            }
        }
    }

    /// A number, a literal, or words without quotes up to the end of the member.
    fn word(&mut self) -> Value {
        let start = self.at;
        self.bump();
        while self.peek().is_some_and(|c| !matches!(c, ',' | '}' | ']' | '\n')) {
            self.bump();
        }
        let word = self.text[start..self.at].trim();
        if self.peek().is_none() {
            // Nobody knows how the word would have gone on.
            self.note(Repair::Truncated);
            return Value::Null;
        }
        if let Ok(number) = word.parse::<Number>() {
            return Value::Number(number);
        }
        match word {
            "true" => return Value::Bool(true),
            "false" => return Value::Bool(false),
            "null" => return Value::Null,
            _ => self.note(Repair::BareWord),
        }
        match word {
            "True" | "TRUE" => Value::Bool(true),
            "False" | "FALSE" => Value::Bool(false),
            "None" | "NULL" | "undefined" | "NaN" => Value::Null,
            _ => Value::String(word.to_owned()),
        }
    }

    fn string(&mut self, inside: Inside) -> String {
        let open = self.bump().unwrap_or('"');
        if open != '"' {
            self.note(Repair::Quotes);
        }
        let close = closing(open).unwrap_or('"');
        let mut text = String::new();
        loop {
            match self.bump() {
                None => {
                    self.note(Repair::Truncated);
                    return text;
                }
                Some('\\') => self.escape(&mut text),
                Some(c) if c == close || (open == '"' && c == '”') => {
                    if self.ends_here(inside) {
                        return text;
                    }
                    self.note(Repair::InnerQuote);
                    text.push(c);
                }
                Some('\n') => {
                    self.note(Repair::RawNewline);
                    text.push('\n');
                }
                Some(c) => text.push(c),
            }
        }
    }

    /// Whether a quote just read closes its string: what follows must be the rest of an object or array.
    fn ends_here(&self, inside: Inside) -> bool {
        let rest = self.text[self.at..].trim_start();
        let Some(next) = rest.chars().next() else { return true };
        match (inside, next) {
            (Inside::Key, ':') => true,
            (Inside::Key, _) => false,
            (_, '}' | ']') => true,
            (_, '/') if rest.starts_with("//") || rest.starts_with("/*") => true,
            (Inside::Array, ',') => true,
            (Inside::Object, ',') => starts_member(&rest[1..]),
            (Inside::Object, _) => starts_quoted_member(rest),
            (Inside::Array, _) => false,
        }
    }

    fn escape(&mut self, text: &mut String) {
        match self.bump() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b' | 'f') => {}
            Some('u') => text.push(self.unicode()),
            Some(c) => text.push(c),
            None => {}
        }
    }

    fn unicode(&mut self) -> char {
        let Some(high) = self.hex4() else { return char::REPLACEMENT_CHARACTER };
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER);
        }
        if !self.text[self.at..].starts_with("\\u") {
            return char::REPLACEMENT_CHARACTER;
        }
        self.at += 2;
        match self.hex4() {
            Some(low @ 0xdc00..=0xdfff) => char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                .unwrap_or(char::REPLACEMENT_CHARACTER),
            _ => char::REPLACEMENT_CHARACTER,
        }
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let code = u32::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(code)
    }
}

/// The quote that closes what this one opens.
fn closing(open: char) -> Option<char> {
    match open {
        '"' => Some('"'),
        '\'' => Some('\''),
        '“' | '„' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        '`' => Some('`'),
        _ => None,
    }
}

/// The longest key that is looked for after a comma.
const MAX_KEY: usize = 40;

/// Whether a member of an object begins here: a key and a colon, or the object's end.
fn starts_member(text: &str) -> bool {
    let text = text.trim_start();
    if text.is_empty() || text.starts_with(['}', ']', ',']) || text.starts_with("//") {
        return true;
    }
    if starts_quoted_member(text) {
        return true;
    }
    let word = text.char_indices().take(MAX_KEY).find(|(_, c)| !c.is_alphanumeric() && *c != '_');
    word.is_some_and(|(end, _)| end > 0 && text[end..].trim_start().starts_with(':'))
}

fn starts_quoted_member(text: &str) -> bool {
    let mut chars = text.char_indices();
    let Some(close) = chars.next().and_then(|(_, open)| closing(open)) else { return false };
    chars
        .take(MAX_KEY)
        .find(|(_, c)| *c == close)
        .is_some_and(|(at, c)| text[at + c.len_utf8()..].trim_start().starts_with(':'))
}
