//! Figures of the documentation that do not depend on the machine.

use serde_json::Value;

use crate::folder::Folder;

#[test]
fn a_thread_saves_what_the_documentation_says() {
    let folder = Folder::new();
    let output = folder.output(&["bench", "--case", "scene-threads-20"]);
    let line: Value = serde_json::from_slice(&output.stdout).expect("one JSON line");
    let percent = line["percentLowerThanFreshWithoutCache"].as_f64().expect("a number");
    assert!(percent >= 70.0, "{line}");
}
