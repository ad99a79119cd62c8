"""A store that cannot be written for a while, under live sessions.

A server runs `--sessions` collaborations. Then another program locks the SQLite file for `--locked` seconds, and in a
second run the disk of the store is full for `--full` seconds (a small tmpfs, which needs root to mount). Meanwhile
`/readyz` says 503 and no new ask begins; afterwards it says 200, every session goes on to its end, and no reply that
had arrived is asked for again.
"""

import contextlib
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

import house
from house import Checks, House, Process, counted, get, post, until
from lab import Lab, paid_twice

# What is in flight when the trouble begins may still arrive; after this long nothing new may begin, and after a
# little longer the server has noticed.
SETTLED, NOTICED = 3.0, 6.0
DISK_MIB = 48


@contextlib.contextmanager
def locked(here: House):
    """Another program has the file for itself."""
    other = sqlite3.connect(here.store, isolation_level=None, timeout=30)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@contextlib.contextmanager
def full(here: House):
    """Not a byte is free beside the store.

    The write-ahead log is emptied first: what it has had room for once it would go on taking on a full disk.
    """
    with contextlib.closing(sqlite3.connect(here.store, timeout=30)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    ballast = here.store.parent / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass
    try:
        yield
    finally:
        ballast.unlink()


@contextlib.contextmanager
def small_disk():
    """A tmpfs of its own, or `None` where none can be mounted."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="polylogue-disk-"))
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(folder)]
    try:
        is_mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        is_mounted = False
    try:
        yield folder if is_mounted else None
    finally:
        if is_mounted:
            subprocess.run(["umount", str(folder)], check=False)
        folder.rmdir()


def begin(server: Process, count: int, rounds: int) -> None:
    for number in range(count):
        body = {"text": f"Name a cat. #live-{number}:r{rounds}#", "mode": "collaborate", "maxRounds": rounds + 2}
        status, answer = post(server, f"/v1/rooms/live-{number}/messages", body)
        if status != 202:
            raise SystemExit(f"a session could not be begun: {status} {answer}")


def trouble(args, lab: Lab, here: House, checks: Checks, name: str, make, seconds: float) -> None:
    server = here.serve()
    # Enough rounds for every session to be in the middle of it all when the trouble comes, and to go on after.
    begin(server, args.sessions, args.rounds)
    until(lambda: sum(call.is_whole for call in lab.calls()) >= args.sessions, 60)
    before = get(server, "/readyz")[0]
    with make(here):
        begun, ready = time.monotonic(), []
        while (now := time.monotonic()) < begun + seconds:
            if now > begun + NOTICED:
                ready.append(get(server, "/readyz", 10)[0])
            time.sleep(0.5)
    over = time.monotonic()
    open_then = sum(one["status"] != "ended" for one in here.sessions())
    checks.check(open_then == args.sessions, f"{name}: {args.sessions} sessions were live", open_then)
    refused = ready.count(503)
    found = f"{before} before, 503 to {refused} of {len(ready)} meanwhile"
    is_told = before == 200 and refused == len(ready) > 0
    checks.check(is_told, f"{name}: /readyz says that it cannot write", found)
    checks.check(until(lambda: get(server, "/readyz")[0] == 200, 30, 0.5), f"{name}: and that it can again afterwards")
    calls = lab.calls()
    early = [call for call in calls if begun + SETTLED < call.begun < over]
    checks.check(not early, f"{name}: no ask begins meanwhile", len(early))

    sessions = here.settle(args.settle)
    ended = counted(sessions)
    checks.check(ended == {"ended (final)": args.sessions}, f"{name}: all go on afterwards, to their end", ended)
    again = [first for first, _ in paid_twice(lab.calls()) if first.is_whole]
    checks.check(not again, f"{name}: no reply that had arrived is asked for again", len(again))
    checks.check(server.is_running(), f"{name}: the server is still there")
    server.terminate()


def main() -> int:
    args = house.arguments(__doc__, sessions=50, rounds=12, locked=15.0, full=20.0, settle=120.0)
    checks = Checks()
    lab = Lab(args.seed, delay=(0.8, 1.6))
    with House(lab, args.polylogue) as here:
        trouble(args, lab, here, checks, "locked", locked, args.locked)
    lab.close()
    with small_disk() as disk:
        if disk is None:
            checks.skip("the full disk: a tmpfs can only be mounted by root")
        else:
            lab = Lab(args.seed, delay=(0.8, 1.6))
            with House(lab, args.polylogue, store=disk) as here:
                trouble(args, lab, here, checks, "full", full, args.full)
            lab.close()
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
