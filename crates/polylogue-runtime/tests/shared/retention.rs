//! What is over and too old is removed with what was made of it, by one of the processes, by a clock that is set.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use polylogue_core::{
    Record, Setup,
    format::discussion::{Closing, Participant, Role, Settings, Who},
    id::{PersonId, SessionId},
    setup::{Agent, Cast, FormatSetup},
};
use polylogue_runtime::{
    Hub, HubSettings, Listener, MemoryJournal, Overheard, Ports,
    port::{Journal, NoVoice, Store},
};
use tokio::time::sleep;

use crate::{
    clock::SetClock,
    support::{Behaviour, Bench, TestModel, setup},
};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// What was made of sessions, and is told when it goes.
#[derive(Default)]
struct Files(Mutex<Vec<SessionId>>);

#[async_trait]
impl Listener for Files {
    async fn heard(&self, _: SessionId, _: &[Arc<Record>]) {}

    async fn deleted(&self, session: SessionId, records: &[Arc<Record>]) {
        assert!(!records.is_empty());
        self.0.lock().unwrap().push(session);
    }
}

struct Place {
    benches: [Bench; 2],
    files: Arc<Files>,
    clock: Arc<SetClock>,
}

impl Place {
    /// Two processes on one store.
    fn new(model: &Arc<TestModel>) -> Place {
        let (files, clock) = (Arc::new(Files::default()), Arc::new(SetClock::default()));
        let store: Arc<dyn Store> = Arc::new(MemoryJournal::default());
        let journal: Arc<dyn Journal> = store.clone();
        let journal = Arc::new(Overheard::new(journal, vec![files.clone()]));
        let ports = Ports::new(model.clone(), Arc::new(NoVoice), store, clock.clone());
        let ports = Ports { journal, ..ports };
        let bench = || Bench {
            hub: Hub::new(ports.clone(), HubSettings::default()),
            model: model.clone(),
            ports: ports.clone(),
        };
        Place { benches: [bench(), bench()], files, clock }
    }

    fn removed(&self) -> Vec<SessionId> {
        self.files.0.lock().unwrap().clone()
    }

    async fn kept(&self) -> Vec<SessionId> {
        let mut kept: Vec<SessionId> =
            self.benches[0].ports.journal.sessions(100).await.unwrap().iter().map(|found| found.id).collect();
        kept.sort();
        kept
    }
}

/// Somebody is waited for before an agent says anything.
fn waiting() -> Setup {
    let (setup, ada): (Setup, PersonId) = (setup(1), "ada".parse().unwrap());
    let agents = setup.cast.agents().to_vec();
    let seat = |agent: &Agent| Participant { role: Role::Specialist, who: Who::Agent(agent.name.clone()) };
    let person = Participant { role: Role::User, who: Who::Person(ada.clone()) };
    let participants = [person].into_iter().chain(agents.iter().map(seat)).collect();
    let settings =
        Settings { title: "T".into(), topic: None, participants, max_rounds: 2, key: None, closing: Closing::Open };
    Setup { format: FormatSetup::new(settings), cast: Cast::new(agents, vec![ada]).unwrap(), ..setup }
}

#[tokio::test(start_paused = true)]
async fn what_is_over_goes_once_and_what_is_waited_for_stays() {
    let place = Place::new(&TestModel::handing_on());
    let [one, other] = &place.benches;
    let (old, waits) = (one.run(setup(2)).await, one.run(waiting()).await);
    let also_old = other.run(setup(2)).await;
    for bench in &place.benches {
        bench.hub.keep_for(2 * DAY);
    }
    sleep(DAY + HOUR).await;
    let young = other.run(setup(2)).await;
    assert_eq!(place.removed(), [], "nothing is two days old");
    sleep(DAY + HOUR).await;
    let mut removed = place.removed();
    removed.sort();
    assert_eq!(removed, [old, also_old], "each by one of the two");
    assert_eq!(place.kept().await, [waits, young]);
    // A discussion that has waited for years is heard all the same.
    sleep(400 * DAY).await;
    assert_eq!(place.kept().await, [waits]);
    one.hub.say(waits, "ada".parse().unwrap(), "I am back.".into()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_runs_and_what_somebody_went_on_with_stays() {
    let model = TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(3)));
    let place = Place::new(&model);
    let [one, other] = &place.benches;
    let running = one.hub.start(setup(9)).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(other.hub.stale(Duration::ZERO).await.unwrap(), [], "it runs");
    one.hub.stop(running).await.unwrap();
    sleep(Duration::from_millis(1)).await;
    let found = other.hub.stale(Duration::ZERO).await.unwrap();
    assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), [running]);
    // Between the look and the removal somebody goes on with it, and again stops.
    one.hub.resume(running, Default::default()).await.unwrap();
    assert!(!other.hub.prune(&found[0]).await.unwrap(), "another process runs it");
    one.hub.stop(running).await.unwrap();
    assert!(!other.hub.prune(&found[0]).await.unwrap(), "there is more of it than was found");
    assert_eq!(place.removed(), []);
    sleep(Duration::from_millis(1)).await;
    let found = other.hub.stale(Duration::ZERO).await.unwrap();
    assert!(other.hub.prune(&found[0]).await.unwrap());
    assert!(!other.hub.prune(&found[0]).await.unwrap(), "once");
    assert_eq!(place.removed(), [running]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_removes_nothing_too_early_and_catches_up() {
    let place = Place::new(&TestModel::handing_on());
    let [one, _] = &place.benches;
    sleep(10 * DAY).await;
    let id = one.run(setup(2)).await;
    one.hub.keep_for(2 * DAY);
    place.clock.set_back(5 * DAY);
    sleep(3 * DAY).await;
    assert_eq!(place.kept().await, [id], "by the clock it has not even begun");
    sleep(4 * DAY + 2 * HOUR).await;
    assert_eq!(place.removed(), [id]);
}
