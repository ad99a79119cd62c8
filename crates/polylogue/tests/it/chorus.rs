//! `polylogue chorus` as a person and as a program see it.

use crate::folder::Folder;
use serde_json::{Value, json};

/// Two slots that one script plays.
fn prepared(speech: bool) -> Folder {
    let folder = Folder::new();
    folder.write(
        "polylogue.toml",
        &format!(
            "[chorus]\nspeech = {speech}\nslots = [\"ann\", \"ann\"]\n[agents.ann]\nmodel = \"script/replies.yaml\"\n\
             [speech]\nengine = \"espeak\"\n"
        ),
    );
    folder.write(
        "replies.yaml",
        "replies:\n\
         - {agent: slot-1, purpose: comment, reply: {targetSlotId: 2, comment: \"Yes.\", voice_profile: dry_precise}}\n\
         - {purpose: comment, reply: {targetSlotId: 1, comment: \"No.\", voice_profile: dry_precise}}\n\
         - {reply: {text: \"Well.\", voice_profile: dry_precise}}\n",
    );
    folder
}

fn kinds(result: &Value) -> Vec<&str> {
    result["lines"].as_array().unwrap().iter().map(|line| line["kind"].as_str().unwrap()).collect()
}

#[test]
fn three_turns_and_a_manifest_and_a_later_message() {
    let folder = prepared(false);
    let run = folder.run(&["chorus", "What is a home?"]);
    let result = run.lines.last().unwrap();
    assert_eq!((run.status, &result["reason"]), (0, &json!("completed")), "{}", run.stderr);
    assert_eq!(kinds(result), ["user", "response", "response", "comment", "comment", "reply", "reply"]);
    let manifest = result["artifacts"].as_array().unwrap().last().unwrap().as_str().unwrap();
    let manifest = std::fs::read_to_string(folder.path("artifacts").join(manifest)).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["lines"].as_array().unwrap().len(), 6);

    let again = folder.run(&["chorus", "And a house?", "--session", "last"]);
    assert_eq!((again.status, kinds(again.lines.last().unwrap()).len()), (0, 14), "{}", again.stderr);

    for bad in [&["--slot", "7=ann"][..], &["--slot", "ann"], &["--slot", "1=nobody"], &["--session", "none"]] {
        let run = folder.run(&[&["chorus", "Hi"], bad].concat());
        assert!(run.status > 0, "{bad:?}");
        assert_eq!(run.lines.last().unwrap()["success"], false, "{bad:?}");
    }
}

#[test]
fn no_speech_holds_for_a_session_that_goes_on() {
    let folder = prepared(true);
    // How many clips a run was to make, whether they were made or not.
    let clips = |args: &[&str]| {
        let run = folder.run(args);
        assert_eq!((run.status, run.reason()), (0, "completed"), "{args:?}: {}", run.stderr);
        let of_this_run = run.lines.iter().skip_while(|line| args.contains(&"fork") && line["type"] != "forked");
        of_this_run.filter(|line| line["type"].as_str().is_some_and(|kind| kind.starts_with("clip_"))).count()
    };
    assert_eq!(clips(&["chorus", "What is a home?"]), 6);
    assert_eq!(clips(&["chorus", "And a house?", "--session", "last", "--no-speech"]), 0);
    assert_eq!(clips(&["chorus", "And a street?", "--session", "last"]), 6, "the flag holds for its run");
    assert_eq!(clips(&["sessions", "fork", "last", "--at", "1", "--no-speech"]), 0);
    assert_eq!(clips(&["sessions", "fork", "last", "--at", "1", "--speech"]), 6, "of a silent one");
}

#[test]
fn no_speech_holds_for_a_session_that_is_resumed() {
    let folder = prepared(true);
    // The first comments never come, so that there is something to stop.
    let replies = std::fs::read_to_string(folder.path("replies.yaml")).unwrap();
    folder.write(
        "replies.yaml",
        &replies.replace("replies:\n", "replies:\n- {purpose: comment, attempt: 1, delay: 600s, reply: x}\n"),
    );
    let mut running = folder.start(&["chorus", "What is a home?"]);
    assert!(running.read_until(|record| record["type"] == "asked" && record["ask"]["purpose"] == "comment"));
    assert_eq!(running.interrupt().status, 130);
    let run = folder.run(&["sessions", "resume", "last", "--no-speech"]);
    assert_eq!((run.status, run.reason()), (0, "completed"), "{}", run.stderr);
    let is_clip = |line: &&Value| line["type"].as_str().is_some_and(|kind| kind.starts_with("clip_"));
    assert_eq!(run.lines.iter().filter(is_clip).count(), 0, "{:?}", run.lines);
}
