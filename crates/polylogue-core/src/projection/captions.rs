//! Captions of the whole conversation, in the two forms that players read.

use super::timeline::Placed;
use crate::text::cut::stands_alone;

/// Longer words are shown in parts, each for its share of the time.
const MAX_WIDTH: u64 = 84;
/// How many letters can be read in a second.
const READ_PER_SECOND: u64 = 16;
/// No caption is gone before it was seen.
const MIN_MS: u64 = 1_200;

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
    for (at, cue) in cues(timeline).into_iter().enumerate() {
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

/// A cue for each part of each line, in order of their beginnings. It stands at least as long as it takes to read, past
/// the end of its words where they are spoken faster; at most two stand at a time.
fn cues(timeline: &[Placed]) -> Vec<Cue<'_>> {
    let mut cues = Vec::new();
    for (at, placed) in timeline.iter().enumerate() {
        let parts = parts(&placed.words);
        let whole: u64 = parts.iter().map(|part| width(part)).sum::<u64>().max(1);
        let spoken_ms = placed.end_ms - placed.start_ms;
        let lengths: Vec<u64> =
            parts.iter().map(|part| (spoken_ms * width(part) / whole).max(reading_ms(part))).collect();
        let wanted_ms: u64 = lengths.iter().sum::<u64>().max(1);
        let free_ms = timeline.get(at + 2).map_or(u64::MAX, |next| next.start_ms.saturating_sub(placed.start_ms));
        let shown_ms = wanted_ms.min(free_ms.max(spoken_ms)).max(spoken_ms);
        let mut begun = 0;
        for (words, length) in parts.into_iter().zip(lengths) {
            let start_ms = placed.start_ms + shown_ms * begun / wanted_ms;
            begun += length;
            let end_ms = placed.start_ms + shown_ms * begun / wanted_ms;
            cues.push(Cue { speaker: &placed.name, words, start_ms, end_ms });
        }
    }
    cues.sort_by_key(|cue| cue.start_ms);
    cues
}

/// How long it takes to read words at a glance.
fn reading_ms(words: &str) -> u64 {
    (width(words) * 1000).div_ceil(READ_PER_SECOND).max(MIN_MS)
}

/// How much there is to read: a sign of a script that writes a word with one or two counts for two letters.
fn width(words: &str) -> u64 {
    words.chars().map(|c| if stands_alone(c) { 2 } else { 1 }).sum()
}

/// Cuts words to parts that can be read at a glance, after a sentence where that leaves no crumb. A script without
/// spaces is cut after its punctuation, or anywhere.
fn parts(words: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for (word, is_apart) in pieces(words) {
        let last = parts.last_mut().expect("there is always one");
        let length = width(last);
        let is_full = length + u64::from(is_apart) + width(word) > MAX_WIDTH;
        let is_sentence = length > MAX_WIDTH / 2 && last.ends_with(['.', '!', '?', '…', '。', '！', '？']);
        if length > 0 && (is_full || is_sentence) {
            parts.push(word.to_owned());
        } else {
            if length > 0 && is_apart {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The pieces that a caption can end after, and whether each stands apart from the one before it.
fn pieces(words: &str) -> Vec<(&str, bool)> {
    let mut pieces = Vec::new();
    for word in words.split_whitespace() {
        let (mut begin, mut is_apart) = (0, true);
        for (at, c) in word.char_indices() {
            let end = at + c.len_utf8();
            let is_long = width(&word[begin..end]) >= MAX_WIDTH / 2 && stands_alone(c);
            let closes = |next: char| "。、！？，…」』）".contains(next);
            if (is_long || "。、！？，".contains(c)) && !word[end..].starts_with(closes) {
                pieces.push((&word[begin..end], is_apart));
                (begin, is_apart) = (end, false);
            }
        }
        if begin < word.len() {
            pieces.push((&word[begin..], is_apart));
        }
    }
    pieces
}

fn stamp(ms: u64, point: char) -> String {
    format!("{:02}:{:02}:{:02}{point}{:03}", ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::id::Seq;

    fn placed(name: &str, words: &str, start_ms: u64, end_ms: u64) -> Placed {
        Placed {
            seq: Seq(1),
            name: name.into(),
            is_narrator: false,
            words: words.to_owned(),
            path: String::new(),
            start_ms,
            end_ms,
            is_cut: false,
            level_db: 0.0,
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

    #[test]
    fn a_caption_stands_long_enough_and_at_most_two_at_a_time() {
        let timeline = [
            placed("Alice", "No!", 0, 300),
            placed("Bob", "But you said that I could have the rest of the week.", 500, 2_000),
            placed("Alice", "Well.", 2_300, 2_700),
            placed("Narrator", "The phone rings.", 9_000, 10_000),
        ];
        let times: Vec<(u64, u64)> = cues(&timeline).iter().map(|cue| (cue.start_ms, cue.end_ms)).collect();
        assert_eq!(times, [(0, 1_200), (500, 3_750), (2_300, 3_500), (9_000, 10_200)]);
        // Where three follow each other too fast, the first makes room.
        let timeline =
            [placed("A", "No, no, no, and no.", 0, 300), placed("B", "Yes.", 400, 700), placed("A", "No.", 800, 1_000)];
        assert_eq!(cues(&timeline)[0].end_ms, 800);
    }

    #[test]
    fn scripts_without_spaces_are_cut_after_their_signs() {
        let words = "昨日の夜、駅でずっと待っていたんだよ。どうして電話をくれなかったの？雨が降っていて、とても寒かったし、心配もしたんだから。";
        let parts = parts(words);
        assert_eq!(parts.concat(), words);
        assert!(parts.len() > 1 && parts.iter().all(|part| width(part) <= MAX_WIDTH), "{parts:?}");
        assert!(parts[..parts.len() - 1].iter().all(|part| part.ends_with(['。', '、', '？'])), "{parts:?}");
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_times_go_forward(
            lines in prop::collection::vec(("[a-zA-Z。、漢字 .!?]{0,120}|\\PC{0,80}", 50..6_000u64, 0..3_000u64), 0..8),
        ) {
            let mut at = 0;
            let mut timeline = Vec::new();
            for (words, length, pause) in &lines {
                timeline.push(placed("A", words, at, at + length));
                at += length + pause;
            }
            let cues = cues(&timeline);
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            let said: String = lines.iter().map(|(words, ..)| squeeze(words)).collect();
            let mut shown: Vec<char> = cues.iter().flat_map(|cue| squeeze(&cue.words).chars().collect::<Vec<_>>()).collect();
            let mut said: Vec<char> = said.chars().collect();
            // Cues of two lines may alternate.
            shown.sort_unstable();
            said.sort_unstable();
            prop_assert_eq!(shown, said);
            for cue in &cues {
                prop_assert!(cue.end_ms >= cue.start_ms);
                let others = cues.iter().filter(|other| other.start_ms <= cue.start_ms && cue.start_ms < other.end_ms);
                prop_assert!(others.count() <= 2, "more than two at {}", cue.start_ms);
            }
        }
    }
}
