"""Clients that leave: whatever was accepted runs to its end, and of two who resume a session one does.

`--each` requests go to each route that starts or goes on with a session. Each client closes its connection, politely
or not, at a random moment up to 30 ms after sending, some of them after half of the request. Every session that the
list knows afterwards has to come to its end by itself, or to wait for its person; nothing is asked twice.

Then `--pairs` stopped sessions are resumed by two clients at once: one of each pair gets 202, the other a CONFLICT,
and the model's log shows that each session was run once.
"""

import concurrent.futures
import json
import random
import socket
import struct
import sys
import threading
import time

import house
from house import Checks, House, Process, code, counted, post
from lab import Lab, paid_twice

# How many clients there are at once, and how many sessions are got ready at once.
CLIENTS, AHEAD = 8, 100
PEOPLE = [{"role": "manager", "agent": "gpt"}, {"role": "user", "userId": "ada"}]


def leave(server: Process, path: str, body: object, chance: random.Random) -> None:
    """Sends a request, or half of it, and is gone before the answer is of interest."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: {server.url}\r\ncontent-type: application/json\r\n"
    data = f"{head}content-length: {len(data)}\r\n\r\n".encode() + data
    if chance.random() < 0.1:
        data = data[: len(data) // 2]
    # Early moments are the interesting ones: half of the clients are gone within 8 ms.
    is_rude, pause = chance.random() < 0.5, 0.03 * chance.random() ** 2
    host, port = server.url.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(data)
        time.sleep(pause)
        if is_rude:
            # A reset instead of a farewell.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Leavers:
    def __init__(self, args, lab: Lab, here: House, server: Process, checks: Checks):
        self.args, self.lab, self.house, self.server, self.checks = args, lab, here, server, checks
        self.chance = random.Random(args.seed)

    def all_leave(self, requests: list[tuple[str, object]]) -> None:
        chances = [random.Random(self.chance.random()) for _ in requests]
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda one: leave(self.server, *one[0], one[1]), zip(requests, chances)))

    def starting(self, name: str, request) -> None:
        """`request` makes the path and body of the request with this marker."""
        before = {one["sessionId"] for one in self.house.sessions()}
        calls = len(self.lab.calls())
        markers = [f"{name.replace(' ', '-')}-{number}" for number in range(self.args.each)]
        self.all_leave([request(marker) for marker in markers])
        time.sleep(0.5)
        accepted = {one["sessionId"] for one in self.house.sessions()} - before
        sessions = self.house.settle(self.args.settle, among=accepted)
        self.judge(name, len(markers), sessions, calls)

    def judge(self, name: str, sent: int, sessions: list[dict], calls: int) -> None:
        open_ = [one for one in sessions if one["status"] in house.UNENDED]
        found = f"{sent} sent, {len(sessions)} accepted, {len(open_)} run by nobody; {counted(sessions)}"
        self.checks.check(bool(sessions) and not open_, f"{name}: what was accepted runs to its end", found)
        if name != "fork":  # Forks of one place ask the same.
            again = len(paid_twice(self.lab.calls()[calls:]))
            self.checks.check(again == 0, f"{name}: nothing is asked twice", again)

    def said(self) -> None:
        """Words of a person to discussions that wait for them; those that were taken go on to the next turn."""
        ids = self.discussions()
        heads = {one["sessionId"]: one["head"] for one in self.house.sessions()}
        calls = len(self.lab.calls())
        body = {"message": "It leaks over the stairs.", "userId": "ada"}
        self.all_leave([(f"/api/discussions/{id_}", body) for id_ in ids])
        time.sleep(0.5)
        sessions = self.house.settle(self.args.settle, among=set(ids))
        taken = [one for one in sessions if one["head"] > heads[one["sessionId"]]]
        self.judge("discussion message", len(ids), taken, calls)

    def discussions(self) -> list[str]:
        ids = []
        for number in range(self.args.each):
            body = {"title": f"The roof #words-{number}:r1#", "participants": PEOPLE, "maxRounds": 2}
            ids.append(post(self.server, "/api/discussions", body)[1]["project"]["id"])
        self.house.settle(60, among=set(ids))
        return ids

    def forked(self) -> None:
        body = {"text": "Name a cat. #source:r4#", "mode": "collaborate"}
        source = post(self.server, "/v1/rooms/source/messages", body)[1]["sessionId"]
        self.house.settle(30, among={source})
        self.starting("fork", lambda _: (f"/v1/sessions/{source}/fork", {"at": 6}))

    def stopped(self, name: str, count: int) -> list[str]:
        """Collaborations that were stopped while their first reply was awaited."""
        ids, usual = [], self.lab.delay
        self.lab.delay = (60, 60)
        for start in range(0, count, AHEAD):
            batch = []
            for marker in (f"{name}-{number}" for number in range(start, min(start + AHEAD, count))):
                body = {"text": f"Name a cat. #{marker}:r4#", "mode": "collaborate"}
                batch.append(post(self.server, f"/v1/rooms/{marker}/messages", body)[1]["sessionId"])
            for id_ in batch:
                status, answer = post(self.server, f"/v1/sessions/{id_}/stop", {})
                if status != 200:
                    raise SystemExit(f"a session could not be stopped: {status} {answer}")
            ids += batch
        self.lab.delay = usual
        return ids

    def resumed(self) -> None:
        ids = self.stopped("resume", self.args.each)
        heads = {one["sessionId"]: one["head"] for one in self.house.sessions()}
        calls = len(self.lab.calls())
        self.all_leave([(f"/v1/sessions/{id_}/resume", {}) for id_ in ids])
        time.sleep(0.5)
        sessions = self.house.settle(self.args.settle, among=set(ids))
        self.judge("resume", len(ids), [one for one in sessions if one["head"] > heads[one["sessionId"]]], calls)

    def pairs(self) -> None:
        ids = self.stopped("pair", self.args.pairs)
        self.lab.delay = (0.1, 0.2)
        calls, odd = len(self.lab.calls()), []
        with concurrent.futures.ThreadPoolExecutor(2) as two:
            for id_ in ids:
                at_once = threading.Barrier(2)

                def resume(_) -> tuple[int, str]:
                    at_once.wait(10)
                    status, answer = post(self.server, f"/v1/sessions/{id_}/resume", {})
                    return status, code(answer)

                answers = sorted(two.map(resume, range(2)))
                if answers != [(202, ""), (409, "CONFLICT")]:
                    odd.append(answers)
        what = f"{len(ids)} pairs of resumes: one is 202, the other a CONFLICT"
        self.checks.check(not odd, what, f"{len(odd)} went otherwise {odd[:2]}")
        sessions = self.house.settle(self.args.settle, among=set(ids))
        done = sum(one["reason"] == "final" for one in sessions)
        self.checks.check(done == len(ids), "each of them runs to its end", counted(sessions))
        again = len(paid_twice(self.lab.calls()[calls:]))
        self.checks.check(again == 0, "each of them is run once", f"{again} calls made again")


def main() -> int:
    args = house.arguments(__doc__, each=200, pairs=200, settle=90.0)
    checks, lab = Checks(), Lab(args.seed, delay=(0.002, 0.01))
    with House(lab, args.polylogue) as here:
        leavers = Leavers(args, lab, here, here.serve(), checks)

        def said(marker: str, **fields) -> tuple[str, object]:
            return f"/v1/rooms/{marker}/messages", {"text": f"Name a cat. #{marker}:r3#"} | fields

        def discussion(marker: str) -> tuple[str, object]:
            return "/api/discussions", {"title": f"The roof #{marker}:r3#", "participants": PEOPLE, "maxRounds": 2}

        leavers.starting("chat", lambda marker: ("/v1/chat", {"message": f"What is a home? #{marker}:r3#"}))
        leavers.starting("scene", lambda marker: ("/v1/scenes", here.scene(marker, marker, 1)))
        leavers.starting("room single", lambda marker: said(marker, target="gpt"))
        leavers.starting("room collaborate", lambda marker: said(marker, mode="collaborate"))
        leavers.starting("room all", lambda marker: said(marker, target="all"))
        leavers.starting("discussion", discussion)
        leavers.said()
        leavers.forked()
        leavers.resumed()
        leavers.pairs()
        # Also those that came into the list late.
        open_ = sum(one["status"] in house.UNENDED for one in here.settle(args.settle))
        checks.check(open_ == 0, "in the end nothing runs any more", open_)
    lab.close()
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
