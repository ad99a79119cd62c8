//! What the server offers to begin with, and what its page needs: examples, characters, why, forks with changes.

use serde_json::{Value, json};

use crate::{
    folder::Folder,
    server::Server,
    stage::{play, stage},
};

/// Watches a session to its end, and tells what came of it.
fn to_its_end(server: &Server, begun: &(u16, Value)) -> Value {
    assert_eq!(begun.0, 202, "{}", begun.1);
    let id = begun.1["sessionId"].as_str().unwrap();
    let mut records = server.watch(id);
    while records.next().is_some() {}
    server.get(&format!("/v1/sessions/{id}"))
}

#[test]
fn every_example_is_what_its_route_takes() {
    let folder = Folder::new();
    folder.write("replies.yaml", "replies: [{reply: {message: Done., final: true}}]");
    let server = Server::start(&folder, &["--model", "script/replies.yaml", "--no-speech"]);
    let examples = server.get("/v1/examples")["examples"].clone();
    let names: Vec<&String> = examples.as_object().unwrap().keys().collect();
    assert_eq!(names, ["chorus", "collaboration", "discussion", "scene"]);
    assert_eq!(examples["chorus"]["slots"].as_array().unwrap().len(), 6);
    let (status, discussion) = server.post("/api/discussions", &examples["discussion"]);
    assert_eq!((status, discussion["speakerOrder"].as_array().map(Vec::len)), (201, Some(3)), "{discussion}");
    let (status, scene) = server.post("/v1/scenes", &examples["scene"]);
    assert_eq!(status, 202, "{scene}");
    let collaboration = &examples["collaboration"];
    let room = json!({"text": collaboration["goal"], "mode": "collaborate", "participants": collaboration["between"]});
    server.say("lobby", &room);
    let stream = server.text("/v1/ready");
    assert!(stream.contains("\"works\"") && !stream.contains("/home"), "{stream}");
}

#[test]
fn characters_are_listed_as_they_are_written() {
    let folder = stage();
    folder
        .write(".claude/agents/zoe.md", "---\nname: zoe\ndescription: \"Ends things: politely\"\n---\nShe is kind.\n");
    folder.write(".claude/agents/empty.md", "");
    folder.write(".claude/agents/notes.txt", "no character");
    let server = Server::start(&folder, &[]);
    let listed = server.get("/v1/characters")["characters"].clone();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["alice", "bob", "zoe"]);
    assert_eq!((&listed[2]["description"], &listed[0]["description"]), (&json!("Ends things: politely"), &Value::Null));
    assert_eq!(listed[0]["markdown"], "# Alice - Manager\nShe is blunt.\n");
}

#[test]
fn a_line_is_asked_about_over_http() {
    let folder = stage();
    let played = play(&folder, "the-apology", "Alice confronts Bob.", None);
    let (id, lines) = (played.result()["sessionId"].as_str().unwrap(), &played.result()["lines"]);
    let server = Server::start(&folder, &[]);
    let why = |body: &Value| server.post(&format!("/v1/sessions/{id}/why"), body);
    let said = to_its_end(&server, &why(&json!({"seq": lines[0]["seq"]})));
    assert_eq!(said["lines"][1]["text"], "I could not bear her silence any longer.");
    let said = to_its_end(&server, &why(&json!({"seq": lines[0]["seq"], "question": "Were you afraid?"})));
    assert_eq!((&said["format"], &said["lines"][1]["text"]), (&json!("interview"), &json!("A little, yes.")));
    for (body, status) in [
        (json!({"seq": 1}), 400),
        (json!({"seq": 9999}), 400),
        (json!({}), 400),
        (json!({"seq": lines[0]["seq"], "question": "x".repeat(2001)}), 400),
    ] {
        assert_eq!(why(&body).0, status, "{body}");
    }
    let nobody = server.post("/v1/sessions/00000000-0000-4000-8000-000000000000/why", &json!({"seq": 1}));
    assert_eq!(nobody.0, 404);
}

#[test]
fn a_fork_over_http_has_other_models_and_no_file_of_the_machine() {
    let folder = Folder::new();
    folder.write(
        "polylogue.toml",
        "[agents.gpt]\nmodel = \"script/one.yaml\"\n[agents.claude]\nmodel = \"script/one.yaml\"\n",
    );
    folder.write("one.yaml", "replies: [{reply: {message: One., final: true}}]");
    let run = folder.run(&["collaborate", "Go."]);
    let id = run.result()["sessionId"].as_str().unwrap();
    let server = Server::start(&folder, &[]);
    let fork = |models: Value| server.post(&format!("/v1/sessions/{id}/fork"), &json!({"at": 1, "models": models}));
    let (status, refused) = fork(json!({"gpt": "script/one.yaml"}));
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("INVALID_CONFIG")));
    let (status, refused) = fork(json!({"gpt": "openai/gpt-4o"}));
    assert_eq!(status, 400, "there is no key: {refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("OPENAI_API_KEY"), "{refused}");
}

#[test]
fn a_slot_has_the_persona_and_the_voice_that_it_is_given() {
    let folder = Folder::new();
    folder.write("polylogue.toml", "[agents.ann]\nmodel = \"script/replies.yaml\"\npersona = \"You are calm.\"\n");
    folder.write("replies.yaml", "replies: [{reply: {text: Well., voice_profile: dry_precise}}]");
    let server = Server::start(&folder, &["--no-speech"]);
    let slots = json!([{"slotId": 1, "agentId": "ann", "persona": "You are a lighthouse.", "voice": "playful_expressive"}, {"slotId": 2, "agentId": "ann"}]);
    let stream = server.text_of_post("/v1/chat", &json!({"message": "Who are you?", "slots": slots}));
    assert!(stream.contains("event: done"), "{stream}");
    let setup = folder.run(&["sessions", "replay", "last"]).lines[0]["setup"].clone();
    let agents = &setup["cast"]["agents"];
    assert_eq!(
        (&agents[0]["persona"], &agents[0]["voice"]),
        (&json!("You are a lighthouse."), &json!("playful_expressive"))
    );
    assert_eq!((&agents[1]["persona"], agents[1].get("voice")), (&json!("You are calm."), None));
    let unknown = json!([{"slotId": 1, "agentId": "ann", "voice": "nobody"}]);
    let (status, refused) = server.post("/v1/chat", &json!({"message": "Hi", "slots": unknown}));
    assert_eq!(status, 400, "{refused}");
}

#[test]
fn a_server_says_at_its_start_who_plays_and_what_to_do_where_nobody_can() {
    let empty = Folder::without_cache();
    let server = Server::start(&empty, &[]);
    let ready = server.get("/v1/ready");
    let works = |standing: &&Value| standing["works"] == true;
    assert_eq!(ready["models"].as_array().unwrap().iter().find(works), None, "{ready}");
    let kokoro = ready["voices"].as_array().unwrap().iter().find(|voice| voice["name"] == "kokoro").unwrap();
    assert!(kokoro["says"].as_str().unwrap().contains("polylogue voices pull kokoro"), "{kokoro}");
    let told = server.kill().join("\n");
    for part in ["gpt, claude cannot play yet: local/", "OPENAI_API_KEY", "Ollama", "polylogue voices pull kokoro"] {
        assert!(told.contains(part), "`{part}` is not in: {told}");
    }

    let folder = Folder::without_cache();
    folder.write("polylogue.toml", "[agents.ann]\nmodel = \"script/one.yaml\"\n[agents.bob]\nmodel = \"openai/o3\"\n");
    folder.write("one.yaml", "replies: [{reply: One.}]");
    let server = Server::start(&folder, &["--no-speech"]);
    server.get("/v1/ready");
    let told = server.kill().join("\n");
    assert!(told.contains("ann: script/one.yaml\n") && told.contains("bob cannot play yet: openai/o3"), "{told}");
    assert!(told.contains("OPENAI_API_KEY") && !told.contains("kokoro"), "{told}");
}
