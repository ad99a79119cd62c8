//! A reader with a fresh clone, no key and nothing fetched, who types what a page says. Where a page needs a vendor,
//! a voice or a running Ollama, a server on this machine stands in for it.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{page::root, shape};
use crate::{terminal::Seen, vendors::Vendors};

/// Runs the program as `./start` and `polylogue` do. A server is left running, in the place of the one before it, on
/// a port that is free.
const PROGRAM: &str = r#"#!/usr/bin/env bash
[ -z "$OPENAI_API_KEY" ] || export OPENAI_BASE_URL="$VENDORS"
[ -z "$ANTHROPIC_API_KEY" ] || export ANTHROPIC_BASE_URL="$VENDORS"
[ -z "$GEMINI_API_KEY" ] || export GEMINI_BASE_URL="$VENDORS"
[ "$1" = serve ] || exec "$PROGRAM" "$@"
[ ! -e "$READER/server" ] || kill "$(cat "$READER/server")"
exec 3< <("$PROGRAM" "$@" --listen 127.0.0.1:0 2>&1 >/dev/null & echo $! >"$READER/server"; wait)
while read -r line <&3; do
  case "$line" in *"listens on http://"*) line=${line#*http://}; echo "${line%% *}" >"$READER/address"; exit 0 ;; esac
  echo "$line" >&2
done
exit 1
"#;

/// Asks the server that runs, whatever its port is. `ID` is the session of the answer before.
const CURL: &str = r#"#!/usr/bin/env bash
address=$(cat "$READER/address") id=$(cat "$READER/id" 2>/dev/null) args=()
for arg in "$@"; do
  arg=${arg//localhost:7654/$address}
  [ "$1" != -N ] || case "$arg" in "$address"*/events) echo "$arg" >>"$READER/streams" ;; esac
  args+=("${arg//\/ID//$id}")
done
"$CURL" --silent --show-error --fail-with-body --max-time 120 "${args[@]}" | tee "$READER/answer"
status=${PIPESTATUS[0]}
grep -oE '"(id|sessionId)": ?"[0-9a-f-]{36}"' "$READER/answer" | head -1 | grep -oE '[0-9a-f-]{36}' >"$READER/new" &&
  mv "$READER/new" "$READER/id"
cat "$READER/answer" >>"$READER/answers"; echo >>"$READER/answers"
exit "$status"
"#;

pub(super) struct Reader {
    dir: TempDir,
    vendors: Vendors,
    /// What was started, with everything that it started.
    groups: Vec<u32>,
}

impl Reader {
    pub(super) fn new() -> Reader {
        let reader = Reader { dir: tempfile::tempdir().unwrap(), vendors: Vendors::start(), groups: Vec::new() };
        for name in ["examples", "docs"] {
            copy(&root().join(name), &reader.path(name));
        }
        for name in ["home", "reader/bin", "target/release"] {
            fs::create_dir_all(reader.path(name)).unwrap();
        }
        reader.write_program("start", PROGRAM);
        reader.write_program("reader/bin/polylogue", PROGRAM);
        reader.write_program("reader/bin/curl", CURL);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_polylogue"), reader.path("target/release/polylogue")).unwrap();
        reader
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn write_program(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The session of the last answer.
    pub(super) fn id(&self) -> String {
        self.read("reader/id").trim().to_owned()
    }

    /// A shell in the clone that has what the blocks before have set.
    fn shell(&self, script: &str) -> Command {
        // A key is whatever the reader has.
        let script = script.replace("_KEY=…", "_KEY=stand-in");
        let state = "\"$READER/state\"";
        self.write(
            "reader/script",
            &format!("[ ! -e {state} ] || source {state}\nset -e -o pipefail\n{script}\n{{ export -p; declare -f; }} >{state}\n"),
        );
        let mut command = Command::new("bash");
        let path = std::env::var("PATH").unwrap_or_default();
        command.arg(self.path("reader/script")).current_dir(self.dir.path()).env_clear().process_group(0);
        command
            .env("PATH", format!("{}:{path}", self.path("reader/bin").display()))
            .env("HOME", self.path("home"))
            .env("READER", self.path("reader"))
            .env("PROGRAM", env!("CARGO_BIN_EXE_polylogue"))
            .env("CURL", which("curl", &path))
            .env("VENDORS", self.vendors.address())
            .env("OLLAMA_HOST", self.vendors.address())
            .env("ELEVENLABS_API_KEY", "stand-in")
            .env("ELEVENLABS_BASE_URL", self.vendors.address());
        command
    }

    /// Types a block, which must go well; what it printed.
    pub(super) fn types(&mut self, script: &str) -> String {
        let mut command = self.shell(script);
        // A file, since what goes on in the background keeps a pipe open.
        let out = fs::File::create(self.path("reader/out")).unwrap();
        let err = out.try_clone().unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().unwrap();
        self.groups.push(child.id());
        let status = child.wait().unwrap();
        let printed = self.read("reader/out");
        assert!(status.success(), "{status}: {script}\n{printed}");
        // What a program prints for programs is an answer too.
        let objects: String =
            printed.lines().filter(|line| line.starts_with('{')).map(|line| format!("{line}\n")).collect();
        let answers = format!("{}{objects}", self.read("reader/answers"));
        self.write("reader/answers", &answers);
        printed
    }

    /// Types a command at a terminal, which must show this.
    pub(super) fn sees(&mut self, text: &str) {
        let (command, shown) = text.split_once('\n').unwrap();
        let command = command.strip_prefix("$ ").expect("a console block begins with `$ `");
        let seen = Seen::run(self.shell(command), 100);
        assert_eq!(seen.status, 0, "{command}\n{}", seen.text());
        shape::must_show(shown, &seen.text());
    }

    /// Whether an answer that came, or an event of a stream that was listened to, has this shape.
    pub(super) fn was_told(&self, shown: &Value) -> bool {
        let answers = self.read("reader/answers");
        let parsed = |text: &str| serde_json::from_str::<Value>(text.strip_prefix("data: ").unwrap_or(text)).ok();
        if answers.lines().filter_map(parsed).any(|value| shape::has_shape(shown, &value)) {
            return true;
        }
        // A stream that does not end is read until it comes.
        self.read("reader/streams").lines().any(|address| {
            let mut curl = Command::new("curl");
            let mut child =
                curl.args(["-N", "-s", "--max-time", "60", address]).stdout(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
            let was_told = lines.any(|line| parsed(&line).is_some_and(|value| shape::has_shape(shown, &value)));
            child.kill().unwrap();
            child.wait().unwrap();
            was_told
        })
    }
}

impl Drop for Reader {
    /// Whatever still runs is ended: servers, and streams that are listened to.
    fn drop(&mut self) {
        for group in &self.groups {
            // Most of them are over by now.
            let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).stderr(Stdio::null()).status();
        }
    }
}

fn which(program: &str, path: &str) -> PathBuf {
    let found = std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{program} is not installed"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// What a program prints about how it is called.
pub(super) fn help(words: &[&str]) -> Option<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polylogue"));
    let mut child = command.args(words).arg("--help").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap().success().then_some(text)
}
