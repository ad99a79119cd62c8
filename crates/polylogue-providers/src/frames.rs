//! Splits a body into frames as it arrives: server-sent events, or lines of JSON.
//!
//! It works on bytes, so a character may be cut anywhere, and it never waits for more than it needs.

/// How a server separates the pieces of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `event:` and `data:` lines, a blank line after each event.
    Events,
    /// One JSON document on each line.
    Lines,
}

/// One piece of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The name of the event, where it has one.
    pub(crate) name: String,
    pub(crate) data: String,
}

/// The frames of one body.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    /// Bytes of a line that is not complete.
    line: Vec<u8>,
    /// A carriage return ended the last line, so a line feed that follows belongs to it.
    after_return: bool,
    pending: Frame,
    has_data: bool,
}

/// The body is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream is not UTF-8")]
pub(crate) struct NotText;

impl Frames {
    pub(crate) fn new(framing: Framing) -> Self {
        Frames { framing, line: Vec::new(), after_return: false, pending: Frame::default(), has_data: false }
    }

    /// Takes the next bytes and gives the frames that are complete with them.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, NotText> {
        let mut frames = Vec::new();
        for &byte in bytes {
            let follows_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    frames.extend(self.end_line()?);
                }
                _ => self.line.push(byte),
            }
        }
        Ok(frames)
    }

    /// What is left when the body ends: servers forget the last blank line.
    pub(crate) fn finish(&mut self) -> Result<Option<Frame>, NotText> {
        if !self.line.is_empty() {
            let complete = self.end_line()?;
            if complete.is_some() {
                return Ok(complete);
            }
        }
        Ok(self.dispatch())
    }

    fn end_line(&mut self) -> Result<Option<Frame>, NotText> {
        let bytes = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&bytes).map_err(|_| NotText)?.trim_start_matches('\u{feff}');
        match self.framing {
            Framing::Lines if line.trim().is_empty() => Ok(None),
            Framing::Lines => Ok(Some(Frame { name: String::new(), data: line.to_owned() })),
            Framing::Events if line.is_empty() => Ok(self.dispatch()),
            Framing::Events => {
                self.field(line);
                Ok(None)
            }
        }
    }

    /// A field of the event that is being read. Comments, ids and reconnection times are nothing to us.
    fn field(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.pending.data.push('\n');
                }
                self.pending.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.pending.name),
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Frame> {
        let frame = std::mem::take(&mut self.pending);
        std::mem::take(&mut self.has_data).then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(framing: Framing, body: &str, expected: &[(&str, &str)]) {
        let expected: Vec<Frame> =
            expected.iter().map(|(name, data)| Frame { name: (*name).into(), data: (*data).into() }).collect();
        // However the bytes are cut, the frames are the same.
        for size in [1, 2, 3, 7, body.len().max(1)] {
            let mut frames = Frames::new(framing);
            let mut got = Vec::new();
            for piece in body.as_bytes().chunks(size) {
                got.extend(frames.push(piece).unwrap());
            }
            got.extend(frames.finish().unwrap());
            assert_eq!(got, expected, "in pieces of {size}: {body:?}");
        }
    }

    #[test]
    fn events_are_split_however_they_are_written() {
        use Framing::{Events, Lines};
        check(Events, "data: {}\n\n", &[("", "{}")]);
        check(Events, "event: ping\r\ndata: a\r\n\r\ndata:b\r\rdata: c\n\n", &[("ping", "a"), ("", "b"), ("", "c")]);
        check(Events, ": comment\n\nid: 7\nretry: 10\ndata: one\ndata: two\n\n", &[("", "one\ntwo")]);
        check(Events, "\u{feff}data: é日\n\nevent: empty\n\n", &[("", "é日")]);
        check(Events, "data: [DONE]", &[("", "[DONE]")]);
        check(Events, "data: last\n", &[("", "last")]);
        check(Events, "", &[]);
        check(Lines, "{\"a\": 1}\n\n{\"b\": 2}\r\n{\"c\"", &[("", "{\"a\": 1}"), ("", "{\"b\": 2}"), ("", "{\"c\"")]);
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        assert_eq!(Frames::new(Framing::Events).push(b"data: \xff\xfe\n"), Err(NotText));
    }
}
