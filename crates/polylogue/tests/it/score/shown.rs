//! A score on a terminal: who has which seat, who is addressed, and nothing of this machine.

use super::folder;
use crate::{folder::Folder, terminal::Seen};

const GREET: &str = "\
score: greet
about: Each guest greets another.
roles:
  host: { seats: 1, default: gpt }
  guest: { seats: 2..3, default: [gpt, claude] }
phases:
  - greet:
      who: guest
      reply: { whom: { one_of: guest }, words: text }
      to: whom
      prompt: Greet somebody.
  - close:
      who: host
result:
  greeted: \"{{ greet | tally('whom') }}\"
";

fn house() -> Folder {
    let replies = "  - {agent: gpt, reply: {whom: claude, words: Good evening.}}\n  - {agent: claude, reply: {whom: gpt, \
                   words: And to you.}}\n  - {reply: That is all.}\n";
    folder(&["gpt", "claude"], replies, &[("greet", GREET)])
}

const PLAY: [&str; 3] = ["play", "greet", "An evening."];

#[test]
fn a_dry_run_and_a_play_show_the_same_seats() {
    let folder = house();
    // A configuration that is named by its whole path, as people do from elsewhere.
    let config = folder.path("polylogue.toml").to_str().unwrap().to_owned();
    for columns in [60, 120] {
        let args = [&PLAY[..], &["--config", &config]].concat();
        let dry = Seen::of(&folder, columns, &[&args[..], &["--dry-run"]].concat());
        let play = Seen::of(&folder, columns, &args);
        assert_eq!((dry.status, play.status), (0, 0), "{}", play.text());
        for seat in ["host", "guest gpt", "guest claude"] {
            assert!(dry.text().contains(&format!("  {seat} (script/replies.yaml)\n")), "{}", dry.text());
            assert!(play.text().contains(seat), "`{seat}`: {}", play.text());
        }
        let here = folder.path("").to_str().unwrap().to_owned();
        let one_line = |seen: &Seen| seen.text().replace('\n', "");
        assert!(one_line(&play).contains("host, guest gpt, guest claude: script/replies.yaml"), "{}", play.text());
        for seen in [&dry, &play] {
            let shown = one_line(seen).split("next:").next().unwrap().to_owned();
            assert!(!shown.contains(&here), "{shown}");
        }
    }
    let transcript = folder.output(&["sessions", "export", "last", "--as", "txt"]);
    let transcript = String::from_utf8(transcript.stdout).unwrap();
    assert!(transcript.starts_with("Greet with host (script/replies.yaml), gpt (script/replies.yaml)"), "{transcript}");
}

#[test]
fn who_is_addressed_is_shown_and_what_came_out() {
    let folder = house();
    let play = Seen::of(&folder, 100, &PLAY).text();
    assert!(play.contains("gpt → claude:") && play.contains("claude → gpt:"), "{play}");
    assert!(play.contains("host:\n"), "{play}");
    let plain = String::from_utf8(folder.output(&PLAY).stdout).unwrap();
    assert!(plain.contains("gpt → claude: Good evening.\n"), "{plain}");
    let result = folder.run(&PLAY);
    let expected = serde_json::json!({"greeted": [{"value": "claude", "count": 1}, {"value": "gpt", "count": 1}]});
    assert_eq!(result.result()["results"], expected);
}
