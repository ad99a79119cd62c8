"""A model server for the checks of this folder: chat completions, streamed, on loopback.

It answers every format in the form that the format asks for, so that sessions run through several turns, and it
keeps a log of every call: when it began and ended, which process made it, which session it was for, whether the
client went away in the middle, and how many tokens it would have billed.

A session is known by a marker in what its agents are told: `#NAME:rN#` in a goal, message, prompt or title. With it
an agent says that the work is done in round (or beat) N. A process is known by its key: each gets its own.
"""

import asyncio
import dataclasses
import hashlib
import json
import random
import re
import threading
import time

MARKER = re.compile(r"#([a-z0-9-]+):r(\d+)#")
REPLY = re.compile(r"\breply (\d+)\b")
ROUND = re.compile(r"Round (\d+) of")
HEARD = re.compile(r'\[TONE: calm\] "([^"]+)"')
BEAT = re.compile(r"BEAT (\d+)")
NAME = re.compile(r"Your name is `([^`]+)`")
OTHERS = re.compile(r"You are collaborating with (.+?) in a turn-based")
TARGETS = re.compile(r'"targetSlotId": (\d+)')

# The pieces that a reply is sent in.
PIECES = 3


@dataclasses.dataclass
class Call:
    """One request to the model. Times are of `time.monotonic`."""

    number: int
    key: str
    marker: str
    body: str
    begun: float
    prompt_tokens: int
    kind: str = ""
    text: str = ""
    ended: float | None = None
    is_whole: bool = False
    is_gone: bool = False
    reply_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.reply_tokens


class Lab:
    """The server, on a thread of its own. `delay` and `pace` are (least, most) seconds and can be changed at any time.

    `on_whole` is called with each call right after its last byte was sent.
    """

    def __init__(self, seed: int, delay=(0.05, 0.2), pace=(0.0, 0.0)):
        self.delay, self.pace = delay, pace
        self.on_whole = lambda call: None
        self._chance = random.Random(seed)
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait(10)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def calls(self) -> list[Call]:
        """The log so far."""
        with self._lock:
            return list(self._calls)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512))
        self.port = server.sockets[0].getsockname()[1]
        # Clients are killed in the middle of everything; what the loop would say of it is of no interest.
        self._loop.set_exception_handler(lambda _loop, _context: None)
        ready.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether another may follow."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        fields = {name.lower(): value for name, value in fields.items()}
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        if "/chat/completions" not in head.split("\r\n")[0]:
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            return True
        call = self._begin(fields.get("authorization", ""), body)
        try:
            await self._answer(call, json.loads(body), reader, writer)
        except OSError:
            call.is_gone = True
        finally:
            call.ended = time.monotonic()
        if call.is_whole:
            self.on_whole(call)
        return call.is_whole

    def _begin(self, authorization: str, body: bytes) -> Call:
        text = body.decode()
        marker = MARKER.search(text)
        with self._lock:
            call = Call(
                number=len(self._calls) + 1,
                key=authorization.removeprefix("Bearer "),
                marker=marker.group(1) if marker else "",
                body=hashlib.sha256(body).hexdigest(),
                begun=time.monotonic(),
                prompt_tokens=len(text) // 4,
            )
            self._calls.append(call)
        return call

    async def _answer(self, call: Call, request: dict, reader, writer) -> None:
        call.kind, call.text = reply_to(request, call.number)
        if await self._has_left(reader, self._chance.uniform(*self.delay)):
            call.is_gone = True
            return
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        step = max(1, -(-len(call.text) // PIECES))
        for start in range(0, len(call.text), step):
            piece = call.text[start : start + step]
            send(writer, {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})
            await writer.drain()
            call.reply_tokens = (start + len(piece)) // 4 + 1
            if await self._has_left(reader, self._chance.uniform(*self.pace)):
                call.is_gone = True
                return
        send(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        usage = {"prompt_tokens": call.prompt_tokens, "completion_tokens": call.reply_tokens}
        send(writer, {"choices": [], "usage": usage | {"total_tokens": call.tokens}})
        writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()
        call.is_whole = not reader.at_eof()
        call.is_gone = not call.is_whole

    async def _has_left(self, reader: asyncio.StreamReader, seconds: float) -> bool:
        """Waits, but only as long as the client does."""
        if reader.at_eof():
            return True
        if seconds <= 0:
            return False
        try:
            return await asyncio.wait_for(reader.read(1), seconds) == b""
        except asyncio.TimeoutError:
            return False


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def send(writer: asyncio.StreamWriter, event: dict) -> None:
    event = {"id": "lab", "object": "chat.completion.chunk", "created": 0, "model": "lab"} | event
    writer.write(chunk(b"data: " + json.dumps(event).encode() + b"\n\n"))


def reply_to(request: dict, number: int) -> tuple[str, str]:
    """What kind of ask this is, and what is answered. Each reply has its number in it."""
    messages = [(message["role"], text_of(message["content"])) for message in request["messages"]]
    system = "\n".join(text for role, text in messages if role in ("system", "developer"))
    asked = next((text for role, text in reversed(messages) if role == "user"), "")
    marker = MARKER.search(system + "\n".join(text for _, text in messages))
    last = int(marker.group(2)) if marker else 1
    words = f"Here is reply {number}, which nobody else has given."
    if "You are collaborating with" in system:
        return "contribute", json.dumps(contribution(system, asked, last, words))
    if "You are in a room with a person" in system:
        return "call", json.dumps({"message": words})
    if "one voice in a small chorus" in system:
        return chorus(asked, words)
    if "You are the moderator of a scene" in system:
        beat = int(match.group(1)) if (match := BEAT.search(asked)) else 0
        is_over = beat >= last
        # The newest words that somebody was heard to say are evidence enough here.
        heard = HEARD.findall(asked)
        evidence = [{"part": 1, "line": heard[-1]}] if is_over and heard else []
        judgement = {"evidence": evidence, "progress": 1.0 if is_over else 0.3}
        judgement |= {"goalReached": bool(evidence), "naturalEnd": is_over and not evidence, "onTrack": True}
        # The number is in it, so that the journal shows which reply it was.
        judgement["closing"] = f"It ends with reply {number}."
        return ("judge-last" if is_over else "judge"), json.dumps(judgement)
    if "A scene is played by" in system:
        return "act", f'[TONE: calm] "{words}"'
    return "discuss", words


def contribution(system: str, asked: str, last: int, words: str) -> dict:
    at = int(match.group(1)) if (match := ROUND.search(asked)) else last
    others = OTHERS.search(system)
    if at >= last or not others:
        return {"message": words, "final": True}
    to = others.group(1).split(" and ")[0]
    return {"message": words, "handoff": {"to": to, "task": f"Go on after round {at}."}}


def chorus(asked: str, words: str) -> tuple[str, str]:
    voice = {"voice_profile": "warm_reflective"}
    if target := TARGETS.search(asked):
        return "comment", json.dumps({"targetSlotId": int(target.group(1)), "comment": words} | voice)
    kind = "reply" if "About your answer to the visitor" in asked else "respond"
    return kind, json.dumps({"text": words} | voice)


def text_of(content) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def paid_twice(calls: list[Call], is_excused=lambda call: False) -> list[tuple[Call, Call]]:
    """The calls that were made again with the very same request for the same session, each with the one after it."""
    groups: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        groups.setdefault((call.marker, call.body), []).append(call)
    again = []
    for group in groups.values():
        again += [(first, next_) for first, next_ in zip(group, group[1:]) if not is_excused(first)]
    return again
