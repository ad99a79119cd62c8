//! Limits in dollars that hold, or say that they cannot.

use serde_json::json;

use crate::folder::Folder;

/// Two agents on a model of a server that nobody answers at.
fn prepare(folder: &Folder, limits: &str, base_url: &str) {
    let provider = format!("[providers.far]\nkind = \"openai\"\nbase_url = \"{base_url}\"\n");
    let agents = "[agents.gpt]\nmodel = \"far/some\"\n[agents.claude]\nmodel = \"far/some\"\n";
    folder.write("polylogue.toml", &format!("[limits]\n{limits}\n{provider}{agents}"));
}

const GO: [&str; 2] = ["collaborate", "Work it out."];
const PUBLIC: &str = "https://far.invalid/v1";
const PRIVATE: &str = "http://127.0.0.1:9/v1";

#[test]
fn a_limit_that_cannot_hold_is_refused_or_told() {
    // Where it is, what the limits say, whether it runs, and whether the result says that a price is unknown.
    let cases = [
        (PUBLIC, "max_usd = 1.0", false, false),
        (PUBLIC, "max_usd = 1.0\nallow_unpriced = true", true, true),
        (PUBLIC, "max_tokens = 100000", true, true),
        (PUBLIC, "max_usd = 1.0\n[prices.\"far/*\"]\ninput = 1.0\noutput = 2.0", true, false),
        (PRIVATE, "max_usd = 1.0", true, false),
    ];
    for (base_url, limits, runs, is_told) in cases {
        let folder = Folder::new();
        prepare(&folder, limits, base_url);
        let run = folder.run(&GO);
        if !runs {
            let error = &run.lines[0]["error"];
            assert_eq!((run.status, &error["code"]), (2, &json!("INVALID_CONFIG")), "{limits}");
            let message = error["message"].as_str().unwrap();
            for part in ["[prices.\"far/some\"]", "allow_unpriced = true", "max_usd"] {
                assert!(message.contains(part), "`{part}` is not in: {message}");
            }
            continue;
        }
        // Nobody answers, so it fails; but it was begun.
        assert_eq!(run.reason(), "failed", "{limits}: {}", run.stderr);
        let unpriced = if is_told { json!(["far/some"]) } else { json!(null) };
        assert_eq!(run.result()["costs"]["unpriced"], unpriced, "{limits}");
    }
}

#[test]
fn a_limit_that_is_set_later_has_to_hold_too() {
    let folder = Folder::new();
    prepare(&folder, "", PUBLIC);
    folder.run(&GO);
    let refused = folder.run(&["sessions", "resume", "last", "--max-usd", "3"]);
    assert_eq!(refused.status, 2);
    assert!(refused.lines[0]["error"]["message"].as_str().unwrap().contains("[prices.\"far/some\"]"));
    prepare(&folder, "allow_unpriced = true", PUBLIC);
    assert_eq!(folder.run(&["sessions", "resume", "last", "--max-usd", "3"]).reason(), "failed");
}
