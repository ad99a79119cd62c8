//! What is said to a session that another hub runs is heard once, and answered as if it had been said there.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use polylogue_core::{
    Event, Reason, Rejected, Setup,
    event::Origin,
    format::{
        self,
        scene::{AgentMode, Decision, MODERATOR, Settings, WorldEvents},
    },
    id::{PersonId, SessionId},
    setup::{Agent, Cast, FormatSetup, Note},
};
use polylogue_runtime::{
    HubError,
    port::{Fate, JournalError, Letter, LetterId, Letters, NodeId, Ports, Posted},
};
use tokio::time::{Instant, sleep};

use super::{another, two};
use crate::support::{Behaviour, Bench, TestModel, setup};

/// How long it takes at most where signals arrive, and where none does: a look every second there, and every tenth of
/// one here.
const AT_ONCE: Duration = Duration::from_millis(50);
const BY_LOOKING: Duration = Duration::from_millis(1_150);

fn you() -> PersonId {
    "you".parse().unwrap()
}

fn slow() -> Arc<TestModel> {
    TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(100)))
}

async fn heard(bench: &Bench, id: SessionId) -> Vec<String> {
    let records = bench.hub.records(id).await.unwrap();
    let words = records.into_iter().filter_map(|record| match record.event {
        Event::HumanSpoke { text, .. } => Some(text.to_string()),
        _ => None,
    });
    words.collect()
}

#[tokio::test(start_paused = true)]
async fn words_reach_a_session_that_another_hub_runs() {
    for (is_deaf, limit) in [(false, AT_ONCE), (true, BY_LOOKING)] {
        let (here, there) = two(slow(), is_deaf);
        let id = here.hub.start(setup(2)).await.unwrap();
        sleep(Duration::from_millis(300)).await;
        let said = Instant::now();
        there.hub.say(id, you(), "Mind the gap.".into()).await.unwrap();
        assert!(said.elapsed() <= limit, "deaf: {is_deaf}, {:?}", said.elapsed());
        assert_eq!(heard(&there, id).await, ["Mind the gap."]);
        assert!(here.hub.is_running(id) && !there.hub.is_running(id), "its owner goes on with it");
        assert_eq!(here.ports.letters.letters(here.hub.node(), 9).await, Ok(vec![]), "no letter is left");
    }
}

#[tokio::test(start_paused = true)]
async fn many_who_speak_elsewhere_are_each_heard_once() {
    let (here, there) = two(slow(), false);
    let third = there.next_process(TestModel::handing_on());
    let id = here.hub.start(setup(2)).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    let said = (0..40).map(|n| {
        let hub = [&here, &there, &third][n % 3].hub.clone();
        async move { hub.say(id, you(), format!("word {n}").into()).await }
    });
    assert!(join_all(said).await.into_iter().all(|said| said.is_ok()));
    let mut words = heard(&here, id).await;
    words.sort();
    let mut expected: Vec<String> = (0..40).map(|n| format!("word {n}")).collect();
    expected.sort();
    assert_eq!(words, expected);
}

#[tokio::test(start_paused = true)]
async fn what_the_owner_rejects_is_rejected_in_the_same_words() {
    let (here, there) = two(slow(), false);
    let id = here.hub.start(setup(2)).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    // This one has read the session before somebody used the key.
    let behind = there.hub.conversation(id).await.unwrap();
    let origin = Origin { key: Some("k".into()), ..Origin::default() };
    here.hub.say_from(id, you(), "first".into(), origin.clone()).await.unwrap();
    let other = there.hub.say_from(behind.clone(), you(), "other".into(), origin.clone()).await;
    assert_eq!(other, Err(HubError::Rejected(Rejected::KeyUsed)));
    there.hub.say_from(behind, you(), "first".into(), origin).await.expect("the same words are heard once");
    assert_eq!(heard(&here, id).await, ["first"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_elsewhere_is_heard_at_once() {
    for (is_deaf, limit) in [(false, Duration::from_millis(150)), (true, BY_LOOKING)] {
        let (here, there) = two(slow(), is_deaf);
        let id = here.hub.start(setup(2)).await.unwrap();
        sleep(Duration::from_millis(300)).await;
        let pressed = Instant::now();
        assert_eq!(there.hub.stop(id).await, Ok(Reason::CANCELLED));
        assert!(pressed.elapsed() <= limit, "deaf: {is_deaf}, {:?}", pressed.elapsed());
        assert_eq!(here.model.dropped(), 1);
    }
}

/// Takes letters and never answers one, like a process that dies before it can.
struct Mute {
    letters: Arc<dyn Letters>,
    taken: AtomicUsize,
}

#[async_trait]
impl Letters for Mute {
    async fn post(&self, letter: Letter, lifetime: Duration) -> Result<Option<NodeId>, JournalError> {
        self.letters.post(letter, lifetime).await
    }

    async fn letters(&self, node: NodeId, limit: usize) -> Result<Vec<Posted>, JournalError> {
        self.letters.letters(node, limit).await
    }

    async fn answer(&self, _: LetterId, _: &str) -> Result<(), JournalError> {
        self.taken.fetch_add(1, Ordering::SeqCst);
        pending().await
    }

    async fn fate(&self, letter: LetterId) -> Result<Fate, JournalError> {
        self.letters.fate(letter).await
    }

    async fn withdraw(&self, letter: LetterId) -> Result<(), JournalError> {
        self.letters.withdraw(letter).await
    }
}

/// A hub that takes letters without answering them, and another on the same store.
fn mute() -> (Bench, Bench, Arc<Mute>) {
    let there = Bench::new(slow());
    let mute = Arc::new(Mute { letters: there.ports.letters.clone(), taken: AtomicUsize::new(0) });
    let letters = mute.clone();
    let here = another(&there, slow(), |ports| Ports { letters, ..ports });
    (here, there, mute)
}

/// Waits until the owner has done what a letter wants, then has it count as gone, and has a third hub go on.
async fn the_owner_dies_after_it_has_acted(here: &Bench, mute: &Mute) -> Bench {
    while mute.taken.load(Ordering::SeqCst) == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    let next = another(here, slow(), |ports| Ports { letters: mute.letters.clone(), ..ports });
    here.ports.nodes.keep_alive(here.hub.node(), Duration::ZERO).await.unwrap();
    assert_eq!(next.hub.attend().await.unwrap().len(), 1);
    next
}

#[tokio::test(start_paused = true)]
async fn words_are_said_once_though_the_owner_dies_before_it_answers() {
    let (here, there, mute) = mute();
    let id = here.hub.start(setup(2)).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    let hub = there.hub.clone();
    let said = tokio::spawn(async move { hub.say(id, you(), "Once.".into()).await });
    let next = the_owner_dies_after_it_has_acted(&here, &mute).await;
    assert_eq!(said.await.unwrap(), Ok(()), "the next owner knows that they were heard");
    assert_eq!(heard(&there, id).await, ["Once."]);
    assert!(next.hub.is_running(id));
}

fn scene() -> Setup {
    let settings = Settings {
        name: "gate".into(),
        prompt: "They wait.".into(),
        goal: None,
        setting: None,
        language: None,
        initial_speaker: None,
        max_beats: 4,
        agent_mode: AgentMode::Thread,
        events: WorldEvents::Off,
        story: None,
        memory: false,
        names: BTreeMap::new(),
        narrator: None,
        memories: BTreeMap::new(),
    };
    let setup = setup(1);
    let moderator = Agent { name: MODERATOR.parse().unwrap(), ..setup.cast.agents()[0].clone() };
    let cast = Cast::new(setup.cast.agents().to_vec(), Vec::new()).unwrap().with_crew(vec![moderator]).unwrap();
    Setup { format: FormatSetup::new(settings), cast, ..setup }
}

fn direction(text: &str) -> format::Decision {
    Decision::directed(Some(Note { to: None, text: text.into() }), None)
}

async fn directed(bench: &Bench, id: SessionId) -> usize {
    let records = bench.hub.records(id).await.unwrap();
    let is_direction = |event: &Event| matches!(event.decided::<Decision>(), Some(Decision::Directed { .. }));
    records.iter().filter(|record| is_direction(&record.event)).count()
}

#[tokio::test(start_paused = true)]
async fn directions_reach_a_scene_that_another_hub_plays() {
    for is_deaf in [false, true] {
        let (here, there) = two(slow(), is_deaf);
        let id = here.hub.start(scene()).await.unwrap();
        sleep(Duration::from_millis(300)).await;
        there.hub.propose(id, direction("Whisper.")).await.unwrap();
        assert_eq!(directed(&here, id).await, 1);
        let empty = there.hub.propose(id, Decision::directed(None, None)).await;
        assert_eq!(empty, Err(HubError::Rejected(Rejected::EmptyMessage)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_direction_is_given_once_though_the_owner_dies_before_it_answers() {
    let (here, there, mute) = mute();
    let id = here.hub.start(scene()).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    let hub = there.hub.clone();
    let proposed = tokio::spawn(async move { hub.propose(id, direction("Whisper.")).await });
    the_owner_dies_after_it_has_acted(&here, &mute).await;
    assert_eq!(proposed.await.unwrap(), Ok(()));
    assert_eq!(directed(&there, id).await, 1);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_answered_is_told_what_to_do() {
    let (here, there, _) = mute();
    let id = here.hub.start(setup(2)).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    let began = Instant::now();
    assert_eq!(there.hub.say(id, you(), "Hello?".into()).await, Err(HubError::Unheard));
    assert!(began.elapsed() < Duration::from_secs(11));
    assert_eq!(there.ports.letters.letters(here.hub.node(), 9).await, Ok(vec![]), "the letter is withdrawn");
}
