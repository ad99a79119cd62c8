"""What the checks of this folder share: a folder, a configuration, the real binary in it, and one line per check.

A `House` is a temporary folder with a store, characters and a configuration whose agents are played by the lab
(`lab.py`). It starts servers and command lines, remembers each, and ends those that still run, by their ids, when it
is left. Nothing but loopback is used.
"""

import argparse
import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from lab import Lab

UNENDED = ("running", "left")
# What the vendors' clients read, and what would take loopback through a proxy.
NOT_PASSED_ON = ("_API_KEY", "_BASE_URL", "_PROXY", "_proxy", "OLLAMA_HOST")


class Checks:
    """One line per check, and what the script ends with."""

    def __init__(self) -> None:
        self.failed = 0

    def check(self, holds: bool, what: str, found: object = "") -> bool:
        found = f": {found}" if found != "" else ""
        print(f"{'ok' if holds else 'FAILED'} {what}{found}", flush=True)
        self.failed += not holds
        return holds

    def skip(self, what: str) -> None:
        print(f"skipped {what}", flush=True)

    def status(self) -> int:
        return 1 if self.failed else 0


@dataclasses.dataclass
class Process:
    """A process that was started here, known to the lab by its key."""

    key: str
    popen: subprocess.Popen
    out: pathlib.Path | None = None
    url: str = ""
    killed_at: float | None = None

    def is_running(self) -> bool:
        return self.popen.poll() is None

    def kill(self) -> bool:
        """SIGKILL; whether it was still running."""
        if not self.is_running():
            return False
        self.popen.kill()
        self.killed_at = time.monotonic()
        self.popen.wait()
        return True

    def terminate(self, seconds: float = 30) -> int:
        if self.is_running():
            self.popen.terminate()
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

    def last_line(self) -> dict:
        """The last line of what a command line with `--json` printed: its result or its error."""
        lines = self.out.read_text(errors="replace").splitlines() if self.out else []
        with contextlib.suppress(IndexError, json.JSONDecodeError):
            return json.loads(lines[-1])
        return {}


class House:
    def __init__(self, lab: Lab, binary: str, max_sessions: int = 1000, store: pathlib.Path | None = None, nats: str = "", places: int = 32):
        self.lab, self.binary = lab, binary
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="polylogue-owners-"))
        self.store = (store or self.folder) / "polylogue.db"
        postgres = os.environ.get("OWNERS_POSTGRES")
        # On PostgreSQL every house has a schema of its own, and a process that is gone is noticed when its lease is over.
        self.url = f"{postgres}?schema=owners_{os.urandom(6).hex()}" if postgres else f"sqlite:{self.store}"
        self.cluster = "[cluster]\nlease_seconds = 3" if postgres else "[cluster]"
        if nats:
            self.cluster += f'\nnats = "{nats}"'
        self.artifacts, self.scenes = self.folder / "artifacts", self.folder / "scenes"
        self.processes: list[Process] = []
        self.places = places
        cast = self.folder / "cast"
        cast.mkdir()
        (cast / "alice.md").write_text("# Alice\nShe is blunt.\n")
        (cast / "bob.md").write_text("# Bob\nHe means well.\n")
        self.config = self.configure(max_sessions)

    def __enter__(self) -> "House":
        return self

    def __exit__(self, *_) -> None:
        for process in self.processes:
            process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def configure(self, max_sessions: int) -> pathlib.Path:
        path = self.folder / f"polylogue-{max_sessions}.toml"
        path.write_text(
            f"""
[server]
max_sessions = {max_sessions}
[store]
url = "{self.url}"
{self.cluster}
[artifacts]
dir = "{self.artifacts}"
[providers.lab]
kind = "openai"
base_url = "{self.lab.base_url}"
api_key_env = "LAB_KEY"
max_concurrent = {self.places}
[prices."lab/*"]
input = 0.0
output = 0.0
[agents.gpt]
model = "lab/one"
[agents.claude]
model = "lab/two"
[collaboration]
between = ["gpt", "claude"]
start = "gpt"
[chorus]
slots = ["gpt", "claude"]
speech = false
[scene]
agents = "{self.folder / 'cast'}"
out = "{self.scenes}"
model = "lab/one"
moderator = "lab/two"
"""
        )
        return path

    def scene(self, name: str, marker: str, beats: int) -> dict:
        return {
            "name": name,
            "prompt": f"Bob apologizes to Alice. #{marker}:r{beats}#\nScene goal: They part as friends.",
            "characters": ["alice", "bob"],
            "maxBeats": beats + 4,
        }

    def scene_file(self, name: str, marker: str, beats: int) -> pathlib.Path:
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(self.scene(name, marker, beats)))
        return path

    def start(self, *args: str, config: pathlib.Path | None = None, stdout=None, stderr=None) -> Process:
        """The binary with these arguments. Unless told otherwise its output goes to a file."""
        key = f"process-{len(self.processes)}"
        passed = {name: value for name, value in os.environ.items() if not name.endswith(NOT_PASSED_ON)}
        environment = passed | {"LAB_KEY": key, "HOME": str(self.folder), "NO_PROXY": "127.0.0.1"}
        command = [self.binary, *args, "--config", str(config or self.config)]
        out = None if stdout else self.folder / f"{key}.out"
        with contextlib.ExitStack() as files:
            stdout = stdout or files.enter_context(open(out, "wb"))
            stderr = stderr or files.enter_context(open(self.folder / f"{key}.err", "wb"))
            popen = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr
            )
        process = Process(key, popen, out)
        self.processes.append(process)
        return process

    def run(self, *args: str, seconds: float = 60) -> Process:
        """The same, to its end."""
        process = self.start(*args)
        try:
            process.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        return process

    def serve(self, config: pathlib.Path | None = None, wait: bool = True, store: str = "", **streams) -> Process:
        port, on = free_port(), ["--store", store] if store else []
        process = self.start("serve", "--listen", f"127.0.0.1:{port}", *on, config=config, **streams)
        process.url = f"127.0.0.1:{port}"
        if wait:
            until(lambda: get(process, "/healthz")[0] == 200 or not process.is_running(), 30)
            if not process.is_running():
                raise SystemExit(f"the server did not start: {self.errors_of(process)}")
        return process

    def errors_of(self, process: Process) -> str:
        path = self.folder / f"{process.key}.err"
        return path.read_text(errors="replace")[-800:].strip() if path.exists() else ""

    def sessions(self) -> list[dict]:
        """All sessions, as `sessions list --json` tells them."""
        process = self.run("sessions", "list", "--limit", "100000", "--json")
        if process.popen.returncode != 0:
            raise SystemExit(f"the list could not be read: {process.last_line()} {self.errors_of(process)}")
        sessions = [json.loads(line) for line in process.out.read_text().splitlines()]
        process.out.unlink()
        return sessions

    def settle(self, seconds: float, among: set[str] | None = None, quiet: float | None = None) -> list[dict]:
        """The sessions once none of them (of these ids) is running or left, or when the time is up.

        With `quiet`, waiting also ends when only left ones remain and the model was not asked for that long: a
        session that took its process down again and again is left alone.
        """
        deadline = time.monotonic() + seconds
        while True:
            sessions = [one for one in self.sessions() if among is None or one["sessionId"] in among]
            open_ = {one["status"] for one in sessions} & set(UNENDED)
            calls = self.lab.calls()
            is_quiet = quiet is not None and time.monotonic() - (calls[-1].begun if calls else 0) > quiet
            if not open_ or time.monotonic() > deadline or (open_ == {"left"} and is_quiet):
                return sessions
            time.sleep(1)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(holds, seconds: float, pause: float = 0.05) -> bool:
    """Whether it holds within that time."""
    deadline = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(pause)
    return bool(held)


def request(server: Process, method: str, path: str, body: object = None, seconds: float = 20) -> tuple[int, dict]:
    """The status (0 when there was no answer) and the answer. Only the beginning of an event stream is waited for."""
    host, port = server.url.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=seconds)
    try:
        headers = {"content-type": "application/json"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        if "event-stream" in response.getheader("content-type", ""):
            return response.status, {}
        text = response.read()
        with contextlib.suppress(json.JSONDecodeError):
            return response.status, json.loads(text)
        return response.status, {}
    except (OSError, http.client.HTTPException):
        return 0, {}
    finally:
        connection.close()


def first_event(server: Process, path: str, body: object, seconds: float = 20) -> tuple[int, dict]:
    """The same for an event stream, of which the first event is the answer. The rest is not waited for."""
    host, port = server.url.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=seconds)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        if "event-stream" not in response.getheader("content-type", ""):
            return response.status, json.loads(response.read() or b"{}")
        data = next((line[5:] for line in response if line.startswith(b"data:")), b"{}")
        return response.status, json.loads(data)
    except (OSError, http.client.HTTPException):
        return 0, {}
    finally:
        connection.close()


def get(server: Process, path: str, seconds: float = 20) -> tuple[int, dict]:
    return request(server, "GET", path, seconds=seconds)


def post(server: Process, path: str, body: object, seconds: float = 20) -> tuple[int, dict]:
    return request(server, "POST", path, body, seconds)


def code(answer: dict) -> str:
    """The code of an error, over HTTP and on the command line."""
    error = answer.get("error")
    return error.get("code", "") if isinstance(error, dict) else ""


def counted(sessions: list[dict]) -> dict[str, int]:
    """How many there are of each status; of the ended, of each reason."""
    counts: dict[str, int] = {}
    for one in sessions:
        name = f"ended ({one['reason']})" if one["status"] == "ended" else one["status"]
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def recorded(server: Process, session: str, seconds: float = 20) -> list[dict]:
    """The records of a session's journal, as the server streams them; without their end if it takes too long."""
    host, port = server.url.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=seconds)
    records = []
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
        connection.request("GET", f"/v1/sessions/{session}/events")
        for line in connection.getresponse():
            if line.startswith(b"data:"):
                records.append(json.loads(line[5:]))
    return records


def table(rows: list[tuple[str, object]]) -> None:
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"  {name:<{width}}  {value}")


def arguments(about: str, **options) -> argparse.Namespace:
    """`--seed`, and options with their defaults. What SIGTERM ends is tidied up as well."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--polylogue", default=os.environ.get("POLYLOGUE", "target/release/polylogue"))
    for name, default in options.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    args = parser.parse_args()
    args.polylogue = str(pathlib.Path(args.polylogue).resolve())
    if not os.access(args.polylogue, os.X_OK):
        parser.error(f"there is no binary {args.polylogue}: build it, or set POLYLOGUE")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"{pathlib.Path(sys.argv[0]).name} --seed {args.seed}", flush=True)
    return args
