"""Plays conversations on the embedded model and measures what was said.

Each figure has the bar that it is held to; the exit status is 1 when one is missed.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from embed import Sentences

HERE = os.path.dirname(os.path.abspath(__file__))
QUESTIONS = [
    "What is a home?",
    "Why do people lie?",
    "What would you do with one more hour in every day?",
    "Is it better to be feared or loved?",
    "What does the sea know?",
    "When should a person give up?",
    "What makes a good neighbour?",
    "Do we need ghosts?",
    "What is the use of music?",
    "How do you know that you are old?",
]
GOALS = [
    "Write a fairy tale of two paragraphs about a lighthouse.",
    "Write an invitation to a birthday party on a boat, in at most five sentences.",
    "Write a plan of five steps for a weekend of hiking.",
]
SCENES = ["the-debt", "the-dog", "the-job"]
# As many words in a row as are in a prompt are a piece of it.
RUN = 6
FORM = re.compile(r"[{}\[\]|]|voice_profile|targetSlotId|TONE|JSON|json|<\||\b[a-z]+_[a-z]+\b")


def words(text):
    return re.findall(r"[\w'’]+", text.lower())


def runs(text):
    found = words(text)
    return {tuple(found[at : at + RUN]) for at in range(len(found) - RUN + 1)}


class Play:
    """One process, whose journal and result are read from its standard output."""

    def __init__(self, args, command, seed):
        with tempfile.TemporaryDirectory() as folder:
            line = [args.binary, *command, "--model", "local/" + args.model, "--seed", str(seed), "--no-speech", "--json"]
            began = time.time()
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=1800)
            self.seconds = time.time() - began
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-500:]}\n{done.stderr[-2000:]}")
        self.records = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
        self.result = self.records[-1]
        self.lines = [line for line in self.result["lines"] if line["kind"] not in ("user", "event", "system", "router")]

    def texts(self):
        return [line["text"] for line in self.lines]

    def of_type(self, kind):
        return [record for record in self.records if record.get("type") == kind]


def templates(binary):
    """What all built-in prompts say, without what is filled in."""
    listed = subprocess.run([binary, "templates", "list"], capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines() if line.split()]
    shown = [subprocess.run([binary, "templates", "show", name], capture_output=True, text=True).stdout for name in names]
    texts = [re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "\n", text, flags=re.S) for text in shown]
    return set().union(*(runs(line) for text in texts for line in text.splitlines()))


def answered(play):
    """Each comment with the response that it is on, and each reply with the comments that it answers."""
    said = {"response": {}, "comment": []}
    pairs = []
    for line in play.lines:
        if line["kind"] == "response":
            said["response"][line["speaker"]] = line["text"]
        elif line["kind"] == "comment":
            said["comment"].append(line)
            pairs.append(("comment", line["text"], [said["response"][line["to"]]]))
        elif line["kind"] == "reply":
            received = [comment["text"] for comment in said["comment"] if comment["to"] == line["speaker"]]
            pairs.append(("reply", line["text"], received + [said["response"][line["speaker"]]]))
    return pairs


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--wheels", required=True)
    options.add_argument("--binary", required=True)
    options.add_argument("--model", default="qwen2.5-coder-1.5b")
    options.add_argument("--short", action="store_true")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--keep", help="a file for every line that was said")
    args = options.parse_args()
    seeds = [1] if args.short else list(range(1, args.seeds + 1))
    near, prompts = Sentences(args.wheels), templates(args.binary)

    def progress(what, play):
        print(f"  {what}: {len(play.lines)} lines, {play.result['reason']}, {play.seconds:.0f} s", file=sys.stderr, flush=True)
        return play

    choruses, scenes, works = [], [], []
    for seed in seeds:
        choruses += [(q, progress(f"{q} ({seed})", Play(args, ["chorus", q], seed))) for q in QUESTIONS]
        works += [progress(f"{g} ({seed})", Play(args, ["collaborate", g], seed)) for g in GOALS]
        for name in SCENES:
            file, agents = os.path.join(HERE, "scenes", name + ".yaml"), os.path.join(HERE, "scenes", "agents")
            scenes.append(progress(f"{name} ({seed})", Play(args, ["scene", file, "--agents", agents], seed)))

    plays = [play for _, play in choruses] + scenes + works
    said = [(play, text) for play in plays for text in play.texts()]
    echoes = [text for _, text in said if FORM.search(text) or runs(text) & prompts]

    def repeats(play):
        seen, found = [], 0
        for text in play.texts():
            plain = " ".join(words(text))
            found += any(difflib.SequenceMatcher(None, plain, other).ratio() > 0.9 for other in seen)
            seen.append(plain)
        return found

    # A collaboration writes the same work again, better: its lines are no repetitions.
    told = [play for _, play in choruses] + scenes
    repeated = sum(repeats(play) for play in told) / max(1, sum(len(play.lines) for play in told))
    close, total = {"comment": 0, "reply": 0}, {"comment": 0, "reply": 0}
    for at, (_, play) in enumerate(choruses):
        other = choruses[(at + 3) % len(choruses)][1]
        others = [line["text"] for line in other.lines if line["kind"] == "response"]
        for number, (kind, text, about) in enumerate(answered(play)):
            own = max(near.nearness(text, one) for one in about)
            total[kind] += 1
            close[kind] += own > near.nearness(text, others[number % len(others)])
    beats = [len({r["beat"] for r in scene.of_type("scene") if r.get("decision") == "beat_ended"}) for scene in scenes]
    tones = [len({line["delivery"]["tone"] for line in scene.of_type("line_spoken") if line.get("delivery", {}).get("tone")})
             for scene in scenes]
    handed = [any(r.get("decision") == "handed_over" for r in work.of_type("collaboration")) for work in works]
    related = {kind: close[kind] / max(1, total[kind]) for kind in close}
    figures = [
        ("lines", len(said), None),
        ("echoes", len(echoes), len(echoes) == 0),
        ("repeated lines", round(repeated, 3), repeated < 0.05),
        ("comments nearer to what they answer", round(related["comment"], 3), related["comment"] >= 0.9),
        ("replies nearer to what they answer", round(related["reply"], 3), related["reply"] >= 0.9),
        ("collaborations that hand over and are final",
         f"{sum(h and w.result['reason'] == 'final' for h, w in zip(handed, works))} of {len(works)}",
         all(h and w.result["reason"] == "final" for h, w in zip(handed, works))),
        ("beats of the shortest scene", min(beats), min(beats) >= 6),
        ("tones of the plainest scene", min(tones), min(tones) >= 3),
        ("seconds of a chorus, median", sorted(play.seconds for _, play in choruses)[len(choruses) // 2].__round__(), None),
    ]
    print(f"local/{args.model}, {len(seeds)} seed(s)")
    for name, value, holds in figures:
        print(f"  {name}: {value}{'' if holds is None else '' if holds else '   MISSED'}")
    for text in echoes[:10]:
        print(f"  echo: {text}")
    if args.keep:
        with open(args.keep, "w") as kept:
            for what, play in [*choruses, *((s.result["sessionId"], s) for s in scenes), *((w.result["sessionId"], w) for w in works)]:
                kept.write(f"## {what}\n" + "".join(f"{l['speaker']} [{l['kind']}]: {l['text']}\n" for l in play.lines) + "\n")
    sys.exit(0 if all(holds is not False for _, _, holds in figures) else 1)


main()
