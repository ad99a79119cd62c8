//! Every block of the README and the docs is tried as it is written: commands are run, configurations and scenes are
//! read, what is shown is compared with what comes. A block is tried, or it is in the table below with the reason.

mod page;
mod reader;
mod shape;
mod tested;

use serde_json::Value;

use self::{
    page::{Block, Page},
    reader::{Reader, help},
};

/// Blocks that cannot be tried here: the page, how the block begins, and why.
const EXCUSED: &[(&str, &str, &str)] = &[
    ("docs/architecture.md", " polylogue  ", "a drawing"),
    ("docs/architecture.md", "core/src/", "a drawing"),
    ("docs/cluster.md", "[store]", "wants a database of that name; the tests of the store read such addresses"),
    ("docs/cluster.md", "cp deploy/", "wants a Docker engine; `tests/deploy/run --live` runs the same as processes"),
    ("docs/cluster.md", "kubectl ", "wants a Kubernetes; `tests/deploy/run` reads the file"),
    ("docs/install.md", "root$ ", "wants an empty Debian; `tests/start/run` does it there"),
    ("docs/install.md", "ada$ ", "wants an empty Debian; `tests/start/run` does it there"),
    ("docs/install.md", "ben$ ", "wants an empty Debian; `tests/start/run` does it there"),
    ("docs/install.md", "uvx ", "wants the packages; `tests/packages/run` makes and installs them"),
    ("docs/install.md", "sudo apt ", "wants the packages; `tests/packages/run` makes and installs them"),
    ("docs/install.md", "sudoedit ", "wants systemd; `tests/packages/run` runs what the unit starts"),
    ("docs/install.md", "docker build", "wants a Docker engine"),
    ("docs/install.md", "docker run", "wants a Docker engine"),
    ("docs/models.md", "{", "what a program is sent; the tests of `command/` hold it"),
    ("docs/operations.md", "sqlite3 ", "wants the program of that name; `faults.rs` takes the same backup"),
    ("docs/scores.md", "ann: {", "what seats have replied; a test of the core counts it"),
    ("docs/page.md", "scripts/page.sh build", "needs Node, and minutes; `./test` runs the first and the last"),
];

fn excuse(page: &str, block: &Block) -> Option<usize> {
    EXCUSED.iter().position(|(of, begins, _)| *of == page && block.text.starts_with(begins))
}

/// Reads a page from its first block to its last, as somebody does who follows it.
fn follow(name: &str) {
    let page = Page::read(name);
    let mut reader = Reader::new();
    for block in &page.blocks {
        if excuse(name, block).is_none() {
            // What goes wrong from here on is told with its place.
            eprintln!("{name}:{}: {}", block.line, block.first_line());
            try_out(block, &mut reader);
        }
    }
}

fn try_out(block: &Block, reader: &mut Reader) {
    match block.language.as_str() {
        "sh" => drop(reader.types(&block.text)),
        "console" => reader.sees(&block.text),
        "toml" => {
            reader.write("block.toml", &block.text);
            let key = "AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=…";
            reader.types(&format!("{key} polylogue sessions list --config block.toml"));
        }
        "json" => {
            let shown: Value = serde_json::from_str(&block.text).unwrap_or_else(|error| panic!("{error}"));
            assert!(reader.was_told(&shown), "nothing of this shape came: {}", block.text);
        }
        "yaml" if block.text.starts_with("replies:") => {
            reader.write("block.yaml", &block.text);
            reader.types("polylogue collaborate 'Tell a fairy tale.' --start claude --model script/block.yaml");
        }
        "yaml" if block.text.starts_with("score:") => {
            reader.write("block.yaml", &block.text);
            reader.types("polylogue scores check block.yaml");
        }
        "yaml" => {
            reader.write("block.yaml", &block.text);
            reader.types("polylogue scene block.yaml --agents examples/scenes/agents");
        }
        "markdown" => {
            reader.types("mkdir -p cast && cp examples/scenes/agents/*.md cast");
            reader.write("cast/alice.md", &block.text);
            let scene = "polylogue scene examples/scenes/quick-apology.json --agents cast";
            reader.types(&format!("OPENAI_API_KEY=… {scene}"));
        }
        "sql" => {
            let store = rusqlite::Connection::open(reader.path("data/polylogue.db")).unwrap();
            let mut query = store.prepare(&block.text.replace("'ID'", &format!("'{}'", reader.id()))).unwrap();
            let rows = query.query_map([], |_| Ok(())).unwrap();
            assert!(rows.count() > 0, "nothing was found");
        }
        other => panic!("nobody knows how to try a block of `{other}`: try it here, or excuse it in the table"),
    }
}

/// A test for each page, so that they run beside each other and fail by their names.
macro_rules! pages {
    ($($test:ident: $page:literal),* $(,)?) => {
        $(#[test] fn $test() { follow($page); })*

        #[test]
        fn every_page_is_followed_and_every_excuse_is_needed() {
            let names = page::names();
            assert_eq!(names, [$($page),*], "the list of pages in this test");
            let mut is_needed = vec![false; EXCUSED.len()];
            for name in names {
                for block in &Page::read(&name).blocks {
                    if let Some(at) = excuse(&name, block) {
                        is_needed[at] = true;
                    }
                }
            }
            let gone = EXCUSED.iter().zip(is_needed).find(|(_, is_needed)| !is_needed);
            assert_eq!(gone, None, "there is no such block any more");
        }
    };
}

pages! {
    contributing: "CONTRIBUTING.md",
    readme: "README.md",
    architecture: "docs/architecture.md",
    cluster: "docs/cluster.md",
    dependencies: "docs/dependencies.md",
    discussions: "docs/discussions.md",
    install: "docs/install.md",
    models: "docs/models.md",
    operations: "docs/operations.md",
    page: "docs/page.md",
    rooms: "docs/rooms.md",
    scenes: "docs/scenes.md",
    scores: "docs/scores.md",
    scripts: "docs/scripts.md",
    server: "docs/server.md",
    speech: "docs/speech.md",
    testing: "docs/testing.md",
}

/// What an example says at its head is how it is run.
#[test]
fn examples_run_as_their_heads_say() {
    let mut commands = 0;
    for name in page::examples() {
        let text = std::fs::read_to_string(page::root().join(&name)).unwrap();
        let mut reader = Reader::new();
        for line in text.lines().filter_map(|line| line.strip_prefix('#')) {
            let line = ["Try:", "Or:", "and:"].iter().find_map(|word| line.trim().strip_prefix(word)).unwrap_or(line);
            if ["./start ", "curl "].iter().any(|program| line.trim().starts_with(program)) {
                eprintln!("{name}: {}", line.trim());
                reader.types(line);
                commands += 1;
            }
        }
    }
    assert!(commands > 10, "only {commands} were found");
}

/// Commands that are named within sentences, and in the table of commands, exist with the options that they are
/// named with.
#[test]
fn commands_in_passing_exist() {
    let mut checked = 0;
    for name in page::names() {
        let page = Page::read(&name);
        let of_table = page.commands.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned);
        let in_passing = page.spans.iter().filter_map(|span| {
            let rest = span.strip_prefix("polylogue ").or_else(|| span.strip_prefix("./start "))?;
            Some(rest.replace("\\|", "/"))
        });
        for command in in_passing.chain(of_table) {
            must_exist(&name, &command);
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} were found");
}

/// `models list|pull [NAME]`, `sessions fork ID --at SEQ`, `serve`.
fn must_exist(page: &str, command: &str) {
    let is_name =
        |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || "-/|".contains(c)) && !word.starts_with('-');
    let words: Vec<&str> = command.split_whitespace().take_while(is_name).collect();
    let Some((last, before)) = words.split_last() else { return };
    for last in last.split(['/', '|']) {
        let words = [before, &[last]].concat();
        // Words after a command are what it is given.
        let help = (1..=words.len()).rev().find_map(|count| help(&words[..count]));
        let help = help.unwrap_or_else(|| panic!("{page}: there is no `{command}`"));
        let options = command.split(|c: char| c.is_whitespace() || "[](),".contains(c));
        for option in options.filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "{page}: `{command}`: there is no {option}");
        }
    }
}
