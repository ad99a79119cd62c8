"""Three servers on one PostgreSQL that tell each other through NATS what is new: a client may be connected to any.

Sessions run on the first server and are watched on the first and on the second at the same time. Words and directions
are said on the other servers, stops are pressed there. Then NATS is killed and everything is done again, NATS is
started again, and at last the first server is killed while its sessions are watched on the second.

Checked: every record is seen everywhere, once and in order, and how much later than on the server that runs the
session; the words that are being written are the same everywhere; what is said elsewhere is recorded once; without
NATS all of that is so but for the words, later by at most a second.
"""

import contextlib
import http.client
import json
import subprocess
import sys
import threading
import time

import house
from house import Checks, House, Process, code, free_port, get, post, until
from lab import Lab


class Nats:
    """A NATS server that can be killed and started again at the same address."""

    def __init__(self) -> None:
        self.program = subprocess.check_output(["scripts/nats.sh", "program"], text=True).strip()
        self.port, self.process = free_port(), None
        self.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [self.program, "--addr", "127.0.0.1", "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Watch(threading.Thread):
    """Follows a session on a server to its end, and keeps when it saw what."""

    def __init__(self, server: Process, session: str):
        super().__init__(daemon=True)
        self.server, self.session = server, session
        self.seen: list[tuple[int, float, dict]] = []
        self.words: dict[str, str] = {}
        self.deltas = 0
        self.start()

    def run(self) -> None:
        host, port = self.server.url.split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=120)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request("GET", f"/v1/sessions/{self.session}/events?live=true")
            frame: dict[str, str] = {}
            for line in connection.getresponse():
                name, _, value = line.decode().rstrip("\r\n").partition(": ")
                if name:
                    frame[name] = value
                elif "data" in frame:
                    self.on(frame, time.monotonic())
                    frame = {}

    def on(self, frame: dict[str, str], now: float) -> None:
        data = json.loads(frame["data"])
        if "id" in frame:
            self.seen.append((int(frame["id"]), now, data))
        elif frame.get("event") == "delta":
            ask = json.dumps(data["ask"])
            self.words[ask] = ("" if data.get("restart") else self.words.get(ask, "")) + data["text"]
            self.deltas += 1

    def has_seen(self, kind: str) -> bool:
        return any(record["type"] == kind for _, _, record in list(self.seen))

    def is_complete(self) -> bool:
        """Whether every record came once and in order, to the end."""
        numbers = [number for number, _, _ in self.seen]
        return numbers == list(range(1, len(numbers) + 1)) and self.has_seen("ended")


def begin(server: Process, marker: str, rounds: int) -> str:
    body = {"text": f"Name a cat. #{marker}:r{rounds}#", "mode": "collaborate"}
    status, answer = post(server, f"/v1/rooms/{marker}/messages", body)
    if status != 202:
        raise SystemExit(f"{marker} could not be begun: {status} {answer}")
    return answer["sessionId"]


def late(at: Watch, of: Watch) -> list[float]:
    """How many milliseconds later each record was seen than on the server that runs the session. What was recorded
    before anybody watched is left out."""
    first = {number: when for number, when, _ in of.seen}
    began = of.seen[0][1] if of.seen else 0
    return [(when - first[number]) * 1000 for number, when, _ in at.seen if number in first and first[number] > began + 0.3]


def share(values: list[float], part: float) -> float:
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] if values else float("nan")


def heard(server: Process, session: str, text: str) -> int:
    """How often a session has recorded these words or this direction."""
    records = house.recorded(server, session, 3)
    return sum(text in json.dumps(record) for record in records if record["type"] in ("human_spoke", "scene"))


def watched(checks: Checks, nodes: list[Process], name: str, sessions: int, limit: float, has_nats: bool) -> None:
    ids = [begin(nodes[0], f"{name}-{n}", 4) for n in range(sessions)]
    pairs = [(Watch(nodes[0], one), Watch(nodes[1], one)) for one in ids]
    for here, there in pairs:
        here.join(60), there.join(60)
    complete = sum(there.is_complete() for _, there in pairs)
    checks.check(complete == sessions, f"{name}: every stream elsewhere is whole and in order", f"{complete} of {sessions}")
    delays = [delay for here, there in pairs for delay in late(there, here)]
    figures = f"p50 {share(delays, 0.5):.1f} ms, p99 {share(delays, 0.99):.1f} ms, most {max(delays):.1f} ms of {len(delays)}"
    checks.check(share(delays, 0.99) < limit, f"{name}: p99 of a record's delay elsewhere is under {limit:.0f} ms", figures)
    same = sum(here.words == there.words for here, there in pairs)
    counts = f"{same} of {sessions} the same, {sum(there.deltas for _, there in pairs)} pieces elsewhere, {sum(here.deltas for here, _ in pairs)} there"
    if has_nats:
        prefix = sum(all(here.words.get(ask, "").startswith(text) for ask, text in there.words.items()) for here, there in pairs)
        checks.check(prefix == sessions, f"{name}: the words elsewhere are those that are written there", counts)
        checks.check(all(there.deltas for _, there in pairs), f"{name}: words come elsewhere as they are written")


def spoken_to(checks: Checks, here: House, nodes: list[Process], lab: Lab, name: str, limit: float) -> None:
    """Words, a direction and a stop on servers that do not run the session."""
    lab.delay = (30.0, 30.0)
    session = begin(nodes[0], f"{name}-say", 6)
    status, answer = post(nodes[0], "/v1/scenes", here.scene(f"{name}-scene", f"{name}-scene", 4))
    scene = answer["sessionId"]
    until(lambda: get(nodes[1], f"/v1/sessions/{scene}")[1].get("status") == "running", 10)
    for what, server, path, body in [
        ("words", nodes[1], f"/v1/sessions/{session}/say", {"text": "Mind the gap."}),
        ("a direction", nodes[2], f"/v1/sessions/{scene}/direct", {"note": "Mind the gap."}),
    ]:
        began = time.monotonic()
        status, answer = post(server, path, body)
        took = (time.monotonic() - began) * 1000
        target = session if what == "words" else scene
        count = heard(nodes[2], target, "Mind the gap.")
        found = f"status {status}, {took:.0f} ms, recorded {count} times {code(answer)}"
        checks.check(status in (200, 202, 204) and count == 1 and took < limit, f"{name}: {what} elsewhere, heard once", found)
    for one, server in [(session, nodes[1]), (scene, nodes[2])]:
        began = time.monotonic()
        status, answer = post(server, f"/v1/sessions/{one}/stop", {})
        took = (time.monotonic() - began) * 1000
        found = f"status {status}, {answer.get('reason')}, {took:.0f} ms"
        checks.check(status == 200 and answer.get("reason") == "cancelled" and took < limit, f"{name}: a stop elsewhere", found)
    lab.delay = (0.3, 0.6)


def killed(checks: Checks, here: House, nodes: list[Process], sessions: int) -> None:
    ids = [begin(nodes[0], f"killed-{n}", 5) for n in range(sessions)]
    watches = [Watch(nodes[1], one) for one in ids]
    until(lambda: all(watch.has_seen("answered") for watch in watches), 30)
    nodes[0].kill()
    for watch in watches:
        watch.join(60)
    complete = sum(watch.is_complete() for watch in watches)
    checks.check(complete == sessions, "the server is killed: its streams elsewhere go on, nothing missing or twice", f"{complete} of {sessions}")


def main() -> int:
    args = house.arguments(__doc__, sessions=20)
    checks = Checks()
    nats = Nats()
    lab = Lab(args.seed, delay=(0.3, 0.6), pace=(0.1, 0.2))
    try:
        with House(lab, args.polylogue, nats=nats.url) as here:
            nodes = [here.serve() for _ in range(3)]
            watched(checks, nodes, "nats", args.sessions, 100, has_nats=True)
            spoken_to(checks, here, nodes, lab, "nats", 1_000)
            nats.kill()
            watched(checks, nodes, "gone", args.sessions, 1_000, has_nats=False)
            spoken_to(checks, here, nodes, lab, "gone", 3_000)
            nats.start()
            time.sleep(3)
            watched(checks, nodes, "back", args.sessions, 100, has_nats=True)
            killed(checks, here, nodes, args.sessions)
            said = (here.folder / f"{nodes[1].key}.err").read_text(errors="replace").splitlines()
            said = [line.partition("Z ")[2].strip() for line in said if "NATS" in line]
            house.table([("the second server's log", line) for line in said])
            checks.check(sum("lost" in line for line in said) == 1, "the loss of NATS is said once")
    finally:
        nats.kill()
        lab.close()
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
