"""A store of a thousand sessions is copied from SQLite to PostgreSQL, and from there into another SQLite file.

Checked: the list is the same everywhere, and what every session is exported as, transcript in four forms and journal,
is the same bytes.
"""

import hashlib
import http.client
import sys
import time

import house
from house import Checks, House, get, until
from lab import Lab
from nodes import begin

FORMS = [f"transcript?as={form}" for form in ("txt", "md", "json", "vtt")] + ["events"]


def exported(here: House, url: str, ids: list[str]) -> list[str]:
    """A fingerprint of everything that can be had of each session, from a server on this store."""
    server = here.serve(store=url)
    host, port = server.url.split(":")
    found = []
    for session in ids:
        digest = hashlib.sha256()
        for form in FORMS:
            connection = http.client.HTTPConnection(host, int(port), timeout=30)
            connection.request("GET", f"/v1/sessions/{session}/{form}")
            response = connection.getresponse()
            if response.status != 200:
                raise SystemExit(f"{session}/{form} cannot be had from {url.partition(':')[0]}: {response.status}")
            digest.update(response.read())
            connection.close()
        found.append(digest.hexdigest())
    listed = get(server, "/v1/sessions?limit=1000")[1]
    server.terminate()
    return [*found, str(listed["sessions"])]


def copy(here: House, from_: str, to: str) -> tuple[float, int]:
    began = time.monotonic()
    process = here.run("store", "copy", from_, to, seconds=300)
    return time.monotonic() - began, process.popen.returncode


def main() -> int:
    args = house.arguments(__doc__, sessions=1000, settle=300.0)
    checks, lab = Checks(), Lab(args.seed, delay=(0.0, 0.01))
    with House(lab, args.polylogue, max_sessions=2000) as here:
        first, postgres, last = f"sqlite:{here.folder}/first.db", here.url, f"sqlite:{here.folder}/last.db"
        server = here.serve(store=first)
        ids = [begin(here, server, number) for number in range(args.sessions)]
        is_over = lambda: get(server, "/v1/sessions?status=running&limit=1")[1].get("sessions") == []
        checks.check(until(is_over, args.settle), "sessions of every format were played", len(ids))
        server.terminate()
        for name, from_, to in [("to PostgreSQL", first, postgres), ("and back", postgres, last)]:
            took, status = copy(here, from_, to)
            checks.check(status == 0, f"{args.sessions} sessions {name}", f"{took:.1f} s")
        before = exported(here, first, ids)
        for name, url in [("PostgreSQL", postgres), ("the second file", last)]:
            different = sum(one != other for one, other in zip(before, exported(here, url, ids), strict=True))
            checks.check(different == 0, f"the exports and the list from {name} are the same bytes", f"{different} differ")
    lab.close()
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
