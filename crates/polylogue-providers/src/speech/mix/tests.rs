//! The mix, measured from its samples.

use std::{f32::consts::TAU, fs};

use polylogue_artifacts::Folder;
use polylogue_core::{
    line::Clip,
    projection::{Audible, OVERLAP_MS, srt, timeline, vtt},
};

use super::*;

/// A clip of one pure tone, so that a speaker can be found again in the mix.
fn tone(folder: &Path, name: &str, rate: u32, hertz: f32, ms: u64) -> Clip {
    let samples =
        (0..ms * u64::from(rate) / 1000).map(|n| (n as f32 * hertz * TAU / rate as f32).sin() * 0.2).collect();
    let sound = Sound::new(rate, samples);
    wav::write(&sound, &folder.join(name)).expect("written");
    Clip { path: name.to_owned(), duration_ms: sound.duration_ms(), ..Clip::default() }
}

fn line(id: u32, who: &str, words: &str, clip: Clip, cut_after: Option<&str>) -> Audible {
    let line = Audible::new(Seq(u64::from(id)), who, words.to_owned(), clip);
    Audible { cut_after: cut_after.map(Arc::from), ..line }
}

/// Left and right of a mix.
fn channels(path: &Path) -> [Vec<f32>; 2] {
    let mut reader = hound::WavReader::open(path).expect("a WAV");
    let spec = reader.spec();
    assert_eq!((spec.channels, spec.sample_rate, spec.bits_per_sample), (2, RATE, 16));
    let all: Vec<f32> = reader.samples::<i16>().map(|s| f32::from(s.expect("a sample")) / 32768.0).collect();
    [0, 1].map(|side| all.iter().skip(side).step_by(2).copied().collect())
}

/// How strong a tone is in a window: the size of one bin of its spectrum.
fn strength(samples: &[f32], hertz: f32) -> f32 {
    let (mut re, mut im) = (0.0, 0.0);
    for (n, sample) in samples.iter().enumerate() {
        let angle = n as f32 * hertz * TAU / RATE as f32;
        re += sample * angle.cos();
        im += sample * angle.sin();
    }
    2.0 * re.hypot(im) / samples.len() as f32
}

/// From when to when a tone is heard, in milliseconds, to the window's 5 ms.
fn heard(samples: &[f32], hertz: f32, from_ms: u64, to_ms: u64) -> (u64, u64) {
    let window = frame(10) as usize;
    let times: Vec<u64> = (from_ms..to_ms)
        .step_by(5)
        .filter(|ms| {
            let at = frame(*ms) as usize;
            samples.get(at..at + window).is_some_and(|part| strength(part, hertz) > 0.03)
        })
        .collect();
    (*times.first().expect("heard"), times.last().expect("heard") + 10)
}

#[tokio::test]
async fn an_interruption_cuts_and_length_cut_and_captions_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let (a, b, c) = (600.0, 1000.0, 1500.0);
    let lines = [
        line(1, "alice", "Did you see it?", tone(folder.path(), "1.wav", 24_000, a, 1200), None),
        line(
            2,
            "bob",
            "Look, I can explain what happened with them.",
            tone(folder.path(), "2.wav", 22_050, b, 4000),
            Some("can explain"),
        ),
        line(3, "alice", "No excuses!", tone(folder.path(), "3.wav", 24_000, a, 900), None),
        line(4, "carol", "Well…", tone(folder.path(), "4.wav", 44_100, c, 700), None),
    ];
    let placed = timeline(&lines);
    let out = folder.path().join("out/mix.wav");
    let mixed =
        mix(placed.clone(), Arc::new(Folder::new(folder.path())), out.clone(), AudioFormat::Wav).await.expect("mixed");
    let [left, right] = channels(&out);
    let both: Vec<f32> = left.iter().zip(&right).map(|(l, r)| (l + r) / 2.0).collect();
    let near = |is: u64, should: u64, what: &str| assert!(is.abs_diff(should) <= 50, "{what}: {is} for {should}");

    // The length of the file, of the timeline and of the captions.
    let length_ms = both.len() as u64 * 1000 / u64::from(RATE);
    let last = placed.last().expect("lines");
    near(length_ms, last.end_ms, "length");
    near(mixed.duration_ms, length_ms, "told length");
    assert!(mixed.missing.is_empty());

    // Who is heard when.
    let spans = [
        (a, 0, 2000, &placed[0]),
        (b, 0, length_ms, &placed[1]),
        (a, 1600, length_ms, &placed[2]),
        (c, 0, length_ms, &placed[3]),
    ];
    for (hertz, from, to, placed) in spans {
        let (start, end) = heard(&both, hertz, from, to);
        near(start, placed.start_ms, &placed.words);
        near(end, placed.end_ms, &placed.words);
    }
    // The cut comes after about two fifths of the words, and the other voice begins before it.
    let heard_ms = placed[1].end_ms - placed[1].start_ms;
    assert!(placed[1].is_cut && (1400..2400).contains(&heard_ms), "{heard_ms}");
    assert_eq!(placed[1].end_ms - placed[2].start_ms, OVERLAP_MS);
    let overlap = &both[frame(placed[2].start_ms + 50) as usize..][..frame(80) as usize];
    assert!(strength(overlap, a) > 0.05 && strength(overlap, b) > 0.05, "both are heard at once");

    // Captions say the same times.
    let stamp = |ms: u64, point: char| format!("00:00:{:02}{point}{:03}", ms / 1000, ms % 1000);
    for placed in &placed {
        for (captions, point) in [(vtt(&timeline(&lines)), '.'), (srt(&timeline(&lines)), ',')] {
            // They may stand longer than the words take.
            let begins = format!("\n{} --> ", stamp(placed.start_ms, point));
            assert!(captions.contains(&begins), "{begins} in {captions}");
        }
    }
    assert!(vtt(&placed).contains("<v bob>Look, I can explain—\n"));

    // Speakers stand apart, slightly.
    let side =
        |samples: &[f32], ms: u64, hertz: f32| strength(&samples[frame(ms) as usize..][..frame(100) as usize], hertz);
    let alice = side(&left, 300, a) / side(&right, 300, a);
    let bob = side(&left, placed[1].start_ms + 300, b) / side(&right, placed[1].start_ms + 300, b);
    assert!(alice > 1.2 && alice < 3.0 && bob < 0.8 && bob > 0.3, "{alice} {bob}");
    assert!(both.iter().all(|sample| sample.abs() < 0.95));
}

#[tokio::test]
async fn what_is_missing_leaves_silence_and_nothing_is_read_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let artifacts = folder.path().join("artifacts");
    let outside = tone(folder.path(), "outside.wav", 24_000, 600.0, 500);
    let inside = tone(&artifacts, "in.wav", 24_000, 600.0, 500);
    let lines = [
        line(1, "a", "One.", Clip { path: "../outside.wav".to_owned(), ..outside.clone() }, None),
        line(2, "b", "Two.", Clip { path: "gone.wav".to_owned(), ..outside }, None),
        line(3, "a", "Three.", inside, None),
    ];
    let out = folder.path().join("mix.wav");
    let clips: Arc<dyn Artifacts> = Arc::new(Folder::new(artifacts));
    let mixed = mix(timeline(&lines), clips.clone(), out.clone(), AudioFormat::Wav).await.expect("mixed");
    assert_eq!(mixed, Mixed { duration_ms: 500 + 462 + 500 + 462 + 500, missing: vec![Seq(1), Seq(2)] });
    let [left, _] = channels(&out);
    assert!(left[..frame(1890) as usize].iter().all(|sample| *sample == 0.0));
    let nothing = mix(vec![], clips, out, AudioFormat::Wav).await;
    assert!(matches!(nothing, Err(MixError::Nothing)));
    let left_over: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(left_over.len(), 3, "{left_over:?}");
}

#[test]
fn speakers_are_spread_between_the_sides() {
    let all = ["a", "b", "c", "d", "e"];
    let places: Vec<f32> = all.iter().map(|speaker| place_of(&all, speaker)).collect();
    assert_eq!(places, [-0.35, 0.35, -0.175, 0.175, 0.0]);
    assert_eq!(place_of(&all[..1], all[0]), 0.0);
    for place in places {
        let [left, right] = gains(place);
        assert!((left * left + right * right - 2.0 * GAIN * GAIN).abs() < 1e-5);
    }
}
