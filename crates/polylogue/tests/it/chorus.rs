//! `polylogue chorus` as a person and as a program see it.

use crate::folder::Folder;
use serde_json::{Value, json};

/// Two slots that one script plays.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write(
        "polylogue.toml",
        "[chorus]\nspeech = false\nslots = [\"ann\", \"ann\"]\n[agents.ann]\nmodel = \"script/replies.yaml\"\n",
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
    let folder = prepared();
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
