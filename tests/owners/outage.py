"""The database and NATS go away for a while, one after the other and together, under load.

Three servers share a PostgreSQL and a NATS server, both of which belong to this check. New sessions of every format are
begun on random servers all the time. PostgreSQL crashes and comes back after `--gone` seconds, then NATS, then both.

Checked: meanwhile every request is answered, with 503 and the error object where the database is needed; every session
that was begun ends, with the lines of one that nobody disturbed; no call is made again; the servers recover by
themselves, and say so at /readyz.
"""

import collections
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

import house
from house import Checks, House, get, until
from lab import Lab, paid_twice
from nodes import KINDS, attempt, lines
from signals import Nats

# How long a request may take to be answered, whatever is gone.
ANSWERED_IN = 15.0
OWN = re.compile(r"#[a-z0-9-]+:r")


class Postgres:
    """A server that can crash and come back."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="polylogue-postgres-")
        self.url = self.start()

    def start(self) -> str:
        return subprocess.check_output(["scripts/postgres.sh", "start", self.folder], text=True).strip()

    def crash(self) -> None:
        subprocess.run(["scripts/postgres.sh", "stop", self.folder], check=False, stdout=subprocess.DEVNULL)

    def remove(self) -> None:
        self.crash()
        subprocess.run(["rm", "-rf", self.folder], check=False)


class Load(threading.Thread):
    """Begins sessions on random servers until it is told to stop, and keeps what was answered when."""

    def __init__(self, here: House, nodes, seed: int, every: float, first: int):
        super().__init__(daemon=True)
        self.here, self.nodes, self.chance, self.every = here, nodes, random.Random(seed), every
        self.number, self.is_over = first, False
        self.begun: dict[int, str] = {}
        self.answers: list[tuple[float, float, int, dict]] = []

    def run(self) -> None:
        while not self.is_over:
            at = time.monotonic()
            status, answer, session = attempt(self.here, self.chance.choice(self.nodes), self.number)
            self.answers.append((at, time.monotonic() - at, status, answer))
            if session:
                self.begun[self.number] = session
            self.number += 1
            time.sleep(self.every)

    def between(self, start: float, end: float):
        return [answer for answer in self.answers if start <= answer[0] < end]


def said(server, session: str) -> list[str]:
    return [OWN.sub("#:r", line) for line in lines(server, session)]


def sort_of(number: int) -> tuple[str, int]:
    """What decides how a session goes."""
    return KINDS[number % len(KINDS)], number % 3


def gone(checks: Checks, name: str, load: Load, nodes, seconds: float, leave, come, needs_database: bool) -> None:
    leave()
    start = time.monotonic()
    # What was on its way in that moment may be answered either way.
    time.sleep(seconds)
    end = time.monotonic()
    come()
    back = until(lambda: all(get(node, "/readyz", 5)[0] == 200 for node in nodes), 30)
    ready_after = time.monotonic() - end
    checks.check(back, f"{name}: every server is ready again by itself", f"{ready_after:.1f} s after")
    time.sleep(ANSWERED_IN)
    answers = load.between(start + 1, end - 1)
    found = collections.Counter((status, house.code(answer)) for _, _, status, answer in answers)
    wanted = {503} if needs_database else {200, 201, 202}
    checks.check(
        bool(answers) and {status for status, _ in found} <= wanted,
        f"{name}: every request meanwhile is answered with {'503 and the error object' if needs_database else 'success'}",
        dict(found),
    )
    if needs_database:
        checks.check(all(code for _, code in found), f"{name}: each with a code")
    slowest = max((took for _, took, _, _ in answers), default=0.0)
    checks.check(slowest < ANSWERED_IN, f"{name}: none waits for ever", f"slowest {slowest:.1f} s")


def main() -> int:
    args = house.arguments(__doc__, gone=20.0, every=0.1, settle=180.0)
    checks = Checks()
    nats, postgres = Nats(), Postgres()
    os.environ["OWNERS_POSTGRES"] = postgres.url
    lab = Lab(args.seed, delay=(0.5, 2.0), pace=(0.0, 0.1))
    sorts = len(KINDS) * 3

    def both(one, other):
        return lambda: (one(), other())

    try:
        with House(lab, args.polylogue, nats=nats.url) as here:
            nodes = [here.serve() for _ in range(3)]
            calm = {number: attempt(here, nodes[number % 3], number)[2] for number in range(sorts)}
            ended = lambda ids: set(ids) <= {
                one["sessionId"]
                for one in get(nodes[0], "/v1/sessions?status=ended&limit=1000")[1].get("sessions", [])
            }
            until(lambda: ended(calm.values()), args.settle)
            expected = {sort_of(number): said(nodes[0], session) for number, session in calm.items()}
            first = len(lab.calls())
            load = Load(here, nodes, args.seed, args.every, sorts)
            load.start()
            time.sleep(5)
            gone(checks, "PostgreSQL", load, nodes, args.gone, postgres.crash, postgres.start, True)
            gone(checks, "NATS", load, nodes, args.gone, nats.kill, nats.start, False)
            leave, come = both(postgres.crash, nats.kill), both(postgres.start, nats.start)
            gone(checks, "both", load, nodes, args.gone, leave, come, True)
            load.is_over = True
            load.join(60)
            open_ = here.settle(args.settle, set(load.begun.values()))
            house.table([("sessions", house.counted(open_)), ("calls", len(lab.calls()) - first)])
            unended = [one["sessionId"][:8] for one in open_ if one["status"] != "ended"]
            checks.check(len(open_) == len(load.begun) and not unended, "every session that was begun ends", len(open_))
            different = [n for n, session in load.begun.items() if said(nodes[1], session) != expected[sort_of(n)]]
            checks.check(not different, "the lines are those of an undisturbed run", f"{len(different)} differ")
            for number in different[:2]:
                print(f"  {number}: {said(nodes[1], load.begun[number])}\n  instead of {expected[sort_of(number)]}")
            again = paid_twice(lab.calls()[first:])
            checks.check(not again, "no call is made again", len(again))
            running = all(node.is_running() for node in nodes)
            checks.check(running and not any("panicked" in here.errors_of(node) for node in nodes), "no server breaks")
    finally:
        nats.kill()
        lab.close()
        postgres.remove()
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
