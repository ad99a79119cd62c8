"""More sessions than there are places: those that a process left are all brought to their end.

A server with room for all begins `--sessions` collaborations and is killed. Once its time is up they are told as
left, in every place that says it. Then a server with only `--places` places runs until all of them have ended.

Two servers run beside each other on one store. When one of them ends, politely or not, the other goes on with its
sessions.
"""

import json
import sys

import house
from house import Checks, House, Process, counted, post, until
from lab import Lab, paid_twice


def begin(server: Process, count: int) -> None:
    for number in range(count):
        body = {"text": f"Name a cat. #left-{number}:r4#", "mode": "collaborate"}
        status, answer = post(server, f"/v1/rooms/left-{number}/messages", body)
        if status != 202:
            raise SystemExit(f"a session could not be begun: {status} {answer}")


def left(args, checks: Checks) -> None:
    lab = Lab(args.seed, delay=(60, 60))
    with House(lab, args.polylogue) as here:
        server = here.serve()
        begin(server, args.sessions)
        running = counted(here.sessions())
        checks.check(running == {"running": args.sessions}, "they are told as running while they run", running)
        server.kill()
        first = len(lab.calls())

        told = []
        until(lambda: told.append(counted(here.sessions())) or told[-1] == {"left": args.sessions}, args.lease, 1)
        checks.check(told[-1] == {"left": args.sessions}, "once their process is gone they are told as left", told[-1])
        one = here.sessions()[0]
        shown = here.run("sessions", "show", one["sessionId"], "--json").last_line().get("status")
        row = here.run("sessions", "list", "--limit", "1").out.read_text()
        checks.check(shown == one["status"], "`show` says what `list` says", f"{shown}, {one['status']}")
        checks.check(one["status"] in row.split(), "so does the list for people", json.dumps(row.strip()))

        lab.delay = (0.05, 0.2)
        server = here.serve(config=here.configure(args.places))
        sessions = here.settle(args.settle)
        ended = counted(sessions)
        checks.check(ended == {"ended (final)": args.sessions}, f"with {args.places} places all end", ended)
        again = len(paid_twice(lab.calls()[first:]))
        checks.check(again == 0, "nothing is asked twice", again)
    lab.close()


def beside(args, checks: Checks) -> None:
    for name, end in (("killed", Process.kill), ("told to end", Process.terminate)):
        lab = Lab(args.seed, delay=(0.3, 0.6))
        with House(lab, args.polylogue) as here:
            one, other = here.serve(), here.serve()
            begin(one, args.beside)
            until(lambda: sum(call.is_whole for call in lab.calls()) >= args.beside, 30)
            own = {call.key for call in lab.calls()} == {one.key}
            checks.check(own, f"of two servers one is {name}: before, the other lets its sessions be")
            end(one)
            ended = counted(here.settle(args.settle))
            all_end = ended == {"ended (final)": args.beside} and other.is_running()
            checks.check(all_end, f"of two servers one is {name}: the other brings its sessions to their end", ended)
            again = sum(first.is_whole for first, _ in paid_twice(lab.calls()))
            # A kill may come between a reply and its record.
            most = args.beside // 10 if name == "killed" else 0
            checks.check(again <= most, f"of two servers one is {name}: whole replies asked for again", again)
        lab.close()


def main() -> int:
    args = house.arguments(__doc__, sessions=120, places=50, beside=30, lease=60.0, settle=120.0)
    checks = Checks()
    left(args, checks)
    beside(args, checks)
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
