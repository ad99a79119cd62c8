"""LangGraph with its PostgreSQL checkpointer on the work of `polylogue bench`: sessions at once, three agents that take
turns, a model that answers at once, every turn on disk.

    python3 -m venv /tmp/langgraph && /tmp/langgraph/bin/pip install langgraph langgraph-checkpoint-postgres 'psycopg[binary,pool]'
    scripts/postgres.sh run bash -c 'target/release/polylogue bench --only 100x100 &&
        /tmp/langgraph/bin/python tests/peers/langgraph_postgres.py 100 100'

Only the ratio of both, from one run, means anything. Each of its steps is one checkpoint, as each of our turns is one
append; `durability="sync"` is what makes it wait for the database, as we do.
"""

import asyncio
import json
import os
import sys
import time

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

AGENTS = 3
# As many as a Polylogue server opens.
CONNECTIONS = 8


class State(MessagesState):
    turn: int


def graph(turns: int, saver):
    def agent(at: int):
        replies = (AIMessage(f"hello there, this is a fake reply of moderate length number {n}") for n in range(10**9))
        model = GenericFakeChatModel(messages=replies)

        async def node(state: State):
            reply = await model.ainvoke(state["messages"])
            reply.name = f"a{at}"
            return {"messages": [reply], "turn": state["turn"] + 1}

        return node

    def after(at: int):
        return lambda state: END if state["turn"] >= turns else f"a{(at + 1) % AGENTS}"

    made = StateGraph(State)
    for at in range(AGENTS):
        made.add_node(f"a{at}", agent(at))
        made.add_conditional_edges(f"a{at}", after(at), [f"a{(at + 1) % AGENTS}", END])
    made.add_edge(START, "a0")
    return made.compile(checkpointer=saver)


async def main(sessions: int, turns: int) -> None:
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    url = os.environ["POLYLOGUE_TEST_POSTGRES"]
    async with AsyncConnectionPool(url, min_size=CONNECTIONS, max_size=CONNECTIONS, kwargs=options) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        app = graph(turns, saver)

        async def session(number: int) -> int:
            config = {"recursion_limit": turns + 10, "configurable": {"thread_id": f"{os.getpid()}-{number}"}}
            begin = {"messages": [HumanMessage("go")], "turn": 0}
            events = 0
            async for _ in app.astream(begin, config, stream_mode="updates", durability="sync"):
                events += 1
            return events

        began = time.perf_counter()
        events = sum(await asyncio.gather(*(session(number) for number in range(sessions))))
        seconds = time.perf_counter() - began
    figures = {"case": "langgraph-postgres", "sessions": sessions, "turns": events, "seconds": round(seconds, 2)}
    print(json.dumps(figures | {"microsecondsPerTurn": round(seconds / events * 1e6, 1)}))


asyncio.run(main(*(int(argument) for argument in sys.argv[1:3])))
