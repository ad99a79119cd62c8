//! `polylogue chorus` as a person and as a program see it.

use serde_json::{Value, json};

use crate::{
    crash::{calls, lost_are_charged, settled},
    folder::{Folder, said},
};

/// Two slots that one script plays.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write(
        "polylogue.toml",
        "[chorus]\nspeech = false\nslots = [\"ann\", \"ann\"]\n[agents.ann]\nmodel = \"script/replies.yaml\"\n",
    );
    hold_back(&folder, None);
    folder
}

/// The script, with the replies of one turn held back for longer than any test.
fn hold_back(folder: &Folder, turn: Option<u64>) {
    let held = turn.map_or(String::new(), |turn| format!("- {{turn: {turn}, delay: 120s, reply: \"\"}}\n"));
    let replies = "- {agent: slot-1, purpose: comment, reply: {targetSlotId: 2, comment: \"Yes.\", voice_profile: dry_precise}}\n\
         - {purpose: comment, reply: {targetSlotId: 1, comment: \"No.\", voice_profile: dry_precise}}\n\
         - {reply: {text: \"Well.\", voice_profile: dry_precise}}\n";
    folder.write("replies.yaml", &format!("log: calls.jsonl\nreplies:\n{held}{replies}"));
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

#[test]
fn killed_at_every_record_it_ends_as_if_nothing_had_happened() {
    const PLAY: [&str; 2] = ["chorus", "What is a home?"];
    // Two answer at once: in which order is up to them.
    let sorted = |mut said: Vec<String>| {
        said.sort();
        said
    };
    let undisturbed = prepared().run(&PLAY);
    let expected = sorted(undisturbed.said());
    let records = undisturbed.lines.iter().filter(|line| line["type"] != "result");
    for record in records {
        let (folder, seq) = (prepared(), &record["seq"]);
        let asked = (record["type"] == "asked").then(|| record["ask"]["turn"].as_u64().unwrap());
        hold_back(&folder, asked);
        let mut running = folder.start(&PLAY);
        assert!(running.read_until(|seen| seen["seq"] == *seq), "there is no record {seq}");
        let session = running.session();
        running.kill();
        let settled = settled(&folder, &session);
        hold_back(&folder, None);
        if folder.run(&["sessions", "show", &session]).result()["status"] != "ended" {
            assert_eq!(folder.run(&["sessions", "resume", &session]).reason(), "completed", "killed at {seq}");
        }
        let result = folder.run(&["sessions", "show", &session]);
        assert_eq!(sorted(said(result.result())), expected, "killed at {seq}");
        let lost = lost_are_charged(&folder, &session);
        assert!(asked.is_none() || lost == 2, "killed at {seq} while two replies are held back: {lost} are charged");
        for ask in settled {
            assert_eq!(calls(&folder)[&ask], 1, "killed at {seq}: {ask} was asked again");
        }
    }
}
