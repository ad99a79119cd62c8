//! Sessions that wait for a person: nobody runs them, and one word of many is in time.

use std::{sync::Arc, time::Duration};

use crate::support::{Behaviour, Bench, TestModel, setup};
use futures_util::future::join_all;
use polylogue_core::{
    Event, Reason, Rejected, Setup,
    format::discussion::{Closing, DiscussionState, Participant, Role, Settings, Who},
    id::{PersonId, SessionId},
    projection::{Outcome, Status},
    setup::{Cast, Change, FormatSetup},
};
use polylogue_runtime::{HubSettings, MemoryJournal};

fn ada() -> PersonId {
    "ada".parse().unwrap()
}

/// A person, then two agents.
fn discussion(max_rounds: u32) -> Setup {
    let setup = setup(1);
    let agents = setup.cast.agents().to_vec();
    let seat =
        |name: &polylogue_core::id::AgentId| Participant { role: Role::Specialist, who: Who::Agent(name.clone()) };
    let person = Participant { role: Role::User, who: Who::Person(ada()) };
    let participants = [person].into_iter().chain(agents.iter().map(|agent| seat(&agent.name))).collect();
    let settings =
        Settings { title: "The roof".into(), topic: None, participants, max_rounds, key: None, closing: Closing::Open };
    Setup { format: FormatSetup::new(settings), cast: Cast::new(agents, vec![ada()]).unwrap(), ..setup }
}

async fn entries(bench: &Bench, id: SessionId) -> usize {
    DiscussionState::of(&bench.hub.records(id).await.unwrap()).unwrap().entries.len()
}

#[tokio::test(start_paused = true)]
async fn who_waits_holds_no_place_and_no_time() {
    let settings = HubSettings { max_live: 1, ..HubSettings::default() };
    let model = TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(400)));
    let bench = Bench::with(model, Arc::new(MemoryJournal::default()), settings);
    let mut setup = discussion(2);
    setup.limits.first_token_seconds = Some(1_000);
    setup.limits.call_max_seconds = 1_000;
    let id = bench.run(setup).await;
    let other = bench.run(discussion(2)).await;
    assert_eq!(bench.hub.running(), 0);
    let outcome = Outcome::of(&bench.hub.conversation(other).await.unwrap());
    assert_eq!((outcome.status, bench.model.calls()), (Status::Waiting, 0));
    // Two agents at 400 s in one round are within the 900 s of a session, and a year is nothing.
    tokio::time::sleep(Duration::from_secs(365 * 86_400)).await;
    bench.hub.say(id, ada(), "It leaks.".into()).await.unwrap();
    assert!(bench.hub.is_running(id));
    bench.hub.wait(id).await.unwrap();
    assert_eq!((bench.reason(id).await, entries(&bench, id).await), (None, 3));
    assert_eq!(bench.hub.conversation(id).await.unwrap().stage().active_ms(), 800_000);
    tokio::time::sleep(Duration::from_secs(365 * 86_400)).await;
    bench.hub.say(id, ada(), "And now?".into()).await.unwrap();
    bench.hub.wait(id).await.unwrap();
    // The time of the agents is a bound all the same.
    assert_eq!(bench.reason(id).await, Some(Reason::LIMIT_SECONDS));
}

#[tokio::test(start_paused = true)]
async fn of_many_words_for_one_turn_one_is_taken() {
    for processes in [1, 3] {
        let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1))));
        let id = bench.run(discussion(1)).await;
        let others: Vec<Bench> = (1..processes).map(|_| bench.next_process(bench.model.clone())).collect();
        let hubs: Vec<_> = [&bench].into_iter().chain(&others).map(|bench| bench.hub.clone()).collect();
        let said = (0..12).map(|n| {
            let hub = hubs[n % hubs.len()].clone();
            async move { hub.say(id, ada(), format!("Word {n}.").into()).await }
        });
        let heard = join_all(said).await;
        assert_eq!(heard.iter().filter(|heard| heard.is_ok()).count(), 1, "{heard:?}");
        for error in heard.into_iter().filter_map(Result::err) {
            assert_eq!(error, Rejected::NotYourTurn(ada()).into());
        }
        for hub in hubs {
            hub.wait(id).await.unwrap();
        }
        assert_eq!((bench.reason(id).await, entries(&bench, id).await), (Some(Reason::COMPLETED), 3));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_a_pause_wherever_it_comes() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1))));
    let id = bench.run(discussion(1)).await;
    for is_speaking in [false, true] {
        if is_speaking {
            bench.hub.say(id, ada(), "It leaks.".into()).await.unwrap();
        }
        bench.hub.stop(id).await.unwrap();
        assert_eq!(bench.reason(id).await, Some(Reason::CANCELLED));
        let word = bench.hub.say(id, ada(), "Hello?".into()).await;
        assert_eq!(word, Err(Rejected::Paused.into()));
        bench.hub.resume(id, Change::default()).await.unwrap();
        bench.hub.wait(id).await.unwrap();
    }
    assert_eq!((bench.reason(id).await, entries(&bench, id).await), (Some(Reason::COMPLETED), 3));
}

#[tokio::test(start_paused = true)]
async fn the_next_process_leaves_alone_what_waits_and_goes_on_with_the_rest() {
    let bench = Bench::new(TestModel::new(|_| Behaviour::Hangs { after: "" }));
    let (waits, speaks) = (bench.run(discussion(1)).await, bench.run(discussion(1)).await);
    bench.hub.say(speaks, ada(), "It leaks.".into()).await.unwrap();
    bench.hub.leave().await;
    let before = bench.hub.records(waits).await.unwrap();
    let next = bench.next_process(TestModel::handing_on());
    assert_eq!(next.hub.attend().await.unwrap(), [speaks]);
    next.hub.wait(speaks).await.unwrap();
    assert_eq!(next.reason(speaks).await, Some(Reason::COMPLETED));
    assert_eq!(next.hub.records(waits).await.unwrap(), before);
    let people = |records: &[polylogue_core::Record]| {
        records.iter().filter(|record| matches!(record.event, Event::HumanSpoke { .. })).count()
    };
    assert_eq!(people(&next.hub.records(speaks).await.unwrap()), 1);
}
