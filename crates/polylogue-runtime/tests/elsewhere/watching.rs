//! A session that another hub runs is watched as if it ran here: records at once, words as they are written.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use polylogue_core::{
    Event, Reason,
    id::{AskId, Seq, SessionId},
    room::{CallId, RoomCall},
};
use polylogue_runtime::{
    Hub, HubSettings, Nearby, Ports, Published, RoomHeard, Subscription,
    port::{Signal, Signalled, Signals, Topic},
};
use tokio::time::{sleep, timeout};

use super::{another, two};
use crate::support::{Behaviour, Bench, TestModel, setup};

/// Writes a word a second, thirty of them, at every turn.
fn writing() -> Arc<TestModel> {
    TestModel::new(|call| {
        call.deltas.push(r#"{"message": ""#);
        Behaviour::WritesFor { seconds: 30 }
    })
}

fn all_words() -> String {
    "word ".repeat(30).trim_end().to_owned()
}

/// What a watcher was shown, to the session's end.
#[derive(Default)]
struct Shown {
    seqs: Vec<u64>,
    deltas: usize,
    restarts: usize,
    /// The words of each ask as they stood when it was over.
    texts: Vec<String>,
    open: Option<(AskId, String)>,
}

impl Shown {
    /// Takes in what is shown, and checks that words come after their ask and before its answer.
    fn on(&mut self, published: Published) {
        match published {
            Published::Record(record) => {
                self.seqs.push(record.seq.0);
                match &record.event {
                    Event::Asked { ask, .. } => self.open = Some((ask.clone(), String::new())),
                    Event::Answered { .. } | Event::AskCut { .. } => {
                        self.texts.extend(self.open.take().map(|(_, text)| text));
                    }
                    _ => {}
                }
            }
            Published::Delta { ask, text, is_restart } => {
                let (asked, words) = self.open.as_mut().expect("words are shown while an ask is open");
                assert_eq!(ask, *asked);
                if is_restart {
                    words.clear();
                }
                words.push_str(&text);
                assert!(all_words().starts_with(&*words), "{words:?}");
                self.deltas += 1;
                self.restarts += usize::from(is_restart);
            }
            Published::Waiting { .. } => {}
        }
    }
}

async fn watch_to_the_end(mut watch: Subscription) -> Shown {
    let mut shown = Shown::default();
    while let Some(published) = watch.next().await.unwrap() {
        shown.on(published);
    }
    shown
}

#[tokio::test(start_paused = true)]
async fn words_written_elsewhere_are_shown_in_order_and_whole() {
    let (here, there) = two(writing(), false);
    let id = here.hub.start(setup(3)).await.unwrap();
    let shown = watch_to_the_end(there.hub.subscribe(id, Seq::START)).await;
    let records = here.hub.records(id).await.unwrap().len() as u64;
    assert_eq!(shown.seqs, (1..=records).collect::<Vec<_>>());
    assert_eq!((shown.restarts, shown.texts.len()), (0, 3));
    assert!(shown.deltas >= 80, "a word a second, three times thirty: {}", shown.deltas);
    // The last word comes in the moment of the answer, and may be in that alone.
    assert!(shown.texts.iter().all(|text| text.len() >= all_words().len() - "word word".len()), "{:?}", shown.texts);
}

#[tokio::test(start_paused = true)]
async fn who_comes_in_the_middle_gets_the_words_so_far() {
    let (here, there) = two(writing(), false);
    let id = here.hub.start(setup(1)).await.unwrap();
    sleep(Duration::from_millis(10_500)).await;
    // One reads the journal from its beginning, the other has heard it elsewhere.
    for after in [0, 2] {
        let mut late = there.hub.subscribe(id, Seq(after));
        let delta = loop {
            let next = timeout(Duration::from_millis(300), late.next()).await.expect("it comes at once");
            if let Some(Published::Delta { text, .. }) = next.unwrap() {
                break text;
            }
        };
        assert_eq!(&*delta, "word ".repeat(10).trim_end(), "after {after}");
    }
}

#[tokio::test(start_paused = true)]
async fn records_come_at_once_and_without_signals_by_looking() {
    for (is_deaf, limit) in [(false, Duration::from_millis(10)), (true, Duration::from_millis(510))] {
        let (here, there) = two(TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_millis(3_210))), is_deaf);
        let id = here.hub.start(setup(4)).await.unwrap();
        let mut watch = there.hub.subscribe(id, Seq::START);
        let mut heard = 0;
        while let Some(published) = watch.next().await.unwrap() {
            let Published::Record(record) = published else { panic!("no words are written") };
            heard += 1;
            assert_eq!(record.seq.0, heard);
            let late = Duration::from_millis(here.ports.clock.now().since(record.at));
            assert!(late <= limit, "deaf: {is_deaf}, {late:?} after record {heard}");
        }
        assert_eq!(heard, here.hub.records(id).await.unwrap().len() as u64);
    }
}

/// Loses a signal in three, by chance.
struct Lossy {
    nearby: Nearby,
    chance: Mutex<Rng>,
}

impl Signals for Lossy {
    fn send(&self, topic: &Topic, signal: Signal) {
        if self.chance.lock().unwrap().u32(0..3) > 0 {
            self.nearby.send(topic, signal);
        }
    }

    fn listen(&self, topic: Topic) -> Signalled {
        self.nearby.listen(topic)
    }
}

#[tokio::test(start_paused = true)]
async fn words_that_are_lost_are_asked_for_again() {
    let mut here = Bench::new(writing());
    here.ports.signals = Arc::new(Lossy { nearby: Nearby::default(), chance: Mutex::new(Rng::with_seed(7)) });
    here.hub = Hub::new(here.ports.clone(), HubSettings::default());
    let there = here.next_process(TestModel::handing_on());
    let id = here.hub.start(setup(3)).await.unwrap();
    let shown = watch_to_the_end(there.hub.subscribe(id, Seq::START)).await;
    let records = here.hub.records(id).await.unwrap().len() as u64;
    assert_eq!(shown.seqs, (1..=records).collect::<Vec<_>>());
    let lengths: Vec<usize> = shown.texts.iter().map(String::len).collect();
    // What is lost at the very end nobody notices: the answer itself follows.
    assert!(lengths.iter().all(|length| *length >= all_words().len() / 2), "{lengths:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_when_the_session_changes_hands() {
    let (here, there) = two(writing(), false);
    let id = here.hub.start(setup(2)).await.unwrap();
    let watch = tokio::spawn(watch_to_the_end(there.hub.subscribe(id, Seq::START)));
    sleep(Duration::from_secs(10)).await;
    here.hub.leave().await;
    let next = another(&here, writing(), |ports| ports);
    assert_eq!(next.hub.attend().await.unwrap(), [id]);
    let shown = watch.await.unwrap();
    let records = next.hub.records(id).await.unwrap();
    assert_eq!(shown.seqs, (1..=records.len() as u64).collect::<Vec<_>>(), "nothing is missing or comes twice");
    assert_eq!(next.reason(id).await, Some(Reason::CAP_REACHED));
    assert!(shown.deltas >= 60, "the words of the next owner come as well: {}", shown.deltas);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_that_nobody_wants_to_hear() {
    #[derive(Default)]
    struct Counting(Nearby, AtomicUsize);

    impl Signals for Counting {
        fn send(&self, topic: &Topic, signal: Signal) {
            self.1.fetch_add(usize::from(matches!(signal, Signal::Words(_))), Ordering::SeqCst);
            self.0.send(topic, signal);
        }

        fn listen(&self, topic: Topic) -> Signalled {
            self.0.listen(topic)
        }
    }

    let counting = Arc::new(Counting::default());
    let bench = Bench::new(writing());
    let signals = counting.clone();
    let here = another(&bench, writing(), |ports| Ports { signals, ..ports });
    let there = here.next_process(TestModel::handing_on());
    let id = here.hub.start(setup(1)).await.unwrap();
    let mut records = there.hub.subscribe(id, Seq::START).of_records();
    let only_records = async { while records.next().await.unwrap().is_some() {} };
    assert!(timeout(Duration::from_secs(5), only_records).await.is_err(), "it is being written");
    assert_eq!(counting.1.load(Ordering::SeqCst), 0, "who watches wants the records only");
    let mut live = there.hub.subscribe(id, Seq::START);
    let some_words = async { while live.next().await.unwrap().is_some() {} };
    assert!(timeout(Duration::from_secs(2), some_words).await.is_err(), "it is being written");
    assert!(counting.1.load(Ordering::SeqCst) > 0);
    drop(live);
    sleep(Duration::from_secs(16)).await;
    let sent = counting.1.load(Ordering::SeqCst);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(counting.1.load(Ordering::SeqCst), sent, "nobody has asked for them any more");
}

#[tokio::test(start_paused = true)]
async fn a_room_hears_what_another_hub_says_there() {
    let (here, there) = two(writing(), false);
    let room = "lab".parse().unwrap();
    let mut listener = there.hub.listen(room, 0);
    let mut setup = setup(1);
    let call_id = CallId::from_random([7; 16]);
    setup.room =
        Some(RoomCall { room: "lab".parse().unwrap(), call_id, target: "gpt".parse().unwrap(), is_repeat: false });
    let id: SessionId = here.hub.start(setup).await.unwrap();
    let listed = there.hub.sessions_in(&"lab".parse().unwrap()).await.unwrap();
    assert_eq!(listed.iter().map(|session| session.session_id).collect::<Vec<_>>(), [id], "it is known everywhere");
    let (mut events, mut words) = (0, String::new());
    while words != "word word word" {
        match timeout(Duration::from_millis(1_500), listener.next_live()).await.expect("it comes at once").unwrap() {
            RoomHeard::Event(..) => events += 1,
            RoomHeard::Passing { session, call, what: Published::Delta { text, .. } } => {
                assert_eq!((session, call), (id, call_id));
                words.push_str(&text);
            }
            RoomHeard::Passing { .. } => {}
        }
    }
    assert!(events > 0);
    assert_eq!(there.hub.stop(id).await, Ok(Reason::CANCELLED));
    assert_eq!(there.hub.sessions_in(&"lab".parse().unwrap()).await.unwrap(), []);
}
