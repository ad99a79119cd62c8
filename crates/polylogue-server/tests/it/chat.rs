//! `POST /v1/chat`: the stream of the source document, event by event, and who comes back to it.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    client::{Heard, get, open, post},
    house::{Wanted, comment_on, good, slot_of, wav},
};
use polylogue_core::{format::chorus::purpose, line::LineKind};
use serde_json::{Value, json};

pub(crate) fn chat(slots: u8) -> Value {
    let slots: Vec<Value> =
        (1..=slots).map(|slot| json!({"slotId": slot, "agentId": format!("agent-{slot}")})).collect();
    json!({"message": "What is a home?", "slots": slots})
}

/// What must hold for every stream of one message; returns what the slots said, as (turn, slot) to payload.
pub(crate) fn check(events: &[Heard]) -> BTreeMap<(u64, u64), Value> {
    assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id), "ids go up");
    let session = &events[0].data["sessionId"];
    assert!(session.as_str().is_some_and(|id| id.len() == 36));
    let (mut turn, mut done, mut said, mut heard) = (0, 0, BTreeMap::new(), BTreeMap::new());
    let (mut started, mut failed) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        let data = &event.data;
        assert_eq!(data["sessionId"], *session, "{event:?}");
        let at = data["turnIndex"].as_u64().unwrap_or_default();
        let place = (at, data["slotId"].as_u64().unwrap_or_default());
        let keys: Vec<&str> = data.as_object().unwrap().keys().map(String::as_str).collect();
        let slot_keys = ["sessionId", "turnIndex", "kind", "slotId", "agentId"];
        if event.name.starts_with("slot.") {
            assert_eq!(keys[..5], slot_keys);
            assert_eq!(data["kind"], ["response", "comment", "reply"][at as usize - 1]);
            assert_eq!(data["agentId"], format!("agent-{}", place.1));
        }
        match event.name.as_str() {
            "turn.start" => {
                assert_eq!(keys, ["sessionId", "turnIndex"]);
                assert_eq!((at, done), (turn + 1, turn), "a turn begins after the texts of the one before");
                turn = at;
            }
            "slot.start" => {
                assert_eq!((at, keys.len()), (turn, 5));
                assert_eq!(started.insert(place, ()), None, "a slot starts once");
            }
            "slot.done" => {
                assert!(at == turn && started.contains_key(&place));
                let own: &[&str] =
                    if at == 2 { &["targetSlotId", "comment", "voiceProfile"] } else { &["text", "voiceProfile"] };
                assert_eq!(&keys[5..], own);
                assert_ne!(data["targetSlotId"], data["slotId"]);
                assert_eq!(said.insert(place, data.clone()), None);
            }
            "slot.audio" => {
                assert_eq!(keys[5..], ["voiceProfile", "audioFormat", "audioPath"]);
                assert_eq!(data["audioFormat"], "wav");
                assert_eq!(data["audioPath"], path(&said[&place]), "the name of the source document");
                assert_eq!(heard.insert(place, true), None);
            }
            "slot.error" => {
                assert_eq!(keys[5..], ["error"]);
                assert!(data["error"]["message"].is_string());
                if data["error"]["type"] == "tts_error" {
                    assert!(said.contains_key(&place));
                    assert_eq!(heard.insert(place, false), None);
                } else {
                    assert!(!said.contains_key(&place));
                    failed.insert(place.1, ());
                }
            }
            "turn.done" => {
                assert_eq!(keys, ["sessionId", "turnIndex", "slotCount"]);
                assert_eq!((at, data["slotCount"].as_u64().unwrap() as usize), (turn, in_turn(&said, at)));
                done = at;
            }
            "turn.audio" => {
                assert_eq!(keys, ["sessionId", "turnIndex", "clipCount"]);
                assert!(at <= done, "the texts are complete");
                assert_eq!(in_turn(&heard, at), in_turn(&said, at), "every clip of the turn is made or failed");
                let made = heard.iter().filter(|((turn, _), made)| *turn == at && **made).count();
                assert_eq!(data["clipCount"].as_u64().unwrap() as usize, made);
            }
            "done" => {
                assert_eq!(event, events.last().unwrap(), "done is last");
                assert_eq!(keys[..3], ["completedSlots", "sessionId", "turns"]);
                let slots = started.keys().filter(|(turn, _)| *turn == 1).count();
                assert_eq!(data["completedSlots"].as_u64().unwrap() as usize, slots - failed.len());
            }
            other => panic!("{other} is no event of a chorus"),
        }
    }
    let last = events.last().unwrap();
    assert_eq!(last.name, "done");
    assert_eq!(heard.len(), said.len(), "done follows every clip");
    // Only who was commented on replies.
    for (_, slot) in said.keys().filter(|(turn, _)| *turn == 3) {
        assert!(said.iter().any(|((turn, _), data)| *turn == 2 && data["targetSlotId"] == *slot));
    }
    said
}

fn in_turn<T>(places: &BTreeMap<(u64, u64), T>, turn: u64) -> usize {
    places.keys().filter(|(at, _)| *at == turn).count()
}

/// The path of a clip, put together anew from the source document.
fn path(said: &Value) -> String {
    let word = |key: &str| said[key].to_string().trim_matches('"').to_owned();
    let (slot, agent, voice) = (word("slotId"), word("agentId"), word("voiceProfile"));
    let name = match said["turnIndex"].as_u64().unwrap() {
        1 => format!("slot-{slot}_{agent}_{voice}"),
        2 => format!("slot-{slot}_comment_to_slot-{}_{agent}_{voice}", word("targetSlotId")),
        _ => format!("slot-{slot}_reply_{agent}_{voice}"),
    };
    format!("tts/sessions/{}/turn_{}/{name}.wav", word("sessionId"), word("turnIndex"))
}

/// How many lines each turn has.
fn counts(said: &BTreeMap<(u64, u64), Value>) -> [usize; 3] {
    [1, 2, 3].map(|turn| in_turn(said, turn))
}

#[tokio::test]
async fn the_stream_of_one_two_and_six_slots() {
    for (slots, lines) in [(1, [1, 0, 0]), (2, [2, 2, 2]), (6, [6, 6, 6])] {
        let server = Wanted::good(slots).start().await;
        let opened = post(server.at, "/v1/chat", &chat(slots)).await;
        assert_eq!(opened.headers["content-type"], "text/event-stream");
        let events = opened.events().await;
        let said = check(&events);
        assert_eq!(counts(&said), lines);
        assert_eq!(events.last().unwrap().data["turns"], 3);
        let path = format!("/v1/audio/{}", path(&said[&(1, 1)]));
        assert_eq!(get(server.at, &path).await.body, wav());
        server.stop().await;
    }
}

#[tokio::test]
async fn a_slot_fails_in_each_of_the_turns() {
    for (purpose, lines) in [(purpose::RESPOND, [5, 5, 4]), (purpose::COMMENT, [6, 5, 5]), (purpose::REPLY, [6, 6, 5])]
    {
        let says = move |ask: &polylogue_core::ask::Ask| match slot_of(ask.id.agent.as_str()) {
            2 if ask.id.purpose == purpose => None,
            // When slot 2 is not there, slot 1 comments on slot 4.
            1 if ask.id.purpose == purpose::COMMENT && purpose == purpose::RESPOND => Some(comment_on(4)),
            _ => good(ask, 6),
        };
        let server = Wanted::saying(says).start().await;
        let events = post(server.at, "/v1/chat", &chat(6)).await.events().await;
        assert_eq!(counts(&check(&events)), lines, "{purpose:?}");
        let errors: Vec<_> = events.iter().filter(|event| event.name == "slot.error").collect();
        assert_eq!((errors.len(), &errors[0].data["error"]["type"]), (1, &json!("refused")));
        server.stop().await;
    }
}

#[tokio::test]
async fn every_comment_is_on_one_slot() {
    let says = |ask: &polylogue_core::ask::Ask| match (ask.id.purpose, slot_of(ask.id.agent.as_str())) {
        (purpose::COMMENT, 3) => Some(comment_on(1)),
        (purpose::COMMENT, _) => Some(comment_on(3)),
        (purpose::REPLY, 3) => {
            assert_eq!(ask.request.prompt.matches("Well said.").count(), 3, "{}", ask.request.prompt);
            good(ask, 6)
        }
        _ => good(ask, 6),
    };
    let server = Wanted::saying(says).start().await;
    let events = post(server.at, "/v1/chat", &chat(6)).await.events().await;
    assert_eq!(counts(&check(&events)), [6, 6, 2]);
    server.stop().await;
}

#[tokio::test]
async fn speech_fails_for_one_slot_and_for_all() {
    for (silent, errors) in [(2, 3), (0, 18)] {
        let mut wanted = Wanted::good(6);
        wanted.sounds = Box::new(move |slot, kind| silent != 0 && slot != silent && kind.is_spoken());
        let server = wanted.start().await;
        let events = post(server.at, "/v1/chat", &chat(6)).await.events().await;
        assert_eq!(counts(&check(&events)), [6, 6, 6]);
        assert_eq!(events.iter().filter(|event| event.data["error"]["type"] == "tts_error").count(), errors);
        assert_eq!(events.last().unwrap().data["completedSlots"], 6);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_later_message_is_silent_when_it_says_so() {
    let server = Wanted::good(2).start().await;
    let clips = async |body: &serde_json::Value| {
        let events = post(server.at, "/v1/chat", body).await.events().await;
        assert_eq!(events.last().unwrap().name, "done");
        let clips = events.iter().filter(|event| event.name == "slot.audio").count();
        (events[0].data["sessionId"].as_str().unwrap().to_owned(), clips)
    };
    let (id, first) = clips(&chat(2)).await;
    let (_, silent) = clips(&json!({"message": "And a house?", "sessionId": id, "speech": false})).await;
    let (_, again) = clips(&json!({"message": "And a street?", "sessionId": id})).await;
    assert_eq!((first, silent, again), (6, 0, 6));
    server.stop().await;
}

#[tokio::test]
async fn whoever_comes_back_at_any_event_sees_the_same_stream() {
    let mut wanted = Wanted::good(3);
    wanted.think = Duration::from_millis(5);
    let server = wanted.start().await;
    let mut opened = post(server.at, "/v1/chat", &chat(3)).await;
    // One listener leaves after every event and comes back, while the work goes on.
    let first = opened.event().await.unwrap();
    drop(opened);
    let id = first.data["sessionId"].as_str().unwrap().to_owned();
    let mut in_pieces = vec![first];
    loop {
        let last = in_pieces.last().unwrap().id.to_string();
        let again = json!({"message": "-", "sessionId": id}).to_string();
        let headers = [("content-type", "application/json"), ("last-event-id", last.as_str())];
        let mut opened = open(server.at, "POST", "/v1/chat", &headers, &again).await;
        let Some(event) = opened.event().await else { break };
        in_pieces.push(event);
        if in_pieces.last().unwrap().name == "done" {
            break;
        }
    }
    check(&in_pieces);
    // Later it is all there, from every place.
    let whole = open(server.at, "GET", &format!("/v1/chat/{id}"), &[], "").await.events().await;
    assert_eq!(in_pieces, whole);
    for at in 0..whole.len() {
        let last = whole[at].id.to_string();
        let headers = [("last-event-id", last.as_str())];
        let rest = open(server.at, "GET", &format!("/v1/chat/{id}"), &headers, "").await.events().await;
        assert_eq!(rest, whole[at + 1..]);
        let path = format!("/v1/chat/{id}?from={last}");
        assert_eq!(open(server.at, "GET", &path, &[], "").await.events().await, whole[at + 1..]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_later_message_goes_on_with_the_session() {
    let server = Wanted::good(2).start().await;
    let first = post(server.at, "/v1/chat", &chat(2)).await.events().await;
    let id = first[0].data["sessionId"].as_str().unwrap();
    let again = json!({"message": "And a house?", "sessionId": id});
    let second = post(server.at, "/v1/chat", &again).await.events().await;
    assert!(second[0].id > first.last().unwrap().id);
    assert_eq!((second[0].name.as_str(), second.last().unwrap().name.as_str()), ("turn.start", "done"));
    let paths: Vec<&str> = second.iter().filter_map(|event| event.data["audioPath"].as_str()).collect();
    assert!(paths.len() == 6 && paths.iter().all(|path| path.contains("/message_2/turn_")), "{paths:?}");
    let with_slots = json!({"message": "More?", "sessionId": id, "slots": [{"slotId": 1, "agentId": "a"}]});
    assert_eq!(post(server.at, "/v1/chat", &with_slots).await.whole().await.code(), "INVALID_REQUEST");
    server.stop().await;
}

#[tokio::test]
async fn turns_wait_for_each_other_and_speech_overlaps_the_next_turn() {
    let mut wanted = Wanted::good(6);
    (wanted.think, wanted.speak) = (Duration::from_millis(30), Duration::from_millis(45));
    let server = wanted.start().await;
    check(&post(server.at, "/v1/chat", &chat(6)).await.events().await);
    let moments = server.told.moments.lock().unwrap().clone();
    let of =
        |what: &'static str, turn: u32| moments.iter().filter(move |moment| moment.what == what && moment.turn == turn);
    for turn in [1, 2] {
        let texts_complete = of("ask", turn).map(|ask| ask.to).max().unwrap();
        assert!(of("ask", turn + 1).all(|ask| ask.from >= texts_complete), "turn {} waits", turn + 1);
        let overlaps =
            of("clip", turn).any(|clip| of("ask", turn + 1).any(|ask| clip.from < ask.to && ask.from < clip.to));
        assert!(overlaps, "clips of turn {turn} are made beside turn {}", turn + 1);
    }
    server.stop().await;
}

#[tokio::test]
async fn closing_the_connection_does_not_stop_the_work_and_stop_does() {
    let mut wanted = Wanted::good(2);
    wanted.think = Duration::from_millis(20);
    let server = wanted.start().await;
    let mut opened = post(server.at, "/v1/chat", &chat(2)).await;
    let id = opened.event().await.unwrap().data["sessionId"].as_str().unwrap().to_owned();
    drop(opened);
    let whole = open(server.at, "GET", &format!("/v1/chat/{id}"), &[], "").await.events().await;
    assert_eq!(whole.last().unwrap().data["completedSlots"], 2);

    let mut opened = post(server.at, "/v1/chat", &chat(2)).await;
    let id = opened.event().await.unwrap().data["sessionId"].as_str().unwrap().to_owned();
    // It is the chorus's turn, not the person's.
    let again = json!({"message": "Wait!", "sessionId": id});
    assert_eq!(post(server.at, "/v1/chat", &again).await.whole().await.code(), "CONFLICT");
    let stopped = open(server.at, "POST", &format!("/v1/sessions/{id}/stop"), &[], "").await.whole().await;
    assert_eq!((stopped.status, &stopped.json()["reason"]), (200, &json!("cancelled")));
    let rest = opened.events().await;
    assert_eq!(rest.last().unwrap().data["reason"], "cancelled");
    server.stop().await;
}

#[tokio::test]
async fn no_speech_no_audio() {
    let mut wanted = Wanted::good(2);
    wanted.sounds = Box::new(|_, _: LineKind| panic!("nobody speaks"));
    let server = wanted.start().await;
    let mut body = chat(2);
    body["speech"] = false.into();
    let events = post(server.at, "/v1/chat", &body).await.events().await;
    assert!(events.iter().all(|event| !event.name.contains("audio")));
    server.stop().await;
}
