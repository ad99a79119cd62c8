//! External programs as models, run for real.

use polylogue_core::ledger::Usage;
use polylogue_providers::{CommandSettings, Limits, Models, Settings};
use polylogue_runtime::port::{CallError, Model, Reply};
use serde_json::{Value, json};

use crate::support::ask::{call, request, shape};

/// A model that is this shell script.
fn shell(script: &str, timeout_seconds: u64) -> Models {
    let command = CommandSettings {
        program: "sh".into(),
        args: vec!["-c".into(), script.to_owned()],
        env: vec!["CODER_KEY".into()],
        timeout_seconds: Some(timeout_seconds),
    };
    let settings = Settings { commands: [("sh".to_owned(), command)].into(), ..Settings::default() };
    let env = |name: &str| match name {
        "PATH" | "HOME" => std::env::var(name).ok(),
        "CODER_KEY" => Some("a key of its own".to_owned()),
        _ => None,
    };
    Models::new(&settings, Limits::default(), env).unwrap()
}

async fn run(script: &str) -> Result<Reply, CallError> {
    shell(script, 10).answer(&call(request("command/sh"))).await
}

#[tokio::test]
async fn a_program_gets_the_whole_request_and_answers() {
    // The program answers with its own input, as a text.
    let script = r#"printf '{"text": "%s"}' "$(cat | base64 | tr -d '\n')""#;
    let mut request = request("command/sh");
    request.shape = Some(shape());
    let reply = shell(script, 10).answer(&call(request)).await.unwrap();
    let decoded = decode(&reply.text);
    let body: Value = serde_json::from_slice(&decoded).unwrap();
    let expected = json!({
        "instructions": body["instructions"],
        "model": "command/sh",
        "agent": "ada",
        "purpose": "contribute",
        "turn": 1,
        "system": "You are Ada.",
        "messages": [
            {"role": "user", "content": "Good morning."},
            {"role": "assistant", "content": "Morning, Bob."},
            {"role": "user", "content": "What is a home?"},
        ],
        "sampling": {},
        "schema": shape().schema(),
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_program_sees_no_key_but_those_that_it_is_given() {
    let script = r#"printf '{"text": "%s"}' "$(env | base64 | tr -d '\n')""#;
    let seen = decode(&run(script).await.unwrap().text);
    let seen = String::from_utf8(seen).unwrap();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.contains(&"PATH") && names.contains(&"HOME"), "{names:?}");
    assert!(seen.contains("CODER_KEY=a key of its own\n"), "{seen}");
    // What the process itself has in its environment is no program's business, however it is called.
    let stray =
        names.iter().find(|name| name.contains("CARGO") || name.ends_with("_API_KEY") || name.contains("TOKEN"));
    assert_eq!(stray, None, "{names:?}");
}

#[tokio::test]
async fn both_forms_of_a_reply_are_understood() {
    let ours = r#"echo '{"text": "Hello.", "usage": {"input": 9, "output": 3, "cached": 4}}'"#;
    let usage = Usage { input: 9, output: 3, cached: 4, ..Usage::default() };
    assert_eq!(run(ours).await, Ok(Reply { text: "Hello.".into(), usage: Some(usage), ..Reply::default() }));

    let claude = r#"cat >/dev/null; echo '{"type": "result", "subtype": "success", "is_error": false,
        "result": "Hello.", "session_id": "x", "total_cost_usd": 0.01, "usage": {"input_tokens": 3,
        "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 2}}'"#;
    let usage = Usage { input: 15, output: 2, cached: 7, cache_written: 5, ..Usage::default() };
    assert_eq!(run(claude).await, Ok(Reply { text: "Hello.".into(), usage: Some(usage), ..Reply::default() }));

    let structured = r#"echo '{"type": "result", "result": "", "structured_output": {"message": "Hi"}}'"#;
    assert_eq!(run(structured).await.unwrap().text, r#"{"message":"Hi"}"#.into());
}

#[tokio::test]
async fn a_usage_that_counts_nothing_costs_no_answer() {
    for usage in [
        r#"{"input": -9, "output": 3}"#,
        r#"{"input": 9, "output": "three"}"#,
        r#"{"input": 9.5, "output": 3}"#,
        r#"{"input_tokens": -3, "output_tokens": 2}"#,
        r#"{"input_tokens": 3, "output_tokens": 2.5}"#,
        r#""nine""#,
        "-9",
        "[]",
        "{}",
        "null",
    ] {
        let script = format!("echo '{{\"text\": \"Hello.\", \"usage\": {usage}}}'");
        assert_eq!(run(&script).await, Ok(Reply { text: "Hello.".into(), ..Reply::default() }), "{usage}");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_an_error() {
    for (script, expected) in [
        ("exit 3", "status 3"),
        ("kill -9 $$", "a signal"),
        ("echo hello", "no JSON reply"),
        ("echo '{\"answer\": 1}'", "no `text`"),
        ("echo '{\"error\": \"no credit\"}'", "no credit"),
        ("echo '{\"is_error\": true, \"result\": \"API Error\"}'", "API Error"),
        ("echo '{\"text\": \" \"}'", "said nothing"),
        ("head -c 5000000 /dev/zero", "larger than is read"),
    ] {
        let error = run(script).await.unwrap_err();
        assert!(matches!(&error, CallError::BadResponse(why) if why.contains(expected)), "{script}: {error:?}");
    }
    let missing =
        CommandSettings { program: "/no/such/program".into(), args: vec![], env: vec![], timeout_seconds: Some(1) };
    let settings = Settings { commands: [("sh".to_owned(), missing)].into(), ..Settings::default() };
    let models = Models::new(&settings, Limits::default(), |_| None).unwrap();
    let error = models.answer(&call(request("command/sh"))).await.unwrap_err();
    assert!(matches!(&error, CallError::Unavailable(why) if !why.contains("/no/such")), "{error:?}");
}

#[tokio::test]
async fn a_program_that_takes_too_long_ends_with_all_that_it_started() {
    let folder = std::env::temp_dir().join(format!("polylogue-command-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let fifo = folder.join("alive");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // A grandchild holds the pipe open for writing: the pipe ends when the last writer is gone.
    let script = format!("(sleep 600) > '{}' & wait", fifo.display());
    let reading = {
        let fifo = fifo.clone();
        tokio::task::spawn_blocking(move || std::fs::read(fifo))
    };
    let reply = shell(&script, 1).answer(&call(request("command/sh"))).await;
    let told = "the program has not ended within 1 s (its timeout_seconds)";
    assert_eq!(reply, Err(CallError::Timeout(told.into())));
    assert_eq!(reading.await.unwrap().unwrap(), b"");
    std::fs::remove_dir_all(folder).unwrap();
}

fn decode(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let bits = text.bytes().filter(|c| *c != b'=').map(value);
    let mut bytes = Vec::new();
    let (mut buffer, mut count) = (0_u32, 0);
    for six in bits {
        buffer = buffer << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((buffer >> count & 0xff) as u8);
        }
    }
    bytes
}
