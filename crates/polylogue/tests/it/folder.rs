//! A folder of its own for a test, with a store in it, and the binary run inside.

use std::{
    io::{BufRead, BufReader, Lines},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Folder {
    dir: TempDir,
    /// Whether the user's cache folder is seen: voices and the embedded model.
    has_cache: bool,
    /// What the environment says besides.
    env: Vec<(&'static str, &'static str)>,
}

/// What a run printed under `--json`, and how it ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) lines: Vec<Value>,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder { dir: tempfile::tempdir().unwrap(), has_cache: true, env: Vec::new() }
    }

    /// As on a machine where nothing has been fetched.
    pub(crate) fn without_cache() -> Folder {
        Folder { has_cache: false, ..Folder::new() }
    }

    /// The same with these variables set.
    pub(crate) fn with_env(self, env: &[(&'static str, &'static str)]) -> Folder {
        Folder { env: env.to_vec(), ..self }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_polylogue"));
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        for key in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"] {
            command.env_remove(key);
        }
        // Nobody listens there: what runs on the machine beside the tests is none of their business.
        command.env("OLLAMA_HOST", "127.0.0.1:9");
        command.envs(self.env.iter().copied());
        if !self.has_cache {
            command.env("XDG_CACHE_HOME", self.path("cache"));
        }
        command
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs to the end under `--json`.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        let output = self.output(&[args, &["--json"]].concat());
        Run {
            status: output.status.code().unwrap_or(-1),
            lines: String::from_utf8(output.stdout).unwrap().lines().map(parse).collect(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts under `--json`, to be read from while it runs.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        let mut command = self.command(&[args, &["--json"]].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines, seen: Vec::new() }
    }
}

impl Run {
    /// The result, which is the last line.
    pub(crate) fn result(&self) -> &Value {
        let last = self.lines.last().unwrap_or_else(|| panic!("nothing was printed: {}", self.stderr));
        assert_eq!(last["type"], "result", "{last}");
        last
    }

    pub(crate) fn reason(&self) -> &str {
        self.result()["reason"].as_str().unwrap()
    }

    pub(crate) fn said(&self) -> Vec<String> {
        said(self.result())
    }
}

/// The lines of a result as `speaker (kind): text`.
pub(crate) fn said(result: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let line = |line: &Value| format!("{} ({}): {}", text(&line["speaker"]), text(&line["kind"]), text(&line["text"]));
    result["lines"].as_array().unwrap().iter().map(line).collect()
}

/// A process that is being watched.
pub(crate) struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) seen: Vec<Value>,
}

impl Running {
    /// Reads until a line for which this holds; false when the output ends before.
    pub(crate) fn read_until(&mut self, holds: impl Fn(&Value) -> bool) -> bool {
        for line in self.lines.by_ref() {
            let value = parse(&line.unwrap());
            let is_it = holds(&value);
            self.seen.push(value);
            if is_it {
                return true;
            }
        }
        false
    }

    pub(crate) fn session(&self) -> String {
        self.seen[0]["setup"]["id"].as_str().unwrap().to_owned()
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ctrl-C, and what the process does then.
    pub(crate) fn interrupt(mut self) -> Run {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        self.read_until(|_| false);
        let status = self.child.wait().unwrap().code().unwrap_or(-1);
        Run { status, lines: self.seen, stderr: String::new() }
    }
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The example that the documentation names.
pub(crate) fn example_config() -> String {
    example("collaboration/polylogue.toml")
}

/// A file of the examples.
pub(crate) fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples").join(name).canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// Whether a record is the ask of this turn.
pub(crate) fn is_ask_of(turn: u64) -> impl Fn(&Value) -> bool {
    move |record| record["type"] == "asked" && record["ask"]["turn"] == turn
}
