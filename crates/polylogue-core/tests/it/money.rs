//! What is charged, and when: estimates, asks that were lost with their process, endings that keep their reason.

use polylogue_core::{
    Conversation, Event, Halt, Input, Reason,
    ledger::{Usage, estimate_tokens},
    money::{Money, Price},
    setup::{Agent, Cast, Change},
};

use crate::support::{Play, agent, chorus, collaboration, comment_on, spoken};

fn priced(price: Price) -> polylogue_core::Setup {
    let mut setup = collaboration(&["claude", "gpt"], 9);
    let agents = ["claude", "gpt"].map(|name| Agent { price: Some(price), ..agent(name) });
    setup.cast = Cast::new(agents.to_vec(), vec!["you".parse().unwrap()]).unwrap();
    setup
}

fn estimate(play: &Play) -> Usage {
    let asked = play.records.iter().rev().find_map(|record| match &record.event {
        Event::Asked { estimate, .. } => Some(*estimate),
        _ => None,
    });
    asked.unwrap()
}

#[test]
fn what_a_process_took_with_it_is_charged_at_the_estimate_and_asked_again() {
    let price = Price { input: 3.0, output: 15.0, cached: None, cache_write: Some(3.75) };
    let mut play = Play::start(priced(price)).unwrap();
    let mut spent = Usage::default();
    for times in 1..=12 {
        let ask = play.begin().remove(0);
        assert_eq!(ask.id.attempt, 1, "nothing was heard of it, so it is the same ask");
        spent += estimate(&play);
        // The process is gone; a day later another one goes on with what is on disk.
        play.wait_ms(86_400_000);
        play.give(Input::ResumePressed { change: Change::default() }).unwrap();
        let stage = play.conversation.stage();
        let account = *stage.ledger().total();
        assert_eq!((account.calls, account.usage, account.cost), (times, spent, Some(price.of(&spent))));
        assert!(account.usage.estimated);
        assert_eq!(stage.active_ms(), 0, "the day between is nobody's");
    }
    assert_eq!(Conversation::replay(&play.records).unwrap(), play.conversation);

    // What was answered is not lost.
    let ask = play.begin().remove(0);
    play.answer(&ask, "That is all.");
    let calls = play.conversation.stage().ledger().total().calls;
    play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    assert_eq!(play.conversation.stage().ledger().total().calls, calls);
}

#[test]
fn a_session_that_nobody_runs_is_stopped_at_the_same_price() {
    let mut play = Play::start(priced(Price { input: 1.0, output: 5.0, ..Price::FREE })).unwrap();
    play.begin();
    let estimate = estimate(&play);
    play.give(Input::Halted { why: Halt::StopPressed, cut: Vec::new() }).unwrap();
    assert_eq!(play.conversation.stage().ledger().total().usage, estimate);
}

#[test]
fn a_journal_of_before_costs_what_it_cost() {
    let mut play = Play::start(priced(Price { input: 1.0, output: 5.0, ..Price::FREE })).unwrap();
    play.begin();
    let before = Event::decode(r#"{"type":"resumed","version":1,"change":{}}"#).unwrap();
    assert_eq!(before.encode(), r#"{"type":"resumed","version":1,"change":{}}"#);
    play.record(vec![before]);
    assert_eq!(play.conversation.stage().ledger().total().cost, Some(Money::ZERO));
}

#[test]
fn lost_asks_can_use_up_a_limit() {
    let mut setup = priced(Price { input: 0.0, output: 1.0, ..Price::FREE });
    // Each ask may cost $0.002048.
    setup.limits.max_usd = Money::from_usd(0.005);
    let mut play = Play::start(setup).unwrap();
    for _ in 0..2 {
        assert_eq!(play.begin().len(), 1);
        play.give(Input::ResumePressed { change: Change::default() }).unwrap();
    }
    assert_eq!(play.begin(), []);
    assert_eq!(play.conversation.stage().ended(), Some(Reason::LIMIT_USD));
}

#[test]
fn an_estimate_counts_the_schema_and_the_dearer_way_to_the_cache() {
    for (cache_write, written) in [(None, false), (Some(0.5), false), (Some(1.25), true)] {
        let price = Price { input: 1.0, output: 5.0, cached: None, cache_write };
        let mut play = Play::start(priced(price)).unwrap();
        let request = play.begin().remove(0).request;
        let texts = [&*request.system, &*request.prompt].map(estimate_tokens).iter().sum::<u64>();
        let schema = estimate_tokens(&request.shape.as_ref().unwrap().schema().to_string());
        let estimate = estimate(&play);
        let counted = estimate.input - texts;
        assert!(counted.abs_diff(schema) * 10 <= schema, "{counted} of {schema} tokens are counted");
        assert_eq!(estimate.cache_written, if written { estimate.input } else { 0 });
    }
}

#[test]
fn a_session_that_came_to_its_own_end_keeps_its_reason_when_time_runs_out() {
    let mut setup = chorus(2);
    setup.speech = true;
    let mut play = Play::start(setup).unwrap();
    let times_up = |play: &Play| {
        let events = play.conversation.on(Input::Halted { why: Halt::TimeIsUp, cut: Vec::new() }).unwrap();
        events.into_iter().find_map(|event| match event {
            Event::Ended { reason, .. } => Some(reason),
            _ => None,
        })
    };
    for turn in 1..=3 {
        let asks = play.begin();
        assert!(!asks.is_empty(), "turn {turn}");
        assert_eq!(times_up(&play), Some(Reason::LIMIT_SECONDS));
        for ask in asks {
            let other = if ask.id.agent.as_str() == "slot-1" { 2 } else { 1 };
            let reply = if turn == 2 { comment_on(other, "Yes.") } else { spoken("Yes.") };
            play.answer(&ask, &reply);
        }
    }
    assert_eq!(play.begin(), [], "only clips are to be made");
    assert_eq!(play.conversation.stage().ended(), None);
    assert_eq!(times_up(&play).unwrap().to_string(), "completed");
}
