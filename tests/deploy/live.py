"""The nodes, the store, the bucket and the balancer of deploy/, as processes on loopback.

The settings and the balancer's configuration are those of deploy/, with names and ports of loopback in place of the
containers'. NATS is left out: nodes work without, and what it adds has tests of its own. Needs POLYLOGUE, BUCKET
(the S3 server) and POLYLOGUE_TEST_POSTGRES (scripts/postgres.sh run).
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "a-token-for-this-test"
LONGEST = 60
PLAY = """
[chorus]
slots = ["ann", "ann"]
[agents.ann]
model = "script/replies.yaml"
[speech]
engine = "espeak"
"""
REPLIES = """replies:
- {agent: slot-1, purpose: comment, reply: {targetSlotId: 2, comment: "Yes.", voice_profile: dry_precise}}
- {purpose: comment, reply: {targetSlotId: 1, comment: "No.", voice_profile: dry_precise}}
- {reply: {text: "Well, well.", voice_profile: dry_precise}}
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def ask(port, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json", **headers}
    connection.request(method, path, body and json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def until(holds, what):
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if holds():
                return
        time.sleep(0.05)
    sys.exit(f"FAILED {what}, for {LONGEST} seconds")


def check(holds, what, found=""):
    if not holds:
        sys.exit(f"FAILED {what}: {found}")
    print(f"ok {what}", flush=True)


def settings(bucket):
    text = (ROOT / "deploy/polylogue.toml").read_text()
    address, name, _, _ = bucket
    store = os.environ["POLYLOGUE_TEST_POSTGRES"].replace(":secret@", "@") + "?schema=deploy"
    text = re.sub(r'(?m)^url = "postgres:.*"$', f'url = "{store}"', text)
    text = re.sub(r'(?m)^url = "s3://\w+', f'url = "s3://{name}', text)
    text = re.sub(r'(?m)^endpoint = ".*"$', f'endpoint = "{address}"', text)
    return re.sub(r"(?m)^nats = .*\n", "", text) + PLAY


def balancer(ports, at):
    text = (ROOT / "deploy/haproxy.cfg").read_text()
    for node, port in ports.items():
        text = text.replace(f" {node}:7654", f" 127.0.0.1:{port}")
    text = re.sub(r"(?ms)^resolvers .*?\n\n", "", text).replace(" resolvers docker", "")
    return text.replace("bind :7654", f"bind 127.0.0.1:{at}")


def main(work, started):
    def start(*command, **options):
        log = open(work / f"{len(started)}.log", "w")
        process = subprocess.Popen(command, stderr=log, **options)
        started.append(process)
        return process

    s3 = start(os.environ["BUCKET"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    bucket = s3.stdout.readline().split()
    environment = {
        "PATH": os.environ["PATH"],
        "POLYLOGUE_TOKENS": TOKEN,
        "PGPASSWORD": "secret",
        "AWS_ACCESS_KEY_ID": bucket[2],
        "AWS_SECRET_ACCESS_KEY": bucket[3],
    }
    ports, nodes = {f"node-{number}": free_port() for number in (1, 2, 3)}, {}
    for name, port in ports.items():
        folder = work / name
        folder.mkdir()
        (folder / "polylogue.toml").write_text(settings(bucket))
        (folder / "replies.yaml").write_text(REPLIES)
        listen = f"127.0.0.1:{port}"
        nodes[name] = start(os.environ["POLYLOGUE"], "serve", "--listen", listen, cwd=folder, env=environment)
    front = free_port()
    (work / "haproxy.cfg").write_text(balancer(ports, front))
    start("haproxy", "-db", "-f", work / "haproxy.cfg", stdout=subprocess.DEVNULL)
    for name, port in ports.items():
        until(lambda: ask(port, "GET", "/readyz")[0] == 200, f"{name} is not ready")
    until(lambda: ask(front, "GET", "/readyz")[0] == 200, "the balancer has no node")

    status, stream = ask(front, "POST", "/v1/chat", {"message": "What is a home?"})
    check(status == 200 and stream.count(b"event: slot.audio") == 6, "a chorus is held and spoken", stream[-500:])
    _, listed = ask(front, "GET", "/v1/sessions")
    session = json.loads(listed)["sessions"][0]["sessionId"]
    shown = [json.loads(ask(port, "GET", f"/v1/sessions/{session}")[1]) for port in ports.values()]
    check(shown[0] == shown[1] == shown[2], "every node shows the same session")
    paths = shown[0]["artifacts"]
    s3.stdin.write("?")
    s3.stdin.flush()
    check(len(paths) == 7 == int(s3.stdout.readline()), "the bucket has its clips and its manifest", paths)
    for path in paths:
        answers = {ask(port, "GET", f"/v1/audio/{path}") for port in (*ports.values(), front)}
        parts = {ask(port, "GET", f"/v1/audio/{path}", range="bytes=10-19") for port in (*ports.values(), front)}
        (status, whole), *others = answers
        check(status == 200 and not others, f"every node has {path.rsplit('/')[-1]}", [a[0] for a in answers])
        check(parts == {(206, whole[10:20])}, "and parts of it")

    # Requests go on, one after the other, while a node is told to end.
    statuses, is_over = [], threading.Event()

    def knock():
        while not is_over.is_set():
            statuses.append(ask(front, "GET", f"/v1/audio/{paths[0]}")[0])

    knocking = threading.Thread(target=knock)
    knocking.start()
    until(lambda: len(statuses) > 20, "nobody answers")
    nodes["node-1"].terminate()
    check(nodes["node-1"].wait(LONGEST) == 0, "a node that is told to end ends well")
    so_far = len(statuses)
    until(lambda: len(statuses) > so_far + 100, "nobody answers any more")
    is_over.set()
    knocking.join()
    check(set(statuses) == {200}, f"all {len(statuses)} requests meanwhile were answered", set(statuses))
    status, stream = ask(front, "POST", "/v1/chat", {"message": "And a house?"})
    check(status == 200 and stream.count(b"event: slot.audio") == 6, "two nodes hold the next chorus")

    check(ask(front, "DELETE", f"/v1/sessions/{session}")[0] in (200, 204), "a session is deleted")
    s3.stdin.write("?")
    s3.stdin.flush()
    check(int(s3.stdout.readline()) == 7, "its objects are gone, and no others")


with tempfile.TemporaryDirectory() as folder:
    processes = []
    try:
        main(pathlib.Path(folder), processes)
    except BaseException:
        for log in sorted(pathlib.Path(folder).glob("*.log")):
            print(f"--- {log.name}\n{log.read_text()[-1500:]}", file=sys.stderr)
        raise
    finally:
        for process in processes:
            process.kill()
            process.wait()
