//! Transcripts out and in again.

use proptest::prelude::*;

use super::*;
use crate::format::scene::bracket::{self, ActionKind};

/// The example of seed 001, letter for letter.
const EXAMPLE: &str = include_str!("office_confrontation.txt");

#[test]
fn the_documents_own_example_is_read_and_written_the_same() {
    let scene = read_transcript(EXAMPLE).unwrap();
    assert_eq!(scene.title, "Office Confrontation");
    assert_eq!(scene.characters, ["Alice", "Bob", "Charlie"]);
    assert_eq!(scene.goal.as_deref(), Some("Bob apologizes, Alice accepts, agree on next steps"));
    assert_eq!(scene.generated, "2025-10-03 14:32:18");
    assert_eq!(scene.setting.as_deref(), Some("Office conference room, afternoon"));
    assert_eq!(scene.entries.len(), 12);
    assert_eq!(scene.end.as_deref(), Some("Goal: Achieved"));
    assert_eq!(scene.statistics[3], ("Estimated cost".to_owned(), "$0.08 USD".to_owned()));

    let Entry::Said { speaker, action, is_cut } = &scene.entries[1] else { panic!("{:?}", scene.entries[1]) };
    assert_eq!((speaker.as_str(), &*action.text, *is_cut), ("Bob", "Look, I can explain what happened", true));
    let Entry::Said { action, .. } = &scene.entries[2] else { panic!("{:?}", scene.entries[2]) };
    assert_eq!((action.kind, action.after.as_deref()), (ActionKind::Interrupt, Some("explain")));
    assert_eq!(scene.entries[4], Entry::Event("Phone rings loudly on conference table".to_owned()));
    let Entry::Said { action, .. } = &scene.entries[7] else { panic!("{:?}", scene.entries[7]) };
    assert!(action.text.contains("complexity. I should have asked"), "{}", action.text);

    // It is wrapped by hand there, a little narrower or wider than here.
    let unwrapped = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(unwrapped(&scene.to_string()), unwrapped(EXAMPLE));
    assert_eq!(read_transcript(&scene.to_string()), Ok(scene));
}

#[test]
fn long_lines_are_wrapped_between_words() {
    let (action, _) = bracket::read(&format!("[TONE: calm] \"{}\"", "word after word, ".repeat(20)), "Ann", &[]);
    let entry = Entry::Said { speaker: "Ann".to_owned(), action, is_cut: true };
    let text = entry.to_string();
    assert!(text.lines().count() > 3);
    assert!(text.lines().all(|line| line.chars().count() <= 88), "{text}");
    assert!(text.ends_with("word,—\""), "{text}");
}

#[test]
fn what_is_no_transcript_says_where() {
    use TranscriptProblem::*;
    let cases = [
        ("", 1, Missing("SCENE:")),
        ("Hello\nthere", 1, Missing("SCENE:")),
        ("\nSCENE: A\nGENERATED: now", 2, Missing("CHARACTERS:")),
        ("SCENE: A\nCHARACTERS: B", 1, Missing("GENERATED:")),
        ("SCENE: A\nCHARACTERS: B\nGENERATED: now", 1, Missing("---")),
        ("SCENE: A\nCHARACTERS: B\nGENERATED: now\n\n---\n\nHello", 7, Missing("[SCENE START]")),
        ("SCENE: A\nCHARACTERS: B\nGENERATED: now\n\n---\n\n[SCENE START]\nHello", 8, Missing("[Setting: …]")),
        ("SCENE: A\nCHARACTERS: B\nGENERATED: now\n\n---\n\n[SCENE START]\n\nB says hello", 9, NotAnEntry),
        ("SCENE: A\nCHARACTERS: B\nGENERATED: now\n\n---\n\n[SCENE START]\n\nB [TO: me, \"hello\"", 9, NotAnAction),
        (
            "SCENE: A\nCHARACTERS: B\nGENERATED: now\n\n---\n\n[SCENE START]\n\n[SCENE END]\n\nB [REACT]",
            11,
            AfterTheEnd,
        ),
        (
            "SCENE: A\nCHARACTERS: B\nGENERATED: now\n\n---\n\n[SCENE START]\n\n---\n\nSTATISTICS:\n- 12 beats",
            12,
            NotAFigure,
        ),
    ];
    for (text, line, problem) in cases {
        assert_eq!(read_transcript(text), Err(NotATranscript { line, problem }), "{text:?}");
    }
}

/// Any text, and texts that look like the form.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z ,.]{1,30}",
        any::<String>(),
        "(---|\\[EVENT: |\\[SCENE END\\]|\\]|\\[|\"|\\\\|\\*|—| |\n|, |: |a|n|u\\{d\\}|\\[TONE: x\\] ){1,12}",
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    let said = (text(), text(), "(\\[(TO: Bob|TONE: sad|REACT|\\*nods\\*)\\] ?)?", any::<bool>(), 1..12usize);
    prop_oneof![
        6 => said.prop_map(|(speaker, words, bracket, is_cut, times)| {
            let words = format!("{words} ").repeat(times);
            let (action, _) = bracket::read(&format!("{bracket}{words}"), "Alice", &["Bob"]);
            Entry::Said { speaker, is_cut: is_cut && action.kind.is_verbal(), action }
        }),
        1 => text().prop_map(Entry::Event),
        1 => text().prop_map(Entry::System),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_transcript_reads_back(
        (title, generated, goal) in (text(), text(), proptest::option::of(text())),
        characters in proptest::collection::vec(text().prop_filter("named", |name| !name.is_empty()), 0..4),
        setting in proptest::option::of(text()),
        entries in proptest::collection::vec(entry(), 0..6),
        end in proptest::option::of(text()),
        statistics in proptest::collection::vec((text(), text()), 0..4),
    ) {
        let scene = SceneText { title, characters, goal, generated, setting, entries, end, statistics };
        let text = scene.to_string();
        prop_assert_eq!(read_transcript(&text), Ok(scene), "{}", text);
    }

    #[test]
    fn any_text_is_refused_or_read(text in text(), at in any::<usize>()) {
        let _ = read_transcript(&text);
        // A place of the example that was spoilt.
        let places: Vec<usize> = EXAMPLE.char_indices().map(|(at, _)| at).collect();
        let at = places[at % places.len()];
        let _ = read_transcript(&format!("{}{text}{}", &EXAMPLE[..at], &EXAMPLE[at..]));
    }
}
