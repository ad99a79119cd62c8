//! Words that a person hands over on the command line: as they are, from standard input (`-`) or from a file (`@FILE`).

use std::{
    fs::File,
    io::{self, Read, stdin},
};

use crate::failure::Failure;

/// The most that is read. What a format takes is less.
const MAX_BYTES: u64 = 1024 * 1024;

pub(crate) fn given(text: String) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        None if text == "-" => from(&mut stdin().lock(), "standard input"),
        None => Ok(text),
        Some(path) => {
            let mut file = File::open(path).map_err(|error| {
                let problem = match error.kind() {
                    io::ErrorKind::NotFound => "there is no such file".to_owned(),
                    kind => kind.to_string(),
                };
                Failure::request(format!(
                    "@{path} cannot be read: {problem}; put a space before the @ where it is no file"
                ))
            })?;
            from(&mut file, path)
        }
    }
}

/// All that can be read there, as text.
pub(crate) fn from(reader: &mut dyn Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = reader.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::request(format!("{name} cannot be read: {}", error.kind())))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::request(format!("{name} is larger than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::request(format!("{name} is not UTF-8 text")))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
