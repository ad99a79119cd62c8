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
    Event, Reason, Setup,
    format::chorus::purpose,
    format::chorus::{self, Slot, SlotId, VoiceProfile},
    id::Purpose,
    line::{Clip, ClipState, SpeechBill},
    money::{Money, Price},
    projection::Costs,
    setup::{Agent, Cast, Change, FormatSetup},
};
use polylogue_runtime::{
    Hub, HubSettings, Ports,
    port::{Call, CallError, Model, Reply, Speech, Voice, VoiceError},
};
use support::{Behaviour, Bench, TestModel, setup};
use tokio::time::{Instant, sleep};

/// Takes its time for every clip, with so many places, and may refuse one line.
struct SlowVoice {
    takes: Duration,
    refuses: Option<u32>,
    begun: AtomicU32,
    place: tokio::sync::Semaphore,
}

impl SlowVoice {
    fn new(takes_ms: u64, refuses: Option<u32>, places: usize) -> Arc<SlowVoice> {
        let (takes, place) = (Duration::from_millis(takes_ms), tokio::sync::Semaphore::new(places));
        Arc::new(SlowVoice { takes, refuses, begun: AtomicU32::new(0), place })
    }
}

#[async_trait]
impl Voice for SlowVoice {
    async fn speak(&self, speech: &Speech) -> Result<Clip, VoiceError> {
        let _place = self.place.acquire().await.map_err(|error| VoiceError::Failed(error.to_string()))?;
        self.begun.fetch_add(1, Ordering::SeqCst);
        sleep(self.takes).await;
        match self.refuses.is_some_and(|line| speech.mark == format!("line-{line:04}")) {
            true => Err(VoiceError::Failed("hoarse".to_owned())),
            false => Ok(Clip { path: format!("{}.wav", speech.mark), duration_ms: 1000, ..Clip::default() }),
        }
    }
}

fn spoken_setup(max_rounds: u32) -> Setup {
    Setup { speech: true, ..setup(max_rounds) }
}

fn bench(think_ms: u64, voice: Arc<SlowVoice>) -> (Bench, Hub) {
    let bench = Bench::new(TestModel::new(move |_| Behaviour::HandsOnAfter(Duration::from_millis(think_ms))));
    let hub = Hub::new(Ports { voice, ..bench.ports.clone() }, HubSettings::default());
    (bench, hub)
}

#[tokio::test(start_paused = true)]
async fn clips_are_made_while_the_next_turn_is_thought_of() {
    let (_bench, hub) = bench(500, SlowVoice::new(300, None, 1));
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

/// Bills a cent for every clip, if there is one left.
struct DearVoice;

#[async_trait]
impl Voice for DearVoice {
    async fn speak(&self, speech: &Speech) -> Result<Clip, VoiceError> {
        let cost = Money::from_usd(0.01);
        if !speech.budget.allows(cost) {
            return Err(VoiceError::OverBudget);
        }
        sleep(Duration::from_millis(300)).await;
        let billed = Some(SpeechBill { characters: 100, cost: Some(cost) });
        Ok(Clip { path: format!("{}.wav", speech.mark), duration_ms: 1000, billed, ..Clip::default() })
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_ends_speech_first_and_the_text_goes_on() {
    // An ask may cost up to $0.002048, which is kept for it; it really costs next to nothing.
    let price = Price { output: 1.0, ..Price::FREE };
    for (max_usd, spoken) in [(0.0125, 1), (0.0345, 3), (1.0, 10)] {
        let bench = Bench::new(TestModel::new(move |_| Behaviour::HandsOnAfter(Duration::from_millis(500))));
        let hub = Hub::new(Ports { voice: Arc::new(DearVoice), ..bench.ports.clone() }, HubSettings::default());
        let mut setup = spoken_setup(10);
        let agents = setup.cast.agents().iter().map(|agent| Agent { price: Some(price), ..agent.clone() }).collect();
        setup.cast = Cast::new(agents, setup.cast.people().to_vec()).unwrap();
        setup.limits.max_usd = Money::from_usd(max_usd);
        let id = hub.start(setup).await.unwrap();
        hub.wait(id).await.unwrap();
        let conversation = hub.conversation(id).await.unwrap();
        let stage = conversation.stage();
        assert_eq!(stage.ended(), Some(Reason::CAP_REACHED), "{max_usd}: every word was said");
        let costs = Costs::of(&conversation);
        assert!(costs.estimated_usd.unwrap() <= Money::from_usd(max_usd));
        let speech = costs.speech.unwrap();
        assert_eq!((speech.clips, speech.characters), (spoken, spoken * 100), "{max_usd}");
        assert_eq!(speech.estimated_usd, Some(Money::from_usd(0.01 * spoken as f64)));
        let by_agent = stage.ledger().accounts().filter(|(_, purpose, _)| *purpose == Purpose::SPEECH);
        let sum = by_agent.fold(Money::ZERO, |sum, (_, _, account)| sum.plus(account.cost.unwrap()));
        assert_eq!(Some(sum), speech.estimated_usd, "it is in the ledger, by agent");
        assert_eq!(stage.ledger().total().calls, 10, "clips are no calls");
        let records = hub.records(id).await.unwrap();
        let told = records.iter().filter(|record| match &record.event {
            Event::ClipFailed { error, .. } => error.contains("max_usd"),
            _ => false,
        });
        assert_eq!(told.count() as u64, 10 - spoken, "{max_usd}: what is not heard is recorded, with the reason");
    }
}

/// Thinks for half a second, and says what a well-behaved slot of six says.
struct ChorusModel;

#[async_trait]
impl Model for ChorusModel {
    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        sleep(Duration::from_millis(500)).await;
        let agent = call.ask.id.agent.as_str();
        let slot: u8 = agent.trim_start_matches("slot-").parse().unwrap();
        let text = match call.ask.id.purpose {
            purpose::COMMENT => {
                let target = slot % 6 + 1;
                format!(r#"{{"targetSlotId": {target}, "comment": "{agent} heard you.", "voice_profile": "plain"}}"#)
            }
            _ => format!(r#"{{"text": "I am {agent}.", "voice_profile": "plain"}}"#),
        };
        Ok(Reply { text: text.into(), ..Reply::default() })
    }
}

fn chorus_of_six() -> Setup {
    let slots: Vec<SlotId> = (1..=6).map(|slot| slot.try_into().unwrap()).collect();
    let base = spoken_setup(1);
    let agent = base.cast.agents()[0].clone();
    let agents = slots.iter().map(|slot| Agent { name: slot.agent(), ..agent.clone() }).collect();
    let settings = chorus::Settings {
        message: "What is a home?".into(),
        slots: slots.iter().map(|slot| Slot { slot_id: *slot, agent_id: slot.agent(), name: None }).collect(),
        voices: vec![VoiceProfile { name: "plain".into(), description: "plain".into() }],
    };
    Setup { format: FormatSetup::new(settings), cast: Cast::new(agents, base.cast.people().to_vec()).unwrap(), ..base }
}

#[tokio::test(start_paused = true)]
async fn a_chorus_takes_its_thinking_and_its_last_clips() {
    // Three places are the fewest that a remote engine has.
    let (bench, _) = bench(0, SlowVoice::new(0, None, 1));
    let ports = Ports { model: Arc::new(ChorusModel), voice: SlowVoice::new(300, None, 3), ..bench.ports.clone() };
    let hub = Hub::new(ports, HubSettings::default());
    let began = Instant::now();
    let id = hub.start(chorus_of_six()).await.unwrap();
    hub.wait(id).await.unwrap();
    let conversation = hub.conversation(id).await.unwrap();
    assert_eq!(conversation.stage().ended(), Some(Reason::COMPLETED));
    let made = conversation.stage().transcript().lines().iter().filter(|line| matches!(line.clip, ClipState::Made(_)));
    assert_eq!(made.count(), 18);
    let critical_path = Duration::from_millis(3 * 500 + 2 * 300);
    assert!(began.elapsed() <= critical_path.mul_f64(1.15), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_clip_that_fails_is_an_event_and_the_session_completes() {
    let (_bench, hub) = bench(500, SlowVoice::new(300, Some(2), 1));
    let id = hub.start(spoken_setup(3)).await.unwrap();
    hub.wait(id).await.unwrap();
    assert_eq!(hub.conversation(id).await.unwrap().stage().ended(), Some(Reason::CAP_REACHED));
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
    let voice = SlowVoice::new(10_000, None, 1);
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
