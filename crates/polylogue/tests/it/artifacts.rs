//! Clips and manifests in a bucket: a real S3 server on loopback, real processes that share nothing else but the store.

use serde_json::{Value, json};

use crate::{
    bucket::{ACCESS_KEY, Bucket, SECRET_KEY},
    folder::Folder,
    server::Server,
};

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", ACCESS_KEY), ("AWS_SECRET_ACCESS_KEY", SECRET_KEY)];

/// A machine: its own folder, with two slots that one script plays, spoken by espeak-ng.
fn machine(bucket: &Bucket, store: &str) -> Folder {
    let folder = Folder::new().with_env(&KEYS);
    let artifacts = format!("[artifacts]\nurl = \"s3://team/shows\"\nendpoint = \"http://{}\"\n", bucket.at());
    let store = format!("[store]\nurl = \"{store}\"\n");
    let cast = "[chorus]\nslots = [\"ann\", \"ann\"]\n[agents.ann]\nmodel = \"script/replies.yaml\"\n";
    folder.write("polylogue.toml", &format!("{artifacts}{store}{cast}[speech]\nengine = \"espeak\"\n"));
    folder.write(
        "replies.yaml",
        "replies:\n- {agent: slot-1, purpose: comment, reply: {targetSlotId: 2, comment: \"Yes.\", voice_profile: dry_precise}}\n\
         - {purpose: comment, reply: {targetSlotId: 1, comment: \"No.\", voice_profile: dry_precise}}\n\
         - {reply: {text: \"Well, well.\", voice_profile: dry_precise}}\n",
    );
    folder
}

/// A store that all machines of a test share.
fn shared() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("shared.db").display());
    (folder, url)
}

fn paths(result: &Value) -> Vec<String> {
    result["artifacts"].as_array().unwrap().iter().map(|path| path.as_str().unwrap().to_owned()).collect()
}

fn events<'a>(stream: &'a str, name: &str) -> Vec<&'a str> {
    let event = format!("event: {name}\n");
    stream.split("\n\n").filter(|frame| frame.contains(&event)).collect()
}

#[test]
fn what_one_server_speaks_every_server_serves() {
    let (mut bucket, (_kept, store)) = (Bucket::start(), shared());
    let (here, there) = (machine(&bucket, &store), machine(&bucket, &store));
    let one = Server::start(&here, &[]);
    let stream = one.text_of_post("/v1/chat", &json!({"message": "What is a home?"}));
    assert_eq!(events(&stream, "slot.audio").len(), 6, "{stream}");
    // A server starts without the bucket.
    bucket.stop();
    let other = Server::start(&there, &[]);
    bucket.start_again();
    let sessions = other.get("/v1/sessions");
    let session = sessions["sessions"][0]["sessionId"].as_str().unwrap();
    let paths = paths(&other.get(&format!("/v1/sessions/{session}")));
    assert_eq!(paths.len(), 7, "{paths:?}");
    let mut keys: Vec<String> = paths.iter().map(|path| format!("shows/{path}")).collect();
    keys.sort();
    assert_eq!(bucket.keys(), keys);
    for path in &paths {
        let (address, kept) =
            (format!("/v1/audio/{path}"), std::fs::read(bucket.object(&format!("shows/{path}"))).unwrap());
        let (head, body) = other.bytes("GET", &address, "");
        assert!(head.starts_with("http/1.1 200") && body == kept, "{path}: {head}");
        let (head, body) = other.bytes("GET", &address, "range: bytes=4-11\r\n");
        assert!(head.contains(&format!("content-range: bytes 4-11/{}", kept.len())), "{head}");
        assert!(head.starts_with("http/1.1 206") && body == kept[4..12], "{head}");
        let (head, body) = other.bytes("HEAD", &address, "");
        assert!(head.contains(&format!("content-length: {}", kept.len())) && body.is_empty(), "{head}");
        let (head, _) = other.bytes("GET", &address, &format!("range: bytes={}-\r\n", kept.len()));
        assert!(head.starts_with("http/1.1 416"), "{head}");
    }
    let (head, body) = other.bytes("GET", "/v1/audio/tts/none.wav", "");
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert!(head.starts_with("http/1.1 404") && body["error"]["code"] == "NOT_FOUND", "{head}{body}");

    bucket.stop();
    let (head, body) = other.bytes("GET", &format!("/v1/audio/{}", paths[0]), "");
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert!(head.starts_with("http/1.1 503") && head.contains("retry-after: 1"), "{head}");
    assert_eq!((&body["success"], &body["error"]["code"]), (&json!(false), &json!("INTERNAL")));
    bucket.start_again();

    let (head, _) = other.bytes("DELETE", &format!("/v1/sessions/{session}"), "");
    assert!(head.starts_with("http/1.1 2"), "{head}");
    assert_eq!(bucket.keys(), Vec::<String>::new());
    one.terminate();
    other.terminate();
}

#[test]
fn a_bucket_that_is_gone_costs_clips_and_no_words() {
    let (mut bucket, (_kept, store)) = (Bucket::start(), shared());
    let folder = machine(&bucket, &store);
    bucket.stop();
    let run = folder.run(&["chorus", "What is a home?"]);
    assert_eq!((run.status, run.reason()), (0, "completed"), "{}", run.stderr);
    assert_eq!(run.said().len(), 7);
    let failed: Vec<&Value> = run.lines.iter().filter(|line| line["type"] == "clip_failed").collect();
    assert_eq!(failed.len(), 6, "{:?}", run.lines);
    for clip in failed {
        let said = clip["error"].as_str().unwrap();
        assert!(said.contains("the bucket of the artifacts cannot be reached"), "{said}");
        assert!(!said.contains("127.0.0.1") && !said.contains(SECRET_KEY), "{said}");
    }
}

#[test]
fn sound_is_exported_wherever_the_bucket_is_reached() {
    let (mut bucket, (_kept, store)) = (Bucket::start(), shared());
    let (here, there, nowhere) = (machine(&bucket, &store), machine(&bucket, &store), machine(&bucket, &store));
    let run = here.run(&["chorus", "What is a home?"]);
    assert_eq!((run.status, run.reason()), (0, "completed"), "{}", run.stderr);
    // Playback systems on this machine read files.
    let clips: Vec<String> = paths(run.result()).into_iter().filter(|path| path.ends_with(".wav")).collect();
    assert!(clips.len() == 6 && clips.iter().all(|clip| here.path("artifacts").join(clip).is_file()), "{clips:?}");
    let export = |folder: &Folder| {
        let output = folder.output(&["sessions", "export", "last", "--as", "wav", "--out", "mix.wav"]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for folder in [&here, &there] {
        let (status, said) = export(folder);
        assert_eq!(status, Some(0), "{said}");
    }
    let mixes = [&here, &there].map(|folder| std::fs::read(folder.path("mix.wav")).unwrap());
    assert!(mixes[0] == mixes[1] && mixes[0].len() > 10_000, "{}", mixes[0].len());
    bucket.stop();
    assert_eq!(export(&there).0, Some(0), "what was fetched once is there");
    let (status, said) = export(&nowhere);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("the clips cannot be fetched: the bucket of the artifacts cannot be reached"), "{said}");
    assert!(!nowhere.path("mix.wav").exists(), "no mix with holes in it");
}

#[test]
fn the_doctor_writes_to_the_bucket() {
    let (mut bucket, (_kept, store)) = (Bucket::start(), shared());
    let about = |folder: &Folder| {
        let run = folder.run(&["doctor"]);
        let found = run.lines.iter().find(|line| line["about"] == "artifacts").cloned();
        let found = found.unwrap_or_else(|| panic!("{:?}", run.lines));
        (run.status, found["works"].clone(), found["said"].as_str().unwrap().to_owned())
    };
    let good = machine(&bucket, &store);
    assert_eq!(about(&good), (0, json!(true), "s3://team/shows".to_owned()));
    assert_eq!(bucket.keys(), Vec::<String>::new(), "it clears what it wrote");
    let wrong = [("AWS_ACCESS_KEY_ID", ACCESS_KEY), ("AWS_SECRET_ACCESS_KEY", "wrong")];
    let refused = about(&machine(&bucket, &store).with_env(&wrong));
    assert_eq!((refused.0, &refused.1), (1, &json!(false)));
    assert!(refused.2.contains("refuses the key (SignatureDoesNotMatch)"), "{}", refused.2);
    let keyless =
        about(&machine(&bucket, &store).with_env(&[("AWS_ACCESS_KEY_ID", ""), ("AWS_SECRET_ACCESS_KEY", "")]));
    assert_eq!((keyless.0, keyless.2.contains("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")), (1, true));
    bucket.stop();
    let gone = about(&good);
    assert_eq!((gone.0, gone.2.contains("cannot be reached")), (1, true));
    for bad in ["[artifacts]\nurl = \"file:///tmp\"", "[artifacts]\nurl = \"s3://team\"\nendpoint = \"nowhere\""] {
        good.write("polylogue.toml", bad);
        assert_eq!(good.run(&["chorus", "Hi"]).status, 2, "{bad}");
    }
}
