"""200 choruses of six at once through a real server: none fails, and how long after its record an event arrives.

Usage: python3 tests/load/chats.py POLYLOGUE [CHATS]   (loopback only; ends by itself)

A record's time is taken just before it is appended, so the delay printed here holds the append, its sync to
disk and the way through HTTP.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time

PORT = 7691


async def request(method, path, body=None):
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT, limit=1 << 20)
    data = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{PORT}\r\nconnection: close\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    await writer.drain()
    status = int((await reader.readline()).split()[1])
    while (await reader.readline()).strip():
        pass
    return status, reader, writer


async def events(method, path, body=None):
    """Every event of a stream with the moment at which it arrived."""
    status, reader, writer = await request(method, path, body)
    assert status == 200, f"{path} answered {status}"
    seen, event = [], {}
    async for line in reader:
        text = line.decode().strip()
        if ": " in text and not re.fullmatch(r"[0-9a-f]+", text):
            key, _, value = text.partition(": ")
            event[key] = value
        elif not text and "data" in event:
            event["arrived"] = time.time() * 1000
            seen.append(event)
            event = {}
    writer.close()
    return seen


async def chat(n):
    stream = await events("POST", "/v1/chat", {"message": "What is a home?", "speech": False, "seed": n})
    assert stream[-1]["event"] == "done", stream[-1]
    return stream


async def delays(stream):
    session = json.loads(stream[0]["data"])["sessionId"]
    journal = await events("GET", f"/v1/sessions/{session}/events")
    recorded = {record["id"]: json.loads(record["data"])["at"] for record in journal}
    return [event["arrived"] - recorded[event["id"]] for event in stream]


async def main(chats):
    for _ in range(100):
        try:
            status, _, writer = await request("GET", "/readyz")
            writer.close()
            if status == 200:
                break
        except OSError:
            pass
        await asyncio.sleep(0.1)
    began = time.time()
    streams = await asyncio.gather(*[chat(n) for n in range(chats)])
    took = time.time() - began
    found = sorted([delay for stream in streams for delay in await delays(stream)])
    return streams, took, found


if __name__ == "__main__":
    binary = os.path.abspath(sys.argv[1])
    chats = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    config = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/chorus/polylogue.toml")
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "serve", "--config", os.path.abspath(config), "--listen", f"127.0.0.1:{PORT}"]
        server = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            streams, took, found = asyncio.run(main(chats))
            status = open(f"/proc/{server.pid}/status").read()
        finally:
            server.terminate()
            server.wait(20)
    at = lambda share: round(found[min(len(found) - 1, int(len(found) * share))], 1)
    print(json.dumps({
        "chats": chats,
        "events": len(found),
        "seconds": round(took, 2),
        "delayMs": {"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1)},
        "serverPeakMb": int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024,
    }))
