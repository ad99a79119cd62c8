//! Rooms on a hub: what listeners hear, from wherever they begin, and what a room knows of itself.

#[allow(dead_code, reason = "not every test needs all of it")]
mod support;

use std::{sync::Arc, time::Duration};

use polylogue_core::{
    Reason, Setup,
    format::collaboration::{Mode, RoomEvent, Settings},
    room::{CallId, RoomCall, RoomId},
    setup::Change,
};
use polylogue_runtime::{HubError, HubSettings, MemoryJournal, RoomSubscription};
use support::{Behaviour, Bench, TestModel, setup};

fn lobby() -> RoomId {
    "lobby".parse().unwrap()
}

fn in_lobby(max_rounds: u32) -> Setup {
    let target = "router".parse().unwrap();
    let room = RoomCall { room: lobby(), call_id: CallId::from_random([1; 16]), target, is_repeat: false };
    Setup { room: Some(room), ..setup(max_rounds) }
}

fn told(events: &[(u64, RoomEvent)]) -> Vec<String> {
    events.iter().map(|(_, event)| format!("{}: {}", event.sender, event.text)).collect()
}

/// Everything up to and with the event that this text begins.
async fn hear(listener: &mut RoomSubscription, last: &str) -> Vec<(u64, RoomEvent)> {
    let mut heard = Vec::new();
    loop {
        let event = listener.next().await.unwrap();
        let is_last = event.1.text.starts_with(last);
        heard.push(event);
        if is_last {
            return heard;
        }
    }
}

const END: &str = "Collaboration ended";

#[tokio::test(start_paused = true)]
async fn whoever_listens_before_during_and_after_hears_the_same() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1))));
    let mut before = bench.hub.listen(lobby(), 0);
    let id = bench.hub.start(in_lobby(3)).await.unwrap();
    let first = before.next().await.unwrap();
    let running = bench.hub.sessions_in(&lobby()).await.unwrap();
    assert_eq!((running.len(), running[0].session_id, running[0].max_rounds), (1, id, 3));
    let mut during = bench.hub.listen(lobby(), 0);
    let mut early = vec![first];
    early.extend(hear(&mut before, END).await);
    let late = hear(&mut bench.hub.listen(lobby(), 0), END).await;
    assert_eq!(hear(&mut during, END).await, early);
    assert_eq!(late, early);
    assert_eq!(
        told(&early),
        [
            "you: Work it out.",
            "router: Collaboration started: gpt and claude, up to 3 rounds, gpt begins.",
            "router: Work it out.",
            "gpt: turn 1 of gpt",
            "router: go on, claude",
            "claude: turn 2 of claude",
            "router: go on, gpt",
            "gpt: turn 3 of gpt",
            "router: Collaboration ended: all 3 rounds are used.",
        ]
    );
    bench.hub.wait(id).await.unwrap();
    assert_eq!(bench.hub.sessions_in(&lobby()).await, Ok(vec![]));

    // From every event on, exactly the rest; and the other way round, exactly the last so many.
    for (nth, (number, _)) in early.iter().enumerate() {
        let rest = &early[nth + 1..];
        if !rest.is_empty() {
            assert_eq!(hear(&mut bench.hub.listen(lobby(), *number), END).await, rest);
            let before = bench.hub.before_last(&lobby(), rest.len()).await.unwrap();
            assert_eq!(hear(&mut bench.hub.listen(lobby(), before), END).await, rest);
        }
    }
    assert_eq!(bench.hub.before_last(&lobby(), early.len()).await, Ok(0));
    assert_eq!(bench.hub.before_last(&lobby(), 100).await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn the_next_process_tells_the_rest_and_nothing_twice() {
    let bench = Bench::new(TestModel::new(|call| match call.ask.id.turn {
        2 => Behaviour::Hangs { after: "{" },
        _ => Behaviour::HandsOn,
    }));
    bench.hub.start(in_lobby(3)).await.unwrap();
    let mut heard = hear(&mut bench.hub.listen(lobby(), 0), "go on, claude").await;
    bench.hub.leave().await;

    let next = bench.next_process(TestModel::handing_on());
    let mut listener = next.hub.listen(lobby(), heard.last().unwrap().0);
    next.hub.attend().await.unwrap();
    heard.extend(hear(&mut listener, END).await);
    let undisturbed = Bench::new(TestModel::handing_on());
    undisturbed.run(in_lobby(3)).await;
    assert_eq!(told(&heard), told(&hear(&mut undisturbed.hub.listen(lobby(), 0), END).await));
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_heard_whether_or_not_the_session_runs_here() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::Hangs { after: "" }));
    let mut listener = bench.hub.listen(lobby(), 0);
    let id = bench.hub.start(in_lobby(2)).await.unwrap();
    hear(&mut listener, "Collaboration started").await;
    bench.hub.stop(id).await.unwrap();
    hear(&mut listener, "Collaboration canceled by user.").await;
    bench.hub.resume(id, Change::default()).await.unwrap();
    hear(&mut listener, "Collaboration goes on.").await;
    bench.hub.leave().await;
    bench.hub.wait(id).await.unwrap();
    bench.hub.stop(id).await.unwrap();
    hear(&mut listener, "Collaboration canceled by user.").await;
    assert_eq!(bench.reason(id).await, Some(Reason::CANCELLED));
}

#[tokio::test(start_paused = true)]
async fn what_is_over_is_told_to_whoever_is_called_next() {
    let bench = Bench::new(TestModel::new(|call| match &*call.ask.request.prompt {
        prompt if prompt.contains("hang") => Behaviour::Hangs { after: "" },
        _ => Behaviour::HandsOn,
    }));
    assert_eq!(bench.hub.recently_said(&lobby()).await, Ok(vec![]));
    bench.run(in_lobby(1)).await;
    let mut hanging = in_lobby(1);
    let settings = hanging.format.settings_mut::<Settings>().unwrap();
    (settings.goal, settings.mode) = ("hang".into(), Mode::Single);
    bench.hub.start(hanging).await.unwrap();
    let said = bench.hub.recently_said(&lobby()).await.unwrap();
    let said: Vec<String> = said.iter().map(|said| format!("{}: {}", said.name, said.text)).collect();
    assert_eq!(said, ["you: Work it out.", "gpt: turn 1 of gpt"]);
    for _ in 0..60 {
        bench.run(in_lobby(2)).await;
    }
    assert_eq!(bench.hub.recently_said(&lobby()).await.unwrap().len(), 8);
}

#[tokio::test(start_paused = true)]
async fn several_sessions_of_one_call_begin_together_or_not_at_all() {
    let settings = HubSettings { max_live: 2, ..HubSettings::default() };
    let model = TestModel::new(|_| Behaviour::Hangs { after: "" });
    let bench = Bench::with(model, Arc::new(MemoryJournal::default()), settings);
    let three = || (0..3).map(|_| in_lobby(2)).collect::<Vec<_>>();
    assert_eq!(bench.hub.start_all(three()).await, Err(HubError::Busy(2)));
    let mut bad = three()[..2].to_vec();
    bad[1].limits.max_seconds = 0;
    assert!(matches!(bench.hub.start_all(bad).await, Err(HubError::BadSetup(_))));
    assert_eq!((bench.hub.running(), bench.ports.journal.sessions(9).await), (0, Ok(vec![])));
    assert_eq!(bench.hub.start_all(three()[..2].to_vec()).await.unwrap().len(), 2);
    assert_eq!(bench.hub.sessions_in(&lobby()).await.unwrap().len(), 2);
}
