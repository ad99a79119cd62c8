//! Scores over HTTP as the page needs them: what there is to write from, what they come to, what a person is asked.

use serde_json::json;

use crate::{folder::Folder, server::Server};

const SUPPER: &str = r#"
score: supper
roles:
  guest: { seats: 1, person: true }
  cook: { seats: 1, default: gpt }
settings: { tone: plain }
phases:
  - hunger:
      who: guest
      prompt: "{{ message }} What are you hungry for? Be {{ tone }}."
  - propose:
      who: cook
  - answer:
      who: guest
"#;

#[test]
fn a_person_is_told_what_the_score_asks_of_them() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("scores")).unwrap();
    folder.write("scores/supper.yaml", SUPPER);
    folder.write("replies.yaml", "replies: [{reply: Soup.}]");
    let server = Server::start(&folder, &["--model", "script/replies.yaml", "--no-speech"]);
    let play = json!({"message": "It is late.", "settings": {"tone": "brief"}});
    let (status, begun) = server.post("/v1/scores/supper", &play);
    assert_eq!(status, 202, "{begun}");
    let session = format!("/v1/sessions/{}", begun["sessionId"].as_str().unwrap());
    let asked = json!([{"who": "you", "asked": "It is late. What are you hungry for? Be brief."}]);
    assert_eq!(server.get(&session)["awaits"], asked);
    server.kill();

    let server = Server::start(&folder, &["--model", "script/replies.yaml", "--no-speech"]);
    assert_eq!(server.get(&session)["awaits"], asked, "it is asked the same after a restart");
    assert_eq!(server.post(&format!("{session}/say"), &json!({"text": "Soup?", "who": "you"})).0, 202);
    let mut records = server.watch(begun["sessionId"].as_str().unwrap());
    while records.next().is_some_and(|(_, record)| record["decision"] != "awaited" || record["who"] != "you") {}
    // A phase without a prompt asks nothing but to go on.
    assert_eq!(server.get(&session)["awaits"], json!([{"who": "you"}]));
}

#[test]
fn a_blank_score_is_offered_that_can_be_played_as_it_is() {
    let folder = Folder::new();
    folder.write("replies.yaml", "replies: [{reply: Fine.}]");
    folder.write("sent.toml", "[scores]\nallow_sent = true\n");
    let server = Server::start(&folder, &["--model", "script/replies.yaml", "--no-speech"]);
    let offered = server.get("/v1/scores");
    assert_eq!(offered["allowSent"], false);
    let blank = offered["blank"].as_str().unwrap().replace("NAME", "mine");
    let (status, checked) = server.post("/v1/scores/check", &json!({"score": blank}));
    assert_eq!(
        (status, &checked["problems"], &checked["score"]["name"]),
        (200, &json!([]), &json!("mine")),
        "{checked}"
    );
    let sent = json!({"message": "Well?", "score": blank});
    assert_eq!(server.post("/v1/scores/mine", &sent).0, 400, "its operator has not allowed it");
    server.kill();

    let server = Server::start(&folder, &["--model", "script/replies.yaml", "--no-speech", "--config", "sent.toml"]);
    assert_eq!(server.get("/v1/scores")["allowSent"], true);
    let (status, begun) = server.post("/v1/scores/mine", &sent);
    assert_eq!(status, 202, "{begun}");
}
