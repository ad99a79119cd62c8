//! What befalls the processes: they are killed, frozen, cut off from their store and begun anew.

use std::{sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};

use crate::{
    process::{Life, Process},
    world::World,
};

/// The most that befalls a run.
const MOST: usize = 6;

/// A process begins. Most go on with what others have left.
pub(crate) async fn begin(world: &Arc<World>) {
    let process = Process::begin(world, world.processes().len(), world.settings());
    world.admit(process.clone());
    world.note(|| format!("process {} begins: {}", process.number, process.hub().node()));
    if world.chance.happens(800) {
        tokio::spawn(async move {
            let attended = process.hub().attend().await;
            process.world.note(|| format!("process {} attends: {attended:?}", process.number));
        });
    }
}

pub(crate) async fn reign(world: Arc<World>) {
    let chance = world.chance.clone();
    let blows = if chance.happens(300) { 0 } else { chance.below(MOST) };
    for _ in 0..blows {
        sleep(chance.millis(0..6_000)).await;
        let Some(process) = world.some_process() else {
            begin(&world).await;
            continue;
        };
        let number = process.number;
        match chance.below(8) {
            0..=2 => {
                world.note(|| format!("process {number} is killed"));
                process.turn(Life::Dead);
                sleep(chance.millis(0..4_000)).await;
                begin(&world).await;
            }
            3 | 4 => {
                let millis = chance.number(0..3 * world.lease.as_millis() as u64);
                world.note(|| format!("process {number} is frozen for {millis} ms"));
                process.turn(Life::Frozen);
                tokio::spawn(later(Duration::from_millis(millis), move || {
                    if process.life() == Life::Frozen {
                        process.turn(Life::Alive);
                        process.world.note(|| format!("process {number} is thawed"));
                    }
                }));
            }
            5 => {
                let millis = chance.number(0..3 * world.lease.as_millis() as u64);
                world.note(|| format!("process {number} is cut off for {millis} ms"));
                process.cut_off(true);
                tokio::spawn(later(Duration::from_millis(millis), move || process.cut_off(false)));
            }
            6 => {
                // Longer than a session waits for its store, now and then.
                let seconds = if chance.happens(100) { chance.number(590..700) } else { chance.number(1..30) };
                world.note(|| format!("the store is out for {seconds} s"));
                world.set_out(true);
                sleep(Duration::from_secs(seconds)).await;
                world.set_out(false);
            }
            _ => {
                world.note(|| format!("process {number} leaves"));
                process.trouble();
                let has_left = timeout(Duration::from_secs(60), process.hub().leave()).await.is_ok();
                world.note(|| format!("process {number} has left: {has_left}"));
                process.turn(Life::Dead);
                begin(&world).await;
            }
        }
    }
}

async fn later(wait: Duration, then: impl FnOnce()) {
    sleep(wait).await;
    then();
}
