//! Escape codes and control characters from models, titles, people and files are shown as text, never executed.

use super::{Seen, is_harmless};
use crate::folder::{Folder, Run};

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
    folder
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

#[test]
fn every_format_shows_them_as_text() {
    let folder = folder();
    let title = format!("Title {HOSTILE}");
    let said = |what: &str| format!("{what} {SEEN}");
    check(&folder, &["collaborate", &title], &[&said("One"), &said("Task"), &said("Done"), &said("Title")]);
    check(&folder, &["collaborate", &format!("prose {HOSTILE}")], &[&said("Just prose")]);
    check(&folder, &["collaborate", &format!("fail {HOSTILE}")], &["no ␛]0;owned"]);
    let parts = [said("Respond"), said("Comment"), said("Reply"), said("Title")];
    check(&folder, &["chorus", &title, "--no-speech"], &parts.each_ref().map(String::as_str));
    // A scene's own parser has taken most of them out of its lines.
    check(&folder, &["scene", "scene.json"], &["Hello", "\\u{202e}red", &said("Goal: Peace")]);
    check(&folder, &["discuss", "new", "--title", &title, "--topic", HOSTILE], &["waiting for user"]);
    let new = folder.run(&["discuss", "new", "--title", &title]);
    let id = new.result()["sessionId"].as_str().unwrap();
    let say = folder.output(&["discuss", "say", id, &title]);
    let heard = String::from_utf8(say.stdout).unwrap();
    assert!(heard.contains("gpt: Well ␛]0;owned␇"), "{heard} {}", String::from_utf8_lossy(&say.stderr));
    check(&folder, &["discuss", "show", id], &["Well ␛]0;owned␇", &said("Title")]);
}

#[test]
fn every_view_of_the_recorded_shows_them_as_text() {
    let folder = folder();
    let title = format!("Title {HOSTILE}");
    let id = |run: Run| run.result()["sessionId"].as_str().unwrap().to_owned();
    let scene = id(folder.run(&["scene", "scene.json"]));
    let session = id(folder.run(&["collaborate", &title]));
    let (titled, said) = (format!("Title {SEEN}"), format!("One {SEEN} two"));
    check(&folder, &["sessions", "list"], &["Title ␛]0;owned"]);
    for command in ["show", "replay"] {
        check(&folder, &["sessions", command, &session], &[&titled, &said]);
        check(&folder, &["sessions", command, &scene], &["Hello", "\\u{202e}red"]);
    }
    check(&folder, &["sessions", "replay", &scene, "--beat", "0"], &["Hello", "\\u{202e}red"]);
    check(&folder, &["sessions", "show", &session, "--ask", "2"], &[&titled, SEEN]);
    check(&folder, &["sessions", "why", &session, "2", "--question", &title], &[&format!("Because {SEEN}")]);
    check(&folder, &["sessions", "memory", "bob"], &[&format!("I remember {SEEN}")]);
    for form in ["txt", "md", "vtt", "srt", "json"] {
        check(&folder, &["sessions", "export", &session, "--as", form], &[]);
        folder.output(&["sessions", "export", &session, "--as", form, "--out", "exported"]);
        let exported = std::fs::read_to_string(folder.path("exported")).unwrap();
        assert!(exported.chars().all(|c| is_harmless(c) || c == '\n'), "{form}: {exported:?}");
        assert!(form != "txt" || exported.contains(&said), "{exported}");
    }
    for file in ["transcript.txt", "debug.log", "metadata.json"] {
        let folders = std::fs::read_dir(folder.path("data/scenes")).unwrap();
        for scene in folders {
            let text = std::fs::read_to_string(scene.unwrap().path().join(file)).unwrap();
            assert!(text.chars().all(|c| is_harmless(c) || matches!(c, '\n' | '\t')), "{file}: {text:?}");
        }
    }
    let deleted = folder.output(&["sessions", "delete", &session, "--yes"]);
    assert!(String::from_utf8(deleted.stdout).unwrap().contains("Title ␛]0;owned"));
}

#[test]
fn errors_and_lists_show_them_as_text() {
    let folder = folder();
    let file = format!("{HOSTILE}.json");
    check(&folder, &["scene", &file], &[SEEN]);
    check(&folder, &["collaborate", "Go.", "--between", &format!("gpt,{HOSTILE}")], &["error: "]);
    check(&folder, &["collaborate", "Go.", "--model", HOSTILE], &[SEEN]);
    check(&folder, &["sessions", "show", HOSTILE], &[SEEN]);
    check(&folder, &["sessions", HOSTILE], &["\\u{9b}31m\\u{202e}red"]);
    check(&folder, &["voices", "list"], &[]);
    check(&folder, &["models", "list"], &[]);
    check(&folder, &["doctor"], &[]);
    folder.write("polylogue.toml", "[agents.\"\\u001b[2J\"]\nmodel = \"script/none\"\n");
    check(&folder, &["doctor"], &["␛[2J"]);
    folder.write("polylogue.toml", &format!("[x{HOSTILE}]\n"));
    check(&folder, &["doctor"], &["error: the configuration polylogue.toml, line 1"]);
}
