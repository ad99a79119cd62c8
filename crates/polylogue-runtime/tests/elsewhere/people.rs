//! A person plays a character of a scene: who runs it while they are waited for, and who goes on when their time is up.

use std::time::Duration;

use polylogue_core::{
    Awaited, Event, Setup,
    format::scene::Decision,
    id::{PersonId, SessionId},
    projection::{Outcome, Status},
    setup::{Agent, Cast, Change, FormatSetup, ModelRef},
};
use polylogue_runtime::HubError;
use tokio::time::{Instant, sleep};

use super::{
    letters::{directed, direction, scene},
    two,
};
use crate::support::{Behaviour, Bench, TestModel};

/// How late a time that is up is noticed: nodes look once a second.
const LOOK: Duration = Duration::from_secs(1);

fn you() -> PersonId {
    "you".parse().unwrap()
}

/// The scene with a person in the place of the second character, who is waited for so long.
fn with_person(patience: Option<u32>) -> Setup {
    let mut setup = scene();
    let mut agents = setup.cast.agents().to_vec();
    agents[1] = Agent { model: ModelRef::of_person(&you()), ..agents[1].clone() };
    let crew = setup.cast.crew().to_vec();
    setup.cast = Cast::new(agents, vec![you()]).unwrap().with_crew(crew).unwrap();
    let mut settings = setup.format.settings::<polylogue_core::format::scene::Settings>().unwrap().clone();
    settings.patience = patience;
    setup.format = FormatSetup::new(settings);
    setup
}

fn quick() -> std::sync::Arc<TestModel> {
    TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(1)))
}

async fn status(bench: &Bench, id: SessionId) -> Status {
    let conversation = bench.hub.conversation(id).await.unwrap();
    let outcome = bench.hub.outcome(&conversation).await.unwrap();
    let listed = bench.ports.journal.sessions(9).await.unwrap().into_iter().find(|summary| summary.id == id).unwrap();
    assert_eq!(outcome.status, listed.status(), "the list says the same");
    outcome.status
}

async fn count(bench: &Bench, id: SessionId, which: impl Fn(&Event) -> bool) -> usize {
    bench.hub.records(id).await.unwrap().iter().filter(|record| which(&record.event)).count()
}

async fn passed_over(bench: &Bench, id: SessionId) -> usize {
    count(bench, id, |event| matches!(event.decided::<Decision>(), Some(Decision::PassedOver { .. }))).await
}

async fn beat(bench: &Bench, id: SessionId) -> u32 {
    polylogue_core::format::scene::beats_over(&bench.hub.conversation(id).await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn whoever_attends_goes_on_when_the_time_of_a_person_is_up() {
    let (here, there) = two(quick(), false);
    let id = here.hub.start(with_person(Some(60))).await.unwrap();
    here.hub.wait(id).await.unwrap();
    assert_eq!((status(&here, id).await, here.hub.running()), (Status::Waiting, 0), "nobody runs it");
    // The process that began it is gone, and nobody is there for a while.
    here.hub.leave().await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!(passed_over(&there, id).await, 0);
    there.hub.attend().await.unwrap();
    there.hub.wait(id).await.unwrap();
    assert_eq!((passed_over(&there, id).await, beat(&there, id).await), (1, 1));
    assert_eq!(count(&there, id, |event| matches!(event, Event::Resumed { .. })).await, 0, "it went on as it was");

    // From then on by itself: 60 s in each of the beats that are left.
    let began = Instant::now();
    while there.hub.conversation(id).await.unwrap().stage().ended().is_none() {
        sleep(Duration::from_millis(200)).await;
    }
    let expected = Duration::from_secs(3 * 60 + 3 * 2 + 60);
    assert!(began.elapsed() <= expected + 4 * LOOK, "{:?}", began.elapsed());
    assert_eq!(passed_over(&there, id).await, 4);
}

#[tokio::test(start_paused = true)]
async fn words_begin_it_anew_wherever_they_are_said() {
    let (here, there) = two(quick(), false);
    there.hub.attend().await.unwrap();
    let id = here.hub.start(with_person(Some(60))).await.unwrap();
    // Into the beat, while the others are asked: by letter, because it runs elsewhere.
    sleep(Duration::from_millis(100)).await;
    there.hub.say(id, you(), "Open the gate!".into()).await.unwrap();
    assert!(here.hub.is_running(id));
    here.hub.wait(id).await.unwrap();
    assert_eq!((beat(&here, id).await, status(&here, id).await), (1, Status::Waiting));
    // And where it waits, at whoever hears them.
    sleep(Duration::from_secs(30)).await;
    there.hub.say(id, you(), "/pass".into()).await.unwrap();
    assert!(there.hub.is_running(id));
    there.hub.wait(id).await.unwrap();
    assert_eq!((beat(&there, id).await, passed_over(&there, id).await), (2, 0));
    // The time of this wait runs from its own beginning.
    sleep(Duration::from_secs(58)).await;
    assert_eq!(passed_over(&there, id).await, 0);
    sleep(Duration::from_secs(4)).await;
    assert_eq!(passed_over(&there, id).await, 1);
}

#[tokio::test(start_paused = true)]
async fn one_who_may_take_their_time_does() {
    let (here, there) = two(quick(), false);
    there.hub.attend().await.unwrap();
    let id = here.hub.start(with_person(None)).await.unwrap();
    here.hub.wait(id).await.unwrap();
    sleep(Duration::from_secs(2 * 3_600)).await;
    assert_eq!((status(&there, id).await, passed_over(&there, id).await), (Status::Waiting, 0));
    here.hub.say(id, you(), "Good morning.".into()).await.unwrap();
    here.hub.wait(id).await.unwrap();
    assert_eq!(beat(&here, id).await, 1);
}

#[tokio::test(start_paused = true)]
async fn who_is_gone_is_passed_over_once() {
    let (here, there) = two(quick(), false);
    let id = here.hub.start(with_person(Some(60))).await.unwrap();
    here.hub.wait(id).await.unwrap();
    let awaited = here.hub.conversation(id).await.unwrap().awaited().remove(0);
    let both = [here.hub.pass_over(id, awaited.clone()), there.hub.pass_over(id, awaited.clone())];
    for passed in futures_util::future::join_all(both).await {
        assert_eq!(passed, Ok(()));
    }
    // The next wait is another one.
    assert_eq!(here.hub.pass_over(id, awaited).await, Ok(()));
    assert_eq!(here.hub.pass_over(id, Awaited::patiently(you())).await, Ok(()));
    here.hub.wait(id).await.unwrap();
    there.hub.wait(id).await.unwrap();
    assert_eq!(passed_over(&here, id).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_scene_whose_process_is_killed_in_a_beat_asks_nobody_twice() {
    let (here, there) = two(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(10))), false);
    let id = here.hub.start(with_person(Some(60))).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    here.hub.say(id, you(), "I was first.".into()).await.unwrap();
    here.hub.leave().await;
    assert_eq!(status(&there, id).await, Status::Left);
    there.hub.resume(id, Change::default()).await.unwrap();
    there.hub.wait(id).await.unwrap();
    assert_eq!((beat(&there, id).await, status(&there, id).await), (1, Status::Waiting));
    let outcome = Outcome::of(&there.hub.conversation(id).await.unwrap());
    assert_eq!(outcome.lines.iter().filter(|line| &*line.text == "I was first.").count(), 1);
    let twice = there.hub.say(id, you(), "Now.".into()).await;
    assert_eq!(twice, Ok(()));
    assert!(matches!(there.hub.say(id, you(), "And now.".into()).await, Err(HubError::Rejected(_))));
}

#[tokio::test(start_paused = true)]
async fn a_scene_is_directed_whoever_runs_it_or_nobody() {
    let (here, there) = two(quick(), false);
    // It waits for a person.
    let id = here.hub.start(with_person(None)).await.unwrap();
    here.hub.wait(id).await.unwrap();
    there.hub.propose(id, direction("Whisper.")).await.unwrap();
    there.hub.wait(id).await.unwrap();
    assert_eq!((directed(&there, id).await, status(&there, id).await), (1, Status::Waiting));
    // Its process is gone: it stays left, and what was directed is there for whoever goes on.
    let id = here.hub.start(with_person(None)).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    here.hub.leave().await;
    there.hub.propose(id, direction("Louder.")).await.unwrap();
    assert_eq!((directed(&there, id).await, status(&there, id).await), (1, Status::Left));
    there.hub.resume(id, Change::default()).await.unwrap();
    there.hub.wait(id).await.unwrap();
    assert_eq!(status(&there, id).await, Status::Waiting);
    let cues = polylogue_core::format::scene::cues(&there.hub.conversation(id).await.unwrap());
    assert_eq!(cues[0].notes, ["Louder.".into()]);
}
