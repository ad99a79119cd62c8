//! Which model plays an agent of the configuration that names none.

use serde_json::json;

use crate::folder::Folder;

#[test]
fn a_built_in_agent_keeps_its_model_under_another_persona_and_voice() {
    let folder = Folder::new();
    let table = "[agents.gpt]\nvoice = \"dry_precise\"\n[agents.claude]\npersona = \"You are brief.\"\n";
    folder.write("polylogue.toml", table);
    folder.write("replies.yaml", "replies: [{reply: {message: Done., final: true}}]");
    let run = folder.run(&["collaborate", "Go.", "--model", "script/replies.yaml"]);
    let agents = &run.lines[0]["setup"]["cast"]["agents"];
    assert_eq!(
        (run.status, &agents[0]["voice"], &agents[1]["persona"]),
        (0, &json!("dry_precise"), &json!("You are brief."))
    );
    // Nobody listens there, so that the model is known by who could not be reached.
    let mut command = folder.command(&["collaborate", "Go.", "--json", "--start", "gpt"]);
    command.env("OPENAI_API_KEY", "sk-test").env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    command.env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let first: serde_json::Value = serde_json::from_str(output.lines().next().unwrap()).unwrap();
    let model = first["setup"]["cast"]["agents"][0]["model"].as_str().unwrap();
    assert!(model.starts_with("openai/gpt-"), "{first}");
}

#[test]
fn another_agent_without_a_model_says_what_to_do() {
    let folder = Folder::new();
    folder.write("polylogue.toml", "[agents.critic]\npersona = \"You find the flaw.\"\n");
    let run = folder.run(&["collaborate", "Go.", "--between", "critic,gpt"]);
    let message = run.lines[0]["error"]["message"].as_str().unwrap();
    assert_eq!(run.status, 2);
    assert!(message.contains("agent `critic` has no model") && message.contains("[agents.critic]"), "{message}");
    folder.write("replies.yaml", "replies: [{reply: {message: Done., final: true}}]");
    let run = folder.run(&["collaborate", "Go.", "--between", "critic,gpt", "--model", "script/replies.yaml"]);
    assert_eq!(run.status, 0, "{:?}", run.lines);
}

#[test]
fn a_call_that_fails_names_the_server_or_the_program() {
    let folder = Folder::new();
    let server = "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://ann:secret@127.0.0.1:9/v1\"\n";
    let program = "[commands.coder]\nprogram = \"/nowhere/no-such-program\"\n[commands.no]\nprogram = \"false\"\n";
    folder.write("polylogue.toml", &format!("{server}{program}[limits]\ncall_max_seconds = 5\n"));
    for (model, named) in [
        ("lab/any", "cannot connect to http://127.0.0.1:9: "),
        ("command/coder", "the program `no-such-program` cannot be started: there is no such program"),
        ("command/no", "the program `false` ended with status 1"),
    ] {
        let run = folder.run(&["collaborate", "Go.", "--model", model]);
        let failed = run.lines.iter().find(|line| line["type"] == "ask_failed").unwrap();
        let message = failed["failure"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{message}");
        assert!(!message.contains("secret") && !message.contains("nowhere"), "{message}");
    }
}
