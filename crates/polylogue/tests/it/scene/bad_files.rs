//! Scene files and characters that cannot be played: everything that is wrong is said at once, before any call.

use serde_json::Value;

use super::Theatre;

/// A file, and what its error says: as many problems as there are, in this order.
fn check(theatre: &Theatre, file: &str, text: &str, code: &str, parts: &[&str]) {
    theatre.folder.write(file, text);
    let args = ["scene", file, "--model", "script/replies.yaml"];
    let plain = theatre.folder.output(&args);
    let stderr = String::from_utf8(plain.stderr).unwrap();
    assert_eq!((plain.status.code(), stderr.lines().count()), (Some(2), 1), "{text}: {stderr}");
    let run = theatre.folder.run(&args);
    let error = &run.lines[0]["error"];
    assert_eq!(error["code"], code, "{text}: {error}");
    let message = error["message"].as_str().unwrap();
    assert!(stderr.contains(message), "{stderr} does not say: {message}");
    let problems: Vec<&str> = match error["context"]["problems"].as_array() {
        Some(problems) => problems.iter().map(|problem| problem.as_str().unwrap()).collect(),
        None => vec![message],
    };
    assert_eq!(problems.len(), parts.len(), "{text}: {problems:#?}");
    for (problem, part) in problems.iter().zip(parts) {
        assert!(problem.contains(part), "`{part}` is not in: {problem}");
    }
    assert_eq!(theatre.calls(), 0, "{text}");
}

const GOOD: &str = "name: x\nprompt: y\ncharacters: [alice, bob]\n";

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let theatre = Theatre::new(&["alice", "bob", "carol", "dan", "eve", "fay"]);
    theatre.replies("");
    let long = format!("name: x\nprompt: {}\ncharacters: [alice, bob]", "y".repeat(20_001));
    let with = |more: &str| format!("{GOOD}{more}\n");
    let many = "nam: x\nprompt: 5\ncharacters: [alice, bob, ../x]\nmaxBeats: ten\nevents: [{beat: 1}]\nmemory: maybe\nagentMode: threads\n";
    let cases: Vec<(&str, String, Vec<&str>)> = vec![
        ("s.yaml", "{}".to_owned(), vec!["characters are required", "name is required", "prompt is required"]),
        ("s.yaml", "[]".to_owned(), vec!["A scene file is an object"]),
        (
            "s.yaml",
            many.to_owned(),
            vec![
                "Unknown field `nam`: did you mean `name`?",
                "`prompt` is 5: write a text",
                "`maxBeats` is \"ten\"",
                "`agentMode` is \"threads\": write `thread` or `fresh`",
                "`events` is {\"beat\":1}",
                "cannot be called `../x`",
                "`memory` is \"maybe\": write `on` or `off`",
                "name is required",
            ],
        ),
        ("s.yaml", with("colour: red"), vec!["Unknown field `colour`: the fields are name, prompt"]),
        ("s.yaml", with("initial_speeker: bob"), vec!["did you mean `initialSpeaker`?"]),
        ("s.yaml", with("initialSpeaker: dave"), vec!["Initial speaker `dave` is none of the characters: alice, bob"]),
        ("s.yaml", with("maxBeats: 0"), vec!["maxBeats is 0: choose from 1 to 1000"]),
        (
            "s.yaml",
            with("maxBeats: 3\nevents: [{beat: 3, text: Rain}, {beat: 1, text: ''}]"),
            vec!["beat 3", "is empty"],
        ),
        ("s.yaml", with("maxBeats: 5\nmax_beats: 6"), vec!["`maxBeats` is given twice"]),
        ("s.yaml", with("moderator: {model: a/b, temper: bad}"), vec!["`moderator` is"]),
        ("s.yaml", with("moderator: nonsense"), vec!["provider/model"]),
        ("s.yaml", with("memory: on"), vec!["no `story` is named"]),
        ("s.yaml", with("seed: -1"), vec!["`seed` is -1"]),
        ("s.yaml", long, vec!["prompt is too long: 20001 characters"]),
        ("s.yaml", "name: x\nprompt: y\ncharacters: [alice]".to_owned(), vec!["2 to 5 characters, not 1"]),
        (
            "s.yaml",
            "name: x\nprompt: y\ncharacters: [alice, bob, carol, dan, eve, fay]".to_owned(),
            vec!["2 to 5 characters, not 6"],
        ),
        (
            "s.yaml",
            "name: x\nprompt: y\ncharacters: [alice, ALICE]".to_owned(),
            vec!["Two characters are called Alice"],
        ),
        (
            "s.yaml",
            "name: x\nprompt: y\ncharacters: [alice, moderator]".to_owned(),
            vec!["cannot be called `moderator`"],
        ),
        ("s.yaml", "name: x\nprompt: y\ncharacters: alice and bob".to_owned(), vec!["write a list of names"]),
        (
            "s.yaml",
            "name: x\ncharacters: [alice, zed]".to_owned(),
            vec!["prompt is required", "Character 'zed' not found"],
        ),
        ("s.yaml", "name: [".to_owned(), vec!["s.yaml: does not parse as YAML"]),
        ("s.json", "{\"name\": }".to_owned(), vec!["s.json: does not parse as JSON"]),
        ("s.toml", "name = ".to_owned(), vec!["s.toml: does not parse as TOML"]),
        ("s.toml", "name = \"x\"\nprompt = \"y\"\ncharacters = [\"alice\", 2]".to_owned(), vec!["`characters` is 2"]),
        ("s.txt", GOOD.to_owned(), vec!["none of .json, .yaml, .yml and .toml"]),
    ];
    for (file, text, parts) in cases {
        check(&theatre, file, &text, "INVALID_CONFIG", &parts);
    }
}

#[test]
fn every_character_that_cannot_be_had_is_named() {
    let theatre = Theatre::new(&["alice"]);
    theatre.replies("");
    theatre.folder.write(".claude/agents/empty.md", " \n");
    theatre.folder.write(".claude/agents/vast.md", &"x".repeat(70_000));
    std::fs::write(theatre.folder.path(".claude/agents/bytes.md"), [0xff, 0xfe, 0x00]).unwrap();
    theatre.folder.write("s.yaml", "name: x\nprompt: y\ncharacters: [alise, empty, vast, bytes]\n");
    let output = theatre.folder.output(&["scene", "s.yaml", "--model", "script/replies.yaml"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    for part in [
        "Failed to load characters 'alise', 'empty', 'vast', 'bytes'",
        "Ensure .claude/agents/alise.md exists. There is alice.md.",
        "Character 'empty' cannot be used: the file is empty.",
        "larger than 65536 bytes",
        "not UTF-8 text",
    ] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    let run = theatre.folder.run(&["scene", "s.yaml", "--model", "script/replies.yaml"]);
    let context = &run.lines[0]["error"]["context"];
    let names: Vec<&Value> = context["characters"].as_array().unwrap().iter().map(|one| &one["character"]).collect();
    assert_eq!(names, ["alise", "empty", "vast", "bytes"]);
    assert_eq!(context["reason"], "file not found");
}

#[test]
fn models_are_chosen_in_order() {
    let theatre = Theatre::new(&["bob"]);
    let folder = &theatre.folder;
    folder.write("replies.yaml", "replies: [{reply: '[SILENT]'}]");
    std::fs::create_dir_all(folder.path("cast")).unwrap();
    for script in ["cast/front.yaml", "table.yaml", "house.yaml", "scene.replies.yaml", "flag.yaml"] {
        let judge = "{agent: moderator, reply: {progress: 1, goalReached: false, naturalEnd: true}}";
        folder.write(script, &format!("replies: [{judge}, {{reply: '[SILENT]'}}]"));
    }
    folder.write("cast/Alice.md", "---\nmodel: script/front.yaml\nvoice: dry_precise\n---\n# Alice\nBlunt.");
    folder.write("cast/bob.md", "---\nmodel: sonnet\n---\nBob.");
    folder.write("cast/carol.md", "---\nmodel: inherit\n---\nCarol.");
    folder.write(
        "polylogue.toml",
        "[scene]\nmodel = \"script/house.yaml\"\nmoderator = \"script/house.yaml\"\n[agents.carol]\nmodel = \"script/table.yaml\"\n",
    );
    let models = |more: &str, args: &[&str]| -> Vec<String> {
        folder.write(
            "s.yaml",
            &format!("name: x\nprompt: y\ncharacters: [alice, bob, carol]\ninitialSpeaker: Bob\n{more}"),
        );
        let run = folder.run(&[&["scene", "s.yaml", "--agents", "cast"], args].concat());
        assert_eq!(run.status, 0, "{:?}", run.lines);
        let cast = run.result()["cast"].as_array().unwrap();
        cast.iter().map(|agent| format!("{} {}", agent["name"], agent["model"]).replace('"', "")).collect()
    };
    assert_eq!(
        models("", &[]),
        [
            "Alice script/cast/front.yaml",
            "bob script/house.yaml",
            "carol script/table.yaml",
            "moderator script/house.yaml",
        ]
    );
    let flagged = models(
        "moderator: {model: script/scene.replies.yaml, fallback: script/table.yaml}",
        &["--model", "script/flag.yaml"],
    );
    assert_eq!(
        flagged,
        [
            "Alice script/flag.yaml",
            "bob script/flag.yaml",
            "carol script/flag.yaml",
            "moderator script/scene.replies.yaml",
            "moderator-fallback script/table.yaml",
        ]
    );
}
