//! The embedded model, really asked. Its file is in the user's cache folder: `./test` and `polylogue models pull`
//! fetch it. Replies are kept short: it is the machinery that is tested, not the wit.

#![cfg(feature = "local")]

mod plans;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use polylogue_core::{
    ask::{Ask, Request, Role, Thread},
    format::collaboration::purpose,
    id::AskId,
    setup::Sampling,
    text::reply::{self, Field, Shape},
};
use polylogue_providers::{Limits, Local, LocalSettings, Models, Settings};
use polylogue_runtime::port::{Call, CallError, Deltas, Model, Reply};
use tokio::{sync::Notify, time::timeout};

/// Long enough for a short reply on a busy machine, and far too short for the longest one.
const SOON: Duration = Duration::from_secs(25);

fn cache() -> PathBuf {
    let env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = env("XDG_CACHE_HOME").or_else(|| env("HOME").map(|home| home.join(".cache")));
    cache.expect("a user has a cache folder").join("polylogue")
}

fn local() -> Local {
    let local = Local::new(&LocalSettings::default(), &cache());
    local.check("smollm2").expect("the model file is there: run ./test or `polylogue models pull smollm2`");
    local
}

fn request(prompt: &str, max_output_tokens: u32) -> Request {
    Request {
        model: "local/smollm2".parse().unwrap(),
        system: "You are Ada, who is brief.".into(),
        thread: Thread::default(),
        prompt: prompt.into(),
        shape: None,
        grammar: None,
        plan: None,
        sampling: Sampling { max_output_tokens: Some(max_output_tokens), ..Sampling::default() },
    }
}

fn call(request: Request) -> Call {
    call_watched(request, |_| {})
}

fn call_watched(request: Request, watch: impl Fn(&str) + Send + Sync + 'static) -> Call {
    let id = AskId { purpose: purpose::CONTRIBUTE, turn: 1, agent: "ada".parse().unwrap(), attempt: 1 };
    Call { ask: Ask { id, request }, retry: 0, deltas: Deltas::new(watch) }
}

async fn ask(local: &Local, request: Request) -> Reply {
    local.answer(&call(request)).await.unwrap()
}

fn envelope() -> Shape {
    Shape::Object(vec![
        Field::required("message", Shape::Text { max_chars: Some(60) }),
        Field::optional(
            "handoff",
            Shape::Object(vec![
                Field::required("to", Shape::Choice(vec!["gpt".into(), "claude".into()])),
                Field::required("task", Shape::Text { max_chars: Some(40) }),
            ]),
        ),
        Field::optional("final", Shape::Bool),
    ])
}

#[tokio::test]
async fn every_shape_is_kept_to_exactly() {
    let local = local();
    let slots = Shape::Object(vec![
        Field::required("targetSlotId", Shape::Number(vec![1, 2, 4])),
        Field::required("comment", Shape::Text { max_chars: Some(50) }),
    ]);
    let judged = Shape::Object(vec![
        Field::required("progress", Shape::Fraction(0.0, 1.0)),
        Field::required("notes", Shape::List(Box::new(Shape::Text { max_chars: Some(30) }), 4)),
    ]);
    let choice = Shape::Object(vec![Field::required("answer", Shape::Choice(vec!["yes".into(), "no".into()]))]);
    let questions = ["What is a home?", "Say \"hello\" to gpt.", "日本語?", "\\n\\n{}[]"];
    let asks =
        [envelope(), slots, choice, judged, envelope()].into_iter().cycle().zip(questions.into_iter().cycle()).take(12);
    for (shape, question) in asks {
        let reply = ask(&local, Request { shape: Some(Arc::new(shape.clone())), ..request(question, 160) }).await;
        let reading = reply::read(&reply.text, &shape);
        assert!(
            reading.value.is_ok() && reading.repairs.is_empty(),
            "{question}: {} {:?}",
            reply.text,
            reading.repairs
        );
        assert!(!reply.text.contains(['\n', '\t']), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_grammar_is_kept_to() {
    let grammar = r#"
        start: silent | spoken
        silent: "[SILENT, *" ACT "*]"
        spoken: "[TO: " NAME ", TONE: " TONE "] \"" WORDS "\""
        NAME: "Bob" | "Cleo"
        TONE: /[a-z]{3,12}/
        ACT: /[a-z ]{3,40}/
        WORDS: /[A-Z][a-z ,']{3,60}[.!?]/
    "#;
    let local = local();
    for prompt in ["Bob looks at you.", "Cleo asks where you live.", "Nobody speaks."] {
        let reply = ask(&local, Request { grammar: Some(grammar.into()), ..request(prompt, 120) }).await;
        let silent = reply.text.starts_with("[SILENT, *") && reply.text.ends_with("*]");
        let spoken = ["[TO: Bob, TONE: ", "[TO: Cleo, TONE: "].iter().any(|head| reply.text.starts_with(head));
        assert!(silent || spoken && reply.text.ends_with('"'), "{}", reply.text);
    }
    let broken = Request { grammar: Some("start: nothing".into()), ..request("Hello.", 10) };
    assert!(matches!(local.answer(&call(broken)).await, Err(CallError::Rejected(_))));
}

#[tokio::test]
async fn the_same_request_has_the_same_reply_whatever_came_before() {
    let (cold, warm) = (local(), local());
    let asked = || request("What is a home?", 40);
    let first = ask(&cold, asked()).await;
    ask(&warm, request("What is a home to you, and where?", 20)).await;
    let (second, third) = (ask(&warm, asked()).await, ask(&warm, asked()).await);
    assert_eq!(first.text, second.text);
    assert_eq!(second.text, third.text);
    let cached = |reply: &Reply| reply.usage.unwrap().cached;
    assert!(cached(&first) == 0 && cached(&third) > cached(&first), "{first:?} {third:?}");
    // A session of another seed draws otherwise, and one of the same seed the same.
    let seeded = async |seed| {
        let mut asked = asked();
        asked.sampling.seed = Some(seed);
        ask(&warm, asked).await.text
    };
    let (one, other) = (seeded(1).await, seeded(2).await);
    assert_ne!(one, other);
    assert_eq!((seeded(1).await, seeded(2).await), (one, other));
    // Another place in the conversation draws otherwise.
    let mut elsewhere = call(asked());
    elsewhere.ask.id.turn = 2;
    assert_ne!(cold.answer(&elsewhere).await.unwrap().text, first.text);
}

#[tokio::test]
async fn what_is_shown_is_the_text_and_what_is_counted_is_what_was_read() {
    let local = local();
    let shown = Arc::new(std::sync::Mutex::new(String::new()));
    let seen = shown.clone();
    let call = call_watched(request("Name three trees.", 30), move |text| seen.lock().unwrap().push_str(text));
    let reply = local.answer(&call).await.unwrap();
    assert_eq!(*shown.lock().unwrap(), &*reply.text);
    let usage = reply.usage.unwrap();
    assert!((1..=30).contains(&usage.output) && usage.input > 20 && !usage.estimated, "{usage:?}");
    // The same words in the thread are more input by exactly those tokens and what the template adds.
    let mut thread = Thread::default();
    thread.push(Role::User, "Name three trees.".into());
    thread.push(Role::Assistant, reply.text.into());
    let longer = ask(&local, Request { thread, ..request("Name three trees.", 5) }).await.usage.unwrap();
    assert!(longer.input > usage.input + usage.output, "{longer:?} after {usage:?}");
    assert!(longer.cached >= usage.input - 1, "{longer:?} after {usage:?}");
}

#[tokio::test]
async fn the_shared_beginning_grows_with_the_thread_also_among_several_agents() {
    let local = local();
    let agents = ["Ada", "Bob", "Cleo", "a moderator"];
    let mut threads = [(); 4].map(|()| Thread::default());
    let mut cached_before = [0; 4];
    for turn in 0..3 {
        for (at, agent) in agents.iter().enumerate() {
            let prompt: Arc<str> = format!("Beat {turn}. Somebody knocks on the door. What do you do?").into();
            let system = format!("You play a part in a scene, and say little. You are {agent}.").into();
            let asked = Request { system, thread: threads[at].clone(), ..request(&prompt, 12) };
            let reply = ask(&local, asked).await;
            let usage = reply.usage.unwrap();
            if turn > 0 {
                assert!(usage.cached > cached_before[at] + 20, "{agent}, turn {turn}: {usage:?}");
            }
            cached_before[at] = usage.cached;
            threads[at].push(Role::User, prompt.into());
            threads[at].push(Role::Assistant, reply.text.into());
        }
    }
}

#[tokio::test]
async fn a_dropped_call_stops_at_once_and_the_next_one_is_served() {
    let local = local();
    let (count, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (counted, told) = (count.clone(), begun.clone());
    let endless = call_watched(request("Tell me everything about the sea.", 2_048), move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        told.notify_one();
    });
    tokio::select! {
        reply = local.answer(&endless) => panic!("it was to be cut: {reply:?}"),
        () = begun.notified() => {}
    }
    let seen = count.load(Ordering::Relaxed);
    let next = timeout(SOON, ask(&local, request("Say hello.", 5))).await;
    assert!(next.is_ok(), "the thread still works for nobody");
    assert_eq!(count.load(Ordering::Relaxed), seen, "nothing is shown after the drop");
    let arrived = endless.deltas.take();
    assert!(!arrived.text.is_empty() && arrived.usage.is_some_and(|usage| usage.output > 0), "{arrived:?}");
}

#[tokio::test]
async fn six_are_answered_at_once_and_the_seventh_waits_for_a_seat() {
    let local = local();
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let names = ["Ada", "Bob", "Cleo", "Dan", "Eve", "Fay", "Gus"];
    let shape = Arc::new(envelope());
    let calls = names.map(|name| {
        let (told, system) = (told.clone(), format!("You take part in a talk. You are {name}.").into());
        let asked = Request { system, shape: Some(shape.clone()), ..request("Speak of the sea, at length.", 60) };
        call_watched(asked, move |_| told.lock().unwrap().push(name))
    });
    let answered = futures_util::future::join_all(calls.iter().map(async |call| {
        let _admission = local.admit(call).await;
        let reply = local.answer(call).await.unwrap();
        (reply, told.lock().unwrap().len())
    }))
    .await;
    for (reply, _) in &answered {
        assert!(reply::read(&reply.text, &shape).value.is_ok(), "{}", reply.text);
    }
    let first_end = answered.iter().map(|(_, pieces)| *pieces).min().unwrap();
    let told = told.lock().unwrap();
    let begun: std::collections::BTreeSet<&str> = told[..first_end].iter().copied().collect();
    assert_eq!(begun.len(), 6, "six write before one of them has ended: {told:?}");
    // What is common to all stands first in each of them, and is read once.
    let cached: Vec<u64> = answered.iter().map(|(reply, _)| reply.usage.unwrap().cached).collect();
    assert!(cached.iter().filter(|cached| **cached > 5).count() >= 1, "{cached:?}");
}

#[tokio::test]
async fn who_leaves_does_not_take_the_others_along() {
    let local = local();
    let (begun, staying) = (Arc::new(Notify::new()), call(request("Name three birds.", 24)));
    let told = begun.clone();
    let leaving = call_watched(request("Tell me everything about the sea.", 2_048), move |_| told.notify_one());
    let left = async {
        tokio::select! {
            reply = local.answer(&leaving) => panic!("it was to be cut: {reply:?}"),
            () = begun.notified() => {}
        }
    };
    let ((), reply) = tokio::join!(left, timeout(4 * SOON, local.answer(&staying)));
    assert!(!reply.expect("in time").unwrap().text.is_empty());
}

#[tokio::test]
async fn stop_sequences_and_limits_hold() {
    let local = local();
    let stop =
        Sampling { stop: vec!["e".into()], max_output_tokens: Some(40), temperature: Some(0.0), ..Sampling::default() };
    let reply = ask(&local, Request { sampling: stop, ..request("Describe the weather.", 1) }).await;
    assert!(!reply.text.contains('e'), "{}", reply.text);
    let cut = ask(&local, request("Count from one to a hundred.", 6)).await;
    assert_eq!(cut.usage.unwrap().output, 6);
    let long = Request { system: "word ".repeat(6_000).into(), ..request("Hello.", 5) };
    assert!(matches!(local.answer(&call(long)).await, Err(CallError::ContextTooLong(_))));
}

#[tokio::test]
async fn what_is_not_there_or_broken_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("broken.gguf"), b"GGUF, but no model").unwrap();
    let models = [("broken", file("broken.gguf")), ("lost", file("none.gguf"))];
    let models = models.map(|(name, path)| (name.to_owned(), path)).into();
    let settings = LocalSettings { models, ..LocalSettings::default() };
    let local = Arc::new(Local::new(&settings, folder.path()));
    let models = Models::new(&Settings::default(), Limits::default(), |_| None).unwrap().with_local(local);
    for (model, told) in [
        ("local/smollm2", "run `polylogue models pull smollm2` (98 MB)"),
        ("local/qwen3-4b", "run `polylogue models pull qwen3-4b` (2.5 GB)"),
        ("local/lost", "[local.models]"),
        ("local/other", "there is broken, lost, qwen2.5-coder-0.5b, qwen2.5-coder-1.5b, qwen3-4b, smollm2;"),
        ("local/broken", "damaged or of another kind"),
    ] {
        let request = Request { model: model.parse().unwrap(), ..request("Hello.", 5) };
        let error = models.answer(&call(request)).await.unwrap_err();
        assert!(matches!(&error, CallError::Unavailable(what) if what.contains(told)), "{model}: {error}");
        assert!(!error.to_string().contains(&folder.path().to_string_lossy().into_owned()), "{error}");
    }
    assert!(!Path::new(&file("smollm2-135m-instruct")).exists(), "nothing is fetched by asking");
}
