//! `polylogue sessions delete`, and what goes with a session: its clips, its manifest, a scene's files.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    folder::{Folder, example_config},
    server::Server,
    stage::{play, stage},
};

/// Every file below a folder, in order.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

fn id(result: &Value) -> String {
    result["sessionId"].as_str().unwrap().to_owned()
}

fn deleted(folder: &Folder, args: &[&str]) -> Vec<(String, bool)> {
    let run = folder.run(&[&["sessions", "delete"], args].concat());
    let told = run.lines.iter().map(|line| (id(line), line["deleted"].as_bool().unwrap()));
    let told: Vec<_> = told.collect();
    assert_eq!(run.status, i32::from(told.iter().any(|(_, is_deleted)| !is_deleted)), "{:?}", run.lines);
    told
}

#[test]
fn a_clip_goes_with_the_last_session_that_has_it() {
    let folder = Folder::new();
    folder.write(
        "polylogue.toml",
        "[chorus]\nslots = [\"ann\", \"ann\"]\n[agents.ann]\nmodel = \"script/replies.yaml\"\n[speech]\nengine = \"espeak\"\n",
    );
    // The comments take their time: the clips of the first turn are made before them, and belong to what is forked.
    folder.write(
        "replies.yaml",
        "replies:\n- {agent: slot-1, purpose: comment, delay: 2s, reply: {targetSlotId: 2, comment: \"Yes.\", voice_profile: dry_precise}}\n\
         - {purpose: comment, delay: 2s, reply: {targetSlotId: 1, comment: \"No.\", voice_profile: dry_precise}}\n\
         - {reply: {text: \"Well.\", voice_profile: dry_precise}}\n",
    );
    let artifacts = folder.path("artifacts");
    let clips_of = |session: &str| {
        let below = format!("tts/sessions/{session}/");
        files(&artifacts).into_iter().filter(|file| file.starts_with(&below) && file.ends_with(".wav")).count()
    };
    let first = folder.run(&["chorus", "What is a home?"]);
    assert_eq!(first.status, 0, "{}", first.stderr);
    // After the first turn, and all that was decided with it.
    let turn_ended = first.lines.iter().find(|line| line["decision"] == "turn_voiced").unwrap();
    let at = turn_ended["seq"].to_string();
    let first = id(first.result());
    let fork = id(folder.run(&["sessions", "fork", &first, "--at", &at]).result());
    let of_the_fork = id(folder.run(&["sessions", "fork", &fork, "--at", &at]).result());
    assert_eq!((clips_of(&first), clips_of(&fork), clips_of(&of_the_fork)), (6, 4, 4));

    assert_eq!(deleted(&folder, &[&first]), [(first.clone(), true)]);
    assert_eq!(clips_of(&first), 2, "the first turn is shared with the forks");
    assert!(!artifacts.join(format!("tts/sessions/{first}/session.json")).exists());
    let shown = folder.run(&["sessions", "show", &fork]);
    let clips = shown.result()["artifacts"].as_array().unwrap().clone();
    assert!(clips.iter().all(|clip| artifacts.join(clip.as_str().unwrap()).is_file()), "{clips:?}");

    assert_eq!(deleted(&folder, &[&fork]), [(fork.clone(), true)]);
    assert_eq!((clips_of(&first), clips_of(&fork), clips_of(&of_the_fork)), (2, 0, 4));
    assert_eq!(deleted(&folder, &["last"]), [(of_the_fork, true)]);
    assert_eq!(files(&artifacts), Vec::<String>::new());
    assert!(!artifacts.join("tts").exists(), "no empty folder is left");
    assert!(folder.run(&["sessions", "list"]).lines.is_empty());
}

#[test]
fn a_scene_s_files_go_and_what_somebody_put_there_stays() {
    let folder = stage();
    let out = folder.path("data/scenes");
    let first = id(play(&folder, "the-apology", "Alice confronts Bob.", None).result());
    let second = id(play(&folder, "the-apology", "Alice confronts Bob.", None).result());
    let aside = format!("the-apology-{}", &first[..8]);
    assert_eq!(files(&out).len(), 6);
    std::fs::write(out.join(&aside).join("notes.txt"), "mine").unwrap();
    assert_eq!(deleted(&folder, &[&first, &first[..6]]), [(first.clone(), true)], "each is named once");
    let left = files(&out);
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(left.contains(&format!("{aside}/notes.txt")) && left.contains(&"the-apology/transcript.txt".to_owned()));
    assert_eq!(deleted(&folder, &[&second]), [(second, true)]);
    assert_eq!(files(&out), [format!("{aside}/notes.txt")]);
}

#[test]
fn what_is_old_is_deleted_and_what_runs_is_kept() {
    let folder = Folder::new();
    folder.write(
        "slow.yaml",
        "replies:\n- {contains: Wait, delay: 120s, reply: {message: Late., final: true}}\n- {reply: {message: Done., final: true}}",
    );
    let old = folder.run(&["collaborate", "Go.", "--model", "script/slow.yaml"]);
    let old = id(old.result());
    let server = Server::start(&folder, &["--model", "script/slow.yaml"]);
    let running = server.say("lobby", &json!({"text": "@gpt Wait."}));
    let running = id(&running);

    assert_eq!(deleted(&folder, &["--older-than", "1h"]), []);
    assert_eq!(deleted(&folder, &["--older-than", "0s"]), [(old, true)], "what runs is not old");
    assert_eq!(deleted(&folder, &[&running]), [(running.clone(), false)]);
    let (status, _) = server.post(&format!("/v1/sessions/{running}/stop"), &json!({}));
    assert_eq!(status, 200);
    assert_eq!(deleted(&folder, &[&running]), [(running.clone(), true)], "by another process than the server");
    // The server had it in its hands, and does not find it any more.
    let (status, refused) = server.post(&format!("/v1/sessions/{running}/say"), &json!({"text": "Hello?"}));
    assert_eq!((status, &refused["error"]["code"]), (404, &json!("NOT_FOUND")));
    assert_eq!(server.get("/v1/rooms")["rooms"], json!([]));

    for bad in [&["--older-than", "soon"][..], &["--older-than", "3"], &[], &["last", "--older-than", "1d"]] {
        assert_eq!(folder.run(&[&["sessions", "delete"], bad].concat()).status, 2, "{bad:?}");
    }
    let none = folder.run(&["sessions", "delete", "nobody"]);
    assert_eq!(none.lines[0]["error"]["code"], "NOT_FOUND");
}

#[test]
fn on_no_terminal_it_is_not_asked_and_it_says_what_it_did() {
    let folder = Folder::new();
    folder.run(&["collaborate", "Write a fairy tale.", "--config", &example_config()]);
    let text = String::from_utf8(folder.output(&["sessions", "delete", "last"]).stdout).unwrap();
    assert!(text.starts_with("Deleted ") && text.ends_with("  Write a fairy tale.\n"), "{text}");
    let text = String::from_utf8(folder.output(&["sessions", "delete", "--older-than", "0s"]).stdout).unwrap();
    assert_eq!(text, "There is nothing to delete.\n");
}

/// As if everything had been recorded so many days ago.
fn age(folder: &Folder, days: u32) {
    let store = rusqlite::Connection::open(folder.path("data/polylogue.db")).unwrap();
    store.execute("UPDATE sessions SET last_at = last_at - ? * 86400000", [days]).unwrap();
}

#[test]
fn what_is_too_old_is_pruned_with_its_files_and_who_waits_stays() {
    let folder = stage();
    let out = folder.path("data/scenes");
    let scene = id(play(&folder, "the-apology", "Alice confronts Bob.", None).result());
    let config = std::fs::read_to_string(folder.path("polylogue.toml")).unwrap_or_default();
    folder.write("talk.yaml", "replies:\n- {reply: Well.}\n");
    let people = ["user", "specialist=script/talk.yaml"].map(|who| ["--participant", who]).concat();
    let waits = id(folder.run(&[&["discuss", "new", "--title", "Waits"], &people[..]].concat()).result());
    age(&folder, 40);
    let young = id(play(&folder, "the-apology", "Alice confronts Bob.", None).result());
    assert_eq!(files(&out).len(), 6);

    let pruned = |args: &[&str]| -> Vec<(String, bool)> {
        let run = folder.run(&[&["sessions", "prune"], args].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        run.lines.iter().map(|line| (id(line), line["deleted"].as_bool().unwrap())).collect()
    };
    assert_eq!(pruned(&["--older-than", "41d"]), []);
    assert_eq!(pruned(&["--older-than", "30d", "--dry-run"]), [(scene.clone(), false)]);
    assert_eq!(files(&out).len(), 6, "nothing was removed");
    assert_eq!(pruned(&["--older-than", "30d"]), [(scene, true)]);
    assert_eq!(files(&out).len(), 3, "the younger one's");
    assert_eq!(folder.run(&["sessions", "prune"]).status, 2, "nobody has said how old");

    // A server does the same by itself.
    age(&folder, 40);
    folder.write("polylogue.toml", &format!("{config}\n[retention]\ndays = 30\n"));
    assert_eq!(pruned(&["--dry-run"]), [(young, false)], "as the configuration says");
    let server = Server::start(&folder, &[]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let left = || -> Vec<String> {
        server.get("/v1/sessions")["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["sessionId"].to_string())
            .collect()
    };
    while left().len() > 1 && std::time::Instant::now() < deadline {}
    assert_eq!(left(), [format!("\"{waits}\"")]);
    assert_eq!(files(&out), Vec::<String>::new());
    folder.write("polylogue.toml", "[retention]\ndays = 0\n");
    assert_eq!(folder.run(&["sessions", "prune"]).status, 2);
}
