"""Clients that hold on and do nothing: 4,096 readers that have stopped, and 1,300 connections that never say anything
to a server that may open 1,024 files. Meanwhile it answers for its health at once, and its sessions come to their end.
"""

import contextlib
import pathlib
import resource
import socket
import statistics
import sys
import time

from house import Checks, House, Process, counted, post, table, until
from lab import Lab

STALLED, IDLE, DESCRIPTORS = 4_096, 1_300, 1_024
# Sessions that run meanwhile, and what is said before: more than the buffers of both sides hold for a reader.
SESSIONS, SAID, CHARACTERS = 20, 30, 19_000
SAMPLES, MOST_MS = 100, 50.0


def connect(server: Process, request: bytes = b"") -> socket.socket:
    host, port = server.url.split(":")
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    one.settimeout(20)
    one.connect((host, int(port)))
    one.sendall(request)
    return one


def ask(server: Process, path: str) -> tuple[int, bytes]:
    """The status and the whole answer, on a connection of its own."""
    with connect(server, f"GET {path} HTTP/1.1\r\nhost: {server.url}\r\nconnection: close\r\n\r\n".encode()) as one:
        answer = b"".join(iter(lambda: one.recv(65_536), b""))
    return int(answer.split(b" ")[1]) if answer else 0, answer


def health(server: Process) -> list[float]:
    """How long it takes to say that it is well, in milliseconds, from connecting to the last byte."""
    took = []
    for _ in range(SAMPLES):
        begun = time.perf_counter()
        status, _ = ask(server, "/healthz")
        took.append((time.perf_counter() - begun) * 1_000 if status == 200 else float("inf"))
    return took


def memory(server: Process) -> str:
    status = pathlib.Path(f"/proc/{server.popen.pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    kib = next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
    return f"{kib / 1024:.0f} MB"


def metric(server: Process, name: str) -> float | None:
    status, page = ask(server, "/metrics")
    lines = page.decode(errors="replace").splitlines() if status == 200 else []
    return next((float(line.split()[1]) for line in lines if line.startswith(f"{name} ")), None)


def begin(server: Process) -> None:
    for number in range(SESSIONS):
        body = {"text": f"Name a cat. #under-attack-{number}:r6#", "mode": "collaborate"}
        status, answer = post(server, "/v1/rooms/crowd/messages", body)
        if status != 202:
            raise SystemExit(f"a session could not be begun: {status} {answer}")


def attacked(checks: Checks, here: House, server: Process, what: str, hold) -> None:
    """Measures before and under attack, and waits for what runs."""
    begin(server)
    quiet = health(server)
    begun = time.monotonic()
    with contextlib.ExitStack() as held:
        holding = [held.enter_context(one) for one in hold()]
        took = time.monotonic() - begun
        under = health(server)
        rows = [
            ("connections held", len(holding)),
            ("opened within", f"{took:.1f} s"),
            ("/healthz before, middle and longest", f"{statistics.median(quiet):.1f} ms, {max(quiet):.1f} ms"),
            ("/healthz under attack", f"{statistics.median(under):.1f} ms, {max(under):.1f} ms"),
            ("memory", memory(server)),
        ]
        table(rows)
        checks.check(max(under) < MOST_MS, f"{what}: /healthz answers in under {MOST_MS:.0f} ms", f"{max(under):.1f} ms")
        checks.check(server.is_running(), f"{what}: the server goes on")
        # A connection is closed when it has not got on for half a minute at the latest.
        closed = until(lambda: (metric(server, "polylogue_connections_open") or 1e9) <= 2, 60, 0.5)
        checks.check(closed, f"{what}: those that hold on are closed", f"{time.monotonic() - begun:.0f} s after the first")
    ended = counted(here.settle(60))
    is_whole = set(ended) == {"ended (final)"}
    checks.check(is_whole, f"{what}: the sessions that ran come to their end", ended)


def stalled(binary: str, checks: Checks) -> None:
    lab = Lab(1, delay=(1.0, 2.0))
    with House(lab, binary) as here:
        server = here.serve()
        for number in range(SAID):
            text = f"#said-{number}:r1# " + "And then? " * (CHARACTERS // 10)
            status, answer = post(server, "/v1/rooms/crowd/messages", {"text": text, "mode": "collaborate", "maxRounds": 1})
            if status != 202:
                raise SystemExit(f"nothing could be said: {status} {answer}")
        here.settle(60)
        # One of sixteen reads what is said in the room, the others a large file.
        paths = ["/v1/rooms/crowd/events", *["/docs/swagger-ui-bundle.js"] * 15]
        requests = [f"GET {path} HTTP/1.1\r\nhost: {server.url}\r\n\r\n".encode() for path in paths]
        holding = (requests[number % len(requests)] for number in range(STALLED))
        what = f"{STALLED} readers that have stopped"
        attacked(checks, here, server, what, lambda: [connect(server, request) for request in holding])
    lab.close()


def idle(binary: str, checks: Checks) -> None:
    lab = Lab(2, delay=(1.0, 2.0))
    with House(lab, binary) as here:
        bounded = here.folder / "bounded"
        bounded.write_text(f'#!/bin/sh\nulimit -n {DESCRIPTORS}\nexec "{binary}" "$@"\n')
        bounded.chmod(0o755)
        here.binary = str(bounded)
        server = here.serve()
        what = f"{IDLE} idle connections, {DESCRIPTORS} descriptors"
        attacked(checks, here, server, what, lambda: [connect(server) for _ in range(IDLE)])
    lab.close()


def main() -> int:
    binary, *names = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, STALLED + 512) if most > 0 else STALLED + 512, most))
    checks, attacks = Checks(), {"stalled": stalled, "idle": idle}
    for name in names or attacks:
        print(f"\n== {name}", flush=True)
        attacks[name](binary, checks)
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
