"""The files that follow from a journal are there, whenever the process was killed, and none overwrites another's.

`--each` scenes and choruses run on command lines, each of which is killed within 15 ms of its last reply. Then a
server runs: every session that has ended has its files. Two runs and a fork of a scene of one name have a folder
each: the newest the name itself, the others with the first eight of their session's id (contract section 5).
"""

import json
import pathlib
import random
import sys
import threading

import house
from house import Checks, House, counted, until
from lab import Call, Lab

SCENE_FILES = ("transcript.txt", "metadata.json", "debug.log")
# A chorus of two slots is done with its sixth reply.
CHORUS_REPLIES = 6


class Killer:
    """Ends the one process that is running when its last reply has been sent, a random moment later."""

    def __init__(self, lab: Lab, chance: random.Random):
        self.chance, self.process, self.replies = chance, None, 0
        self.done = threading.Event()
        lab.on_whole = self.on_whole

    def on_whole(self, call: Call) -> None:
        self.replies += call.kind in ("respond", "comment", "reply")
        if self.process and (call.kind == "judge-last" or self.replies == CHORUS_REPLIES):
            process, self.process = self.process, None
            threading.Timer(self.chance.uniform(0, 0.015), lambda: (process.kill(), self.done.set())).start()

    def run(self, here: House, *args: str) -> bool:
        """Whether it was killed; it may also have been quicker."""
        self.replies = 0
        self.done.clear()
        # Nothing can be asked before the process is known: it has to start first.
        self.process = here.start(*args, "--json", "--no-speech")
        process = self.process
        if not self.done.wait(30):
            process.kill()
        return process.killed_at is not None


def scenes_of(here: House) -> dict[str, pathlib.Path]:
    """The folders of scenes that are complete, by the session in their `metadata.json`."""
    found = {}
    for folder in here.scenes.iterdir() if here.scenes.exists() else ():
        if all((folder / name).is_file() and (folder / name).stat().st_size for name in SCENE_FILES):
            found[json.loads((folder / "metadata.json").read_text())["sessionId"]] = folder
    return found


def choruses_of(here: House) -> set[str]:
    sessions = here.artifacts / "tts" / "sessions"
    whole = set()
    for manifest in sessions.glob("*/session.json"):
        if json.loads(manifest.read_text()):
            whole.add(manifest.parent.name)
    return whole


def killed(args, checks: Checks) -> None:
    lab = Lab(args.seed, delay=(0.005, 0.02))
    with House(lab, args.polylogue) as here:
        killer = Killer(lab, random.Random(args.seed))
        kills = 0
        for number in range(args.each):
            kills += killer.run(here, "scene", str(here.scene_file(f"scene-{number}", f"scene-{number}", 1)))
            kills += killer.run(here, "chorus", f"What is a home? #chorus-{number}:r1#")
        checks.check(kills > 0, "command lines were killed right after their last reply", f"{kills} of {2 * args.each}")
        here.serve()
        sessions = here.settle(args.settle)
        ended = counted(sessions)
        all_ended = all(one["status"] == "ended" for one in sessions) and len(sessions) == 2 * args.each
        checks.check(all_ended, "every session has ended once a server has run", ended)

        def lacking(format_: str, with_files) -> list[str]:
            ids = {one["sessionId"] for one in sessions if one["format"] == format_}
            return [id_[:8] for id_ in ids - set(with_files(here))]

        for format_, with_files in (("scene", scenes_of), ("chorus", choruses_of)):
            until(lambda: not lacking(format_, with_files), args.wait, 0.5)
            left = lacking(format_, with_files)
            checks.check(not left, f"every {format_} has its files", f"{len(left)} of {args.each} lack them {left[:5]}")
    lab.close()


def of_one_name(args, checks: Checks) -> None:
    lab = Lab(args.seed, delay=(0.001, 0.005))
    with House(lab, args.polylogue) as here:
        file = str(here.scene_file("the-apology", "apology", 1))
        first = here.run("scene", file, "--json", "--no-speech").last_line()["sessionId"]
        texts = {first: (here.scenes / "the-apology" / "transcript.txt").read_text()}
        second = here.run("scene", file, "--json", "--no-speech").last_line()["sessionId"]
        fork = here.run("sessions", "fork", first, "--at", "5", "--json").last_line()["sessionId"]
        names = {first: f"the-apology-{first[:8]}", second: f"the-apology-{second[:8]}", fork: "the-apology"}
        found = {session: folder.name for session, folder in scenes_of(here).items()}
        checks.check(found == names, "two runs and a fork of one name have a folder each", sorted(found.values()))
        folder = scenes_of(here).get(first)
        is_kept = folder is not None and (folder / "transcript.txt").read_text() == texts[first]
        checks.check(is_kept, "the first run's transcript is as it was")
    lab.close()


def main() -> int:
    args = house.arguments(__doc__, each=37, wait=60.0, settle=90.0)
    checks = Checks()
    killed(args, checks)
    of_one_name(args, checks)
    return checks.status()


if __name__ == "__main__":
    sys.exit(main())
