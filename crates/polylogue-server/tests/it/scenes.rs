//! `/v1/scenes`: a scene is played, watched, charted, stopped and gone on with.

use std::time::Duration;

use polylogue_core::{ask::Ask, format::scene::purpose};
use serde_json::{Value, json};

use crate::{
    client::{get, open, post},
    house::Wanted,
};

/// Bob apologizes and Alice accepts, in the third beat.
fn apology(ask: &Ask) -> Option<String> {
    let said = match (ask.id.purpose, ask.id.turn, ask.id.agent.as_str()) {
        (purpose::ACT, 0, "bob") => "[TO: alice, TONE: nervous] \"I can explain what happened.\"",
        (purpose::ACT, 1, "alice") => "[INTERRUPT after \"I can explain\", TONE: furious] \"No excuses!\"",
        (purpose::ACT, 2, "bob") => "[TO: alice, TONE: remorseful] \"I am sorry.\"",
        (purpose::ACT, 2, _) => return None,
        (purpose::ACT, _, _) => "[SILENT, *waits*]",
        (_, 2.., _) => {
            r#"{"evidence": [{"part": 1, "line": "I am sorry."}], "progress": 1, "goalReached": true, "naturalEnd": false}"#
        }
        _ => {
            r#"{"progress": 0.4, "goalReached": false, "naturalEnd": false,
                "relationships": [{"from": "alice", "to": "bob", "change": -0.3}]}"#
        }
    };
    Some(said.to_owned())
}

fn scene() -> Value {
    json!({"name": "quick-apology", "prompt": "Bob apologizes to Alice.", "characters": ["alice", "bob"], "maxBeats": 9})
}

#[tokio::test]
async fn a_scene_is_played_watched_and_charted() {
    let server = Wanted::saying(apology).start().await;
    let mut body = scene();
    body["agents"] = json!({"alice": "# Alice\nShe is blunt."});
    let begun = post(server.at, "/v1/scenes", &body).await.whole().await;
    assert_eq!(begun.status, 202, "{}", begun.text());
    let id = begun.json()["sessionId"].as_str().unwrap().to_owned();

    let records = open(server.at, "GET", &format!("/v1/sessions/{id}/events"), &[], "").await.events().await;
    assert_eq!(
        records.iter().map(|record| record.id).collect::<Vec<_>>(),
        (1..=records.len() as u64).collect::<Vec<_>>()
    );
    let persona = &records[0].data["setup"]["cast"]["agents"][0]["persona"];
    assert_eq!(persona, "# Alice\nShe is blunt.", "whoever comes along is played as it came");
    let decisions: Vec<&str> = records.iter().filter_map(|record| record.data["decision"].as_str()).collect();
    for decision in ["stayed_silent", "judged", "beat_ended", "beat_begun", "concluded"] {
        assert!(decisions.contains(&decision), "{decision} is not in {decisions:?}");
    }

    let shown = get(server.at, &format!("/v1/sessions/{id}")).await.json();
    assert_eq!((&shown["format"], &shown["reason"]), (&json!("scene"), &json!("goal_achieved")));
    let kinds: Vec<&str> =
        shown["lines"].as_array().unwrap().iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!((&kinds[..2], kinds.len()), (&["speak", "interrupt"][..], 4));
    assert!(kinds.contains(&"system"), "{kinds:?}");

    let text = get(server.at, &format!("/v1/sessions/{id}/transcript?as=txt")).await.text();
    for part in ["SCENE: ", "[SCENE START]", "I can explain—", "[SYSTEM: alice unable to respond]", "[SCENE END"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }

    let chart = get(server.at, &format!("/v1/sessions/{id}/scene")).await.json();
    assert_eq!(
        (&chart["success"], &chart["goalAchieved"], &chart["totalBeats"]),
        (&json!(true), &json!(true), &json!(3))
    );
    let progress: Vec<&Value> = chart["dynamics"].as_array().unwrap().iter().map(|beat| &beat["progress"]).collect();
    assert_eq!(progress, [40, 40, 100]);
    assert_eq!(chart["dynamics"][1]["relationships"][0]["value"], -60);
    assert!(chart["dynamics"][1]["moods"]["alice"]["word"].is_string());
    assert_eq!(chart["costs"]["byBeat"].as_array().unwrap().len(), 3);
    assert_eq!(chart["costs"]["byCharacter"]["bob"]["calls"], 3);
    assert_eq!(chart["errors"][0]["character"], "alice");
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_played_is_said_before_it_begins() {
    let server = Wanted::saying(apology).start().await;
    let with = |key: &str, value: Value| {
        let mut body = scene();
        body[key] = value;
        body
    };
    for (body, code, message) in [
        (with("prompt", json!(" ")), "INVALID_CONFIG", "Scene prompt is required"),
        (with("characters", json!(["alice"])), "INVALID_CONFIG", "2 to 5 characters"),
        (with("prompt", json!(7)), "INVALID_CONFIG", "expected"),
        (with("characters", json!(["alice", "nobody"])), "CHARACTER_LOAD_ERROR", "Failed to load character 'nobody'"),
        (with("agents", json!(["alice"])), "INVALID_REQUEST", "`agents` must be an object"),
        (with("agents", json!({"alice": 7})), "INVALID_REQUEST", "`agents` must be an object"),
    ] {
        let refused = post(server.at, "/v1/scenes", &body).await.whole().await;
        assert_eq!((refused.status, refused.code().as_str()), (400, code), "{body}");
        let error = refused.json()["error"].clone();
        assert!(error["message"].as_str().unwrap().contains(message), "{error}");
    }
    let missing = post(server.at, "/v1/scenes", &with("characters", json!(["bob", "nobody"]))).await.whole().await;
    assert_eq!(missing.json()["error"]["context"], json!({"character": "nobody", "reason": "file not found"}));
    let large = post(server.at, "/v1/scenes", &with("setting", json!("x".repeat(1_100_000)))).await.whole().await;
    assert_eq!((large.status, large.code().as_str()), (413, "TOO_LARGE"));
    assert_eq!(get(server.at, "/v1/sessions").await.json()["sessions"], json!([]), "nothing has begun");
    server.stop().await;
}

#[tokio::test]
async fn a_scene_is_stopped_and_gone_on_with_and_there_is_room_for_so_many() {
    let mut wanted = Wanted::saying(apology);
    wanted.think = Duration::from_secs(600);
    wanted.max_live = 1;
    let first = wanted.start().await;
    let begun = post(first.at, "/v1/scenes", &scene()).await.whole().await;
    let id = begun.json()["sessionId"].as_str().unwrap().to_owned();
    let busy = post(first.at, "/v1/scenes", &scene()).await.whole().await;
    assert_eq!((busy.status, busy.code().as_str()), (429, "RATE_LIMITED"));
    let resume = format!("/v1/sessions/{id}/resume");
    let running = post(first.at, &resume, &json!({})).await.whole().await;
    assert_eq!((running.status, running.code().as_str()), (409, "CONFLICT"));
    let stopped = post(first.at, &format!("/v1/sessions/{id}/stop"), &json!({})).await.whole().await;
    assert_eq!(stopped.json()["reason"], "cancelled");
    let journal = first.journal.clone();
    first.stop().await;

    let mut wanted = Wanted::saying(apology);
    wanted.journal = journal;
    let second = wanted.start().await;
    let resumed = post(second.at, &resume, &json!({"maxRounds": 5})).await.whole().await;
    assert_eq!((resumed.status, &resumed.json()["sessionId"]), (202, &json!(id)));
    open(second.at, "GET", &format!("/v1/sessions/{id}/events"), &[], "").await.events().await;
    let chart = get(second.at, &format!("/v1/sessions/{id}/scene")).await.json();
    assert_eq!(chart["reason"], "goal_achieved");
    let again = post(second.at, &resume, &json!({})).await.whole().await;
    assert_eq!((again.status, again.code().as_str()), (409, "CONFLICT"), "it has come to its end");
    let nothing = post(second.at, "/v1/sessions/none/resume", &json!({})).await.whole().await;
    assert_eq!(nothing.code(), "NOT_FOUND");
    second.stop().await;
}
