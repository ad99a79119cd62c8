//! The doctor claims only what it has tried, and fails where something that is configured cannot work.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::folder::{Folder, Run};

/// What it found about something.
fn about<'a>(run: &'a Run, what: &str) -> &'a Value {
    let found = run.lines.iter().find(|line| line["about"] == what);
    found.unwrap_or_else(|| panic!("nothing about {what}: {:?}", run.lines))
}

#[test]
fn a_server_that_does_not_run_does_not_work() {
    let folder = Folder::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let doctor = || {
        let output = folder.command(&["doctor", "--json"]).env("OLLAMA_HOST", address.to_string()).output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Run { status: output.status.code().unwrap(), lines, stderr: String::new() }
    };
    let running = doctor();
    assert_eq!(about(&running, "ollama")["works"], true);
    drop(server);
    let gone = doctor();
    let ollama = about(&gone, "ollama");
    assert_eq!((gone.status, &ollama["works"]), (0, &json!(false)), "nobody has asked for it: {ollama}");
    assert!(ollama["said"].as_str().unwrap().contains(&format!("nobody answers at http://{address}")), "{ollama}");
    // An agent of the configuration that plays with it is another matter.
    folder.write("polylogue.toml", "[agents.ann]\nmodel = \"ollama/qwen3\"\n");
    let wanted = doctor();
    assert_eq!((wanted.status, &about(&wanted, "agent ann")["works"]), (1, &json!(false)));
}

#[test]
fn a_key_that_was_not_tried_is_only_set() {
    let folder = Folder::new();
    let output = folder.command(&["doctor", "--json"]).env("OPENAI_API_KEY", "sk-test").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let openai = text.lines().find(|line| line.contains("\"openai\"")).unwrap();
    let openai: Value = serde_json::from_str(openai).unwrap();
    assert_eq!((output.status.code(), &openai["works"]), (Some(0), &Value::Null));
    assert!(!text.contains("sk-test"));
}

#[test]
fn everything_that_is_configured_has_to_work() {
    let good = "[agents.ann]\nmodel = \"script/replies.yaml\"\n";
    for (more, what, said) in [
        ("", "", ""),
        ("[agents.bob]\nmodel = \"openai/gpt-4o\"\n", "agent bob", "OPENAI_API_KEY"),
        ("[agents.bob]\nmodel = \"script/none.yaml\"\n", "agent bob", "none.yaml"),
        ("[agents.bob]\npersona = \"Calm.\"\n", "agent bob", "add model ="),
        ("voice = \"nobody\"\n", "agent ann", "nobody"),
        ("[chorus]\nslots = [\"ann\", \"carol\"]\n", "agent carol", "no agent `carol`"),
        ("[collaboration]\nbetween = [\"ann\", \"carol\"]\n", "agent carol", "no agent `carol`"),
        ("[discussion]\nparticipants = [\"user\", \"manager=carol\"]\n", "agent carol", "no agent `carol`"),
        ("[scene]\nmodel = \"script/none.yaml\"\n", "scene model", "none.yaml"),
        ("[scene]\nmoderator = \"script/none.yaml\"\n", "moderator", "none.yaml"),
        ("[speech]\nengine = \"elevenlabs\"\n", "voice elevenlabs", "ELEVENLABS_API_KEY"),
        ("[templates]\nturn1_response = \"none.j2\"\n", "templates", "none.j2"),
        ("[providers.lab]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n", "lab", "nobody answers at"),
    ] {
        let folder = Folder::new();
        folder.write("replies.yaml", "replies: [{reply: Hello.}]");
        folder.write("polylogue.toml", &format!("{good}{more}"));
        let run = folder.run(&["doctor"]);
        if what.is_empty() {
            assert_eq!(run.status, 0, "{:?}", run.lines);
            continue;
        }
        let found = about(&run, what);
        assert_eq!((run.status, &found["works"], &found["configured"]), (1, &json!(false), &json!(true)), "{more}");
        assert!(found["said"].as_str().unwrap().contains(said), "{more}: {found}");
        let plain = String::from_utf8(folder.output(&["doctor"]).stdout).unwrap();
        assert!(plain.lines().any(|line| line.starts_with("FAILS  ") && line.contains(what)), "{plain}");
    }
}
