//! The runtime in a world that is drawn from a seed: processes that die, freeze and come back on one store, a store, a
//! model and a voice that fail in every way there is, and clients who want everything at once. One seed is one run,
//! always the same; `docs/testing.md` says how to run one again.

mod chance;
mod chaos;
mod clients;
mod model;
mod process;
mod provider;
mod setups;
mod store;
mod truth;
mod voice;
mod world;

use std::{
    env,
    ops::AddAssign,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use process::lock;
use world::{Verdict, run};

/// Seeds of a usual test run.
const USUAL: u64 = 300;

/// After so many seeds a long run says how far it is.
const MANY: usize = 5_000;

/// So many seeds may fail before the rest is left out.
const ENOUGH: usize = 20;

/// What came of many runs.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    seeds: usize,
    sessions: usize,
    records: usize,
    calls: usize,
    seconds: u64,
}

impl AddAssign<&Verdict> for Sum {
    fn add_assign(&mut self, run: &Verdict) {
        self.seeds += 1;
        self.sessions += run.sessions;
        self.records += run.records;
        self.calls += run.tries;
        self.seconds += run.seconds;
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}

/// `SIMULATE_FROM` and `SIMULATE_COUNT` say which seeds; `just simulate` sets them. A single one tells what happened.
#[test]
fn nothing_is_lost_whatever_goes_wrong() {
    let (from, count) = (number("SIMULATE_FROM").unwrap_or(0), number("SIMULATE_COUNT").unwrap_or(USUAL));
    let (began, next, failed, sum) = (Instant::now(), AtomicU64::new(from), AtomicUsize::new(0), Mutex::default());
    let work = || {
        while failed.load(Ordering::SeqCst) < ENOUGH {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= from.saturating_add(count) {
                return;
            }
            let verdict = run(seed, count == 1);
            let so_far = {
                let mut sum = lock::<Sum>(&sum);
                *sum += &verdict;
                *sum
            };
            if so_far.seeds.is_multiple_of(MANY) {
                println!("{:.0} s: {so_far:?}", began.elapsed().as_secs_f64());
            }
            verdict.notes.iter().for_each(|note| println!("{note}"));
            if !verdict.violations.is_empty() {
                failed.fetch_add(1, Ordering::SeqCst);
                let violations = verdict.violations.join("\n  ");
                println!("seed {seed}:\n  {violations}\n  run it again: just simulate {seed} 1");
            }
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)));
    });
    let (failed, sum, took): (_, Sum, _) = (failed.into_inner(), *lock(&sum), began.elapsed().as_secs_f64());
    println!("in {took:.1} s: {sum:?}");
    assert_eq!(failed, 0, "seeds failed: each says above how to run it again");
}

#[test]
fn one_seed_is_one_run() {
    for seed in 0..25 {
        assert_eq!(run(seed, false), run(seed, false), "seed {seed}: something is drawn that the seed does not know");
    }
}
