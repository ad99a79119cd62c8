"""What `run` compares: who speaks in which order, and which of the words each has seen before.

Every reply is a word of its own, such as `<a0-2>`, so that what somebody has seen can be read off the request.
"""

import ast
import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

TASK = "What is a home?"
AGENTS = ["a0", "a1", "a2"]
different = []


def check(what, theirs, ours):
    """Says whether both are the same, and notes it where they are not."""
    same = theirs == ours
    print(f"  {'same' if same else 'DIFFERENT'}: {what}")
    if not same:
        different.append(what)
        print(f"    theirs: {theirs}\n    ours:   {ours}")


def seen(text):
    """The words that are in a text, in their order; `task` is the task."""
    return re.findall(r"<[a-z0-9-]+>|task", text.replace(TASK, "task"))


# Ours.


def polylogue(folder, *args):
    command = [os.environ["POLYLOGUE"], *args, "--json", "--config", "polylogue.toml"]
    output = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if output.returncode != 0:
        sys.exit(f"{' '.join(args)} failed: {output.stdout[-500:]} {output.stderr[-500:]}")
    return [json.loads(line) for line in output.stdout.splitlines()]


def play(folder, *args):
    """Plays a score: its turns with their requests, its result, and who says what."""
    records = polylogue(folder, "play", *args)
    result = records[-1]
    turns = []
    for record in records:
        if record["type"] == "asked":
            request = polylogue(folder, "sessions", "show", result["sessionId"], "--at", str(record["seq"]))[0]
            turns.append({**record["ask"], "request": request, "seen": seen(whole(request))})
    spoke = [(record["speaker"]["agent"], record["text"]) for record in records if record["type"] == "line_spoken"]
    results = [record["results"] for record in records if record.get("decision") == "concluded"]
    return turns, {**result, "results": results[-1] if results else None}, spoke


def whole(request):
    return "\n".join([*(message["text"] for message in request["thread"]), request["prompt"]])


def scripted(folder, agents, replies):
    """A configuration in which these agents read their replies from one script, in order."""
    lines = [json.dumps(reply) for reply in replies]
    Path(folder, "replies.yaml").write_text("replies:\n" + "".join(f"  - {line}\n" for line in lines))
    configured = "".join(f'[agents.{agent}]\nmodel = "script/replies.yaml"\n' for agent in agents)
    Path(folder, "polylogue.toml").write_text(configured)


# AutoGen.


def autogen():
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
    from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
    from autogen_ext.models.replay import ReplayChatCompletionClient

    logging.disable(logging.CRITICAL)

    class Watched(ReplayChatCompletionClient):
        """A replay that notes what it is sent."""

        def __init__(self, name, replies, log):
            super().__init__(replies)
            self.name, self.log = name, log

        async def create(self, messages, **options):
            text = "\n".join(str(message.content) for message in messages)
            self.log.append({"agent": self.name, "text": text, "seen": seen(text)})
            return await super().create(messages, **options)

    def agents(replies, log):
        client = lambda name: Watched(name, replies[name], log)
        return [AssistantAgent(name, client(name), description=name, system_message="Speak.") for name in AGENTS]

    def words(count):
        return {name: [f"<{name}-{nth}>" for nth in range(count)] for name in AGENTS}

    def spoken(result):
        return [message.source for message in result.messages if message.source != "user"]

    print("RoundRobinGroupChat and round-robin")
    for rounds, stop in [(3, None), (5, 3)]:
        replies, log = words(rounds), []
        if stop:
            # The last of a round says it: a score looks at the end of a round.
            replies["a2"][stop - 1] += " DONE"
        ends = TextMentionTermination("DONE") if stop else None
        team = RoundRobinGroupChat(agents(replies, log), max_turns=3 * rounds, termination_condition=ends)
        theirs = spoken(asyncio.run(team.run(task=TASK)))
        with tempfile.TemporaryDirectory() as folder:
            entries = [
                {"agent": name, "turn": nth + 1, "reply": replies[name][nth]} for nth in range(rounds) for name in AGENTS
            ]
            scripted(folder, AGENTS, entries)
            args = ["round-robin", TASK, "--seat", f"member={','.join(AGENTS)}", "--set", f"rounds={rounds}"]
            turns, _, spoke = play(folder, *args, *(["--set", "stop=DONE"] if stop else []))
        ours = [name for name, _ in spoke]
        how = f"{rounds} rounds" + (", ended by a word in the third" if stop else "")
        check(f"{len(ours)} turns in the same order, {how}", theirs, ours)
        check("what each has seen, in order", [turn["seen"] for turn in log], [turn["seen"] for turn in turns])

    print("SelectorGroupChat and selector")
    chosen = ["a1", "a0", "a2", "a1", "a2", "a0"]
    log, offered = [], []
    team = SelectorGroupChat(
        agents(words(6), log),
        model_client=Watched("selector", chosen, log),
        selector_prompt="FROM {participants}\n{roles}\n{history}",
        allow_repeated_speaker=False,
        max_turns=6,
    )
    theirs = spoken(asyncio.run(team.run(task=TASK)))
    offered = [ast.literal_eval(turn["text"].split("\n")[0][5:]) for turn in log if turn["agent"] == "selector"]
    with tempfile.TemporaryDirectory() as folder:
        picks = [
            {"agent": "selector", "turn": nth + 1, "reply": {"next": name}} for nth, name in enumerate(chosen)
        ]
        said = {name: iter(words(6)[name]) for name in AGENTS}
        speaks = [{"agent": name, "turn": nth + 1, "reply": next(said[name])} for nth, name in enumerate(chosen)]
        scripted(folder, ["selector", *AGENTS], picks + speaks)
        seats = ["--seat", f"member={','.join(AGENTS)}", "--seat", "selector=selector"]
        turns, _, spoke = play(folder, "selector", TASK, *seats, "--set", "turns=6")
    ours = [name for name, _ in spoke]
    check(f"{len(ours)} turns in the same order", theirs, ours)
    check("who is asked when, the selector included", [turn["agent"] for turn in log], [turn["agent"] for turn in turns])
    check("what each has seen, in order", [turn["seen"] for turn in log], [turn["seen"] for turn in turns])
    picks = [turn["request"]["schema"]["properties"]["next"]["enum"] for turn in turns if turn["purpose"] == "pick"]
    check("who may be chosen, whoever spoke last left out", offered, picks)

    print("A selector that insists on a0, where nobody may speak twice in a row")
    for most in (8, 60):
        log = []
        selector = Watched("selector", ["a0"] * 3 * most, log)
        team = SelectorGroupChat(
            agents(words(most), log),
            model_client=selector,
            allow_repeated_speaker=False,
            termination_condition=MaxMessageTermination(most),
        )
        theirs = spoken(asyncio.run(asyncio.wait_for(team.run(task=TASK), 60)))
        asks = sum(turn["agent"] == "selector" for turn in log)
        repeated = sum(one == two for one, two in zip(theirs, theirs[1:]))
        print(f"  AutoGen, stopped after {most} messages: {len(theirs)} turns, {repeated} times the same twice, {asks} asks to select")
        if not repeated:
            different.append("AutoGen holds to its rule: say so in docs/scores.md")
    with tempfile.TemporaryDirectory() as folder:
        entries = [{"agent": "selector", "reply": {"next": "a0"}}]
        entries += [{"agent": name, "reply": f"<{name}>"} for name in AGENTS]
        scripted(folder, ["selector", *AGENTS], entries)
        turns, result, spoke = play(folder, "selector", TASK, *seats, "--set", "turns=7")
    ours = [name for name, _ in spoke]
    asks = sum(turn["purpose"] == "pick" for turn in turns)
    repeated = sum(one == two for one, two in zip(ours, ours[1:]))
    print(f"  ours: {len(ours)} turns, {repeated} times the same twice, {asks} asks to select, ends with {result['reason']}")
    check("ours ends, and nobody speaks twice in a row", ("completed", 0), (result["reason"], repeated))


# llm-council.

MEMBERS = ["gpt", "gemini", "sonnet", "grok"]
CHAIR = "chair"
# How good their answers are found, the best first.
BEST = ["sonnet", "gpt", "grok", "gemini"]


def ranked(labelled):
    """Labels of answers, the best first; `labelled` has pairs of a label and an answer."""
    places = {f"<{member}-answer>": place for place, member in enumerate(BEST)}
    return [label for label, _ in sorted(labelled, key=lambda pair: places[pair[1]])]


def actor():
    """A program that answers for us, as the replay below answers for them."""
    request = json.load(sys.stdin)
    agent, prompt = request["agent"], request["messages"][-1]["content"]
    if agent == CHAIR:
        text = "<conclusion>"
    elif "schema" in request:
        order = ranked(re.findall(r"^([A-Z]\d*): (<[a-z]+-answer>)", prompt, re.M))
        text = json.dumps({"ranking": order, "because": f"<{agent}-because>"})
    else:
        text = f"<{agent}-answer>"
    print(json.dumps({"text": text}))


def council(checkout):
    # It wants to know a key and to call a vendor; neither is needed here.
    sys.modules["dotenv"] = types.SimpleNamespace(load_dotenv=lambda: None)
    sys.modules["httpx"] = types.SimpleNamespace()
    sys.path.insert(0, checkout)
    from backend import council as theirs

    log = []

    async def query_model(model, messages, timeout=0):
        text = messages[-1]["content"]
        stage = "conclude" if "Chairman" in text else "weigh" if "FINAL RANKING" in text else "answer"
        log.append({"stage": stage, "agent": CHAIR if stage == "conclude" else model, "text": text})
        if stage == "answer":
            return {"content": f"<{model}-answer>"}
        if stage == "conclude":
            return {"content": "<conclusion>"}
        order = ranked(re.findall(r"Response ([A-Z]):\n(<[a-z]+-answer>)", text))
        lines = "\n".join(f"{nth}. Response {label}" for nth, label in enumerate(order, 1))
        return {"content": f"<{model}-because>\n\nFINAL RANKING:\n{lines}"}

    async def query_models_parallel(models, messages):
        replies = await asyncio.gather(*(query_model(model, messages) for model in models))
        return dict(zip(models, replies))

    theirs.query_model, theirs.query_models_parallel = query_model, query_models_parallel
    theirs.COUNCIL_MODELS, theirs.CHAIRMAN_MODEL = MEMBERS, "gemini"
    *_, conclusion, metadata = asyncio.run(theirs.run_full_council(TASK))

    with tempfile.TemporaryDirectory() as folder:
        program = f'program = {json.dumps(sys.executable)}\nargs = [{json.dumps(os.path.abspath(__file__))}, "--actor"]\n'
        agents = "".join(f'[agents.{agent}]\nmodel = "command/actor"\n' for agent in [*MEMBERS, "chairman"])
        Path(folder, "polylogue.toml").write_text(f"[commands.actor]\n{program}{agents}")
        seats = ["--seat", f"member={','.join(MEMBERS)}", "--seat", "chair=chairman"]
        turns, result, spoke = play(folder, "council", TASK, *seats)
    stages = {1: "answer", 2: "weigh", 3: "conclude"}
    ours = [{"stage": stages[turn["turn"]], "agent": turn["agent"], "text": whole(turn["request"])} for turn in turns]

    print("llm-council and council")
    by_stage = lambda log: {stage: sorted(turn["agent"] for turn in log if turn["stage"] == stage) for stage in stages.values()}
    check(f"{len(ours)} turns in the same three stages", by_stage(log), by_stage(ours))
    words = lambda log: {(turn["stage"], turn["agent"]): sorted(set(seen(turn["text"]))) for turn in log}
    check("the words that each has seen in each stage", words(log), words(ours))
    named = lambda log: [
        (turn["agent"], other)
        for turn in log
        for other in MEMBERS
        if turn["stage"] == "weigh" and other != turn["agent"] and other in re.sub(r"<[^>]*>", "", turn["text"])
    ]
    check("whoever weighs is told nobody's name", (named(log), []), ([], named(ours)))
    average = [place["model"] for place in metadata["aggregate_rankings"]]
    check("the ranking of all", average, re.findall(r"'name': '([a-z]+)'", str(result["results"]["ranking"])))
    check("the conclusion", (CHAIR, conclusion["response"]), spoke[-1])

    ranks = lambda log, pattern: [re.findall(pattern, turn["text"]) for turn in log if turn["stage"] == "weigh"]
    letters = ranks(log, r"Response ([A-Z]):\n(<[a-z]+-answer>)")
    print(f"  apart: theirs shows everybody the same letters, one's own answer among them: {all(one == letters[0] for one in letters)}")
    own = [f"<{turn['agent']}-answer>" in turn["request"]["prompt"] for turn in turns if turn["turn"] == 2]
    drawn = ranks([{**turn, "text": turn["request"]["prompt"], "stage": stages[turn["turn"]]} for turn in turns], r"([A-Z]): (<[a-z]+-answer>)")
    print(f"  apart: ours draws them for each and leaves one's own out: {not any(own) and any(one != drawn[0] for one in drawn)}")


def main():
    if sys.argv[1:] == ["--actor"]:
        return actor()
    autogen()
    if len(sys.argv) > 1:
        council(sys.argv[1])
    else:
        print("SKIPPED: llm-council, of which there is no checkout and none could be fetched")
    if different:
        sys.exit(f"{len(different)} different: {'; '.join(different)}")
    print("no difference")


main()
