//! What a person sees of a run: no log, one line of who plays whom, what is waited for, and what to do next.

use super::Seen;
use crate::{
    folder::{Folder, example, example_config},
    vendors::{Vendors, WORDS},
};

/// Two agents that need no price, and what they say.
fn folder(replies: &str) -> Folder {
    let folder = Folder::new();
    folder.write("replies.yaml", replies);
    let agents = "[agents.gpt]\nmodel = \"script/replies.yaml\"\n[agents.claude]\nmodel = \"script/replies.yaml\"\n";
    folder.write("polylogue.toml", agents);
    folder
}

#[test]
fn no_log_line_is_in_a_person_s_face() {
    let folder = folder("replies: [{reply: This is no JSON.}]");
    for columns in [60, 120] {
        let seen = Seen::of(&folder, columns, &["collaborate", "Go."]);
        let text = seen.text();
        assert_eq!(seen.status, 0, "{text}");
        assert!(!text.contains("WARN") && !text.contains("INFO"), "{text}");
        assert_eq!(text.matches("gpt, claude: script/replies.yaml").count(), 1, "{text}");
    }
    let plain = folder.output(&["collaborate", "Go."]);
    assert_eq!(String::from_utf8(plain.stderr).unwrap(), "", "a program's standard error is quiet");
    let verbose = folder.output(&["collaborate", "Go.", "-v"]);
    let log = String::from_utf8(verbose.stderr).unwrap();
    assert!(log.contains(" WARN ") && !log.contains('\u{1b}'), "coloured only on a terminal: {log}");
}

#[test]
fn what_there_is_to_know_of_a_model_is_said_once() {
    let folder = Folder::new();
    let provider = "[providers.far]\nkind = \"openai\"\nbase_url = \"https://far.invalid/v1\"\n";
    folder.write(
        "polylogue.toml",
        &format!("{provider}[agents.gpt]\nmodel = \"far/some\"\n[agents.claude]\nmodel = \"far/some\"\n"),
    );
    let seen = Seen::of(&folder, 120, &["collaborate", "Go."]);
    let text = seen.text();
    assert_eq!(text.matches("nobody knows what far/some costs").count(), 1, "{text}");
    assert!(!text.contains("WARN"), "{text}");
}

#[test]
fn waiting_is_told_as_it_is() {
    let folder = folder(
        "replies:\n- {agent: gpt, pace: 20ms, fail: {kind: overloaded, times: 1, retry_after: 1s}, reply: \
         {message: 'A few words 👩‍🚀 and 雪.', handoff: {to: claude, task: Go on.}}}\n\
         - {reply: {message: Done., final: true}}\n",
    );
    for columns in [60, 120] {
        let seen = Seen::of(&folder, columns, &["collaborate", "Go."]);
        for part in ["is thinking", "waiting for script, trying again in 1 s", "is writing"] {
            assert!(seen.raw.contains(part), "`{part}` is not in: {:?}", seen.raw);
        }
        let text = seen.text();
        assert!(!text.contains("is thinking") && !text.contains("is writing"), "nothing is left of it: {text}");
        assert!(text.contains("A few words 👩‍🚀 and 雪."), "{text}");
    }
}

#[test]
fn the_end_says_what_to_do_next() {
    let folder = folder("replies: [{reply: {message: Well., handoff: {to: claude, task: Go on.}}}]");
    let go = ["collaborate", "Go.", "--between", "gpt,claude", "--max-rounds", "2"];
    let text = Seen::of(&folder, 120, &go).text();
    assert!(text.contains("polylogue sessions resume last --max-rounds 4"), "{text}");
    assert!(text.contains("polylogue sessions replay last"), "{text}");
    // Whoever follows the advice finds it good.
    let resumed = folder.run(&["sessions", "resume", "last", "--max-rounds", "4"]);
    assert_eq!((resumed.status, resumed.reason()), (0, "cap_reached"));
    let piped = String::from_utf8(folder.output(&go).stdout).unwrap();
    assert!(!piped.contains("polylogue sessions"), "only on a terminal: {piped}");

    let new = ["discuss", "new", "--title", "T", "--participant", "user", "--participant", "manager=gpt"];
    let text = Seen::of(&folder, 60, &new).text();
    assert!(text.contains("polylogue discuss say last \"…\""), "{text}");

    let example = example_config();
    let args = ["collaborate", "Write a fairy tale.", "--max-rounds", "1", "--config", &example];
    let text = Seen::of(&folder, 60, &args).text();
    let resume = format!("polylogue sessions resume last --max-rounds 2 --config {example}\n");
    assert!(text.contains(&resume), "with what it was begun with: {text}");
    assert!(text.contains("polylogue sessions replay last\n"), "which a replay does not need: {text}");
}

#[test]
fn a_replay_looks_as_the_run_did() {
    let (collaboration, chorus) = (example_config(), example("chorus/polylogue.toml"));
    let (scene, stage, agents) =
        (example("scenes/the-apology.yaml"), example("scenes/polylogue.toml"), example("scenes/agents"));
    for args in [
        &["collaborate", "Write a fairy tale. 👩‍🚀", "--config", &collaboration][..],
        &["chorus", "What is a home? 雪", "--no-speech", "--config", &chorus],
        &["scene", &scene, "--config", &stage, "--agents", &agents],
    ] {
        let folder = Folder::new();
        let run = Seen::of(&folder, 80, args);
        let replay = Seen::of(&folder, 80, &["sessions", "replay", "last"]);
        assert_eq!((run.status, replay.status), (0, 0), "{}", run.text());
        // Before it a run says who plays, and after it what to do next.
        let lines = |seen: &Seen| -> Vec<String> {
            let text = seen.text();
            let lines = text.lines().skip_while(|line| !line.is_empty());
            lines
                .take_while(|line| !line.starts_with("next:") && !line.starts_with("files:"))
                .map(str::to_owned)
                .collect()
        };
        if args[0] == "scene" {
            let beat = Seen::of(&folder, 60, &["sessions", "replay", "last", "--beat", "3"]);
            must_fit(&beat);
            assert!(beat.text().contains("judged   progress 10%"), "{}", beat.text());
        }
        let (run, mut replayed) = (lines(&run), lines(&replay));
        replayed.truncate(run.len());
        assert_eq!(run, replayed);
        assert!(run.len() > 20 && run.iter().any(|line| line.contains("tokens · $")), "{run:?}");
    }
}

#[test]
fn a_line_is_printed_as_it_was_heard_and_never_before() {
    let (scene, stage, agents) =
        (example("scenes/the-apology.yaml"), example("scenes/polylogue.toml"), example("scenes/agents"));
    let args = ["scene", &scene, "--config", &stage, "--agents", &agents];
    let folder = Folder::new();
    let seen = Seen::of(&folder, 100, &args);
    assert_eq!(seen.status, 0, "{}", seen.text());
    // The rest of Bob's line was never heard: not printed and erased, not in the status, not in a replay that takes
    // its time, and not by a program that reads along.
    let slowly = Seen::of(&folder, 100, &["sessions", "replay", "last", "--speed", "4"]);
    let piped = String::from_utf8(folder.output(&args).stdout).unwrap();
    for raw in [&seen.raw, &slowly.raw, &piped] {
        assert!(!raw.contains("The specs came in") && !raw.contains("is cut off"), "{raw}");
        let [cut, cuts] = ["Look, I can explain—", "I don't want it explained"].map(|words| raw.rfind(words).unwrap());
        assert!(cut < cuts, "{raw}");
    }
    for seen in [&seen, &slowly] {
        let begins = seen.raw.find("Look …").expect("the beginning of what is being said is shown");
        assert!(begins < seen.raw.find("Look, I can explain—").unwrap(), "{:?}", seen.raw);
        assert!(!seen.text().contains("Look …"), "nothing is left of it: {}", seen.text());
    }
    assert!(!piped.contains("Look …"), "{piped}");
    insta::assert_snapshot!(
        seen.text()
            .lines()
            .skip_while(|line| *line != "── beat 1 · 5% there ──")
            .take(24)
            .collect::<Vec<_>>()
            .join("\n")
    );
}

#[test]
fn a_narrow_window_has_room_for_a_list() {
    let folder = folder("replies: [{reply: {message: Done., final: true}}]");
    let goal = "Work out together what becomes of the roof, the stairs and the kettle, and say when.";
    folder.run(&["collaborate", goal]);
    for columns in [60, 120] {
        for args in [
            &["sessions", "list"][..],
            &["sessions", "show", "last"],
            &["doctor"],
            &["models", "list"],
            &["voices", "list"],
        ] {
            let seen = Seen::of(&folder, columns, args);
            assert_eq!(seen.status, 0, "{}", seen.text());
            must_fit(&seen);
        }
    }
}

/// What did not fit into a line of the terminal would be broken anywhere.
fn must_fit(seen: &Seen) {
    let text = seen.text();
    let too_long = text.lines().find(|line| line.chars().count() > usize::from(seen.columns));
    assert_eq!(too_long, None, "at {}: {text}", seen.columns);
}

#[test]
fn a_vendor_that_limits_the_rate_is_waited_for() {
    let (folder, vendors) = (Folder::new(), Vendors::start());
    for columns in [60, 120] {
        vendors.turn_away(2);
        let mut command = folder.command(&["collaborate", "Name a colour. 🎨", "--between", "gpt,gpt-4.1"]);
        command.env("OPENAI_API_KEY", "stand-in").env("OPENAI_BASE_URL", vendors.address());
        let seen = Seen::run(command, columns);
        assert_eq!(seen.status, 0, "{}", seen.text());
        assert!(seen.raw.contains("is waiting for openai, trying again in 1 s"), "{:?}", seen.raw);
        let text = seen.text();
        assert!(text.contains(WORDS) && !text.contains("trying again"), "nothing is left of it: {text}");
        must_fit(&seen);
    }
}

#[test]
fn what_was_being_said_is_kept_at_a_ctrl_c() {
    let folder = folder("replies: [{pace: 200ms, reply: {message: 'One. Two. 雪. Four. Five. Six. Seven. Eight.'}}]");
    for columns in [60, 120] {
        let seen = Seen::until(folder.command(&["collaborate", "Count."]), columns, |raw| raw.contains("One. Two."));
        let text = seen.text();
        assert_eq!(seen.status, 130, "{text}");
        let kept = text.lines().find(|line| line.starts_with("[gpt was saying: One. Two."));
        assert!(kept.is_some_and(|kept| kept.ends_with(". —]") || kept.ends_with("雪. —]")), "{text}");
        assert!(!text.contains("is writing") && text.contains("polylogue sessions resume last"), "{text}");
    }
}

#[test]
fn an_error_is_wrapped_at_its_words() {
    let folder = folder("replies: [{fail: {kind: unauthorized, message: no}}]");
    for columns in [60, 120] {
        let seen = Seen::of(&folder, columns, &["templates", "show", "none"]);
        assert_eq!(seen.status, 2);
        must_fit(&seen);
        assert!(seen.text().lines().count() > 1, "{}", seen.text());
    }
    let text = Seen::of(&folder, 120, &["collaborate", "Go."]).text();
    assert!(text.contains("sessions resume last --model MODEL"), "another model may do: {text}");
}

#[test]
fn what_to_do_next_is_said_as_the_program_is_called() {
    let folder = folder("replies: [{reply: {message: Done., final: true}}]");
    let mut command = folder.command(&["collaborate", "Go."]);
    command.env("POLYLOGUE_CALLED_AS", "./start");
    let text = Seen::run(command, 120).text();
    assert!(text.contains("next: ./start sessions replay last\n"), "{text}");
}

#[test]
fn captions_of_what_cannot_be_heard_are_told_to_be_none() {
    let folder = folder("replies: [{reply: {message: Done., final: true}}]");
    folder.run(&["collaborate", "Go."]);
    let output = folder.output(&["sessions", "export", "last", "--as", "srt"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("has a clip"));
}
