//! Which folder a run of a scene has: no run overwrites another, and what no run has left is not touched.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::{Theatre, scene};
use crate::folder::Run;

const NAME: &str = "late";

const FILES: [&str; 3] = ["debug.log", "metadata.json", "transcript.txt"];

/// How many play at once.
const MANY: usize = 6;

/// Two beats, if there are that many.
fn theatre() -> Theatre {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies(
        "  - {agent: bob, turn: 0, reply: '[TONE: sad] \"I am sorry.\"'}\n\
         \x20 - {agent: alice, turn: 1, reply: '[TONE: warm] \"It is forgotten.\"'}\n",
    );
    theatre
}

/// A run of one beat.
fn play(theatre: &Theatre) -> Run {
    let run = theatre.play(&scene(NAME, "alice, bob", "initialSpeaker: bob\nmaxBeats: 1"));
    assert_eq!((run.status, run.reason()), (0, "max_beats_exceeded"), "{}", run.stderr);
    run
}

fn id(run: &Run) -> &str {
    run.result()["sessionId"].as_str().unwrap()
}

/// The folder beside that of the name that a session may have.
fn beside(session: &str) -> String {
    format!("{NAME}-{}", &session[..8])
}

/// The folders, each with the session whose files all three are.
fn left(theatre: &Theatre) -> BTreeSet<(String, String)> {
    let folders = std::fs::read_dir(theatre.folder.path("data/scenes")).unwrap();
    folders.map(|folder| folder.unwrap().path()).map(|folder| (named(&folder), whose(&folder))).collect()
}

fn named(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn whose(folder: &Path) -> String {
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let metadata: Value = serde_json::from_str(&read("metadata.json")).unwrap();
    let session = metadata["sessionId"].as_str().unwrap().to_owned();
    assert!(read("debug.log").contains(&format!("session {session}")), "the log in {folder:?} is of another");
    if let Some(goal) = metadata["goal"].as_str() {
        assert!(read("transcript.txt").contains(goal), "the transcript in {folder:?} is of another");
    }
    session
}

fn folders<const N: usize>(all: [(&str, &str); N]) -> BTreeSet<(String, String)> {
    all.map(|(folder, session)| (folder.to_owned(), session.to_owned())).into()
}

#[test]
fn a_second_run_and_a_fork_overwrite_nothing() {
    let theatre = theatre();
    let first = play(&theatre);
    let transcript = theatre.transcript(NAME);
    let second = play(&theatre);
    assert_eq!(left(&theatre), folders([(NAME, id(&second)), (&beside(id(&first)), id(&first))]));
    assert_eq!(theatre.transcript(&beside(id(&first))), transcript);
    let fork = theatre.folder.run(&["sessions", "fork", id(&first), "--at", "3"]);
    assert_eq!(fork.status, 0, "{}", fork.stderr);
    let all = [(NAME, id(&fork)), (&beside(id(&first)), id(&first)), (&beside(id(&second)), id(&second))];
    assert_eq!(left(&theatre), folders(all));
    assert_eq!(fork.result()["outputPath"], format!("data/scenes/{NAME}"));
    let replayed = theatre.folder.run(&["sessions", "replay", id(&first)]);
    assert_eq!(replayed.result()["outputPath"], format!("data/scenes/{}", beside(id(&first))));
}

#[test]
fn a_run_that_goes_on_keeps_its_folder() {
    let theatre = theatre();
    let goes_on = |session: &str, beats: &str| {
        let run = theatre.folder.run(&["sessions", "resume", session, "--max-beats", beats]);
        assert_eq!((run.status, run.reason()), (0, "max_beats_exceeded"), "{:?}", run.lines.last());
    };
    let first = play(&theatre);
    goes_on(id(&first), "2");
    assert_eq!(left(&theatre), folders([(NAME, id(&first))]));
    assert!(theatre.transcript(NAME).contains("It is forgotten."), "the files are of the whole run");
    let second = play(&theatre);
    let both = folders([(NAME, id(&second)), (&beside(id(&first)), id(&first))]);
    assert_eq!(left(&theatre), both);
    goes_on(id(&first), "3");
    assert_eq!(left(&theatre), both, "it stays where it is, though it ended last");
    assert_eq!(theatre.metadata(&beside(id(&first)))["totalBeats"], 3);
}

#[test]
fn what_no_run_has_left_is_not_touched() {
    let theatre = theatre();
    let theirs = theatre.folder.path(&format!("data/scenes/{NAME}"));
    for (file, text) in [
        ("transcript.txt", "my own"),
        ("metadata.json", "{}"),
        // Nobody is led out of the folder.
        ("metadata.json", r#"{"sessionId": "../../../../elsewhere", "startedAt": ""}"#),
    ] {
        let _ = std::fs::remove_dir_all(theirs.parent().unwrap());
        std::fs::create_dir_all(&theirs).unwrap();
        std::fs::write(theirs.join(file), text).unwrap();
        let runs = [play(&theatre), play(&theatre)];
        for run in &runs {
            let place = theatre.folder.path(&format!("data/scenes/{}", beside(id(run))));
            assert_eq!(whose(&place), id(run));
            assert_eq!(run.result()["outputPath"], format!("data/scenes/{}", named(&place)));
            let told = format!("data/scenes/{NAME} has files that no run of this scene has left");
            assert!(run.stderr.contains(&told) && run.stderr.contains(&named(&place)), "{}", run.stderr);
        }
        assert_eq!(std::fs::read_dir(theirs.parent().unwrap()).unwrap().count(), 3, "{text}");
        let there: Vec<_> = std::fs::read_dir(&theirs).unwrap().map(|entry| named(&entry.unwrap().path())).collect();
        assert_eq!(
            (there, std::fs::read_to_string(theirs.join(file)).unwrap()),
            (vec![file.to_owned()], text.to_owned())
        );
    }
    // An empty folder is nobody's.
    std::fs::remove_dir_all(theirs.parent().unwrap()).unwrap();
    std::fs::create_dir_all(&theirs).unwrap();
    let run = play(&theatre);
    assert_eq!(left(&theatre), folders([(NAME, id(&run))]));
}

#[test]
fn many_processes_at_once_have_a_folder_each() {
    let theatre = theatre();
    let before = play(&theatre);
    let running: Vec<_> = (0..MANY)
        .map(|number| {
            let file = format!("scene-{number}.yaml");
            let more = format!("initialSpeaker: bob\nmaxBeats: 1\ngoal: The end of run {number}");
            theatre.folder.write(&file, &scene(NAME, "alice, bob", &more));
            theatre.folder.start(&["scene", &file, "--model", "script/replies.yaml"])
        })
        .collect();
    let mut sessions = BTreeSet::from([id(&before).to_owned()]);
    for mut run in running {
        assert!(run.read_until(|line| line["type"] == "result"), "{:?}", run.seen.last());
        sessions.insert(run.session());
    }
    let left = left(&theatre);
    assert_eq!(left.iter().map(|(_, session)| session.clone()).collect::<BTreeSet<_>>(), sessions);
    assert_eq!(left.len(), MANY + 1);
    let of_the_name = left.iter().find(|(folder, _)| folder == NAME).map(|(_, session)| session.as_str());
    assert!(left.iter().all(|(folder, session)| folder == NAME || *folder == beside(session)), "{left:?}");
    let begun = |session: &str| {
        let shown = theatre.folder.run(&["sessions", "show", session]);
        shown.result()["startedAt"].as_str().unwrap().to_owned()
    };
    let newest = sessions.iter().map(|session| begun(session)).max();
    assert_eq!(of_the_name.map(begun), newest, "the newest has the folder of the name");
    for (folder, _) in &left {
        let files = std::fs::read_dir(theatre.folder.path("data/scenes").join(folder)).unwrap();
        let files: BTreeSet<String> = files.map(|file| named(&file.unwrap().path())).collect();
        assert_eq!(files, FILES.map(str::to_owned).into(), "{folder}");
    }
}
