//! Text out of tokens: a character may come in several of them.

/// The bytes that do not make a character yet.
#[derive(Debug, Default)]
pub(super) struct Text {
    begun: Vec<u8>,
}

impl Text {
    /// The text that is complete with these bytes. What can be no text is replaced.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let mut complete = String::new();
        loop {
            match std::str::from_utf8(&self.begun) {
                Ok(text) => {
                    complete.push_str(text);
                    self.begun.clear();
                    return complete;
                }
                Err(error) => {
                    let valid = error.valid_up_to();
                    complete.push_str(&String::from_utf8_lossy(&self.begun[..valid]));
                    match error.error_len() {
                        None => {
                            self.begun.drain(..valid);
                            return complete;
                        }
                        Some(wrong) => {
                            complete.push(char::REPLACEMENT_CHARACTER);
                            self.begun.drain(..valid + wrong);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_whole_however_they_are_cut() {
        let mut text = Text::default();
        let bytes = "né 日 🦀".as_bytes();
        let pieces: Vec<String> = bytes.iter().map(|byte| text.push(&[*byte])).collect();
        assert_eq!(pieces.concat(), "né 日 🦀");
        assert_eq!(pieces[1], "", "half a character is no text");
        assert_eq!(text.push(&[0xff, b'a', 0xc3]), "\u{fffd}a");
        assert_eq!(text.push(b"b"), "\u{fffd}b");
    }
}
