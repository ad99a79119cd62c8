//! The dollars of a day: what several hubs spend together ends what runs on all of them, until the next day.

use std::{sync::Arc, time::Duration};

use polylogue_core::{
    Conversation, Reason, Setup, Tenant, Timestamp,
    id::{Seq, SessionId},
    money::{Money, Price},
    setup::{Cast, Change, Limits},
};
use polylogue_runtime::{Hub, HubError, HubSettings, MemoryJournal};
use tokio::time::sleep;

use crate::support::{Behaviour, Bench, TestModel, setup, texts};

/// A session of many turns, each of which costs some cents, and whose own limit is far away.
fn dear() -> Setup {
    let setup = setup(400);
    let price = Some(Price { output: 1_000.0, ..Price::FREE });
    let agents = setup.cast.agents().iter().cloned().map(|agent| polylogue_core::setup::Agent { price, ..agent });
    let limits = Limits { max_usd: Money::from_usd(10_000.0), max_seconds: 100_000, ..Limits::default() };
    Setup { cast: Cast::new(agents.collect(), setup.cast.people().to_vec()).unwrap(), limits, ..setup }
}

fn two() -> [Bench; 2] {
    let model = || TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_millis(700)));
    let settings = HubSettings { per_day: Some(Money::from_usd(1.0)), ..HubSettings::default() };
    let here = Bench::with(model(), Arc::new(MemoryJournal::default()), settings.clone());
    let there = Bench { hub: Hub::new(here.ports.clone(), settings), model: model(), ports: here.ports.clone() };
    [here, there]
}

async fn session(hub: &Hub, id: SessionId) -> Conversation {
    hub.conversation(id).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_two_hubs_spend_together_ends_both_until_the_next_day() {
    let [here, there] = two();
    let ids = [here.hub.start(dear()).await.unwrap(), there.hub.start(dear()).await.unwrap()];
    let mut costs = Vec::new();
    for (bench, id) in [&here, &there].into_iter().zip(ids) {
        bench.hub.wait(id).await.unwrap();
        let conversation = session(&bench.hub, id).await;
        assert_eq!(conversation.stage().ended(), Some(Reason::LIMIT_USD));
        let said = texts(&conversation);
        assert!(said.last().unwrap().contains("in a day is spent"), "{said:?}");
        costs.push(conversation.stage().ledger().known_cost());
    }
    let (cost, limit) = (costs[0].plus(costs[1]), Money::from_usd(1.0));
    assert!(costs.iter().all(|cost| *cost < limit), "neither did it alone: {costs:?}");
    // At most what each spends in a second and with the call that is under way: three turns at less than 10 cents.
    assert!(cost >= limit && cost < limit.plus(Money::from_usd(0.6)), "{cost}");

    let until = Timestamp(1_700_006_400_000);
    let refused = || HubError::DaySpent { limit, until };
    assert_eq!(here.hub.start(dear()).await, Err(refused()));
    assert_eq!(there.hub.resume(ids[0], Change::default()).await, Err(refused()));
    let forked = here.hub.fork(ids[0], Seq(4), dear().id, Change::default()).await;
    assert_eq!(forked, Err(refused()));
    assert!(refused().to_string().ends_with("it goes on at 2023-11-15T00:00:00.000Z"), "{}", refused());

    sleep(Duration::from_secs(2 * 3_600)).await;
    let turns = session(&there.hub, ids[0]).await.stage().ledger().total().calls;
    there.hub.resume(ids[0], Change::default()).await.expect("it is another day");
    there.hub.wait(ids[0]).await.unwrap();
    let conversation = session(&there.hub, ids[0]).await;
    assert_eq!(conversation.stage().ended(), Some(Reason::LIMIT_USD), "that day's dollars are spent as well");
    assert!(conversation.stage().ledger().total().calls > turns + 5);
    let all = conversation.stage().ledger().known_cost().minus(costs[0]);
    assert!(all >= limit && all < limit.plus(Money::from_usd(0.1)), "one alone knows at once what it spends: {all}");
}

#[tokio::test(start_paused = true)]
async fn a_session_at_its_own_limit_is_still_there_on_a_day_with_money() {
    let [here, _] = two();
    let limits = Limits { max_usd: Money::from_usd(0.001), ..Limits::default() };
    let id = here.run(Setup { limits, ..dear() }).await;
    assert_eq!(here.reason(id).await, Some(Reason::LIMIT_USD));
    let again = here.hub.resume(id, Change::default()).await;
    assert!(matches!(again, Err(HubError::Rejected(_))), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn what_one_tenant_may_spend_in_a_day_is_no_matter_of_others() {
    let [one, other]: [Tenant; 2] = ["one", "other"].map(|name| name.parse().unwrap());
    let per_day_of = [(one.clone(), Money::from_usd(0.5))].into();
    let model = TestModel::new(|_| Behaviour::HandsOnAfter(Duration::from_millis(700)));
    let settings = HubSettings { per_day_of, ..HubSettings::default() };
    let bench = Bench::with(model, Arc::new(MemoryJournal::default()), settings);
    let of = |tenant: Option<&Tenant>| Setup { tenant: tenant.cloned(), ..dear() };
    let id = bench.run(of(Some(&one))).await;
    assert_eq!(bench.reason(id).await, Some(Reason::LIMIT_USD));
    let cost = session(&bench.hub, id).await.stage().ledger().known_cost();
    assert!(cost >= Money::from_usd(0.5) && cost < Money::from_usd(1.0), "{cost}");
    let refused = bench.hub.start(of(Some(&one))).await;
    assert!(matches!(refused, Err(HubError::ShareSpent { .. })), "{refused:?}");
    let refused = bench.hub.resume(id, Default::default()).await;
    assert!(matches!(refused, Err(HubError::ShareSpent { .. })), "{refused:?}");
    for free in [Some(&other), None] {
        let id = bench.hub.start(of(free)).await.unwrap();
        sleep(Duration::from_secs(60)).await;
        assert_eq!(bench.reason(id).await, None, "others go on");
        bench.hub.stop(id).await.unwrap();
    }
}
