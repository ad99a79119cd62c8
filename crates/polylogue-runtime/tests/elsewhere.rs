//! Sessions that another hub of the same store runs: what is said to them, and what is seen of them.

#[path = "elsewhere/letters.rs"]
mod letters;
#[path = "elsewhere/people.rs"]
mod people;
#[allow(dead_code, reason = "not every test needs all of it")]
mod support;
#[path = "elsewhere/watching.rs"]
mod watching;

use std::sync::Arc;

use polylogue_runtime::{
    Hub, HubSettings, Ports,
    port::{Signal, Signalled, Signals, Topic},
};
use tokio::sync::mpsc;

use support::{Bench, TestModel};

/// Loses every signal.
struct Deaf;

impl Signals for Deaf {
    fn send(&self, _: &Topic, _: Signal) {}

    fn listen(&self, _: Topic) -> Signalled {
        Signalled::new(mpsc::channel(1).1, ())
    }
}

/// A hub, and another one on the same store. Where they are deaf, no signal reaches anybody.
fn two(model: Arc<TestModel>, is_deaf: bool) -> (Bench, Bench) {
    let mut here = Bench::new(model);
    if is_deaf {
        here.ports.signals = Arc::new(Deaf);
        here.hub = Hub::new(here.ports.clone(), HubSettings::default());
    }
    let there = here.next_process(TestModel::handing_on());
    (here, there)
}

/// Another hub on the same store, with other ports.
fn another(bench: &Bench, model: Arc<TestModel>, change: impl FnOnce(Ports) -> Ports) -> Bench {
    let ports = change(Ports { model: model.clone(), ..bench.ports.clone() });
    Bench { hub: Hub::new(ports.clone(), HubSettings::default()), model, ports }
}
