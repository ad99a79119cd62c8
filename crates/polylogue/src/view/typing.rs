//! A line that a person types where others are still being printed: the keys as they come, until Enter.

/// The longest line that is taken.
const MAX_CHARS: usize = 4_000;

/// What keys have come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A whole line.
    Line(String),
    /// Nothing will be typed any more.
    End,
}

/// A line as it is typed. Keys that mean nothing here, such as arrows, do nothing.
#[derive(Debug, Default)]
pub(crate) struct Typing {
    text: String,
    /// The bytes of a sign that has not come whole.
    rest: Vec<u8>,
    escape: Escape,
}

/// How far the keys are within a sequence that is no text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Begun,
    /// Up to a byte that ends it.
    Sequence,
}

impl Typing {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Takes these keys, and tells what became whole with them.
    pub(crate) fn take(&mut self, keys: &[u8]) -> Vec<Typed> {
        keys.iter().filter_map(|key| self.key(*key)).collect()
    }

    fn key(&mut self, key: u8) -> Option<Typed> {
        match (self.escape, key) {
            (Escape::Begun, b'[' | b'O') => self.escape = Escape::Sequence,
            (Escape::Begun, _) => self.escape = Escape::None,
            (Escape::Sequence, 0x40..=0x7e) => self.escape = Escape::None,
            (Escape::Sequence, _) => {}
            (Escape::None, 0x1b) => self.escape = Escape::Begun,
            (Escape::None, b'\r' | b'\n') => return Some(Typed::Line(std::mem::take(&mut self.text))),
            // Ctrl-D, where nothing is typed.
            (Escape::None, 0x04) => return self.text.is_empty().then_some(Typed::End),
            (Escape::None, 0x08 | 0x7f) => drop(self.text.pop()),
            // Ctrl-U and Ctrl-W.
            (Escape::None, 0x15) => self.text.clear(),
            (Escape::None, 0x17) => {
                let kept = self.text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.text.truncate(kept);
            }
            (Escape::None, 0x00..0x20) => {}
            (Escape::None, key) => self.sign(key),
        }
        None
    }

    fn sign(&mut self, key: u8) {
        self.rest.push(key);
        match std::str::from_utf8(&self.rest) {
            Ok(sign) => {
                if self.text.chars().count() < MAX_CHARS {
                    self.text.push_str(sign);
                }
                self.rest.clear();
            }
            Err(error) if error.error_len().is_some() => self.rest.clear(),
            // More of it is to come.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_lines() {
        let line = |text: &str| Typed::Line(text.to_owned());
        for (keys, typed, left) in [
            ("Hello.\r", vec![line("Hello.")], ""),
            ("one\ntwo\nthr", vec![line("one"), line("two")], "thr"),
            ("\n", vec![line("")], ""),
            ("abc\u{7f}\u{7f}d", vec![], "ad"),
            ("schön\u{8}", vec![], "schö"),
            ("雪が\n", vec![line("雪が")], ""),
            ("I know that\u{17}this", vec![], "I know this"),
            ("all of it\u{15}new", vec![], "new"),
            ("a\u{1b}[Db\u{1b}OCc\u{1b}[3~d\u{1b}xe", vec![], "abcde"),
            ("\u{4}", vec![Typed::End], ""),
            ("a\u{4}", vec![], "a"),
            ("\u{1}\u{7}a\t", vec![], "a"),
        ] {
            let mut whole = Typing::default();
            assert_eq!((whole.take(keys.as_bytes()), whole.text()), (typed.clone(), left), "{keys:?}");
            // However they arrive.
            let mut single = Typing::default();
            let one_by_one: Vec<Typed> = keys.bytes().flat_map(|key| single.take(&[key])).collect();
            assert_eq!((one_by_one, single.text()), (typed, left), "{keys:?}");
        }
        let mut typing = Typing::default();
        typing.take("x".repeat(MAX_CHARS + 9).as_bytes());
        assert_eq!(typing.text().len(), MAX_CHARS);
        assert_eq!(
            Typing::default().take(&[0xff, 0xfe, b'\n']),
            [Typed::Line(String::new())],
            "what is no text is none"
        );
    }
}
