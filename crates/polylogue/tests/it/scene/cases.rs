//! The edge cases and error shapes of the scene's second source document, and the evaluator and integration cases
//! of its first.

use serde_json::json;

use super::{Theatre, entries, scene};

#[test]
fn no_character_responds() {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies("");
    let run = theatre.play(&scene("quiet", "alice, bob", "seed: 7"));
    assert_eq!((run.status, run.reason()), (0, "stalled"));
    let log = theatre.log("quiet");
    assert!(log.contains("Someone should respond to move scene forward."), "{log}");
    // Three silent beats, then an event and a note, and then three more.
    assert_eq!(theatre.metadata("quiet")["totalBeats"], 6);
    let transcript = theatre.transcript("quiet");
    let events = entries(&transcript);
    assert!(matches!(events[..], [event, "[SCENE END - Stalled]"] if event.starts_with("[EVENT: ")), "{transcript}");
}

#[test]
fn all_characters_respond_simultaneously() {
    let theatre = Theatre::new(&["alice", "bob", "charlie"]);
    theatre.replies(
        "  - {agent: charlie, turn: 0, reply: '[TONE: calm] \"First.\"'}\n\
         \x20 - {agent: alice, turn: 0, delay: 300ms, reply: '[TONE: calm] \"Second.\"'}\n\
         \x20 - {agent: bob, turn: 0, delay: 600ms, reply: '[TONE: calm] \"Third.\"'}\n",
    );
    theatre.play(&scene("rapid", "alice, bob, charlie", "maxBeats: 1"));
    let transcript = theatre.transcript("rapid");
    let wanted = [
        "Charlie [TONE: calm] \"First.\"",
        "Alice [TONE: calm] \"Second.\"",
        "Bob [TONE: calm] \"Third.\"",
        "[SCENE END - Maximum length reached]",
    ];
    assert_eq!(entries(&transcript), wanted);
}

#[test]
fn character_agent_fails() {
    let theatre = Theatre::new(&["alice", "bob", "charlie"]);
    theatre.replies(
        "  - {agent: bob, turn: 1, fail: {kind: refused, message: no}}\n\
         \x20 - {agent: alice, turn: 1, delay: 300ms, reply: '[TONE: calm] \"Bob?\"'}\n\
         \x20 - {agent: bob, turn: 2, reply: '[TONE: calm] \"Here.\"'}\n",
    );
    let run = theatre.play(&scene("missed", "alice, bob, charlie", "maxBeats: 3"));
    assert_eq!((run.status, run.reason()), (0, "max_beats_exceeded"));
    let transcript = theatre.transcript("missed");
    assert_eq!(
        entries(&transcript)[..3],
        ["[SYSTEM: Bob unable to respond]", "Alice [TONE: calm] \"Bob?\"", "Bob [TONE: calm] \"Here.\""]
    );
    let errors = &theatre.metadata("missed")["errors"];
    assert_eq!(*errors, json!([{"beat": 1, "character": "bob", "error": "the model refused: no"}]));
    assert!(theatre.log("missed").contains("ERROR    act 1 of bob failed after 0 retries: the model refused: no"));
}

#[test]
fn scene_exceeds_max_beats() {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies("  - {agent: alice, turn: 1, reply: '[TONE: calm] \"Well.\"'}\n");
    let run = theatre.play(&scene("long", "alice, bob", "maxBeats: 2"));
    assert_eq!((run.status, run.reason()), (0, "max_beats_exceeded"));
    assert!(theatre.transcript("long").contains("[SCENE END - Maximum length reached]"));
    assert!(theatre.log("long").contains("WARN     Scene reached max beats (2) without natural conclusion"));
}

#[test]
fn scene_timeout() {
    let theatre = Theatre::new(&["alice", "bob"]);
    // Fifty beats, in which somebody says something new each time.
    let line = |beat: u32| {
        let words: Vec<String> = (0..6).map(|word| format!("w{}", beat * 31 + word * 7_919)).collect();
        format!("  - {{agent: alice, turn: {beat}, reply: '[TONE: calm] \"{}.\"'}}\n", words.join(" "))
    };
    theatre.replies(&(0..50).map(line).collect::<String>());
    let run = theatre.play(&scene("fifty", "alice, bob", ""));
    assert_eq!(run.status, 0);
    let metadata = theatre.metadata("fifty");
    assert_eq!(metadata["success"], true);
    assert_eq!(metadata["goalAchieved"], false);
    assert_eq!(metadata["reason"], "max_beats_exceeded");
    assert_eq!(metadata["totalBeats"], 50);
    assert_eq!(metadata["warnings"], json!(["Scene reached max beats (50) without natural conclusion"]));
    assert_eq!(entries(&theatre.transcript("fifty")).len(), 51);
}

#[test]
fn character_definition_missing() {
    let theatre = Theatre::new(&["alice"]);
    theatre.replies("");
    theatre.folder.write("scene.yaml", &scene("nobody", "alice, bob", ""));
    let output = theatre.folder.output(&["scene", "scene.yaml", "--model", "script/replies.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("Character 'bob' not found. Ensure .claude/agents/bob.md exists."), "{stderr}");
    assert_eq!(theatre.calls(), 0);
}

#[test]
fn invalid_scene_configuration() {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies("");
    let run = theatre.play("name: x\ncharacters: [alice, bob]\n");
    assert_eq!(run.status, 2);
    assert_eq!(
        run.lines,
        [json!({
            "success": false,
            "error": {
                "code": "INVALID_CONFIG",
                "message": "Scene prompt is required",
                "context": {"provided": {"name": "x", "characters": ["alice", "bob"]}},
            },
        })]
    );
    assert_eq!(theatre.calls(), 0);
}

#[test]
fn character_load_failure() {
    let theatre = Theatre::new(&["bob"]);
    theatre.replies("");
    let run = theatre.play(&scene("x", "alice, bob", ""));
    assert_eq!(run.status, 2);
    assert_eq!(
        run.lines,
        [json!({
            "success": false,
            "error": {
                "code": "CHARACTER_LOAD_ERROR",
                "message": "Failed to load character 'alice'",
                "context": {"character": "alice", "reason": "file not found"},
            },
        })]
    );
    assert_eq!(theatre.calls(), 0);
}

#[test]
fn should_detect_scene_completion_when_goal_achieved() {
    let theatre = Theatre::new(&["alice", "bob"]);
    // The moderator says so as soon as it reads what was said, and not before.
    theatre.replies(
        "  - {agent: bob, turn: 0, reply: '[TONE: remorseful] \"I am truly sorry.\"'}\n\
         \x20 - {agent: alice, turn: 1, reply: '[TONE: warm] \"I accept your apology.\"'}\n\
         \x20 - {agent: moderator, contains: I accept your apology., reply: {evidence: [{part: 1, line: I accept your apology.}], progress: 1, goalReached: true, naturalEnd: true}}\n",
    );
    let run = theatre.play(&scene("complete", "alice, bob", "initialSpeaker: bob"));
    assert_eq!((run.status, run.reason()), (0, "goal_achieved"));
    let metadata = theatre.metadata("complete");
    assert_eq!((&metadata["goalAchieved"], &metadata["totalBeats"]), (&json!(true), &json!(2)));
}

#[test]
fn should_detect_scene_needs_continuation() {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies(
        "  - {agent: bob, turn: 0, reply: '[TONE: defensive] \"I did not mean to.\"'}\n\
         \x20 - {agent: moderator, contains: I accept, reply: {progress: 1, goalReached: true, naturalEnd: true}}\n",
    );
    let run = theatre.play(&scene("continues", "alice, bob", "initialSpeaker: bob\nmaxBeats: 2"));
    assert_eq!(run.reason(), "max_beats_exceeded");
    let judged = run.lines.iter().filter(|record| record["decision"] == "judged");
    assert!(judged.map(|record| &record["judgement"]["goalReached"]).all(|reached| *reached == json!(false)));
}

#[test]
fn should_run_complete_scene_from_start_to_finish() {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies(
        "  - {agent: bob, turn: 0, reply: '[TO: Alice, TONE: apologetic] \"I missed the deadline. I am sorry.\"'}\n\
         \x20 - {agent: alice, turn: 1, reply: '[TO: Bob, TONE: accepting] \"Accepted.\"'}\n\
         \x20 - {agent: moderator, turn: 1, reply: {evidence: [{part: 1, line: Accepted.}], progress: 1, goalReached: true, naturalEnd: true}}\n",
    );
    let prompt = "prompt: Bob apologizes to Alice for missing deadline. Alice accepts.";
    let run =
        theatre.play(&format!("name: test-apology-scene\n{prompt}\ncharacters: [alice, bob]\ninitialSpeaker: bob\n"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(run.result()["outputPath"], "data/scenes/test-apology-scene");
    let metadata = theatre.metadata("test-apology-scene");
    assert_eq!((&metadata["success"], &metadata["goalAchieved"]), (&json!(true), &json!(true)));
    assert_eq!((&metadata["characterCount"], &metadata["name"]), (&json!(2), &json!("test-apology-scene")));
    assert_eq!(metadata["sessionId"], run.result()["sessionId"]);
    assert!(metadata["duration"].is_u64());
    let total = metadata["costs"]["totalTokens"].as_u64().unwrap();
    let sum = |part: &serde_json::Value| part["totalTokens"].as_u64().unwrap();
    assert_eq!(metadata["costs"]["byCharacter"].as_object().unwrap().values().map(sum).sum::<u64>(), total);
    assert_eq!(metadata["costs"]["byBeat"].as_array().unwrap().iter().map(sum).sum::<u64>(), total);
    let transcript = theatre.transcript("test-apology-scene");
    for part in [
        "SCENE: Test Apology Scene\nCHARACTERS: Alice, Bob\n",
        "Bob [TO: Alice",
        "Alice [TO: Bob",
        "[SCENE END - Goal: Achieved]",
    ] {
        assert!(transcript.contains(part), "{transcript}");
    }
}

#[test]
fn should_handle_interruptions_correctly() {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies(
        "  - {agent: bob, turn: 0, reply: '[TONE: defensive] \"What I want to say is that it rained.\"'}\n\
         \x20 - {agent: alice, turn: 1, reply: '[INTERRUPT after \"I want to\", TONE: furious] \"No!\"'}\n",
    );
    theatre.play(&scene("test-interruption", "alice, bob", "initialSpeaker: bob\nmaxBeats: 2"));
    let transcript = theatre.transcript("test-interruption");
    let wanted =
        ["Bob [TONE: defensive] \"What I want to—\"", "Alice [INTERRUPT after \"I want to\", TONE: furious] \"No!\""];
    assert_eq!(entries(&transcript)[..2], wanted);
}

#[test]
fn ctrl_c_leaves_what_there_is() {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.replies(
        "  - {agent: bob, turn: 0, reply: '[TONE: calm] \"Listen.\"'}\n\
         \x20 - {agent: alice, turn: 1, delay: 120s, reply: '[SILENT]'}\n",
    );
    theatre.folder.write("scene.yaml", &scene("cut", "alice, bob", "initialSpeaker: bob"));
    let mut running = theatre.folder.start(&["scene", "scene.yaml", "--model", "script/replies.yaml"]);
    assert!(running.read_until(|record| record["type"] == "asked" && record["ask"]["turn"] == 1));
    let run = running.interrupt();
    assert_eq!((run.status, run.reason()), (130, "cancelled"));
    let transcript = theatre.transcript("cut");
    assert_eq!(entries(&transcript), ["Bob [TONE: calm] \"Listen.\"", "[SCENE END - Cancelled]"]);
    assert_eq!(theatre.metadata("cut")["success"], false);

    // It goes on where it was, and the files are written again.
    theatre.replies("  - {agent: alice, turn: 1, reply: '[TONE: calm] \"Yes?\"'}\n");
    let resumed = theatre.folder.run(&["sessions", "resume", "last", "--max-beats", "2"]);
    assert_eq!((resumed.status, resumed.reason()), (0, "max_beats_exceeded"));
    let transcript = theatre.transcript("cut");
    let wanted =
        ["Bob [TONE: calm] \"Listen.\"", "Alice [TONE: calm] \"Yes?\"", "[SCENE END - Maximum length reached]"];
    assert_eq!(entries(&transcript), wanted);
}

#[test]
fn a_limit_leaves_what_there_is() {
    let theatre = Theatre::new(&["alice", "bob"]);
    theatre.folder.write("polylogue.toml", "[limits]\nmax_tokens = 6000\n");
    theatre.replies("  - {agent: bob, turn: 0, reply: '[TONE: calm] \"Listen.\"'}\n");
    let run = theatre.play(&scene("short", "alice, bob", "initialSpeaker: bob\nevents: off"));
    assert_eq!((run.status, run.reason()), (0, "limit_tokens"));
    let transcript = theatre.transcript("short");
    assert_eq!(entries(&transcript), ["Bob [TONE: calm] \"Listen.\"", "[SCENE END - Token limit reached]"]);
    let metadata = theatre.metadata("short");
    assert_eq!((&metadata["success"], &metadata["goalAchieved"]), (&json!(true), &json!(false)));
}
