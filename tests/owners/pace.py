"""How many turns a second one, two and three servers put on disk, with the model's work on the other side of a socket.

`--sessions` collaborations of `--turns` turns each are begun at once, spread over the servers; the model takes
`--think` seconds for a turn. All processes share this machine, the model, PostgreSQL and NATS among them: with few
cores more servers bring safety, not speed, and the figures say so.
"""

import os
import sys
import time

import house
from house import Checks, House, get, until
from lab import Lab
from signals import Nats, begin


def cpu(process) -> float:
    fields = open(f"/proc/{process.popen.pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    args = house.arguments(__doc__, sessions=300, turns=10, think=0.5, settle=300.0)
    checks, nats, rows = Checks(), Nats(), []
    lab = Lab(args.seed, delay=(args.think, args.think))
    try:
        for count in (1, 2, 3):
            with House(lab, args.polylogue, nats=nats.url, places=args.sessions) as here:
                nodes = [here.serve() for _ in range(count)]
                used = sum(map(cpu, nodes))
                began, first = time.monotonic(), len(lab.calls())
                ids = {begin(nodes[n % count], f"pace{count}-{n}", args.turns) for n in range(args.sessions)}
                ended = lambda: ids <= {
                    one["sessionId"]
                    for one in get(nodes[0], "/v1/sessions?status=ended&limit=1000")[1].get("sessions", [])
                }
                checks.check(until(ended, args.settle, 0.25), f"{count} servers: every session ends", len(ids))
                took, calls = time.monotonic() - began, len(lab.calls()) - first
                used = sum(map(cpu, nodes)) - used
                rows.append((f"{count} servers", f"{calls / took:.0f} turns/s, {used / calls * 1000:.2f} ms of the servers' processor time a turn"))
        house.table([("cores", os.cpu_count()), ("most that the model allows", f"{args.sessions / args.think:.0f} turns/s"), *rows])
    finally:
        nats.kill()
        lab.close()
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
