"""Reads the JSON lines of `polylogue collaborate` and says whether the models did what they were asked.

`check.py answered` wants no failed ask and at least one answer. `check.py constrained ROUNDS` also wants every
reply to have fitted its schema as it came; its status is 3 when all was well but the rounds were not used up,
because a small model may well find that it is done.
"""

import json
import sys

# A null for what is absent is how strict schemas say it; a length is advice, not grammar; and the grammar of
# llama-cpp-python lets a line break stand in a text as it is.
ALLOWED = {"empty_field", "cut", "raw_newline"}


def main() -> int:
    mode, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    answers = 0
    for line in sys.stdin:
        event = json.loads(line)
        if event["type"] == "ask_failed":
            print("failed:", event["failure"]["message"])
            return 1
        if event["type"] == "answered":
            answers += 1
            repairs = event.get("repairs", [])
            print(f"  {event['ask']['agent']}: {event['text']!r} {event['usage']} {repairs}")
            if mode == "constrained" and not set(repairs) <= ALLOWED:
                print("this reply was not held to its schema")
                return 1
        if event["type"] == "result":
            print(f"  ended: {event['reason']}")
    if answers == 0:
        return 1
    return 3 if mode == "constrained" and answers < rounds else 0


sys.exit(main())
