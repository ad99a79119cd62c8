"""A server that is frozen for longer than its lease, and then goes on as if nothing had been.

Three servers share a PostgreSQL. Sessions run on the first, which is stopped (SIGSTOP) in the middle of its calls. The
others take its sessions over when its lease is over, and end them. Then it is continued (SIGCONT): replies to its old
calls have been waiting in its sockets, and it takes itself for the owner of everything that it ran.

Checked: every session ends elsewhere, with the lines of one that nobody disturbed; nothing is recorded any more when
the frozen one goes on; it says that it lost its sessions, breaks nowhere, and begins and ends a new session.
"""

import signal
import sys
import time

import house
from house import Checks, House, get, recorded, until
from lab import Lab, paid_twice
from nodes import KINDS, begin, lines


def journals(server, ids) -> dict[str, list[int]]:
    return {session: [record["seq"] for record in recorded(server, session, 10)] for session in ids}


def ended(server, ids) -> bool:
    listed = get(server, "/v1/sessions?status=ended&limit=1000")[1].get("sessions", [])
    return set(ids) <= {one["sessionId"] for one in listed}


def main() -> int:
    args = house.arguments(__doc__, sessions=30, settle=120.0)
    checks = Checks()
    lab = Lab(args.seed, delay=(0.5, 1.5), pace=(0.0, 0.1))
    with House(lab, args.polylogue) as here:
        calm = here.serve()
        expected = [begin(here, calm, number) for number in range(args.sessions)]
        until(lambda: ended(calm, expected), args.settle)
        expected = [lines(calm, session) for session in expected]
        calm.terminate()
    with House(lab, args.polylogue) as here:
        frozen, *others = [here.serve() for _ in range(3)]
        first = len(lab.calls())
        ids = [begin(here, frozen, number) for number in range(args.sessions)]
        # Every session has asked by now, and no call is answered sooner than this.
        until(lambda: len({call.marker for call in lab.calls()[first:]}) == args.sessions, 30)
        frozen.popen.send_signal(signal.SIGSTOP)
        frozen_at = time.monotonic()
        checks.check(until(lambda: ended(others[0], ids), args.settle), "every session ends elsewhere", len(ids))
        took = time.monotonic() - frozen_at
        before = journals(others[1], ids)
        frozen.popen.send_signal(signal.SIGCONT)
        is_back = until(lambda: get(frozen, "/readyz")[0] == 200, 30)
        checks.check(is_back and frozen.is_running(), "the frozen server goes on", f"frozen for {took:.0f} s, lease 3 s")
        one = begin(here, frozen, args.sessions)
        checks.check(until(lambda: ended(frozen, [one]), 60), "it begins a session, and ends it")
        checks.check(journals(others[1], ids) == before, "nothing of its own was recorded any more")
        whole = all(seqs == list(range(1, len(seqs) + 1)) for seqs in before.values())
        checks.check(whole, "no record is missing or there twice")
        said = [lines(others[0], session) for session in ids]
        different = [KINDS[number % len(KINDS)] for number in range(len(ids)) if said[number] != expected[number]]
        checks.check(not different, "the lines are those of an undisturbed run", f"{len(different)} differ {different[:5]}")
        calls = lab.calls()[first:]
        again = paid_twice(calls)
        in_flight = [call for call, _ in again if call.key == frozen.key and (call.ended or 1e12) >= frozen_at - 0.5]
        checks.check(len(in_flight) == len(again), "calls made again were in flight when it froze", len(again))
        told = here.errors_of(frozen)
        checks.check("panicked" not in told and "bug" not in told, "it breaks nowhere", told[-200:] if "panick" in told else "")
    lab.close()
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
