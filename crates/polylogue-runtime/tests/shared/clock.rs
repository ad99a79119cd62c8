//! A clock that is set while sessions run: journals stay in order, and nothing ends or begins because of it.

use std::{sync::Arc, sync::Mutex, time::Duration};

use polylogue_core::{Reason, Timestamp};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{Clock, NoVoice},
};
use tokio::time::sleep;

use crate::support::{Behaviour, Bench, TestModel, TokioClock, setup, texts};

/// A clock that can be set back.
#[derive(Default)]
pub(crate) struct SetClock {
    clock: TokioClock,
    back: Mutex<Duration>,
}

impl SetClock {
    pub(crate) fn set_back(&self, by: Duration) {
        *self.back.lock().unwrap() = by;
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        let back = u64::try_from(self.back.lock().unwrap().as_millis()).unwrap();
        Timestamp(self.clock.now().0.saturating_sub(back))
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_on_when_the_clock_is_set_back() {
    let model = TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_secs(5)));
    let clock = Arc::new(SetClock::default());
    let ports = Ports::new(model.clone(), Arc::new(NoVoice), Arc::new(MemoryJournal::default()), clock.clone());
    let bench = Bench { hub: Hub::new(ports.clone(), HubSettings::default()), model, ports };
    let id = bench.hub.start(setup(4)).await.unwrap();
    sleep(Duration::from_secs(7)).await;
    clock.set_back(Duration::from_secs(400 * 24 * 3_600));
    bench.hub.wait(id).await.unwrap();
    let conversation = bench.hub.conversation(id).await.unwrap();
    assert_eq!(conversation.stage().ended(), Some(Reason::CAP_REACHED));
    assert_eq!(texts(&conversation).iter().filter(|text| text.contains("turn")).count(), 4);
    let records = bench.hub.records(id).await.unwrap();
    assert!(records.windows(2).all(|two| two[0].at <= two[1].at && two[0].seq < two[1].seq), "in order");
}
