"""Three servers on one PostgreSQL, of which one is killed every few seconds and started again.

`--sessions` sessions of several formats are begun, a third on each server. Then every `--every` seconds a server is
killed (SIGKILL) at random and another takes its place, until all sessions have ended; those that were begun by a node
that is gone are taken over by whichever is there. The same sessions were played before without being disturbed.

Checked: every session ends, with the reason and the lines of the undisturbed run, none twice or missing; a request is
made again only if the process that made it was killed while it was in flight, or before its record could be on disk.
"""

import random
import sys
import time

import house
from house import Checks, House, Process, counted, get, post, recorded, until
from lab import REPLY, Lab, paid_twice
from storm import kills_excuse

KINDS = ("collaborate", "scene", "discussion", "chorus", "call")
PEOPLE = [{"role": "manager", "agent": "gpt"}, {"role": "specialist", "agent": "claude"}]


def attempt(here: House, server: Process, number: int) -> tuple[int, dict, str | None]:
    """Begins the session with this number, which is the same in every run: the status, the answer, and its id."""
    kind = KINDS[number % len(KINDS)]
    marker, last = f"{kind}-{number}", 3 + number % 3
    if kind == "scene":
        status, answer = post(server, "/v1/scenes", here.scene(marker, marker, last - 1))
    elif kind == "chorus":
        status, answer = house.first_event(server, "/v1/chat", {"message": f"Name a cat. #{marker}:r1#", "seed": number})
    elif kind == "call":
        body = {"text": f"Name a cat. #{marker}:r1#", "target": "gpt", "mode": "single"}
        status, answer = post(server, f"/v1/rooms/{marker}/messages", body)
    elif kind == "discussion":
        body = {"title": f"The roof #{marker}:r1#", "participants": PEOPLE, "maxRounds": 2}
        status, answer = post(server, "/api/discussions", body)
        answer = answer | {"sessionId": answer.get("project", {}).get("id")}
    else:
        body = {"text": f"Name a cat. #{marker}:r{last}#", "mode": "collaborate"}
        status, answer = post(server, f"/v1/rooms/{marker}/messages", body)
    return status, answer, answer.get("sessionId")


def begin(here: House, server: Process, number: int) -> str:
    """The same where it has to begin."""
    status, answer, session = attempt(here, server, number)
    if status not in (200, 201, 202) or not session:
        raise SystemExit(f"session {number} could not be begun: {status} {answer}")
    return session


def lines(server: Process, session: str) -> list[str]:
    """What was said in a session. Replies are numbered as they are given, so their numbers are left out; those of one
    beat arrive in any order, and what happens in the world of a scene is drawn by its seed."""
    result = get(server, f"/v1/sessions/{session}")[1]
    text = lambda line: "" if line["kind"] == "event" else REPLY.sub("reply", line["text"])
    said = [f"{line['speaker']} ({line['kind']}): {text(line)}" for line in result["lines"]]
    return [result["reason"], *(sorted(said) if result["format"] in ("scene", "chorus") else said)]


def play(args, checks: Checks, lab: Lab, is_disturbed: bool) -> dict[int, list[str]]:
    chance = random.Random(args.seed)
    with House(lab, args.polylogue) as here:
        nodes = [here.serve() for _ in range(3)]
        first = len(lab.calls())
        ids = [begin(here, nodes[number % 3], number) for number in range(args.sessions)]
        kills, next_kill, deadline = 0, time.monotonic() + args.every, time.monotonic() + args.settle
        open_ = set(ids)
        while open_ and time.monotonic() < deadline:
            if is_disturbed and time.monotonic() >= next_kill:
                at = chance.randrange(3)
                nodes[at].kill()
                nodes[at] = here.serve(wait=False)
                kills, next_kill = kills + 1, time.monotonic() + args.every
            reader = nodes[chance.randrange(3)]
            listed = get(reader, "/v1/sessions?status=ended&limit=1000", seconds=5)[1].get("sessions", [])
            open_ -= {one["sessionId"] for one in listed}
            time.sleep(0.2)
        until(lambda: all(get(node, "/readyz")[0] == 200 for node in nodes), 30)
        took = args.settle - (deadline - time.monotonic())
        calls = lab.calls()[first:]
        said = {number: lines(nodes[number % 3], session) for number, session in enumerate(ids) if session not in open_}
        name = "killed" if is_disturbed else "undisturbed"
        checks.check(not open_, f"{name}: every session ends", f"{len(ids) - len(open_)} of {len(ids)} in {took:.0f} s")
        if is_disturbed:
            repeated = paid_twice(calls)
            session_of = {f"{KINDS[number % len(KINDS)]}-{number}": session for number, session in enumerate(ids)}
            wanted = {call.marker for call, _ in repeated}
            answered = (
                record
                for marker in wanted
                for record in recorded(nodes[0], session_of[marker], 5)
                if record["type"] == "answered"
            )
            numbers = {int(number) for record in answered for number in REPLY.findall(record.get("text", ""))}
            unexcused = paid_twice(calls, kills_excuse(here, lambda call: call.number in numbers))
            house.table([
                ("servers killed", kills),
                ("sessions", counted(here.sessions())),
                ("calls", f"{len(calls)}, made again {len(repeated)}"),
            ])
            checks.check(kills > 0 and bool(repeated), "there were kills, and calls in flight at them", kills)
            checks.check(not unexcused, "no call is paid twice except those in flight at a kill", len(unexcused))
    return said


def main() -> int:
    args = house.arguments(__doc__, sessions=300, every=3.0, settle=600.0)
    checks = Checks()
    lab = Lab(args.seed, delay=(0.5, 2.0), pace=(0.0, 0.1))
    expected = play(args, checks, lab, is_disturbed=False)
    said = play(args, checks, lab, is_disturbed=True)
    different = [number for number in said if said[number] != expected.get(number)]
    checks.check(not different, "the lines are those of the undisturbed run", f"{len(different)} differ {different[:5]}")
    for number in different[:2]:
        print(f"  {number}: {said[number]}\n  instead of {expected.get(number)}")
    lab.close()
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
