//! Collaborations in a storm of faults, for every vendor's protocol and for programs: all end, nothing is tried too
//! often, the books agree, and no limit is passed.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use polylogue_core::{
    Event, Reason, Setup,
    format::collaboration,
    id::SessionId,
    ledger::Usage,
    money::{Money, Price},
    setup::{Agent, Cast, FormatSetup, Limits as SessionLimits, ModelRef, Sampling},
};
use polylogue_providers::{CommandSettings, Limits, Models, Settings};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports, Retries,
    port::{Model, NoVoice, SystemClock},
};
use serde_json::{Value, json};

use crate::support::{
    ask::models_at,
    faults::{FaultServer, STORM},
};

const ROUNDS: u32 = 4;
const RETRIES: Retries =
    Retries { max: 3, first_wait: Duration::from_millis(1), longest_wait: Duration::from_millis(8) };
const PRICE: Price = Price { input: 1.0, output: 5.0, cached: None, cache_write: None };

/// What every second session may cost: a call at its highest, and little more.
const TIGHT_USD: f64 = 0.012;

/// Hands over to the other, whoever is asked, and finds the name of the session in its goal.
fn reply(path: &str, body: &Value) -> (String, String) {
    let (text, name) = (body.to_string(), body.to_string());
    let is_one = path.contains("/one") || body["model"] == "one" || text.contains("command/one");
    let name = name.split("tale number ").nth(1).and_then(|rest| rest.split('.').next()).unwrap_or_default();
    (handoff(if is_one { "two" } else { "one" }), name.to_owned())
}

fn handoff(to: &str) -> String {
    let message = "A sentence of the tale, and one more, and then another to make it worth its while.";
    json!({"message": message, "handoff": {"to": to, "task": "Go on."}}).to_string()
}

fn setup(number: u64, model: impl Fn(&str) -> ModelRef) -> Setup {
    let agent = |name: &str| Agent {
        name: name.parse().unwrap(),
        model: model(name),
        persona: None,
        voice: None,
        sampling: Sampling::default(),
        price: Some(PRICE),
        is_small: false,
    };
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.to_be_bytes());
    let goal = format!("Write tale number {number}. {}", "Let it be long and full of wonders. ".repeat(40));
    let max_usd = if number % 2 == 1 { Money::from_usd(TIGHT_USD) } else { Money::from_usd(2.0) };
    Setup {
        id: SessionId::from_random(id),
        format: FormatSetup::new(collaboration::Settings::new(goal.as_str(), "one".parse().unwrap(), ROUNDS)),
        cast: Cast::new(["one", "two"].map(agent).to_vec(), vec![]).unwrap(),
        limits: SessionLimits {
            max_usd,
            call_timeout_seconds: 2,
            first_token_seconds: Some(10),
            ..SessionLimits::default()
        },
        seed: number,
        speech: false,
        templates: Default::default(),
        room: None,
        tenant: None,
    }
}

/// What all sessions together came to.
#[derive(Debug, Default)]
struct Sum {
    tries: u64,
    ledger: Usage,
    /// By how much the input of an ask is more or less than its estimate, where its provider told: in parts of it.
    error: f64,
    ends: BTreeMap<String, u32>,
}

/// Runs so many sessions, and holds each of them to what `bills` says of it afterwards.
async fn run(
    model: Arc<dyn Model>,
    sessions: u64,
    named: impl Fn(&str) -> ModelRef,
    bills: impl Fn() -> BTreeMap<String, Usage>,
) -> Sum {
    let ports = Ports::new(model, Arc::new(NoVoice), Arc::new(MemoryJournal::default()), Arc::new(SystemClock));
    let hub = Hub::new(ports, HubSettings { retries: RETRIES, ..HubSettings::default() });
    let mut ids = Vec::new();
    for number in 0..sessions {
        ids.push((number, hub.start(setup(number, &named)).await.unwrap()));
    }
    for (_, id) in &ids {
        hub.wait(*id).await.unwrap();
    }
    let (mut sum, bills) = (Sum::default(), bills());
    for (number, id) in ids {
        let conversation = hub.conversation(id).await.unwrap();
        let stage = conversation.stage();
        let reason = stage.ended().unwrap();
        assert!([Reason::CAP_REACHED, Reason::FAILED, Reason::LIMIT_USD].contains(&reason), "{id} ended with {reason}");
        *sum.ends.entry(reason.to_string()).or_default() += 1;
        sum.ledger += stage.ledger().total().usage;
        let (mut estimates, mut dearest) = (BTreeMap::new(), Money::ZERO);
        for record in hub.records(id).await.unwrap() {
            match record.event {
                Event::Asked { ask, estimate, .. } => {
                    dearest = dearest.max(PRICE.of(&estimate));
                    estimates.insert(ask, estimate);
                }
                Event::Answered { ask, retries, usage, .. } => {
                    sum.tries += u64::from(retries) + 1;
                    assert!(retries <= RETRIES.max, "{retries}");
                    if !usage.estimated && retries == 0 {
                        let estimate = estimates[&ask].input as f64;
                        sum.error = sum.error.max((usage.input as f64 - estimate).abs() / estimate);
                    }
                }
                Event::AskFailed { retries, .. } => {
                    assert!(retries <= RETRIES.max, "{retries}");
                    sum.tries += u64::from(retries) + 1;
                }
                _ => {}
            }
        }
        let most = stage.limits().max_usd.plus(dearest);
        let bill = bills.get(&number.to_string()).copied().unwrap_or_default();
        assert!(PRICE.of(&bill) <= most, "session {number} cost {} of {most}", PRICE.of(&bill));
        assert!(stage.ledger().total().cost.unwrap() <= most);
    }
    sum
}

/// The ledger is the bill, but for the error of the estimate and of rounding once a try.
fn agrees(what: &str, sum: &Sum, billed: Usage) {
    println!("{what}: {sum:?}, billed {billed:?}");
    assert!(sum.error < 0.15, "{what}: an estimate is wrong by {} of itself", sum.error);
    let off = |ledger: u64, bill: u64| ledger.abs_diff(bill) as f64;
    let rounding = sum.tries as f64;
    assert!(off(sum.ledger.input, billed.input) <= sum.error * billed.input as f64 + rounding, "{what}");
    assert!(off(sum.ledger.output, billed.output) <= 2.0 * rounding, "{what}");
    assert!(sum.ledger.estimated, "{what}: not every bill was told");
    for reason in ["cap_reached", "failed"] {
        assert!(sum.ends.contains_key(reason), "{what}: none ended with {reason}: {:?}", sum.ends);
    }
}

#[tokio::test]
async fn every_session_ends_and_the_ledger_is_what_each_vendor_billed() {
    let storms = ["openai", "anthropic", "gemini", "ollama"].map(|provider| async move {
        let server = FaultServer::start(2026, &STORM, reply).await;
        let model = Arc::new(models_at(&server.base(), Limits::default()));
        let named = |name: &str| ModelRef { provider: provider.into(), model: name.into() };
        let sum = run(model, 60, named, || server.books().bills).await;
        let books = server.books();
        assert_eq!(sum.tries, books.requests, "{provider}: every request is a try that the journal knows");
        assert!(books.failed.len() == 7, "{provider}: every kind of fault happened: {books:?}");
        agrees(provider, &sum, books.billed());
    });
    futures_util::future::join_all(storms).await;
}

/// A program that counts what it is given, writes its bill to a file, and fails more often than not.
fn program(folder: &Path, other: &str) -> CommandSettings {
    let reply = json!({"text": handoff(other), "usage": {"input": 7, "output": 7}}).to_string();
    let (before, after) = reply.split_once(r#""input":7,"output":7"#).unwrap();
    let output = handoff(other).len().div_ceil(4);
    // It counts what it is told and the form of the reply, as a vendor does: the instructions and names around them are
    // about 600 characters.
    let script = format!(
        r#"asked=$(cat)
        tale=${{asked#*tale number }}; tale=${{tale%%.*}}
        input=$(((${{#asked}} - 600) / 4))
        exec 9>> '{folder}/bills'
        case $((RANDOM % 5)) in
        0|1) echo "$tale $input {output}" >&9; printf '%s' '{before}"input":'$input',"output":{output}{after}' ;;
        2) echo "$tale $input 0" >&9; exit 3 ;;
        3) echo "$tale $input 0" >&9; echo 'no JSON' ;;
        4) echo "$tale $input 0" >&9; kill -9 $$ ;;
        esac"#,
        folder = folder.display(),
    );
    CommandSettings { program: "bash".into(), args: vec!["-c".into(), script], env: vec![], timeout_seconds: None }
}

#[tokio::test]
async fn programs_are_charged_for_what_they_were_given() {
    let folder = tempfile::tempdir().unwrap();
    let commands =
        [("one", "two"), ("two", "one")].map(|(name, other)| (name.to_owned(), program(folder.path(), other)));
    let settings = Settings { commands: commands.into(), ..Settings::default() };
    let models = Arc::new(Models::new(&settings, Limits::default(), |_| None).unwrap());
    let named = |name: &str| ModelRef { provider: "command".into(), model: name.into() };
    let bills = || {
        let written = std::fs::read_to_string(folder.path().join("bills")).unwrap();
        let mut bills: BTreeMap<String, Usage> = BTreeMap::new();
        for line in written.lines() {
            let [tale, input, output] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let (input, output) = (input.parse().unwrap(), output.parse().unwrap());
            *bills.entry(tale.to_owned()).or_default() += Usage { input, output, ..Usage::default() };
        }
        bills
    };
    let sum = run(models, 24, named, bills).await;
    let mut billed = Usage::default();
    bills().into_values().for_each(|bill| billed += bill);
    agrees("command", &sum, billed);
}
