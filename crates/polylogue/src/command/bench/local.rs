//! What the embedded model costs on this machine: six asks at once against one after the other, the twentieth turn of
//! a thread, and a whole chorus of six. Times are compared within one run; elsewhere they are others.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::try_join_all;
use polylogue_core::{
    Reason,
    ask::{Ask, Request, Role, Thread},
    format::collaboration::purpose,
    id::AskId,
    ledger::Usage,
    setup::{ModelRef, Sampling, Setup},
};
use polylogue_providers::{Local, LocalSettings};
use polylogue_runtime::{
    Hub, HubSettings, MemoryJournal, Ports,
    port::{Call, Deltas, Model, NoVoice, SystemClock},
};
use serde_json::{Value, json};

use super::{case::memory_mb, pipeline::six_slots};
use crate::{cache, failure::Failure};

/// Who is asked, and about what.
const QUESTIONS: [&str; 6] = [
    "Tell me about a lighthouse.",
    "Tell me about a market on a winter morning.",
    "Tell me about the first day at a school.",
    "Tell me about a long train journey.",
    "Tell me about a garden after rain.",
    "Tell me about a letter that came too late.",
];
/// Tokens of each reply.
const OUTPUT: u32 = 48;
const TURNS: usize = 20;

/// Measures this model, or the one that plays where no vendor has a key. One line for each case.
pub(super) async fn run(name: Option<&str>, print: impl Fn(Value)) -> Result<(), Failure> {
    let local = Arc::new(Local::new(&LocalSettings::default(), &cache::folder()));
    let model: ModelRef = match name {
        Some(name) => ModelRef { provider: "local".into(), model: name.trim_start_matches("local/").into() },
        None => local.usual(),
    };
    local.check(&model.model).map_err(|error| Failure::config(error.to_string()))?;
    // The file is read with the first ask, which is not counted.
    ask(&local, &model, "Hello.", Thread::default(), 1).await?;
    print(six(&local, &model).await?);
    print(thread(&local, &model).await?);
    print(chorus(local.clone(), &model).await?);
    print(json!({"case": "local-memory", "model": model, "peakMb": memory_mb("VmHWM")}));
    Ok(())
}

/// Six asks one after the other, and then at once.
async fn six(local: &Local, model: &ModelRef) -> Result<Value, Failure> {
    let began = Instant::now();
    let mut one_by_one = Usage::default();
    for question in QUESTIONS {
        one_by_one += ask(local, model, question, Thread::default(), OUTPUT).await?;
    }
    let one_by_one = per_token(began.elapsed(), one_by_one);
    let began = Instant::now();
    let asks = QUESTIONS.map(|question| ask(local, model, question, Thread::default(), OUTPUT));
    let at_once = try_join_all(asks).await?.into_iter().fold(Usage::default(), |mut sum, usage| {
        sum += usage;
        sum
    });
    let at_once = per_token(began.elapsed(), at_once);
    Ok(json!({
        "case": "local-six",
        "model": model,
        "tokensPerSecondOneByOne": rounded(1.0 / one_by_one),
        "tokensPerSecondAtOnce": rounded(1.0 / at_once),
        "ratioOfTime": rounded(at_once / one_by_one),
    }))
}

/// A thread that grows: how many tokens are computed for its second turn, and for its last.
async fn thread(local: &Local, model: &ModelRef) -> Result<Value, Failure> {
    let mut thread = Thread::default();
    let mut computed = Vec::new();
    for turn in 1..=TURNS {
        let prompt = format!("Turn {turn}: and then?");
        let usage = ask(local, model, &prompt, thread.clone(), 8).await?;
        computed.push((usage.input, usage.input - usage.cached));
        thread.push(Role::User, prompt.into());
        thread.push(Role::Assistant, "Then the rain stopped, and they went on.".into());
    }
    let (second, last) = (computed[1], computed[TURNS - 1]);
    Ok(json!({
        "case": "local-thread",
        "model": model,
        "turns": TURNS,
        "inputOfLastTurn": last.0,
        "computedForSecondTurn": second.1,
        "computedForLastTurn": last.1,
    }))
}

/// A chorus of six without speech.
async fn chorus(local: Arc<Local>, model: &ModelRef) -> Result<Value, Failure> {
    let is_small = local.is_small(&model.model);
    let ports = Ports::new(local, Arc::new(NoVoice), Arc::new(MemoryJournal::default()), Arc::new(SystemClock));
    let hub = Hub::new(ports, HubSettings::default());
    let setup = Setup { speech: false, ..six_slots(model, is_small)? };
    let began = Instant::now();
    let id = hub.start(setup).await?;
    hub.wait(id).await?;
    let time = began.elapsed();
    let conversation = hub.conversation(id).await?;
    let stage = conversation.stage();
    if stage.ended() != Some(Reason::COMPLETED) {
        return Err(Failure::internal("the chorus of the bench did not run to its end"));
    }
    Ok(json!({
        "case": "local-chorus",
        "model": model,
        "lines": stage.transcript().lines().len(),
        "tokens": stage.ledger().total().usage.total(),
        "seconds": rounded(time.as_secs_f64()),
    }))
}

async fn ask(local: &Local, model: &ModelRef, prompt: &str, thread: Thread, output: u32) -> Result<Usage, Failure> {
    let request = Request {
        model: model.clone(),
        system: "You tell short stories in plain words.".into(),
        thread,
        prompt: prompt.into(),
        shape: None,
        grammar: None,
        plan: None,
        sampling: Sampling { max_output_tokens: Some(output), ..Sampling::default() },
    };
    let agent = "bench".parse().expect("a good name");
    let id = AskId { purpose: purpose::CONTRIBUTE, turn: 1, agent, attempt: 1 };
    let call = Call { ask: Ask { id, request }, retry: 0, deltas: Deltas::unwatched() };
    let _admission = local.admit(&call).await;
    let reply = local.answer(&call).await.map_err(|error| Failure::internal(error.to_string()))?;
    Ok(reply.usage.unwrap_or_default())
}

/// Seconds for each token that was written.
fn per_token(time: Duration, usage: Usage) -> f64 {
    time.as_secs_f64() / usage.output.max(1) as f64
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
