//! The speaker with engines that wait, fail and are absent.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use polylogue_artifacts::Folder;
use polylogue_core::{id::SessionId, text::language::Language};
use proptest::prelude::*;
use tokio::sync::Notify;

use super::*;
use crate::speech::{Billing, espeak::Espeak, wav};

/// An engine that hums for as long as the words are, and can be held back.
#[derive(Default)]
struct Hum {
    said: Mutex<Vec<String>>,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
    held: Option<Arc<Notify>>,
    fails: Option<EngineError>,
    bills_as: Option<Billing>,
}

/// Counts down when a call ends, also when it is dropped.
struct Inside<'a>(&'a AtomicUsize);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Engine for Hum {
    fn name(&self) -> EngineName {
        EngineName::Espeak
    }

    fn recipe(&self, profile: &Profile, manner: &Manner) -> serde_json::Value {
        serde_json::json!([&*profile.name, manner])
    }

    fn billing(&self, _: &Profile) -> Option<Billing> {
        self.bills_as.clone()
    }

    async fn say(&self, words: &str, _: &Profile, _: &Manner) -> Result<Sound, EngineError> {
        self.said.lock().expect("unpoisoned").push(words.to_owned());
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        let _inside = Inside(&self.at_once);
        if let Some(held) = &self.held {
            held.notified().await;
        }
        if let Some(error) = &self.fails {
            return Err(error.clone());
        }
        let length = 2_400 + words.len() * 240;
        Ok(Sound::new(24_000, (0..length).map(|n| (n as f32 * 0.05).sin() * 0.1).collect()))
    }
}

fn speech(line: u32, name: &str, text: &str, place: &[&str]) -> Speech {
    let session: SessionId = "0190b5a0-0000-7000-8000-000000000001".parse().expect("an id");
    let place = place.iter().map(|part| (*part).to_owned()).collect();
    Speech {
        session,
        text: text.into(),
        by: name.into(),
        mark: format!("line-{line:04}"),
        profile: None,
        seat: 0,
        tone: None,
        language: Language::ENGLISH,
        place,
        budget: Budget::default(),
    }
}

fn speaker(folder: &Path, engines: Vec<Arc<dyn Engine>>) -> Speaker {
    let artifacts = folder.join("artifacts");
    Speaker::new(Arc::new(Folder::new(&artifacts)), &artifacts, Profiles::default(), engines)
}

const SESSION: &str = "tts/sessions/0190b5a0-0000-7000-8000-000000000001";

#[tokio::test]
async fn a_line_becomes_a_clip_that_says_what_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let speaker = speaker(folder.path(), vec![Arc::new(Espeak::default())]);
    let place = ["turn_1", "slot-1_gpt-4o_confident_charming"];
    let clip =
        speaker.speak(&speech(1, "gpt-4o", "[TONE: warm] *smiles* Good **morning**.", &place)).await.expect("a clip");
    assert_eq!(clip.path, format!("{SESSION}/turn_1/slot-1_gpt-4o_confident_charming.wav"));
    assert_eq!((clip.voice.as_deref(), clip.engine.as_deref()), (Some("confident_charming"), Some("espeak")));
    let sound = wav::read(&folder.path().join("artifacts").join(&clip.path)).expect("a WAV");
    assert_eq!(clip.duration_ms, sound.duration_ms());
    let lufs = clip.loudness_lufs.expect("loudness");
    assert!((lufs - -20.0).abs() < 1.0 && sound.peak() < 0.9, "{lufs} {}", sound.peak());
    // Without a place of the format's, a clip is named after its line.
    let clip = speaker.speak(&speech(7, "alice", "Yes.", &[])).await.expect("a clip");
    assert_eq!(clip.path, format!("{SESSION}/line-0007_alice_confident_charming.wav"));
}

#[tokio::test]
async fn a_clip_is_billed_once_by_its_characters_and_not_made_beyond_the_budget() {
    let folder = tempfile::tempdir().expect("a folder");
    let billing = Billing { engine: "openai", model: "tts-1".to_owned(), is_private: false };
    let hum = Arc::new(Hum { bills_as: Some(billing), ..Hum::default() });
    let speaker = speaker(folder.path(), vec![hum.clone()]);
    let within = |usd: f64| Budget::new(move |cost| cost <= Money::from_usd(usd));
    let said = |line, text, usd| Speech { budget: within(usd), ..speech(line, "a", text, &[]) };
    // Twelve characters are spoken, at $15 for a million.
    let bill = SpeechBill { characters: 12, cost: Some(Money::from_usd(0.000_18)) };
    let clip = speaker.speak(&said(1, "*Hello* there.", 0.000_18)).await.expect("a clip");
    assert_eq!(clip.billed, Some(bill));
    let refused = speaker.speak(&said(2, "Hello again.", 0.000_17)).await;
    assert_eq!(refused, Err(VoiceError::OverBudget));
    let again = speaker.speak(&said(3, "Hello there.", 0.0)).await.expect("a clip that was there");
    assert_eq!(again.billed, None);
    assert_eq!(*hum.said.lock().expect("unpoisoned"), ["Hello there."]);
}

#[tokio::test]
async fn the_same_words_are_spoken_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let hum = Arc::new(Hum::default());
    let first = speaker(folder.path(), vec![hum.clone()]);
    let clip = first.speak(&speech(1, "a", "*Hello* there.", &[])).await.expect("a clip");
    // Another process, another session, other markup: the same words.
    let again =
        speaker(folder.path(), vec![hum.clone()]).speak(&speech(2, "a", "Hello there.", &[])).await.expect("a clip");
    assert_eq!((clip.duration_ms, clip.loudness_lufs), (again.duration_ms, again.loudness_lufs));
    assert_ne!(clip.path, again.path);
    assert_eq!(hum.said.lock().expect("unpoisoned").len(), 1);
    let other_tone = Speech { tone: Some("furious".into()), ..speech(3, "a", "Hello there.", &[]) };
    first.speak(&other_tone).await.expect("a clip");
    assert_eq!(hum.said.lock().expect("unpoisoned").len(), 2);
}

#[tokio::test]
async fn places_are_bounded_and_taken_in_order_and_left_by_dropping() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = Arc::new(Notify::new());
    let hum = Arc::new(Hum { held: Some(held.clone()), ..Hum::default() });
    let speaker = speaker(folder.path(), vec![hum.clone()]);
    let mut waiting = Vec::new();
    for line in 1..=6 {
        let (speaker, speech) = (speaker.clone(), speech(line, "a", &format!("Line number {line}."), &[]));
        waiting.push(tokio::spawn(async move { speaker.speak(&speech).await }));
        // One after the other, so that the queue has the order of the lines.
        let queued =
            |places: usize| line as usize > places || hum.said.lock().expect("unpoisoned").len() == line as usize;
        while !queued(2) {
            tokio::task::yield_now().await;
        }
    }
    // The third is dropped before it has a place, the first while it is under way.
    waiting[2].abort();
    waiting[0].abort();
    for at in [2, 0] {
        let stopped =
            std::mem::replace(&mut waiting[at], tokio::spawn(async { Err(VoiceError::Failed(String::new())) }));
        assert!(stopped.await.is_err_and(|error| error.is_cancelled()));
    }
    for at in [1, 3, 4, 5] {
        while !waiting[at].is_finished() {
            held.notify_waiters();
            tokio::task::yield_now().await;
        }
    }
    let said = hum.said.lock().expect("unpoisoned").clone();
    assert!(!said.contains(&"Line number 3.".to_owned()), "{said:?}");
    assert_eq!(said.len(), 5);
    assert_eq!(hum.most_at_once.load(Ordering::SeqCst), 2);
    assert_eq!(hum.at_once.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_next_engine_is_for_when_one_is_not_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = |error: EngineError| -> Arc<dyn Engine> { Arc::new(Hum { fails: Some(error), ..Hum::default() }) };
    let absent = || fails(EngineError::Unavailable("get it with `get it`".to_owned()));
    let broken = || fails(EngineError::Rejected { engine: EngineName::OpenAi, status: 400, message: "no".to_owned() });
    let works = || -> Arc<dyn Engine> { Arc::new(Hum::default()) };
    type Case = (&'static str, Vec<Arc<dyn Engine>>, Result<(), &'static str>);
    let cases: [Case; 5] = [
        ("Hello one.", vec![absent(), works()], Ok(())),
        (
            "Hello two.",
            vec![broken(), works()],
            Err("the line could not be spoken: openai rejects the request (400): no"),
        ),
        (
            "Hello three.",
            vec![absent(), absent()],
            Err("no speech engine can be used here: get it with `get it`; get it with `get it`"),
        ),
        (
            "Hello four.",
            vec![],
            Err("no speech engine can be used here: run `polylogue voices pull kokoro`, or install espeak-ng"),
        ),
        ("*shrugs*", vec![works()], Err("the line could not be spoken: there is nothing to say in it")),
    ];
    for (text, engines, expected) in cases {
        let outcome = speaker(folder.path(), engines).speak(&speech(1, "a", text, &[])).await;
        assert_eq!(outcome.map(|_| ()).map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{text}");
    }
}

#[tokio::test]
async fn names_that_agents_make_up_lead_nowhere_else_and_never_collide() {
    let folder = tempfile::tempdir().expect("a folder");
    let speaker = speaker(folder.path(), vec![Arc::new(Hum::default())]);
    let names = ["../../etc/passwd", "a/b:c", "a/b/c", "a_b_c", "a b c", "/abs", "..", "C:\\x", "x\0y"];
    let mut paths = BTreeSet::new();
    for (at, name) in names.into_iter().enumerate() {
        // The names stand in the place as a format would put them there.
        let speech =
            speech(1, "x", &format!("Words of number {at}."), &["turn_1", &format!("slot-1_{name}_dry_precise")]);
        let clip = speaker.speak(&speech).await.expect("a clip");
        assert!(clip.path.starts_with(&format!("{SESSION}/turn_1/slot-1_")), "{}", clip.path);
        let real = fs::canonicalize(folder.path().join("artifacts").join(&clip.path)).expect("a file");
        assert!(real.starts_with(fs::canonicalize(folder.path().join("artifacts")).expect("a folder")));
        paths.insert(clip.path);
    }
    assert_eq!(paths.len(), names.len());
    // Even the same place is not written over by another clip; the same clip again is the same file.
    let place = ["turn_1", "same"];
    let first = speaker.speak(&speech(1, "a", "First words.", &place)).await.expect("a clip");
    let second = speaker.speak(&speech(2, "a", "Second words, longer.", &place)).await.expect("a clip");
    let again = speaker.speak(&speech(1, "a", "First words.", &place)).await.expect("a clip");
    assert_eq!((first.path.as_str(), &again.path), (format!("{SESSION}/turn_1/same.wav").as_str(), &first.path));
    assert_eq!(second.path, format!("{SESSION}/turn_1/same_line-0002.wav"));
}

proptest! {
    #[test]
    fn every_place_is_within_the_session(parts in prop::collection::vec(any::<String>(), 0..4)) {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let profiles = Profiles::default();
        let place = Speaker::place(&speech(1, "a", "x", &parts), profiles.choose(None, 0));
        let path = PathBuf::from(place.join("/"));
        prop_assert!(path.starts_with(SESSION));
        prop_assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
        prop_assert_eq!(path.components().count(), 3 + parts.len().max(1));
    }
}
