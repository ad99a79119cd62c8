"""Readers that go away, and a log that cannot be written.

A server whose standard error nobody reads any more (`serve 2>&1 | head -1`), or is on a full disk, still answers.
A command line whose reader goes away (`collaborate … | head -1`), or that is interrupted once or twice, ends its
session as `cancelled` and leaves nothing for others to pay.
"""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time

import house
from house import Checks, House, Process, counted, get, post, until
from lab import Lab

REQUESTS = 20


def is_answering(here: House, server: Process, marker: str) -> str:
    """What is wrong with its answers; nothing if it is empty."""
    bad = [status for status in (get(server, "/v1/sessions", 5)[0] for _ in range(REQUESTS)) if status != 200]
    # What is refused is logged too.
    bad += [status for status in (get(server, "/v1/sessions/none", 5)[0] for _ in range(REQUESTS)) if status != 404]
    body = {"text": f"Name a cat. #{marker}:r3#", "mode": "collaborate"}
    status, answer = post(server, f"/v1/rooms/{marker}/messages", body)
    if status != 202:
        return f"{len(bad)} of {2 * REQUESTS} requests without their answer; a message was answered {status}"
    ended = counted(here.settle(15, among={answer["sessionId"]}))
    is_good = not bad and ended == {"ended (final)": 1}
    return "" if is_good else f"{len(bad)} of {2 * REQUESTS} requests without their answer; the session: {ended}"


def logs(args, checks: Checks) -> None:
    lab = Lab(args.seed, delay=(0.01, 0.05))
    with House(lab, args.polylogue) as here:
        reading, writing = os.pipe()
        with open(writing, "wb") as pipe:
            server = here.serve(wait=False, stdout=pipe, stderr=pipe)
        with open(reading, "rb") as pipe:
            pipe.readline()
        wrong = is_answering(here, server, "head")
        checks.check(not wrong, "`serve 2>&1 | head -1`: requests are answered", wrong)
        server.kill()

        with open("/dev/full", "wb") as disk:
            server = here.serve(wait=False, stdout=disk, stderr=disk)
        until(lambda: get(server, "/healthz", 2)[0] == 200 or not server.is_running(), 10)
        checks.check(server.is_running(), "standard error on a full disk: the server starts")
        wrong = is_answering(here, server, "full")
        checks.check(not wrong, "standard error on a full disk: requests are answered", wrong)
    lab.close()


def leave_reading(process: Process, _: House) -> None:
    process.popen.stdout.readline()
    process.popen.stdout.close()


def interrupt(process: Process, here: House) -> None:
    until(lambda: any(call.key == process.key for call in here.lab.calls()), 20)
    process.popen.send_signal(signal.SIGINT)


def interrupt_twice(process: Process, here: House) -> None:
    """Another program has the store for a second, so that the second comes while the first is still being heeded."""
    with contextlib.closing(sqlite3.connect(here.store, isolation_level=None, timeout=10)) as other:
        until(lambda: any(call.key == process.key for call in here.lab.calls()), 20)
        other.execute("BEGIN EXCLUSIVE")
        interrupt(process, here)
        time.sleep(0.3)
        process.popen.send_signal(signal.SIGINT)
        time.sleep(0.7)
        other.execute("ROLLBACK")


def readers(args, checks: Checks) -> None:
    ways = [
        ("collaborate --json | head -1", ["--json"], True, leave_reading),
        ("collaborate | head -1", [], True, leave_reading),
        ("Ctrl-C", ["--json"], False, interrupt),
        ("Ctrl-C twice", ["--json"], False, interrupt_twice),
    ]
    for number, (name, flags, is_piped, leave) in enumerate(ways):
        # Slow enough that the session is in the middle of it all when its reader goes.
        lab = Lab(args.seed, delay=(0.4, 0.6))
        with House(lab, args.polylogue) as here:
            said = f"Name a cat. #reader-{number}:r12#"
            streams = {"stdout": subprocess.PIPE} if is_piped else {}
            process = here.start("collaborate", said, "--max-rounds", "14", "--no-speech", *flags, **streams)
            leave(process, here)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.popen.wait(20)
            checks.check(not process.is_running(), f"{name}: the command line ends", process.popen.returncode)
            process.kill()
            told = counted(here.sessions())
            checks.check(told == {"ended (cancelled)": 1}, f"{name}: its session has ended as cancelled", told)
            calls = len(lab.calls())
            here.serve()
            here.settle(5)
            until(lambda: len(lab.calls()) > calls, 2)
            paid = len(lab.calls()) - calls
            checks.check(paid == 0, f"{name}: the next server pays nothing for it", f"{paid} calls")
        lab.close()


def main() -> int:
    args = house.arguments(__doc__)
    checks = Checks()
    logs(args, checks)
    readers(args, checks)
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
