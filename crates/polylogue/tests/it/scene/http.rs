//! Scenes over HTTP on the real server: the house's characters and those that come along, memory, what is refused.

use serde_json::{Value, json};

use crate::{
    server::Server,
    stage::{PROMISE, stage},
};

fn scene(name: &str) -> Value {
    json!({
        "name": name, "prompt": "Alice confronts Bob about the Henderson deadline.", "characters": ["alice", "bob"],
        "initialSpeaker": "bob", "maxBeats": 5, "story": "office"})
}

/// Plays a scene to its end: its id, and how it went.
fn play(server: &Server, body: &Value) -> (String, Value) {
    let (status, begun) = server.post("/v1/scenes", body);
    assert_eq!(status, 202, "{begun}");
    let id = begun["sessionId"].as_str().unwrap().to_owned();
    // The stream ends with the session.
    let mut records = server.watch(&id);
    while records.next().is_some() {}
    (id.clone(), server.get(&format!("/v1/sessions/{id}/scene")))
}

#[test]
fn a_scene_is_played_by_the_house_and_by_whoever_comes_along_and_remembered() {
    let folder = stage();
    let server = Server::start(&folder, &["--model", "script/replies.yaml"]);
    let (first, went) = play(&server, &scene("the-apology"));
    assert_eq!((&went["reason"], &went["goalAchieved"]), (&json!("goal_achieved"), &json!(true)));
    assert_eq!(went["characters"][0]["name"], "Alice");
    assert_eq!(went["dynamics"].as_array().unwrap().len(), 2);
    let mut with = scene("lunch");
    with["agents"] = json!({"bob": "---\nname: Bobby\n---\nHe has changed."});
    let (second, went) = play(&server, &with);
    assert_eq!(went["characters"][1]["name"], "Bobby");
    let head = |id: &str| {
        let shown = folder.run(&["sessions", "show", id, "--ask", "1"]).lines[0].clone();
        shown["system"].as_str().unwrap().to_owned()
    };
    assert!(!head(&first).contains(PROMISE));
    assert!(head(&second).contains(PROMISE) && head(&second).contains("He has changed."), "{}", head(&second));
}

#[test]
fn what_cannot_be_played_is_refused_in_the_form_of_its_document() {
    let folder = stage();
    let server = Server::start(&folder, &[]);
    let with = |key: &str, value: Value| {
        let mut body = scene("the-apology");
        body[key] = value;
        body
    };
    let (status, refused) = server.post("/v1/scenes", &with("prompt", json!("")));
    assert_eq!(
        (status, &refused["success"], &refused["error"]["code"]),
        (400, &json!(false), &json!("INVALID_CONFIG"))
    );
    assert_eq!(refused["error"]["message"], "Scene prompt is required");
    assert_eq!(refused["error"]["context"]["provided"], with("prompt", json!("")));

    let (status, refused) = server.post("/v1/scenes", &with("characters", json!(["bob", "zoe"])));
    assert_eq!((status, &refused["error"]["code"]), (400, &json!("CHARACTER_LOAD_ERROR")));
    assert_eq!(refused["error"]["message"], "Failed to load character 'zoe'");
    assert_eq!(refused["error"]["context"], json!({"character": "zoe", "reason": "file not found"}));

    let here = folder.path("").canonicalize().unwrap();
    for body in [
        with("agents", json!({"bob": "---\nmodel: script/replies.yaml\n---\nHe reads files."})),
        with("moderator", json!("script/replies.yaml")),
        json!([1, 2]),
        json!({}),
        with("characters", json!(["../alice", "bob"])),
    ] {
        let (status, refused) = server.post("/v1/scenes", &body);
        assert_eq!(status, 400, "{body}: {refused}");
        assert!(!refused.to_string().contains(here.to_str().unwrap()), "it tells a path of the machine: {refused}");
    }
    assert_eq!(server.get("/v1/sessions")["sessions"], json!([]), "nothing has begun");
}
