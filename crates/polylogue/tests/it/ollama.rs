//! An Ollama that runs is found, and plays where no vendor has a key and nobody has chosen.

use std::process::Output;

use serde_json::{Value, json};

use crate::{
    folder::Folder,
    vendors::{Vendors, WORDS, talking},
};

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The model that plays `gpt` in a collaboration, and how that went.
fn played(folder: &Folder, vendors: &Vendors, more: &[&str]) -> (String, Vec<Value>) {
    let args = [&["collaborate", "Name a colour.", "--json"], more].concat();
    let output = vendors.as_ollama(folder.command(&args)).output().unwrap();
    let lines = lines(&output);
    let model = lines[0]["setup"]["cast"]["agents"][0]["model"].as_str().unwrap_or("nobody").to_owned();
    (model, lines)
}

#[test]
fn its_first_model_that_one_can_talk_to_plays() {
    let bert = json!({"name": "all-minilm:latest", "details": {"family": "bert"}});
    let embedding = json!({"name": "bge-m3:latest", "details": {"family": "other"}});
    let elsewhere =
        json!({"name": "gpt-oss:120b-cloud", "details": {"family": ""}, "remote_host": "https://ollama.com"});
    let vendors = Vendors::with_ollama(vec![
        (bert, json!({"capabilities": ["embedding"]})),
        (embedding, json!({"capabilities": ["embedding"]})),
        (elsewhere, json!({"capabilities": ["completion"]})),
        talking("llama3.2:latest"),
        talking("qwen3:4b"),
    ]);
    let folder = Folder::without_cache();
    let (model, lines) = played(&folder, &vendors, &[]);
    assert_eq!(model, "ollama/llama3.2");
    let result = lines.last().unwrap();
    assert_eq!(result["reason"], "final", "{result}");
    assert!(result["lines"].to_string().contains(WORDS), "{result}");
    assert!(vendors.asked().iter().any(|path| path == "/api/chat"), "{:?}", vendors.asked());

    let doctor = vendors.as_ollama(folder.command(&["doctor"])).output().unwrap();
    let told = String::from_utf8(doctor.stdout).unwrap();
    assert!(told.contains("llama3.2 plays where no vendor has a key"), "{told}");
    let listed = vendors.as_ollama(folder.command(&["models", "list"])).output().unwrap();
    let told = String::from_utf8(listed.stdout).unwrap();
    assert!(told.lines().any(|line| line.contains("ollama/llama3.2") && line.contains("plays `gpt`")), "{told}");
}

#[test]
fn an_older_ollama_that_says_nothing_of_capabilities_is_taken_at_its_word() {
    let tag = json!({"name": "mistral:7b", "details": {"family": "llama"}});
    let vendors = Vendors::with_ollama(vec![(tag, json!({}))]);
    assert_eq!(played(&Folder::without_cache(), &vendors, &[]).0, "ollama/mistral:7b");
}

#[test]
fn what_somebody_has_chosen_comes_first() {
    let (folder, vendors) = (Folder::without_cache(), Vendors::start());
    folder.write("replies.yaml", "replies: [{reply: {message: Done., final: true}}]");
    assert_eq!(played(&folder, &vendors, &["--model", "script/replies.yaml"]).0, "script/replies.yaml");
    assert_eq!(vendors.asked(), Vec::<String>::new(), "nobody asked it what it has");
    let mut command = vendors.as_ollama(folder.command(&["collaborate", "Name a colour.", "--json"]));
    command.env("OPENAI_API_KEY", "sk-test").env("ANTHROPIC_API_KEY", "sk-test");
    command.env("OPENAI_BASE_URL", vendors.address()).env("ANTHROPIC_BASE_URL", vendors.address());
    let output = command.output().unwrap();
    let model = lines(&output)[0]["setup"]["cast"]["agents"][0]["model"].clone();
    assert!(model.as_str().unwrap().starts_with("openai/"), "{model}");
    // Whoever names an embedded model is told what to do about it, and not given another.
    folder.write("polylogue.toml", "[local]\nmodel = \"smollm2\"\n");
    let (_, said) = played(&folder, &vendors, &[]);
    let message = said[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("local/smollm2"), "{message}");
}

#[test]
fn one_without_a_model_to_talk_to_is_passed_over() {
    let tag = json!({"name": "nomic-embed-text:latest", "details": {"family": "nomic-bert"}});
    let vendors = Vendors::with_ollama(vec![(tag, json!({"capabilities": ["embedding"]}))]);
    let folder = Folder::without_cache();
    let (_, said) = played(&folder, &vendors, &[]);
    let message = said[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("local/") && !message.contains("nomic"), "{message}");
    assert_eq!(vendors.asked(), ["/api/tags"]);
    let doctor = vendors.as_ollama(folder.command(&["doctor", "--json"])).output().unwrap();
    let ollama = lines(&doctor).into_iter().find(|line| line["about"] == "ollama").unwrap();
    assert_eq!(ollama["works"], false, "{ollama}");
    assert!(ollama["said"].as_str().unwrap().contains("ollama pull"), "{ollama}");
}
