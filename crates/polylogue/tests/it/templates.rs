//! The built-in prompts, as somebody sees them who wants to write one.

use serde_json::json;

use crate::folder::Folder;

#[test]
fn every_template_is_listed_with_its_variables_and_can_be_one_s_own() {
    let folder = Folder::new();
    let listed = folder.run(&["templates", "list"]).lines;
    assert!(listed.len() > 15, "{listed:?}");
    for template in &listed {
        for field in ["template", "about", "variables"] {
            assert!(!template[field].as_str().unwrap().is_empty(), "{template}");
        }
        let name = template["template"].as_str().unwrap();
        let shown = folder.output(&["templates", "show", name]);
        let source = String::from_utf8(shown.stdout).unwrap();
        assert!(source.starts_with("{#"), "{name}: {source}");
        folder.write(&format!("{}.j2", name.replace('/', "-")), &source);
    }
    let rows: String = listed
        .iter()
        .map(|one| one["template"].as_str().unwrap())
        .fold(String::new(), |rows, name| rows + &format!("\"{name}\" = \"{}.j2\"\n", name.replace('/', "-")));
    // What was shown is good in the place of what is built in.
    let agents = "[agents.gpt]\nmodel = \"script/replies.yaml\"\n[agents.claude]\nmodel = \"script/replies.yaml\"\n";
    folder.write("polylogue.toml", &format!("{agents}[templates]\n{rows}"));
    folder.write("replies.yaml", "replies: [{reply: {message: Done., final: true}}]");
    assert_eq!(folder.run(&["collaborate", "Go."]).status, 0);
    let plain = String::from_utf8(folder.output(&["templates", "list"]).stdout).unwrap();
    assert!(plain.contains("turn1_response\n") && plain.contains("variables: slot_id, agent_id"), "{plain}");
    let unknown = folder.run(&["templates", "show", "turn9"]);
    assert_eq!((unknown.status, &unknown.lines[0]["error"]["code"]), (2, &json!("INVALID_REQUEST")));
    assert!(unknown.lines[0]["error"]["message"].as_str().unwrap().contains("turn1_response"));
}
