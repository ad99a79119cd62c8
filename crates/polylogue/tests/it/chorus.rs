//! `polylogue chorus` as a person and as a program see it.

use serde_json::{Value, json};

use crate::{
    crash::{calls, lost_are_charged, settled},
    folder::{Folder, said},
};

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

#[test]
fn killed_at_every_record_it_ends_as_if_nothing_had_happened() {
    const PLAY: [&str; 2] = ["chorus", "What is a home?"];
    // Two answer at once: in which order is up to them.
    let sorted = |mut said: Vec<String>| {
        said.sort();
        said
    };
    let undisturbed = prepared(false).run(&PLAY);
    let expected = sorted(undisturbed.said());
    let records = undisturbed.lines.iter().filter(|line| line["type"] != "result");
    for record in records {
        let (folder, seq) = (prepared(false), &record["seq"]);
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
