"""Requests of agents in the fairness tests; as a program, the greedy agent: `python -m tests.chaos.greedy`.

The greedy agent sends requests with unique texts on all connections until killed. It prints `asked` for each started
connection, then the status of each answer. A separate process keeps it from slowing the other agent.
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from tests.calls import CALLS, READ_TOOLS, READS, fill, tool_arguments
from tests.chaos.clients import call_bytes
from tests.chaos.load import connect
from tests.chaos.process import TOPICS
from tests.chaos.wire import request

CONNECTIONS = 40  # more than an agent may have in flight
MCP = (("Accept", "application/json, text/event-stream"),)


@dataclass(frozen=True)
class Asked:
    """Requests of the modest agent; "?" stands for words unused by earlier queries."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tool(self) -> bool:
        return "." not in self.method

    def __str__(self) -> str:
        return f"{self.method} {'-'.join(f'{name}={value}' for name, value in self.params.items())}".strip()

    def request(self, token: str, number: int) -> bytes:
        words = f"which option{number} was chosen for {TOPICS[number % len(TOPICS)]} and why"
        params = {name: words if value == "?" else value for name, value in self.params.items()}
        if not self.tool:
            return request(call_bytes(self.method, params), token)
        body = call_bytes("tools/call", {"name": self.method, "arguments": params})
        return request(body, token, headers=MCP, path="/mcp?tools=all").replace(b"Host: chaos", b"Host: localhost", 1)


SEARCHES = [method.name for method in READS if "mode" in method.params.model_fields]
MODEST = [
    Asked(method, fill(params, {"FILES": ["src/a.py"]}))
    for method, params in (
        *((method.name, CALLS[method.name]) for method in READS),
        *((method, {"query": "?", "mode": mode}) for method in SEARCHES for mode in ("semantic", "keyword")),
        ("cstp.recall", {"query": "?"}),
        ("cstp.recall", {"context": "meeting"}),
        ("cstp.getSessionContext", {"taskDescription": "?"}),
        ("cstp.changes", {"since": 0, "limit": 1000}),
        *((tool, tool_arguments(tool)) for tool in READ_TOOLS),
    )
]


NEW = "00000000"  # stands in a greedy text for a number that no earlier text had


def cjk(random: Random, length: int) -> str:
    return NEW + "".join(map(chr, random.choices(range(0x4E00, 0x9FA5), k=length - len(NEW))))


def keywords(random: Random) -> str:
    """Return a thousand words, each present in some record."""
    return f"{NEW} {' '.join(f'option{random.randrange(1000)}' for _ in range(1000))}"[:8192]


def batch(*params: Mapping[str, Any]) -> bytes:
    calls = [{"jsonrpc": "2.0", "method": "cstp.queryDecisions", "params": each, "id": 1} for each in params]
    return json.dumps(calls if len(calls) > 1 else calls[0], ensure_ascii=False).encode()


def long_calls(random: Random, token: str) -> list[bytes]:
    return [request(batch({"query": cjk(random, 8192)}), token)]


def long_batches(random: Random, token: str) -> list[bytes]:
    return [request(batch(*({"query": cjk(random, 8192)} for _ in range(20))), token)]


def batches_of_a_hundred(random: Random, token: str) -> list[bytes]:
    return [request(batch(*({"query": cjk(random, 3000)} for _ in range(100))), token)]


def keyword_batches(random: Random, token: str) -> list[bytes]:
    return [request(batch(*({"query": keywords(random), "mode": "keyword", "limit": 50} for _ in range(100))), token)]


def snippet_batches(random: Random, token: str) -> list[bytes]:
    """Return queries with all optional result parts."""
    params = {"mode": "keyword", "limit": 50, "include": ["snippet", "links", "provenance"]}
    return [request(batch(*({"query": keywords(random), **params} for _ in range(100))), token)]


def everything(random: Random, token: str) -> list[bytes]:
    """Return all requests of the modest agent, with long texts."""
    found = []
    for asked in MODEST:
        params = {name: keywords(random)[:5000] if value == "?" else value for name, value in asked.params.items()}
        found.append(Asked(asked.method, params).request(token, 0))
    return found


GREEDY = [long_calls, long_batches, batches_of_a_hundred, keyword_batches, snippet_batches, everything]


def again_and_again(requests: list[bytes]) -> Iterator[bytes]:
    for number in count():
        yield requests[number % len(requests)].replace(NEW.encode(), b"%08d" % number)


async def _ask(port: int, requests: Iterator[bytes]) -> None:
    line = await connect(port)
    answer = line.ask(next(requests))
    print("asked", flush=True)  # noqa: T201 - what the test reads
    while True:
        print(await answer, flush=True)  # noqa: T201
        if not line.open:
            line = await connect(port)
        answer = line.ask(next(requests))


async def _main(port: int, token: str, name: str) -> None:
    made = next(each for each in GREEDY if each.__name__ == name)
    requests = again_and_again(made(Random(17), token))
    await asyncio.gather(*(_ask(port, requests) for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
