//! What is shared names no format: what it needs to know of one, it asks.

use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The formats, by the folders that they have in core.
fn formats() -> Vec<String> {
    let folder = std::fs::read_dir(crates().join("polylogue-core/src/format")).unwrap();
    let folders = folder.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    folders.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// Whether a line names this format: as a word, in a path or in a type's name, one or several.
fn names(line: &str, format: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
    // `SceneReport`, `scenes` and `scene` name it; `obscene` does not.
    words.any(|word| word.to_lowercase().starts_with(format))
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
        vec!["polylogue-store/src".to_owned(), "polylogue-artifacts/src".to_owned()],
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
        let is_list =
            ["views.rs", "schema.rs", "sqlite.rs", "postgres.rs"].contains(&name) && line.contains("discussion");
        name == "discussion.rs" || is_list
    };
    let formats = formats();
    assert!(formats.len() >= 5, "{formats:?}");
    for file in files.into_iter().filter(|file| !file.ends_with("tests.rs")) {
        let source = std::fs::read_to_string(&file).unwrap();
        for line in source.lines().filter(|line| !registers(&file, line)) {
            let named = formats.iter().find(|format| names(line, format));
            assert_eq!(named, None, "{}: {line}", file.strip_prefix(crates()).unwrap().display());
        }
    }
}
