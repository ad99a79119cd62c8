//! Clients: they begin sessions, speak, stop, resume, fork, direct and watch them, leave in the middle of it, and write
//! down what they were told.

use std::{sync::Arc, time::Duration};

use polylogue_core::{
    Event,
    event::Origin,
    format::scene,
    id::{PersonId, Seq, SessionId},
    setup::{Change, Note, Recast},
};
use polylogue_runtime::{HubError, Published};
use tokio::time::{sleep, timeout};

use crate::{
    process::{Process, lock},
    setups::{self, PERSON},
    truth::{Fate, is_over},
    world::World,
};

/// The most that a client does.
const MOST: usize = 9;

/// How long a client waits at most. What takes longer has not been told.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn live(world: Arc<World>) {
    let chance = world.chance.clone();
    start(&world).await;
    for _ in 0..chance.below(MOST) {
        sleep(chance.millis(0..4_000)).await;
        match chance.below(20) {
            0..=2 => start(&world).await,
            3..=6 => say(&world).await,
            7..=9 => stop(&world).await,
            10..=12 => resume(&world).await,
            13 | 14 => fork(&world).await,
            15 => direct(&world).await,
            16 => pass_over(&world).await,
            17 => reopen(&world).await,
            _ => watch(&world),
        }
    }
}

/// What a wish comes to, as far as the client hears of it: a process may die over it, and a client may leave.
async fn heard<T>(process: &Process, wish: impl Future<Output = Result<T, HubError>>) -> Option<Result<T, HubError>> {
    let (world, chance) = (&process.world, &process.world.chance);
    let leaves = chance.happens(world.faults().client_leaves);
    let patience = if leaves { chance.millis(0..1_000) } else { PATIENCE };
    tokio::select! {
        biased;
        () = process.died() => None,
        heard = timeout(patience, wish) => heard.ok(),
    }
}

/// Somewhere to go, and a session that somebody has begun.
fn somewhere(world: &World) -> Option<(Arc<Process>, SessionId)> {
    let sessions: Vec<SessionId> = lock(&world.told).started.iter().copied().collect();
    Some((world.some_process()?, world.chance.pick(&sessions)?))
}

fn person() -> PersonId {
    PERSON.parse().expect("a name")
}

/// Words that nobody says twice.
fn words(world: &World) -> String {
    format!("I say {:x}.", world.chance.number(0..u64::MAX))
}

/// What a wish came to, where it is done or not done at all.
fn fate<T>(heard: &Option<Result<T, HubError>>) -> Fate {
    match heard {
        Some(Ok(_)) => Fate::Done,
        Some(Err(HubError::Rejected(_) | HubError::BadSetup(_) | HubError::CannotFork(_) | HubError::Busy(_))) => {
            Fate::Refused
        }
        Some(Err(_)) | None => Fate::Unknown,
    }
}

async fn start(world: &Arc<World>) {
    let Some(process) = world.some_process() else { return };
    let setup = setups::drawn(&world.chance);
    let (id, format) = (setup.id, setup.format.name().to_owned());
    lock(&world.told).started.insert(id);
    let heard = heard(&process, process.hub().start(setup)).await;
    world.note(|| format!("start {id} ({format}) at {}: {heard:?}", process.number));
    lock(&world.told).begun.insert(id, fate(&heard));
}

async fn say(world: &Arc<World>) {
    let Some((process, id)) = somewhere(world) else { return };
    let text = words(world);
    let key = world.chance.happens(300).then(|| text.as_str().into());
    let origin = Origin { key, ..Origin::default() };
    let heard = heard(&process, process.hub().say_from(id, person(), text.as_str().into(), origin)).await;
    world.note(|| format!("say {text} to {id} at {}: {heard:?}", process.number));
    lock(&world.told).said.insert(text, (id, fate(&heard)));
}

async fn reopen(world: &Arc<World>) {
    let Some((process, id)) = somewhere(world) else { return };
    let text = words(world);
    let heard = heard(&process, process.hub().reopen(id, person(), text.as_str().into(), Change::default())).await;
    world.note(|| format!("reopen {id} with {text} at {}: {heard:?}", process.number));
    lock(&world.told).said.insert(text, (id, fate(&heard)));
}

async fn direct(world: &Arc<World>) {
    let Some((process, id)) = somewhere(world) else { return };
    let text = words(world);
    let note = Note { to: None, text: text.as_str().into() };
    let heard = heard(&process, process.hub().propose(id, scene::Decision::directed(Some(note), None))).await;
    world.note(|| format!("direct {id} with {text} at {}: {heard:?}", process.number));
    lock(&world.told).directed.insert(text, (id, fate(&heard)));
}

async fn stop(world: &Arc<World>) {
    let Some((process, id)) = somewhere(world) else { return };
    let heard = heard(&process, process.hub().stop(id)).await;
    world.note(|| format!("stop {id} at {}: {heard:?}", process.number));
    if !matches!(heard, Some(Ok(_))) {
        return;
    }
    let records = world.records(id);
    if !records.iter().any(|record| matches!(record.event, Event::Ended { .. })) {
        world.violated(format!("{id} has stopped, its client was told, and its journal has no end"));
    }
    let under_way = world.provider.under_way(id, |process| world.is_sound(process));
    if is_over(&records) && under_way > 0 {
        world.violated(format!("{id} has stopped and {under_way} of its calls go on"));
    }
}

async fn resume(world: &Arc<World>) {
    let Some((process, id)) = somewhere(world) else { return };
    let heard = heard(&process, process.hub().resume(id, Change::default())).await;
    world.note(|| format!("resume {id} at {}: {heard:?}", process.number));
}

async fn pass_over(world: &Arc<World>) {
    let Some((process, id)) = somewhere(world) else { return };
    let hub = process.hub();
    let heard = heard(&process, async {
        match hub.conversation(id).await?.awaited().first() {
            Some(awaited) => hub.pass_over(id, awaited.clone()).await,
            None => Ok(()),
        }
    });
    let heard = heard.await;
    world.note(|| format!("pass over somebody in {id} at {}: {heard:?}", process.number));
}

async fn fork(world: &Arc<World>) {
    let Some((process, id)) = somewhere(world) else { return };
    let records = world.records(id);
    let Some(at) = (!records.is_empty()).then(|| Seq(1 + world.chance.below(records.len()) as u64)) else { return };
    let fork = SessionId::from_random(world.chance.bytes());
    let hub = process.hub();
    lock(&world.told).started.insert(fork);
    let heard = heard(&process, async {
        // Its agents are asked under its own name.
        let cast = hub.conversation(id).await?.stage().cast().clone();
        let recast = |agent: &polylogue_core::setup::Agent| Recast {
            agent: agent.name.clone(),
            model: setups::model(fork),
            price: agent.price,
            is_small: false,
        };
        let change = Change { recast: cast.everyone().map(recast).collect(), ..Change::default() };
        hub.fork(id, at, fork, change).await
    });
    let heard = heard.await;
    world.note(|| format!("fork {id} at {at} to {fork} at {}: {heard:?}", process.number));
    lock(&world.told).begun.insert(fork, fate(&heard));
}

/// Watches beside whatever else the client does. One at a time for each session and process: tokio tells several in an
/// order of its own.
fn watch(world: &Arc<World>) {
    let Some((process, id)) = somewhere(world) else { return };
    if !lock(&world.told).watched.insert((process.number, id)) {
        return;
    }
    let world = world.clone();
    tokio::spawn(async move {
        let after = Seq(world.chance.number(0..6));
        let mut subscription = process.hub().subscribe(id, after);
        let (mut last, mut has_ended) = (after, None);
        let watching = async {
            // A read that fails ends it; whoever watches asks again.
            while let Ok(published) = subscription.next().await {
                let Some(published) = published else {
                    if has_ended == Some(false) {
                        world.violated(format!("{id}: who watches is told of no end after record {last}"));
                    }
                    return;
                };
                let Published::Record(record) = published else { continue };
                if record.seq != last.next() {
                    world.violated(format!("{id}: who watches hears record {} after {last}", record.seq));
                }
                if world.records(id).get(record.seq.0 as usize - 1) != Some(&record) {
                    world.violated(format!("{id}: record {} is shown and not in the journal", record.seq));
                }
                (last, has_ended) = (record.seq, Some(matches!(record.event, Event::Ended { .. })));
            }
        };
        // Whoever watches stays for a while.
        let _ = timeout(world.chance.millis(0..60_000), watching).await;
        lock(&world.told).watched.remove(&(process.number, id));
    });
}
