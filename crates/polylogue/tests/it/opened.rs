//! What a request may name as a model: the agents here, and what the operator has opened.

use serde_json::{Value, json};

use crate::{folder::Folder, server::Server};

/// A folder with an agent that a script plays, and a program that puts down that it was started.
fn folder(server: &str) -> Folder {
    let folder = Folder::new();
    folder.write(
        "polylogue.toml",
        &format!(
            "{server}\n[agents.ann]\nmodel = \"script/replies.yaml\"\n[scene]\nmoderator = \"script/replies.yaml\"\n\
             [commands.coder]\nprogram = \"sh\"\nargs = [\"coder.sh\"]\n"
        ),
    );
    folder.write("coder.sh", "touch started; cat coder.json");
    let said = json!({"text": "I ran.", "voice_profile": "dry_precise"});
    folder.write("coder.json", &json!({"text": said.to_string()}).to_string());
    folder.write("replies.yaml", "replies: [{reply: {text: Well., voice_profile: dry_precise}}]");
    folder
}

/// Every way in which a request names a model, with `model` in it.
fn ways(server: &Server, model: &str) -> Vec<(&'static str, (u16, Value))> {
    let begun = server.post("/v1/rooms/lobby/messages", &json!({"text": "Go.", "target": "ann"}));
    let session = begun.1["sessionId"].as_str().unwrap().to_owned();
    let scene = |agents: Value, more: Value| {
        let mut file = json!({"name": "a", "prompt": "They talk.", "characters": ["ann", "bob"], "agents": agents});
        file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.post("/v1/scenes", &file)
    };
    let plain = json!({"ann": "She is kind.", "bob": "He is not."});
    let named = json!({"ann": "She is kind.", "bob": format!("---\nmodel: {model}\n---\nHe is not.")});
    let participants = |other: Value| {
        let body = json!({"title": "T", "participants": [{"role": "user"}, other], "maxRounds": 1});
        server.post("/api/discussions", &body)
    };
    vec![
        ("slot", server.post("/v1/chat", &json!({"message": "Hi", "slots": [{"slotId": 1, "agentId": model}]}))),
        ("participant", participants(json!({"role": "manager", "agent": model}))),
        ("front matter", scene(named, json!({}))),
        ("moderator", scene(plain.clone(), json!({"moderator": model}))),
        ("fallback", scene(plain, json!({"moderator": {"fallback": model}}))),
        ("fork", server.post(&format!("/v1/sessions/{session}/fork"), &json!({"at": 1, "models": {"ann": model}}))),
        (
            "room",
            server.post(
                "/v1/rooms/lobby/messages",
                &json!({"text": "Go.", "mode": "collaborate", "participants": ["ann", model]}),
            ),
        ),
    ]
}

#[test]
fn programs_and_files_of_the_machine_are_nobodys_to_name() {
    let folder = folder("");
    let server = Server::start(&folder, &["--no-speech"]);
    for model in ["command/coder", "script/replies.yaml", "script/../../etc/passwd"] {
        for (way, (status, answer)) in ways(&server, model) {
            assert_eq!((status, &answer["success"]), (400, &json!(false)), "{way} with {model}: {answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains("ann"), "{way}: it says who is there: {message}");
        }
    }
    assert!(!folder.path("started").exists(), "the program was started");
}

#[test]
fn behind_tokens_only_what_the_operator_opened_can_be_named() {
    let refused = |server: &Server, model: &str| {
        let ways = ways(server, model).into_iter();
        ways.filter(|(_, (_, answer))| answer.to_string().contains("requests may not name the model")).count()
    };
    let folder = folder("[server]\nmodels = [\"anthropic/*\"]\n");
    let server = Server::start(&folder, &["--no-speech"]);
    assert_eq!(refused(&server, "openai/gpt-4o"), 7);
    // What is open has no key here, and that is what is said.
    assert_eq!(refused(&server, "anthropic/claude-sonnet-5-5"), 0);
    let listed = server.get("/v1/models").to_string();
    assert!(listed.contains("anthropic/") && !listed.contains("openai/"), "{listed}");
}

#[test]
fn a_program_that_is_opened_can_be_named() {
    let folder = folder("[server]\nmodels = [\"command/coder\"]\n");
    let server = Server::start(&folder, &["--no-speech"]);
    let body = json!({"message": "Hi", "slots": [{"slotId": 1, "agentId": "command/coder"}]});
    let stream = server.text_of_post("/v1/chat", &body);
    assert!(stream.contains("I ran."), "{stream}");
    assert!(folder.path("started").exists());
}
