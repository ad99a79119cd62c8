//! The embedded model through the binary: without a key, conversations still run to a well-formed end. Its file is
//! in the user's cache folder: `./test` and `polylogue models pull` fetch it.

use serde_json::Value;

use crate::folder::Folder;

/// A folder in which the smallest model plays, whatever else was fetched on this machine.
fn small() -> Folder {
    let folder = Folder::new();
    folder.write("polylogue.toml", "[local]\nmodel = \"smollm2\"\n");
    folder
}

#[test]
fn without_a_key_the_embedded_model_plays_the_agents() {
    let folder = small();
    let run = folder.run(&["collaborate", "Name a colour, and say why.", "--max-rounds", "2"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let agents = run.lines[0]["setup"]["cast"]["agents"].as_array().unwrap();
    assert!(agents.iter().all(|agent| agent["model"] == "local/smollm2"), "{agents:?}");
    assert!(["final", "no_handoff", "cap_reached"].contains(&run.reason()), "{}", run.reason());
    let lines = run.result()["lines"].as_array().unwrap();
    assert!(lines.iter().any(|line| line["kind"] == "message"), "{lines:?}");
    assert!(lines.iter().all(|line| !line["text"].as_str().unwrap().trim().is_empty()), "{lines:?}");
    let costs = &run.result()["costs"];
    assert!(costs["totalTokens"].as_u64().unwrap() > 100 && costs["estimatedUSD"] == 0.0, "{costs}");
    let repaired = run.lines.iter().filter(|line| line["repairs"].as_array().is_some_and(|all| !all.is_empty()));
    assert_eq!(repaired.count(), 0, "what is made by a grammar needs no repair");
}

#[test]
fn the_seed_decides_what_the_embedded_model_says() {
    let folder = small();
    let said = |seed: &str| {
        let run = folder.run(&["collaborate", "Name a colour.", "--max-rounds", "1", "--seed", seed]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        run.said()
    };
    let (one, other) = (said("1"), said("2"));
    assert_ne!(one, other);
    assert_eq!(said("1"), one, "the same seed, in a session of its own");
}

#[test]
fn a_small_chorus_runs_through_all_three_turns() {
    let folder = Folder::new();
    folder.write(
        "polylogue.toml",
        "[chorus]\nspeech = false\nslots = [\"ann\", \"ann\"]\n\
         [agents.ann]\nmodel = \"local/smollm2\"\nmax_tokens = 90\n",
    );
    let run = folder.run(&["chorus", "What is a home?"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(run.reason(), "completed");
    let lines = run.result()["lines"].as_array().unwrap();
    let of_kind = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((of_kind("response"), of_kind("comment")), (2, 2), "{lines:?}");
    assert!(of_kind("reply") >= 1, "{lines:?}");
}

#[test]
fn the_doctor_and_the_list_know_the_embedded_model() {
    let here = small();
    let about = |folder: &Folder, command: &str| -> Value {
        let name = |line: &Value| line["about"] == "local" || line["provider"] == "local";
        let args: Vec<&str> = command.split(' ').collect();
        let run = folder.run(&args);
        run.lines.into_iter().find(name).unwrap_or_else(|| panic!("{command}: {}", run.stderr))
    };
    assert_eq!(about(&here, "doctor")["works"], true);
    let listed = about(&here, "models list");
    let names: Vec<&str> =
        listed["models"].as_array().unwrap().iter().map(|one| one["model"].as_str().unwrap()).collect();
    for known in ["local/smollm2", "local/qwen2.5-coder-0.5b", "local/qwen2.5-coder-1.5b", "local/qwen3-4b"] {
        assert!(names.contains(&known), "{names:?}");
    }
    let smallest = listed["models"].as_array().unwrap().iter().find(|one| one["model"] == "local/smollm2").unwrap();
    assert_eq!((&listed["missing"], &smallest["plays"]), (&Value::Null, &Value::from("gpt")));
    let nowhere = Folder::without_cache();
    let doctor = about(&nowhere, "doctor");
    assert_eq!(
        (&doctor["works"], doctor["said"].as_str().unwrap().contains("models pull")),
        (&Value::Bool(false), true)
    );
}

#[test]
fn what_cannot_be_pulled_says_what_to_do() {
    let folder = Folder::without_cache();
    for (args, told) in [
        (&["nobody"][..], "choose from smollm2, qwen2.5-coder-0.5b, qwen2.5-coder-1.5b, qwen3-4b"),
        (&["hf:nobody"], "write hf:OWNER/REPO/FILE.gguf"),
        (&["hf:a/b/c.bin"], "write hf:OWNER/REPO/FILE.gguf"),
        (&["hf:a/b/c.gguf", "--from", "c.gguf"], "[local.models]"),
    ] {
        let run = folder.run(&[&["models", "pull"], args].concat());
        assert_eq!(run.status, 2, "{args:?}: {:?}", run.lines);
        let message = run.lines[0]["error"]["message"].as_str().unwrap();
        assert!(message.contains(told), "{message}");
    }
}
