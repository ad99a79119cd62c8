//! Escape codes and control characters from models, titles, people and files are shown as text, never executed.

use std::{collections::BTreeSet, path::Path};

use super::{Seen, is_harmless};
use crate::folder::Folder;

/// A title of the window, a cleared screen, a colour with a C1 byte, text turned around, a bell, a deleted letter.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[H\u{9b}31m\u{202e}red\u{2069}\u{7f}\u{8}";

/// The same in the double quotes of YAML.
const IN_YAML: &str = r"\e]0;owned\a\e[2J\e[H\u009b31m\u202ered\u2069\x7f\b";

/// How it is seen.
const SEEN: &str = "␛]0;owned␇␛[2J␛[H\\u{9b}31m\\u{202e}red\\u{2069}␡␈";

const CONFIG: &str = r#"
[agents.gpt]
model = "script/replies.yaml"
persona = "Calm HOSTILE"
[agents.claude]
model = "script/replies.yaml"
[discussion]
participants = ["user", "manager=gpt", "specialist=claude"]
[voices.dry_precise]
description = "Dry HOSTILE"
"#;

const REPLIES: &str = r#"
replies:
  - {contains: fail, fail: {kind: refused, message: "no HOSTILE"}}
  - {contains: prose, reply: "Just prose HOSTILE"}
  - {purpose: contribute, turn: 1, pace: 1ms, reply: {message: "One HOSTILE two", handoff: {to: claude, task: "Task HOSTILE"}}}
  - {purpose: contribute, reply: {message: "Done HOSTILE", final: true}}
  - {purpose: respond, pace: 1ms, reply: {text: "Respond HOSTILE", voice_profile: dry_precise}}
  - {purpose: comment, reply: {targetSlotId: 2, comment: "Comment HOSTILE", voice_profile: dry_precise}}
  - {purpose: reply, reply: {text: "Reply HOSTILE", voice_profile: dry_precise}}
  - {purpose: explain, reply: "Because HOSTILE"}
  - {purpose: judge, reply: {progress: 1.0, goalReached: false, naturalEnd: true, worldEvent: "Rain HOSTILE", closingAction: "Dark HOSTILE"}}
  - {purpose: remember, reply: "I remember HOSTILE"}
  - {agent: alice, reply: "[TO: Bob, TONE: warm HOSTILE, NONVERBAL: nods HOSTILE] \"Hello HOSTILE\""}
  - {agent: bob, reply: "[SILENT, NONVERBAL: waits HOSTILE]"}
  - {reply: "Well HOSTILE"}
"#;

/// A score whose every text is hostile, and one that cannot be played.
const SCORE: &str = r#"
score: hostile
about: "Answers HOSTILE of all."
roles:
  speaker: { seats: 2, default: [gpt, claude], persona: "Who HOSTILE speaks" }
phases:
  - answer: { who: speaker, sees: message, prompt: "Answer HOSTILE it." }
"#;
const BAD_SCORE: &str = "score: bad\nabout: x\n\"key HOSTILE\": 1\n";

/// A command with what is asked of it, and what is seen of it.
type Row = (&'static [&'static str], &'static [&'static str]);

/// What begins sessions. `TITLE` and `HOSTILE` are what came from outside, `SEEN` is how it is shown.
const BEGINNING: &[Row] = &[
    (&["collaborate", "TITLE"], &["One SEEN", "Task SEEN", "Done SEEN", "Title SEEN"]),
    (&["collaborate", "TITLE", "-vv"], &["Done SEEN"]),
    (&["collaborate", "TITLE", "--out", "work.md"], &["Done SEEN"]),
    (&["collaborate", "prose HOSTILE"], &["Just prose SEEN"]),
    (&["collaborate", "fail HOSTILE"], &["no ␛]0;owned"]),
    (&["collaborate", "fail HOSTILE", "-v"], &["no ␛]0;owned"]),
    (&["collaborate", "Go.", "--between", "gpt,HOSTILE"], &["error: "]),
    (&["collaborate", "Go.", "--model", "HOSTILE"], &["SEEN"]),
    (&["chorus", "TITLE", "--no-speech"], &["Respond SEEN", "Comment SEEN", "Reply SEEN", "Title SEEN"]),
    // A scene's own parser has taken most of them out of its lines.
    (&["scene", "scene.json"], &["Hello", "\\u{202e}red", "Goal: Peace SEEN"]),
    (&["scene", "HOSTILE.json"], &["SEEN"]),
    (&["discuss", "new", "--title", "TITLE", "--topic", "HOSTILE"], &["waiting for user"]),
    (&["discuss", "say", "TALK", "TITLE"], &["gpt: Well ␛]0;owned␇"]),
    (&["discuss", "show", "TALK"], &["Well ␛]0;owned␇", "Title SEEN"]),
    (&["play", "hostile", "TITLE"], &["Well SEEN"]),
    (&["play", "hostile", "TITLE", "--dry-run"], &["Answers SEEN of all."]),
    (&["play", "HOSTILE", "TITLE"], &["error: "]),
];

/// What shows the recorded. Words in capitals are sessions; see [`recorded`].
const RECORDED: &[Row] = &[
    (&["sessions", "list"], &["Title ␛]0;owned"]),
    (&["sessions", "show", "WORK"], &["Title SEEN", "One SEEN two"]),
    (&["sessions", "show", "WORK", "--ask", "2"], &["Title SEEN", "SEEN"]),
    (&["sessions", "show", "SCENE"], &["Hello", "\\u{202e}red"]),
    (&["sessions", "show", "FAILED"], &["Title SEEN"]),
    (&["sessions", "show", "ROUND"], &["Well SEEN"]),
    (&["sessions", "show", "HOSTILE"], &["SEEN"]),
    (&["sessions", "replay", "WORK"], &["Title SEEN", "One SEEN two"]),
    (&["sessions", "replay", "CHORUS"], &["Respond SEEN"]),
    (&["sessions", "replay", "FAILED"], &["no ␛]0;owned"]),
    (&["sessions", "replay", "ROUND"], &["Well SEEN"]),
    (&["sessions", "replay", "TALK"], &["waiting for user"]),
    (&["sessions", "replay", "SCENE"], &["Hello", "\\u{202e}red"]),
    (&["sessions", "replay", "SCENE", "--beat", "0"], &["Hello", "\\u{202e}red"]),
    (&["sessions", "replay", "SCENE", "--step"], &["Hello", "\\u{202e}red"]),
    (&["sessions", "why", "WORK", "2", "--question", "TITLE"], &["Because SEEN"]),
    (&["sessions", "memory", "bob"], &["I remember SEEN"]),
    (&["sessions", "memory", "HOSTILE"], &[]),
    (&["story", "show", "S"], &["I remember SEEN"]),
    (&["story", "show", "HOSTILE"], &["SEEN"]),
    (&["sessions", "resume", "FAILED"], &["no ␛]0;owned"]),
    (&["sessions", "fork", "WORK", "--at", "2", "--note", "Note HOSTILE"], &["One SEEN two"]),
    (&["sessions", "fork", "WORK", "--at", "4", "--edit", "Other HOSTILE"], &[]),
    (&["sessions", "direct", "SCENE", "--note", "HOSTILE", "--to", "HOSTILE"], &["error: "]),
    (&["sessions", "export", "WORK", "--as", "txt"], &["One SEEN two"]),
    (&["sessions", "export", "WORK", "--as", "md"], &["One SEEN two"]),
    (&["sessions", "export", "WORK", "--as", "json"], &[]),
    (&["sessions", "export", "WORK", "--as", "vtt"], &[]),
    (&["sessions", "export", "SCENE", "--as", "srt"], &[]),
    (&["sessions", "export", "WORK", "--out", "HOSTILE/no"], &["SEEN"]),
    (&["scores", "say", "ROUND", "HOSTILE"], &["error: "]),
    (&["store", "copy", "sqlite:data/polylogue.db", "sqlite:copy.db"], &[]),
    (&["store", "copy", "HOSTILE", "sqlite:copy.db"], &["error: "]),
    (&["sessions", "prune", "--older-than", "0s", "--dry-run"], &["Title ␛]0;owned"]),
    (&["sessions", "delete", "WORK", "--yes"], &["Title ␛]0;owned"]),
];

/// Everything else: what is listed, and what is said of arguments and files.
const OTHER: &[Row] = &[
    (&["sessions", "HOSTILE"], &["\\u{9b}31m\\u{202e}red"]),
    (&["scores", "list"], &["Answers SEEN of all."]),
    (&["scores", "show", "hostile"], &["hostile"]),
    (&["scores", "show", "HOSTILE"], &["error: "]),
    (&["scores", "check", "hostile", "bad.yaml"], &["bad.yaml: "]),
    (&["scores", "new", "HOSTILE"], &["SEEN"]),
    (&["voices", "list"], &[]),
    (&["voices", "pull", "HOSTILE"], &["error: "]),
    (&["voices", "say", "TITLE", "--voice", "HOSTILE"], &["error: "]),
    (&["models", "list"], &[]),
    (&["models", "pull", "HOSTILE"], &["error: "]),
    (&["templates", "list"], &[]),
    (&["templates", "show", "HOSTILE"], &["error: "]),
    (&["serve", "--listen", "HOSTILE"], &["error: "]),
    (&["bench", "--only", "HOSTILE"], &[]),
    (&["doctor"], &[]),
];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("replies.yaml", &REPLIES.replace("HOSTILE", IN_YAML));
    folder.write("polylogue.toml", &CONFIG.replace("HOSTILE", r"\u001b]0;owned\u0007\u001b[2J\u009b31m"));
    let scene = r#"{"name": "A HOSTILE scene", "prompt": "They HOSTILE talk.", "goal": "Peace HOSTILE", "setting": "Here HOSTILE", "story": "S", "characters": ["alice", "bob"], "maxBeats": 2}"#;
    let in_json: String = HOSTILE.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    folder.write("scene.json", &scene.replace("HOSTILE", &in_json));
    std::fs::create_dir_all(folder.path(".claude/agents")).unwrap();
    folder.write(".claude/agents/alice.md", &format!("# Alice {HOSTILE} A.\nShe is blunt.\n"));
    folder.write(".claude/agents/bob.md", "# Bob\nHe means well.\n");
    std::fs::create_dir_all(folder.path("scores")).unwrap();
    folder.write("scores/hostile.yaml", &SCORE.replace("HOSTILE", IN_YAML));
    folder.write("bad.yaml", &BAD_SCORE.replace("HOSTILE", IN_YAML));
    folder
}

/// The sessions that the rows name, with the commands that begin them.
fn recorded(folder: &Folder) -> Vec<(&'static str, String)> {
    let title = format!("Title {HOSTILE}");
    let fail = format!("fail {title}");
    let sessions: [(&str, &[&str]); 6] = [
        ("SCENE", &["scene", "scene.json"]),
        ("WORK", &["collaborate", &title]),
        ("FAILED", &["collaborate", &fail]),
        ("CHORUS", &["chorus", &title, "--no-speech"]),
        ("TALK", &["discuss", "new", "--title", &title]),
        ("ROUND", &["play", "hostile", &title]),
    ];
    let id = |args: &[&str]| folder.run(args).result()["sessionId"].as_str().unwrap().to_owned();
    sessions.into_iter().map(|(name, args)| (name, id(args))).collect()
}

fn check_all(folder: &Folder, rows: &[Row], sessions: &[(&str, String)]) {
    for (args, parts) in rows {
        let filled = |text: &&str| {
            let text = text.replace("SEEN", SEEN).replace("TITLE", "Title HOSTILE").replace("HOSTILE", HOSTILE);
            sessions.iter().fold(text, |text, (name, id)| text.replace(name, id))
        };
        let (args, parts): (Vec<String>, Vec<String>) =
            (args.iter().map(filled).collect(), parts.iter().map(filled).collect());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        check(folder, &args, &parts.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// Runs it into a pipe, onto a wide and a narrow terminal: whatever comes out, nothing in it steers anything.
fn check(folder: &Folder, args: &[&str], parts: &[&str]) {
    let piped = folder.output(args);
    for bytes in [piped.stdout.clone(), piped.stderr.clone()] {
        let text = String::from_utf8(bytes).unwrap();
        let bad = text.chars().find(|c| !is_harmless(*c) && !matches!(c, '\n' | '\t'));
        assert_eq!(bad, None, "{args:?}: {text:?}");
    }
    let text = String::from_utf8([piped.stdout, piped.stderr].concat()).unwrap();
    for part in parts {
        assert!(text.contains(part), "{args:?}: `{part}` is not in: {text}");
    }
    for columns in [60, 120] {
        let seen = Seen::of(folder, columns, args);
        assert!(seen.is_calm(), "{args:?}: {:?}", seen.raw);
    }
    // Programs get what was said, and their terminals nothing else.
    let json = String::from_utf8(folder.output(&[args, &["--json"]].concat()).stdout).unwrap();
    assert!(json.chars().all(|c| is_harmless(c) || c == '\n'), "{args:?}: {json:?}");
}

/// The commands that there are, each with those that it is within, from the man pages that are made of them.
fn commands(folder: &Folder) -> BTreeSet<String> {
    assert_eq!(folder.run(&["generate", "man", "man"]).status, 0);
    let pages = std::fs::read_dir(folder.path("man")).unwrap().map(|page| page.unwrap().file_name());
    let names: BTreeSet<String> = pages
        .filter_map(|page| Some(page.to_str()?.strip_prefix("polylogue-")?.strip_suffix(".1")?.replace('-', " ")))
        .collect();
    let has_more = |name: &str| names.iter().any(|other| other.starts_with(&format!("{name} ")));
    names.iter().filter(|name| !has_more(name)).cloned().collect()
}

#[test]
fn every_command_has_a_row() {
    let rows = || [BEGINNING, RECORDED, OTHER].into_iter().flatten();
    for command in commands(&Folder::new()) {
        let parts: Vec<&str> = command.split(' ').collect();
        assert!(rows().any(|(args, _)| args.starts_with(&parts)), "no row runs `polylogue {command}`");
    }
}

#[test]
fn every_format_shows_them_as_text() {
    let folder = folder();
    let talk = folder.run(&["discuss", "new", "--title", &format!("Title {HOSTILE}")]);
    let id = talk.result()["sessionId"].as_str().unwrap().to_owned();
    check_all(&folder, BEGINNING, &[("TALK", id)]);
    check_files(&folder);
}

#[test]
fn every_view_of_the_recorded_shows_them_as_text() {
    let folder = folder();
    let sessions = recorded(&folder);
    let work = &sessions.iter().find(|(name, _)| *name == "WORK").unwrap().1;
    for form in ["txt", "md", "vtt", "srt", "json"] {
        folder.output(&["sessions", "export", work, "--as", form, "--out", &format!("exported.{form}")]);
    }
    check_files(&folder);
    check_all(&folder, RECORDED, &sessions);
}

/// Whatever was written beside the sources shows them as text as well, and is called by a harmless name.
fn check_files(folder: &Folder) {
    let mut open = vec![folder.path("data"), folder.path("artifacts")];
    let exported = |path: &Path| path.is_file() && path.file_stem().is_some_and(|stem| stem == "exported");
    let here = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().path());
    open.extend(here.filter(|path| exported(path) || path.ends_with("work.md")));
    let mut read = 0;
    while let Some(path) = open.pop() {
        assert!(path.to_str().unwrap().chars().all(is_harmless), "{path:?}");
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if !path.to_str().unwrap().contains("polylogue.db") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.chars().all(|c| is_harmless(c) || matches!(c, '\n' | '\t')), "{path:?}: {text:?}");
            read += 1;
        }
    }
    assert!(read > 5, "only {read} files were there");
}

#[test]
fn errors_and_lists_show_them_as_text() {
    let folder = folder();
    check_all(&folder, OTHER, &[]);
    folder.write("polylogue.toml", "[agents.\"\\u001b[2J\"]\nmodel = \"script/none\"\n");
    check(&folder, &["doctor"], &["␛[2J"]);
    folder.write("polylogue.toml", &format!("[x{HOSTILE}]\n"));
    check(&folder, &["doctor"], &["error: the configuration polylogue.toml, line 1"]);
}
