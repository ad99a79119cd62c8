"""A server and ten command lines on one store, started and killed at random.

For `--seconds` a server and `--lines` command lines run at once: each is killed (SIGKILL) or let run to its end, and
another takes its place. In the last part the server stays up while command lines are still killed beside it, so that
it has to notice by itself what they leave. Then it is given time to finish everything.

Checked against the model's log: a request is made again only if the process that made it was killed while it was in
flight, or before its record could be on disk; a reply that is in the journal is never asked for again. No command
line ends with a CONFLICT or fails in another way. Every session ends, waits, or is told as left; none is told as
running when nobody runs it.
"""

import collections
import random
import sys
import time

import house
from house import Checks, House, Process, code, counted, get, post, recorded
from lab import MARKER, REPLY, Call, Lab, paid_twice

# How long after its last byte a reply may need to be on disk, on a busy machine. Within it a kill is an excuse,
# unless the journal shows that the reply was recorded after all.
GRACE = 0.5
# The part of the time in which the server is no longer killed.
CALM = 0.25


class Storm:
    def __init__(self, args, lab: Lab, here: House):
        self.args, self.lab, self.house = args, lab, here
        self.chance = random.Random(args.seed)
        self.lines: list[tuple[Process, float]] = []
        self.server: Process | None = None
        self.server_until = 0.0
        self.started = collections.Counter()
        self.bad: list[str] = []

    def rage(self) -> None:
        begun = time.monotonic()
        calm_at, end = begun + self.args.seconds * (1 - CALM), begun + self.args.seconds
        next_post = begun
        while (now := time.monotonic()) < end:
            self.tend_server(now, is_calm=now >= calm_at)
            self.tend_lines(now)
            if now >= next_post:
                self.post()
                next_post = time.monotonic() + self.chance.uniform(0.5, 3)
            time.sleep(0.02)

    def calm_down(self) -> None:
        """The last kills, and the ends of the others."""
        deadline = time.monotonic() + 120
        while self.lines and time.monotonic() < deadline:
            self.tend_lines(time.monotonic(), replace=False)
            time.sleep(0.05)
        for process, _ in self.lines:
            self.bad.append("a command line did not come to its end within two minutes")
            process.kill()

    def tend_server(self, now: float, is_calm: bool) -> None:
        if self.server and self.server.is_running():
            if now >= self.server_until and not is_calm:
                self.server.kill()
                self.server_until = now + self.chance.uniform(0, 1.5)
        elif now >= self.server_until:
            if self.server and self.server.killed_at is None:
                self.bad.append(f"a server ended by itself: {self.house.errors_of(self.server)}")
            self.server = self.house.serve(wait=False)
            self.server_until = now + self.chance.uniform(2, 15)
            self.started["server"] += 1

    def tend_lines(self, now: float, replace: bool = True) -> None:
        running = []
        for process, until in self.lines:
            if process.is_running() and now >= until:
                process.kill()
            if process.is_running():
                running.append((process, until))
            elif process.killed_at is None:
                self.ended(process)
        self.lines = running
        # One at a time: eleven processes that begin at once are no command lines of people.
        if replace and len(running) < self.args.lines:
            is_killed = self.chance.random() < 0.5
            self.lines.append((self.begin(), now + (self.chance.uniform(0.05, 5) if is_killed else 600)))

    def begin(self) -> Process:
        kind = self.chance.choice(["collaborate", "collaborate", "chorus", "scene"])
        self.started[kind] += 1
        marker, last = f"{kind}-{self.started[kind]}", self.chance.randint(2, 6)
        if kind == "scene":
            said = str(self.house.scene_file(marker, marker, last // 2))
        else:
            said = f"Name a cat. #{marker}:r{last}#"
        return self.house.start(kind, said, "--json", "--no-speech")

    def post(self) -> None:
        if not self.server or not self.server.is_running():
            return
        self.started["posted"] += 1
        message = f"Name a dog. #posted-{self.started['posted']}:r3#"
        body = {"text": message, "mode": "collaborate"}
        post(self.server, f"/v1/rooms/storm-{self.started['posted']}/messages", body, seconds=2)

    def ended(self, process: Process) -> None:
        status, last = process.popen.returncode, process.last_line()
        if status != 0:
            why = code(last) or last.get("reason") or self.house.errors_of(process)[-200:]
            self.bad.append(f"status {status} {why}")
        process.out.unlink()


def kills_excuse(here: House, is_recorded):
    """Whether a call may have been made again: its process was killed before its reply could be on disk."""
    killed = {process.key: process.killed_at for process in here.processes if process.killed_at is not None}

    def is_excused(call: Call) -> bool:
        kill = killed.get(call.key)
        in_time = kill is not None and (call.ended is None or kill <= call.ended + GRACE)
        return in_time and not is_recorded(call)

    return is_excused


def longest_wait(here: House, repeated: list[tuple[Call, Call]]) -> float:
    """Of the whole replies that were asked for again: the longest time from one's arrival to the kill behind it."""
    killed = {process.key: process.killed_at for process in here.processes}
    waits = [killed[call.key] - call.ended for call, _ in repeated if call.is_whole and killed[call.key] is not None]
    return max(waits, default=0.0)


def journals(server: Process, sessions: list[dict], again: list[tuple[Call, Call]]) -> set[int]:
    """The numbers of the replies that are in the journals of these calls' sessions."""
    wanted = {call.marker for call, _ in again}
    numbers = set()
    for one in sessions:
        marker = MARKER.search(one["title"])
        if (marker.group(1) if marker else one["title"]) in wanted:
            answered = (record for record in recorded(server, one["sessionId"], 5) if record["type"] == "answered")
            numbers |= {int(number) for record in answered for number in REPLY.findall(record.get("text", ""))}
    return numbers


def main() -> int:
    args = house.arguments(__doc__, seconds=300.0, lines=10, settle=180.0)
    checks, lab = Checks(), Lab(args.seed, delay=(0.1, 0.6), pace=(0.0, 0.1))
    with House(lab, args.polylogue) as here:
        storm = Storm(args, lab, here)
        storm.rage()
        storm.calm_down()
        if not storm.server or not storm.server.is_running():
            storm.server = here.serve()
        sessions = here.settle(args.settle, quiet=40)
        calls = lab.calls()
        repeated = paid_twice(calls)
        numbers = journals(storm.server, sessions, repeated)
        is_excused = kills_excuse(here, lambda call: call.number in numbers)
        unexcused = paid_twice(calls, is_excused)
        kills = [process for process in here.processes if process.killed_at is not None]

        house.table([
            ("started", dict(storm.started)),
            ("killed", f"{len(kills)}, of them servers {sum(bool(process.url) for process in kills)}"),
            ("sessions", f"{len(sessions)}: {counted(sessions)}"),
            ("calls", f"{len(calls)}, answered whole {sum(call.is_whole for call in calls)}"),
            ("tokens billed", sum(call.tokens for call in calls)),
            ("made again", f"{len(repeated)}, without a kill to excuse it {len(unexcused)}"),
            ("longest from a lost reply to its kill", f"{longest_wait(here, repeated) * 1000:.0f} ms"),
            ("tokens paid twice", sum(call.tokens for call, _ in unexcused)),
            ("ended badly", dict(collections.Counter(storm.bad))),
        ])
        told = {one["sessionId"]: one["status"] for one in get(storm.server, "/v1/sessions?limit=1000")[1]["sessions"]}
        other = sum(told.get(one["sessionId"], one["status"]) != one["status"] for one in sessions)
        stuck = [one["sessionId"][:8] for one in sessions if one["status"] == "running"]
        conflicts = sum("CONFLICT" in one for one in storm.bad)
        checks.check(bool(kills and repeated), "there were kills, and calls in flight at them")
        checks.check(not unexcused, "no call is paid twice except those in flight at a kill", len(unexcused))
        checks.check(conflicts == 0, "no command line ends with CONFLICT", conflicts)
        checks.check(len(storm.bad) == conflicts, "nothing ends badly in another way", len(storm.bad) - conflicts)
        known = all(one["status"] in ("ended", "waiting", "left", "running") for one in sessions)
        checks.check(known, "every session is told as ended, waiting, left or running")
        checks.check(bool(told) and other == 0, "the API says what the list says", f"{other} differ")
        checks.check(not stuck, "nothing stays running with nobody running it", f"{len(stuck)} {stuck[:5]}")
    lab.close()
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
