//! What is shared names no format: what it needs to know of one, it asks.

use std::path::{Path, PathBuf};

const FORMATS: [&str; 5] = ["chorus", "collaboration", "discussion", "interview", "scene"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        return found.push(path.to_owned());
    }
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "rs") {
            sources(&path, found);
        }
    }
}

#[test]
fn what_is_shared_names_no_format() {
    let core = "polylogue-core/src";
    let shared = [
        ["conversation.rs", "stage.rs", "event.rs", "step.rs", "setup.rs", "ask.rs", "thread.rs", "memory.rs"]
            .map(|file| format!("{core}/{file}"))
            .to_vec(),
        vec![format!("{core}/projection"), format!("{core}/text")],
        ["drive.rs", "hub.rs", "call.rs", "live.rs", "overheard.rs", "memory.rs", "port"]
            .map(|file| format!("polylogue-runtime/src/{file}"))
            .to_vec(),
        vec!["polylogue-store/src".to_owned()],
        ["app.rs", "house.rs", "stream.rs", "door.rs", "route/sessions.rs", "route/catalog.rs", "route/health.rs"]
            .map(|file| format!("polylogue-server/src/{file}"))
            .to_vec(),
        ["engine.rs", "follow.rs", "house.rs", "main.rs", "view.rs", "view"]
            .map(|file| format!("polylogue/src/{file}"))
            .to_vec(),
    ];
    let mut files = Vec::new();
    shared.concat().iter().for_each(|path| sources(&crates().join(path), &mut files));
    assert!(files.len() > 40, "{} files", files.len());
    // The tables of discussions are the store's own; `views.rs` and the schema list them.
    let registers = |file: &Path, line: &str| {
        let name = file.file_name().unwrap().to_str().unwrap();
        let is_list = ["views.rs", "schema.rs", "sqlite.rs"].contains(&name) && line.contains("discussion");
        name == "discussion.rs" || is_list
    };
    for file in files.into_iter().filter(|file| !file.ends_with("tests.rs")) {
        let source = std::fs::read_to_string(&file).unwrap();
        for line in source.lines().filter(|line| !registers(&file, line)) {
            let named = FORMATS.iter().find(|format| line.to_lowercase().contains(*format));
            assert_eq!(named, None, "{}: {line}", file.strip_prefix(crates()).unwrap().display());
        }
    }
}
