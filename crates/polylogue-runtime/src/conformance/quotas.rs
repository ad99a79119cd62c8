//! What nodes share is given out once.

use std::{sync::Arc, time::Duration};

use polylogue_core::{Tenant, money::Money};
use tokio::task::JoinSet;

use crate::port::{Day, Grant, NodeId, Store, Wish};

const HERE: NodeId = NodeId::from_bytes([1; 16]);
const THERE: NodeId = NodeId::from_bytes([2; 16]);

/// Longer than any of these checks takes.
const LONG: Duration = Duration::from_secs(600);

fn wish(of: u32, keeps: u32, wants: u32) -> Wish {
    Wish { provider: "lab".into(), of, keeps, wants }
}

async fn both_are_known(store: &dyn Store) {
    for node in [HERE, THERE] {
        store.keep_alive(node, LONG).await.expect("a node");
    }
}

pub(super) async fn places_are_given_out_once(store: Arc<dyn Store>) {
    let node = |n: u8| NodeId::from_bytes([n; 16]);
    for n in 1..=10 {
        store.keep_alive(node(n), LONG).await.expect("a node");
    }
    let mut asking = JoinSet::new();
    for n in 1..=10 {
        let store = store.clone();
        asking.spawn(async move { store.hold(node(n), wish(7, 0, 7), LONG).await.expect("a grant").held });
    }
    let held: u32 = asking.join_all().await.iter().sum();
    assert_eq!(held, 7, "all of them, each once");
    let elsewhere = Wish { provider: "den".into(), ..wish(7, 0, 7) };
    assert_eq!(store.hold(HERE, elsewhere, LONG).await, Ok(Grant { held: 7, fair: 7 }), "another provider's");
}

pub(super) async fn who_is_alone_gets_all_and_lets_go_of_it(store: &dyn Store) {
    store.keep_alive(HERE, LONG).await.expect("a node");
    assert_eq!(store.hold(HERE, wish(8, 0, 1), LONG).await, Ok(Grant { held: 8, fair: 8 }));
    store.keep_alive(THERE, LONG).await.expect("a node");
    assert_eq!(store.hold(THERE, wish(8, 0, 2), LONG).await, Ok(Grant { held: 0, fair: 4 }), "none is free");
    assert_eq!(store.hold(HERE, wish(8, 8, 1), LONG).await, Ok(Grant { held: 8, fair: 3 }), "some are wanted there");
    assert_eq!(store.hold(HERE, wish(8, 3, 1), LONG).await, Ok(Grant { held: 3, fair: 3 }));
    assert_eq!(store.hold(THERE, wish(8, 0, 2), LONG).await, Ok(Grant { held: 4, fair: 4 }));
    // Who wants nothing more holds nothing, and is not counted.
    assert_eq!(store.hold(HERE, wish(8, 0, 0), LONG).await, Ok(Grant { held: 0, fair: 0 }));
    assert_eq!(store.hold(THERE, wish(8, 4, 8), LONG).await, Ok(Grant { held: 8, fair: 8 }));
}

pub(super) async fn the_places_of_who_is_gone_are_free(store: &dyn Store) {
    both_are_known(store).await;
    assert_eq!(store.hold(HERE, wish(4, 0, 4), Duration::ZERO).await, Ok(Grant { held: 4, fair: 4 }));
    assert_eq!(store.hold(THERE, wish(4, 0, 4), LONG).await, Ok(Grant { held: 4, fair: 4 }), "its time is up");
    // It has calls under way all the same, and those count.
    assert_eq!(store.hold(HERE, wish(4, 1, 4), LONG).await, Ok(Grant { held: 1, fair: 2 }));
    assert_eq!(store.hold(THERE, wish(4, 4, 4), LONG).await, Ok(Grant { held: 4, fair: 2 }));
    assert_eq!(store.hold(THERE, wish(4, 2, 4), LONG).await, Ok(Grant { held: 2, fair: 2 }));
    assert_eq!(store.hold(HERE, wish(4, 1, 4), LONG).await, Ok(Grant { held: 2, fair: 2 }));
}

pub(super) async fn what_is_spent_is_added_up_by_day(store: Arc<dyn Store>) {
    let (today, cent) = (Day(20_000), Money::from_usd(0.01));
    assert_eq!(store.spend(today, None, Money::ZERO).await, Ok(Money::ZERO));
    let mut spending = JoinSet::new();
    for _ in 0..20 {
        let store = store.clone();
        spending.spawn(async move { store.spend(today, None, cent).await.expect("a sum") });
    }
    let mut sums = spending.join_all().await;
    sums.sort();
    let expected: Vec<Money> = (1..=20).map(|n| Money::from_usd(f64::from(n) / 100.0)).collect();
    assert_eq!(sums, expected, "each was added once, and told what it came to");
    assert_eq!(store.spend(Day(20_001), None, cent).await, Ok(cent), "another day");
    assert_eq!(store.spend(today, None, Money::ZERO).await, Ok(Money::from_usd(0.20)));
    let a_lot = store.spend(Day(20_002), None, Money::from_picodollars(u64::MAX)).await.expect("a sum");
    assert_eq!(store.spend(Day(20_002), None, cent).await, Ok(a_lot), "it does not wrap around");
    assert!(a_lot > Money::from_usd(9_000_000.0));
}

pub(super) async fn what_a_tenant_spends_is_counted_apart(store: Arc<dyn Store>) {
    let (today, cent) = (Day(20_000), Money::from_usd(0.01));
    let [one, other]: [Tenant; 2] = ["one", "other"].map(|name| name.parse().expect("a name"));
    assert_eq!(store.spend(today, None, cent).await, Ok(cent));
    for cents in 1..=3 {
        let sum = Money::from_usd(f64::from(cents) / 100.0);
        assert_eq!(store.spend(today, Some(&one), cent).await, Ok(sum));
        assert_eq!(store.spend(today, Some(&one), Money::ZERO).await, Ok(sum));
    }
    assert_eq!(store.spend(today, Some(&other), Money::ZERO).await, Ok(Money::ZERO));
    assert_eq!(store.spend(Day(20_001), Some(&one), cent).await, Ok(cent), "another day");
    assert_eq!(store.spend(today, None, Money::ZERO).await, Ok(cent), "the sum of all is told apart");
    let a_lot = store.spend(today, Some(&other), Money::from_picodollars(u64::MAX)).await.expect("a sum");
    assert_eq!(store.spend(today, Some(&other), cent).await, Ok(a_lot), "it does not wrap around");
}
