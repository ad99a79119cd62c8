//! How Japanese is pronounced. espeak-ng knows kana and spells Chinese signs as such, so that a sentence becomes a row of
//! "Chinese letter". `mecab` with its dictionary, a program of the system's packages, knows how they are read.

use std::{io, process::Stdio, time::Duration};

use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use super::failed;
use crate::speech::engine::EngineError;

const TIME_LIMIT: Duration = Duration::from_secs(20);
/// The dictionary's field for the pronunciation: は is ワ where it is said so.
const FORMAT: [&str; 3] = ["--node-format=%f[8] ", "--unk-format=%m ", "--eos-format=\n"];

/// The words in kana; as they are where they have no Chinese signs.
pub(super) async fn of(words: &str) -> Result<String, EngineError> {
    if !words.chars().any(is_chinese) {
        return Ok(words.to_owned());
    }
    let mut command = Command::new("mecab");
    command.args(FORMAT).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => EngineError::Unavailable(missing()),
        _ => failed(error),
    })?;
    let mut stdin = child.stdin.take().ok_or_else(|| failed("mecab takes no words"))?;
    let written = words.replace(['\n', '\r'], " ") + "\n";
    let read = async move {
        let write = async move {
            stdin.write_all(written.as_bytes()).await?;
            stdin.shutdown().await
        };
        let (_, output) = tokio::join!(write, child.wait_with_output());
        output
    };
    let output = timeout(TIME_LIMIT, read).await.map_err(|_| failed("mecab took too long"))?.map_err(failed)?;
    let kana = joined(&String::from_utf8_lossy(&output.stdout));
    // Without its dictionary it says nothing, or gives the signs back.
    match output.status.success() && !kana.is_empty() && !kana.chars().all(is_chinese) {
        true => Ok(kana),
        false => Err(EngineError::Unavailable(missing())),
    }
}

fn missing() -> String {
    "Japanese needs mecab to be read: install mecab and mecab-ipadic-utf8 with the system's packages".to_owned()
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Words apart, but for those of which the first ends in a doubled consonant: it is the next one's.
fn joined(read: &str) -> String {
    let mut kana = String::new();
    for word in read.split_whitespace().filter(|word| *word != "*") {
        if !kana.is_empty() && !kana.ends_with(['ッ', 'っ']) {
            kana.push(' ');
        }
        kana.push_str(word);
    }
    kana
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubled_consonant_is_the_next_words() {
        assert_eq!(joined("フッ テ イ マス 。 \n"), "フッテ イ マス 。");
        assert_eq!(joined("* \n"), "");
    }

    #[tokio::test]
    async fn kana_need_no_reading() {
        assert_eq!(of("ありがとう、ミホ。").await.as_deref(), Ok("ありがとう、ミホ。"));
    }
}
