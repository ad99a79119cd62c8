//! Captions of the whole conversation, in the two forms that players read.

use super::timeline::Placed;

/// Longer words are shown in parts, each for its share of the time.
const MAX_CAPTION_CHARS: usize = 84;

/// WebVTT, with the speakers as voices.
pub fn vtt(timeline: &[Placed]) -> String {
    let mut out = String::from("WEBVTT\n");
    for cue in cues(timeline) {
        let (start, end) = (stamp(cue.start_ms, '.'), stamp(cue.end_ms, '.'));
        let speaker = escape(&cue.speaker.replace('>', ""));
        out.push_str(&format!("\n{start} --> {end}\n<v {speaker}>{}\n", escape(&cue.words)));
    }
    out
}

/// SubRip, with the speaker before the words.
pub fn srt(timeline: &[Placed]) -> String {
    let mut out = String::new();
    for (at, cue) in cues(timeline).enumerate() {
        let (start, end) = (stamp(cue.start_ms, ','), stamp(cue.end_ms, ','));
        // An arrow within the words would end the cue for some players.
        let words = cue.words.replace("-->", "→");
        out.push_str(&format!("{}\n{start} --> {end}\n{}: {words}\n\n", at + 1, cue.speaker));
    }
    out
}

struct Cue<'a> {
    speaker: &'a str,
    words: String,
    start_ms: u64,
    end_ms: u64,
}

fn cues(timeline: &[Placed]) -> impl Iterator<Item = Cue<'_>> {
    timeline.iter().flat_map(|placed| {
        let parts = parts(&placed.words);
        let whole: u64 = parts.iter().map(|part| part.chars().count() as u64).sum::<u64>().max(1);
        let length = placed.end_ms - placed.start_ms;
        let mut shown = 0;
        parts.into_iter().map(move |words| {
            let start_ms = placed.start_ms + length * shown / whole;
            shown += words.chars().count() as u64;
            Cue { speaker: placed.speaker.name(), words, start_ms, end_ms: placed.start_ms + length * shown / whole }
        })
    })
}

/// Cuts words to parts that can be read at a glance, after a sentence where that leaves no crumb.
fn parts(words: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in words.split_whitespace() {
        let last = parts.last_mut().expect("there is always one");
        let length = last.chars().count();
        let is_full = length + 1 + word.chars().count() > MAX_CAPTION_CHARS;
        let is_sentence = length > MAX_CAPTION_CHARS / 2 && last.ends_with(['.', '!', '?', '…']);
        if length > 0 && (is_full || is_sentence) {
            parts.push(word.to_owned());
        } else {
            if length > 0 {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn stamp(ms: u64, point: char) -> String {
    format!("{:02}:{:02}:{:02}{point}{:03}", ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::{AgentId, LineId},
        line::Speaker,
    };

    fn placed(speaker: &str, words: &str, start_ms: u64, end_ms: u64) -> Placed {
        let speaker = Speaker::Agent(speaker.parse::<AgentId>().expect("a name"));
        Placed {
            line: LineId(1),
            speaker,
            words: words.to_owned(),
            path: String::new(),
            start_ms,
            end_ms,
            is_cut: false,
        }
    }

    #[test]
    fn both_forms_carry_times_speakers_and_words() {
        let timeline = [
            placed("alice", "Is 3 < 4 & 5 --> 6?", 0, 1250),
            placed(
                "bob",
                "This is a long answer that nobody could read at a glance. It has to be shown in parts, one after the other, while it is spoken.",
                3_600_500,
                3_612_500,
            ),
        ];
        assert_eq!(
            vtt(&timeline),
            "WEBVTT\n\n00:00:00.000 --> 00:00:01.250\n<v alice>Is 3 &lt; 4 &amp; 5 --&gt; 6?\n\n\
             01:00:00.500 --> 01:00:05.928\n<v bob>This is a long answer that nobody could read at a glance.\n\n\
             01:00:05.928 --> 01:00:12.500\n<v bob>It has to be shown in parts, one after the other, while it is spoken.\n"
        );
        assert_eq!(
            srt(&timeline),
            "1\n00:00:00,000 --> 00:00:01,250\nalice: Is 3 < 4 & 5 → 6?\n\n\
             2\n01:00:00,500 --> 01:00:05,928\nbob: This is a long answer that nobody could read at a glance.\n\n\
             3\n01:00:05,928 --> 01:00:12,500\nbob: It has to be shown in parts, one after the other, while it is spoken.\n\n"
        );
    }
}
