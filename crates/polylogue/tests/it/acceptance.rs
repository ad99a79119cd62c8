//! The acceptance tests and edge cases of the collaboration's source document, played from `examples/`.

use serde_json::json;

use crate::folder::{Folder, Run, example_config, is_ask_of};

const FAIRY_TALE: &str = "Write a 2-paragraph fairy tale—Claude drafts, GPT edits, alternate until done (≤4 rounds).";
const HIKING: &str = "Collaborate to outline and refine a 5‑step plan for a weekend hiking trip. Keep it concise.";

fn collaborate(folder: &Folder, goal: &str, more: &[&str]) -> Run {
    let config = example_config();
    folder.run(&[&["collaborate", goal, "--config", &config], more].concat())
}

fn speakers(run: &Run) -> Vec<&str> {
    let lines = run.result()["lines"].as_array().unwrap();
    lines.iter().filter(|line| line["kind"] == "message").map(|line| line["speaker"].as_str().unwrap()).collect()
}

#[test]
fn a_context_sharing_works() {
    let folder = Folder::new();
    let run = collaborate(&folder, FAIRY_TALE, &[]);
    assert_eq!((run.status, run.reason()), (0, "final"));
    assert_eq!(speakers(&run), ["claude", "gpt", "claude", "gpt"]);
    // Each sees what was said before it.
    let request = folder.run(&["sessions", "show", "last", "--ask", "6"]);
    let prompt = request.lines[0]["prompt"].as_str().unwrap();
    assert!(
        prompt.contains("claude: In a valley") && prompt.contains("gpt: Edited:") && prompt.contains("Round 3 of 6")
    );
    assert_eq!(request.lines[0]["isExact"], json!(true));
}

#[test]
fn b_rounds_are_bounded() {
    let run = collaborate(&Folder::new(), HIKING, &["--max-rounds", "2"]);
    assert_eq!((run.status, run.reason()), (0, "cap_reached"));
    assert_eq!(speakers(&run), ["claude", "gpt"]);
}

#[test]
fn c_a_handoff_goes_on_and_final_ends_at_once() {
    let run = collaborate(&Folder::new(), HIKING, &[]);
    assert_eq!((run.status, run.reason()), (0, "final"));
    assert_eq!(speakers(&run), ["claude", "gpt", "claude"]);
    let router: Vec<String> = run.said().into_iter().filter(|line| line.starts_with("router")).collect();
    assert_eq!(router[0], "router (router): Refine the steps; make each one checkable.");
    assert_eq!(run.result()["lines"][2]["to"], "gpt");
}

#[test]
fn d_and_5_malformed_json_is_shown_as_it_came_and_ends_it() {
    let run = collaborate(&Folder::new(), "Tell me in prose what you think.", &["-v"]);
    assert_eq!((run.status, run.reason()), (0, "malformed_reply"));
    let raw = "claude (message): Certainly! I would rather tell you in prose: the plan is good, and gpt should look at it next.";
    assert_eq!(run.said()[1], raw);
    assert_eq!(run.said().len(), 3);
    assert!(
        run.stderr.contains("WARN") && run.stderr.contains("no JSON object"),
        "a warning is logged: {}",
        run.stderr
    );
}

#[test]
fn e_a_manual_stop_ends_it_with_a_notice_and_it_can_be_resumed() {
    let folder = Folder::new();
    let config = example_config();
    let mut running = folder.start(&["collaborate", "Count slowly.", "--config", &config]);
    assert!(running.read_until(is_ask_of(1)));
    let run = running.interrupt();
    assert_eq!((run.status, run.reason()), (130, "cancelled"));
    assert_eq!(run.said().last().unwrap(), "router (router): Collaboration canceled by user.");
    assert!(run.lines.iter().any(|record| record["type"] == "ask_cut"));

    // The replies without the slow pace, so that the test need not wait for them.
    folder.write("quick.yaml", "replies: [{contains: slowly, reply: {message: Done., final: true}}]");
    let resumed = folder.run(&["sessions", "resume", "last", "--model", "script/quick.yaml"]);
    assert_eq!((resumed.status, resumed.reason()), (0, "final"));
    assert_eq!(speakers(&resumed), ["claude"]);
}

#[test]
fn edge_1_a_plan_is_final_within_six_rounds() {
    let run = collaborate(&Folder::new(), HIKING, &["--max-rounds", "6"]);
    assert_eq!(run.reason(), "final");
    assert!(speakers(&run).len() <= 6);
}

#[test]
fn edge_3_a_summary_is_final_in_the_first_reply() {
    let run = collaborate(&Folder::new(), "Summarize this in 1 sentence, then stop.", &[]);
    assert_eq!((run.status, run.reason()), (0, "final"));
    assert_eq!(speakers(&run), ["claude"]);
}

#[test]
fn edge_4_two_at_once_do_not_interfere() {
    let folder = Folder::new();
    let config = example_config();
    let mut tale = folder.start(&["collaborate", FAIRY_TALE, "--config", &config]);
    let mut plan = folder.start(&["collaborate", HIKING, "--config", &config]);
    for running in [&mut tale, &mut plan] {
        assert!(running.read_until(|line| line["type"] == "result"), "{:?}", running.seen.last());
    }
    let (tale, plan) = (tale.seen.pop().unwrap(), plan.seen.pop().unwrap());
    assert_eq!((&tale["reason"], &plan["reason"]), (&json!("final"), &json!("final")));
    assert_ne!(tale["sessionId"], plan["sessionId"]);
    assert!(!tale["lines"].to_string().contains("hut") && !plan["lines"].to_string().contains("Ilse"));
    assert_eq!(folder.run(&["sessions", "list"]).lines.len(), 2);
}

#[test]
fn no_handoff_ends_it() {
    let run = collaborate(&Folder::new(), "Say hello.", &[]);
    assert_eq!((run.status, run.reason()), (0, "no_handoff"));
}

#[test]
fn a_busy_provider_is_tried_again() {
    let run = collaborate(&Folder::new(), "Are you busy?", &[]);
    assert_eq!((run.status, run.reason()), (0, "final"));
    assert!(run.lines.iter().any(|record| record["type"] == "answered" && record["retries"] == 2));
}

#[test]
fn a_call_that_fails_for_good_is_a_failure_of_the_command() {
    let run = collaborate(&Folder::new(), "It is locked.", &[]);
    assert_eq!((run.status, run.reason()), (1, "failed"));
    assert_eq!(run.result()["errors"][0]["kind"], "unauthorized");
}
