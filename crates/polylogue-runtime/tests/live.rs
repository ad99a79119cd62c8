//! What is shown while it is being written.

#[allow(dead_code, reason = "not every test needs all of it")]
mod support;

use std::time::Duration;

use polylogue_core::{
    Event,
    id::Seq,
    room::{CallId, RoomCall},
};
use polylogue_runtime::{Published, RoomHeard, Subscription, port::CallError};
use tokio::time::{sleep, timeout};

use support::{Behaviour, Bench, TestModel, setup};

/// Everything that passes within a while, as a page would show it, and how often a text was begun anew.
async fn shown(watch: &mut Subscription) -> (String, u32) {
    let (mut words, mut restarts) = (String::new(), 0);
    while let Ok(Ok(Some(published))) = timeout(Duration::from_millis(100), watch.next()).await {
        if let Published::Delta { text, is_restart, .. } = published {
            if is_restart {
                words.clear();
                restarts += 1;
            }
            words.push_str(&text);
        }
    }
    (words, restarts)
}

#[tokio::test(start_paused = true)]
async fn words_are_shown_as_they_arrive_and_whoever_comes_late_gets_them_at_once() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::Hangs { after: r#"{"message": "Once upo"# }));
    let id = bench.hub.start(setup(1)).await.unwrap();
    let mut early = bench.hub.subscribe(id, Seq::START);
    assert_eq!(shown(&mut early).await, ("Once upo".to_owned(), 0), "it was there from the beginning");
    // One reads the journal first, the other has heard it elsewhere.
    for after in [0, 2] {
        let mut late = bench.hub.subscribe(id, Seq(after));
        assert_eq!(shown(&mut late).await, ("Once upo".to_owned(), 1), "after {after}");
    }
    let mut without = bench.hub.subscribe(id, Seq::START).of_records();
    assert_eq!(shown(&mut without).await, (String::new(), 0), "who wants the records only gets them only");
    bench.hub.stop(id).await.unwrap();
    let mut over = bench.hub.subscribe(id, Seq::START);
    assert_eq!(shown(&mut over).await, (String::new(), 0), "what is over is in the journal");
}

#[tokio::test(start_paused = true)]
async fn a_retry_makes_the_text_so_far_void() {
    let model = TestModel::new(|call| match call.retry {
        0 => Behaviour::Hangs { after: r#"{"message": "Once upo"# },
        _ => Behaviour::Fails(CallError::Unauthorized("no".into())),
    });
    let bench = Bench::new(model);
    let id = bench.hub.start(setup(1)).await.unwrap();
    let mut watch = bench.hub.subscribe(id, Seq::START);
    let mut deltas = Vec::new();
    while let Some(published) = watch.next().await.unwrap() {
        if let Published::Delta { text, is_restart, .. } = published {
            deltas.push((text.to_string(), is_restart));
        }
    }
    assert_eq!(deltas, [("Once upo".to_owned(), false), (String::new(), true)]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_the_words_in_one_piece_and_every_record() {
    let model = TestModel::new(|call| match call.ask.id.turn {
        4 => {
            call.deltas.push(r#"{"message": ""#);
            Behaviour::WritesFor { seconds: 20 }
        }
        _ => Behaviour::HandsOn,
    });
    let bench = Bench::new(model);
    let id = bench.hub.start(setup(4)).await.unwrap();
    let mut slow = bench.hub.subscribe(id, Seq::START);
    sleep(Duration::from_millis(10_500)).await;
    let (mut seqs, mut deltas) = (Vec::new(), Vec::new());
    while let Some(published) = slow.next().await.unwrap() {
        match published {
            Published::Record(record) => seqs.push(record.seq.0),
            Published::Delta { text, is_restart, .. } => deltas.push((text.to_string(), is_restart)),
            Published::Waiting { .. } => {}
        }
    }
    let records = bench.hub.records(id).await.unwrap();
    assert_eq!(seqs, (1..=records.len() as u64).collect::<Vec<_>>());
    assert_eq!(deltas[0], ("word ".repeat(10).trim().to_owned(), false), "what was missed comes as one");
    assert!(deltas.len() > 5 && deltas[1..].iter().all(|(text, restart)| text == " word" && !restart), "{deltas:?}");
}

#[tokio::test(start_paused = true)]
async fn a_room_hears_the_words_of_each_session_apart() {
    let bench = Bench::new(TestModel::new(|call| match call.ask.id.agent.as_str() {
        "gpt" => Behaviour::Hangs { after: r#"{"message": "I am"# },
        _ => Behaviour::HandsOn,
    }));
    let call = |byte: u8| RoomCall {
        room: "lab".parse().unwrap(),
        call_id: CallId::from_random([byte; 16]),
        target: "gpt".parse().unwrap(),
        is_repeat: false,
    };
    let mut first = bench.hub.listen("lab".parse().unwrap(), 0);
    let mut calls = Vec::new();
    for byte in [1, 2] {
        let mut setup = setup(1);
        setup.room = Some(call(byte));
        calls.push((setup.id, call(byte).call_id));
        bench.hub.start(setup).await.unwrap();
    }
    sleep(Duration::from_secs(1)).await;
    let head = bench.ports.rooms.room_head(&"lab".parse().unwrap()).await.unwrap();
    let mut late = bench.hub.listen("lab".parse().unwrap(), head.0 << 8);
    for (name, listener, restarts) in [("first", &mut first, false), ("late", &mut late, true)] {
        let mut heard = Vec::new();
        while let Ok(Ok(next)) = timeout(Duration::from_millis(100), listener.next_live()).await {
            if let RoomHeard::Passing { session, call, what: Published::Delta { text, is_restart, .. } } = next {
                assert_eq!(&*text, "I am");
                assert!(is_restart || !restarts, "{name}");
                heard.push((session, call));
            }
        }
        heard.sort();
        calls.sort();
        assert_eq!(heard, calls, "{name}");
    }
    let records = bench.hub.records(calls[0].0).await.unwrap();
    assert!(records.iter().all(|record| !matches!(record.event, Event::Answered { .. })), "nothing of it is recorded");
}
