//! Speech beside thinking: clips never hold up the text, fail without ending anything, and stop with the session.

#[allow(dead_code, reason = "not every test needs all of it")]
mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Reason,
    line::{Clip, ClipState},
    setup::Change,
};
use polylogue_runtime::{
    Hub, HubSettings, Ports,
    port::{Speech, Voice, VoiceError},
};
use support::{Behaviour, Bench, TestModel, setup};
use tokio::time::{Instant, sleep};

/// Takes its time for every clip, one at a time, and may refuse one line.
struct SlowVoice {
    takes: Duration,
    refuses: Option<u32>,
    begun: AtomicU32,
    place: tokio::sync::Semaphore,
}

impl SlowVoice {
    fn new(takes_ms: u64, refuses: Option<u32>) -> Arc<SlowVoice> {
        let (takes, place) = (Duration::from_millis(takes_ms), tokio::sync::Semaphore::new(1));
        Arc::new(SlowVoice { takes, refuses, begun: AtomicU32::new(0), place })
    }
}

#[async_trait]
impl Voice for SlowVoice {
    async fn speak(&self, speech: &Speech) -> Result<Clip, VoiceError> {
        let _place = self.place.acquire().await.map_err(|error| VoiceError::Failed(error.to_string()))?;
        self.begun.fetch_add(1, Ordering::SeqCst);
        sleep(self.takes).await;
        match self.refuses == Some(speech.line_id().0) {
            true => Err(VoiceError::Failed("hoarse".to_owned())),
            false => Ok(Clip { path: format!("{}.wav", speech.line_id()), duration_ms: 1000, ..Clip::default() }),
        }
    }
}

fn spoken_setup(max_rounds: u32) -> polylogue_core::Setup {
    polylogue_core::Setup { speech: true, ..setup(max_rounds) }
}

fn bench(think_ms: u64, voice: Arc<SlowVoice>) -> (Bench, Hub) {
    let bench = Bench::new(TestModel::new(move |_| Behaviour::HandsOnAfter(Duration::from_millis(think_ms))));
    let hub = Hub::new(Ports { voice, ..bench.ports.clone() }, HubSettings::default());
    (bench, hub)
}

#[tokio::test(start_paused = true)]
async fn clips_are_made_while_the_next_turn_is_thought_of() {
    let (_bench, hub) = bench(500, SlowVoice::new(300, None));
    let began = Instant::now();
    let id = hub.start(spoken_setup(10)).await.unwrap();
    hub.wait(id).await.unwrap();
    // Ten turns of thinking, and the last clip; one after the other it would be 8 s.
    let critical_path = Duration::from_millis(10 * 500 + 300);
    assert!(began.elapsed() <= critical_path.mul_f64(1.15), "{:?}", began.elapsed());
    let conversation = hub.conversation(id).await.unwrap();
    let made = conversation.stage().transcript().lines().iter().filter(|line| matches!(line.clip, ClipState::Made(_)));
    assert_eq!(made.count(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_clip_that_fails_is_an_event_and_the_session_completes() {
    let (_bench, hub) = bench(500, SlowVoice::new(300, Some(2)));
    let id = hub.start(spoken_setup(3)).await.unwrap();
    hub.wait(id).await.unwrap();
    assert_eq!(hub.conversation(id).await.unwrap().stage().ended(), Some(Reason::CapReached));
    let failed: Vec<String> = hub
        .records(id)
        .await
        .unwrap()
        .iter()
        .filter_map(|record| match &record.event {
            Event::ClipFailed { line, error } => Some(format!("{line}: {error}")),
            _ => None,
        })
        .collect();
    assert_eq!(failed, ["2: the line could not be spoken: hoarse"]);
}

#[tokio::test(start_paused = true)]
async fn stop_ends_what_is_queued_and_resume_makes_what_is_missing() {
    // Clips take much longer than thinking, so that they queue.
    let voice = SlowVoice::new(10_000, None);
    let (_bench, hub) = bench(10, voice.clone());
    let id = hub.start(spoken_setup(4)).await.unwrap();
    sleep(Duration::from_millis(15_000)).await;
    let pressed = Instant::now();
    hub.stop(id).await.unwrap();
    assert_eq!(pressed.elapsed(), Duration::ZERO);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(voice.begun.load(Ordering::SeqCst), 2, "one was done, one under way, and two never began");
    hub.resume(id, Change::default()).await.unwrap();
    hub.wait(id).await.unwrap();
    let conversation = hub.conversation(id).await.unwrap();
    let wanted = conversation.stage().transcript().lines().iter().filter(|line| line.clip == ClipState::Wanted);
    assert_eq!(wanted.count(), 0);
}
