//! Many runs: what holds for all of them, and all of them at once.

use crate::{
    chat::{chat, check},
    client::{get, post},
    house::{Wanted, comment_on, good, wav},
};
use polylogue_core::{
    ask::Ask,
    format::chorus::{kind, purpose},
};

/// A number that follows from the seed and the ask alone.
fn chance(seed: u64, ask: &Ask) -> u64 {
    let text = format!("{seed} {}", ask.id);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        >> 17
}

/// Fails now and then, talks nonsense now and then, and comments on anybody, itself included.
fn unreliable(ask: &Ask) -> Option<String> {
    let seed = ask.request.thread.messages().first().map_or(&*ask.request.prompt, |message| &*message.text);
    let seed = seed.split("run ").nth(1).and_then(|rest| rest.split('.').next()?.parse().ok()).unwrap_or(0);
    let chance = chance(seed, ask);
    match chance % 10 {
        0 => None,
        1 => Some("not what was asked for".to_owned()),
        _ if ask.id.purpose == purpose::COMMENT && u64::is_multiple_of(seed, 3) => {
            Some(comment_on(1 + (seed % 6) as u8))
        }
        _ if ask.id.purpose == purpose::COMMENT => Some(comment_on((chance / 10 % 8) as u8)),
        _ => good(ask, 6),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_holds_for_five_hundred_runs() {
    let mut wanted = Wanted::saying(unreliable);
    wanted.sounds = Box::new(|slot, kind| !(slot == 4 && kind == kind::COMMENT));
    let server = wanted.start().await;
    let (mut replies, mut failures) = (0, 0);
    for run in 0..500u64 {
        let mut body = chat(1 + (run % 6) as u8);
        body["message"] = format!("run {run}. What is a home?").into();
        body["seed"] = run.into();
        let mut opened = post(server.at, "/v1/chat", &body).await;
        let mut events = Vec::new();
        while let Some(event) = opened.event().await {
            // What is announced is there at that moment, and whole.
            if let Some(path) = event.data["audioPath"].as_str() {
                assert_eq!(get(server.at, &format!("/v1/audio/{path}")).await.body, wav());
            }
            failures += usize::from(event.name == "slot.error");
            events.push(event);
        }
        replies += check(&events).keys().filter(|(turn, _)| *turn == 3).count();
    }
    assert!(replies > 200 && failures > 200, "{replies} replies and {failures} failures: too few to tell");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_at_once() {
    let server = Wanted::good(6).start().await;
    let at = server.at;
    let chats: Vec<_> =
        (0..200).map(|_| tokio::spawn(async move { post(at, "/v1/chat", &chat(6)).await.events().await })).collect();
    for chat in chats {
        assert_eq!(check(&chat.await.unwrap()).len(), 18);
    }
    server.stop().await;
}
