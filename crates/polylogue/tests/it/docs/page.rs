//! A page of the documentation as its reader takes it in: the blocks, and the words set as code.

use std::path::{Path, PathBuf};

/// A fenced block.
#[derive(Debug)]
pub(super) struct Block {
    /// What it is said to be in.
    pub(super) language: String,
    pub(super) text: String,
    /// Where its text begins.
    pub(super) line: usize,
}

/// A page.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) blocks: Vec<Block>,
    /// What is set as code within sentences and tables.
    pub(super) spans: Vec<String>,
    /// The first cells of the table of commands, one for each row.
    pub(super) commands: Vec<String>,
}

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pages that a reader is sent to.
pub(super) fn names() -> Vec<String> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| format!("docs/{}", entry.unwrap().file_name().to_str().unwrap()));
    let mut names: Vec<String> = docs.filter(|name| name.ends_with(".md")).collect();
    names.extend(["README.md", "CONTRIBUTING.md"].map(str::to_owned));
    names.sort();
    names
}

/// The files of the examples that say how they are run.
pub(super) fn examples() -> Vec<String> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(root().join("examples")).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let is_one = path.extension().is_some_and(|ending| ending == "toml" || ending == "yaml");
            if is_one && !path.to_str().unwrap().ends_with("replies.yaml") {
                found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

impl Page {
    pub(super) fn read(name: &str) -> Page {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        let mut page = Page { blocks: Vec::new(), spans: Vec::new(), commands: Vec::new() };
        let mut open: Option<Block> = None;
        let mut is_of_commands = false;
        for (number, line) in text.lines().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(_), Some(_)) => page.blocks.extend(open.take()),
                (Some(language), None) => {
                    open = Some(Block { language: language.to_owned(), text: String::new(), line: number + 2 });
                }
                (None, Some(block)) => block.text += &format!("{line}\n"),
                (None, None) => {
                    is_of_commands =
                        line.starts_with("| command | does |") || (is_of_commands && line.starts_with('|'));
                    let spans = line.split('`').skip(1).step_by(2).map(str::to_owned);
                    page.spans.extend(spans.filter(|span| !span.is_empty()));
                    if is_of_commands && line.starts_with("| `") {
                        let cell = line.replace("\\|", "/");
                        page.commands.push(cell.split('|').nth(1).unwrap().trim().to_owned());
                    }
                }
            }
        }
        assert!(open.is_none(), "{name}: a block is not closed");
        page
    }
}

impl Block {
    pub(super) fn first_line(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }
}
