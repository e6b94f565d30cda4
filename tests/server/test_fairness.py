"""A greedy and a modest agent: whatever the first requests, the second is answered, in every method."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from random import Random
from threading import Semaphore
from typing import Any

import httpx
import pytest

from cognition_engines.embedding.base import FloatArray
from cognition_engines.errors import NotWanted
from cognition_engines.wanted import Wanted, always
from tests.calls import WORDS, fill, ids_of
from tests.chaos.greedy import MCP, MODEST
from tests.isolation.world import make_world, put
from tests.serving import SeededEmbedder, Serving, serve

__all__ = ["serve"]
Serve = Callable[..., Serving]
GREEDY = "greedy"
WINDOWS = 4
SECONDS = 20.0


@dataclass(frozen=True)
class EndlessEmbedder(SeededEmbedder):
    """An embedder of the greedy agent's texts, window by window, each permitted by the test."""

    windows_begun: Semaphore = field(default_factory=lambda: Semaphore(0))
    allowed: Semaphore = field(default_factory=lambda: Semaphore(0))

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        for _ in range(WINDOWS if GREEDY in text else 0):
            self.windows_begun.release()
            while not self.allowed.acquire(timeout=0.005):
                if not wanted():
                    raise NotWanted("nobody waits")
        return super().embed_query(text)


def search(number: int) -> Mapping[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": {"query": f"{GREEDY} {number}"}}


def tool(number: int) -> Mapping[str, object]:
    params = {"name": "search_knowledge", "arguments": {"query": f"{GREEDY} {number}"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def requests() -> Iterator[tuple[str, object]]:
    """Yield more requests than an agent may have in flight and waiting, with unique texts."""
    numbers = count()
    for _ in range(40):
        yield "/cstp", search(next(numbers))
        yield "/cstp", [search(next(numbers)) for _ in range(20)]
        yield "/cstp", [search(next(numbers)) for _ in range(100)]
        yield "/mcp", tool(next(numbers))


@dataclass(frozen=True)
class Modest:
    """The other agent."""

    serving: Serving
    token: str
    ids: Mapping[str, Any]  # for placeholders
    numbers: Iterator[int] = field(default_factory=count)

    def ask(self, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
        params = fill(given, {WORDS: f"window filter {next(self.numbers)}", **self.ids})
        called, path = {"method": method, "params": params}, "/cstp"
        if "." not in method:
            called, path = {"method": "tools/call", "params": {"name": method, "arguments": params}}, "/mcp?tools=all"
        fields = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **dict(MCP)}
        url = self.serving.url.replace("/cstp", path)
        answer = self.serving.client.post(url, json={"jsonrpc": "2.0", "id": 1, **called}, headers=fields)
        assert answer.status_code == 200, f"{method}: {answer.text}"
        reply: dict[str, Any] = answer.json()
        return reply


@pytest.mark.long("starts servers or processes, and waits")
def test_every_method_and_tool_answers_beside_a_greedy_agent(serve: Serve, wait_until: Any) -> None:
    embedder, world = EndlessEmbedder(), make_world(Random(3))
    serving = serve(embedder)
    put(serving.records, embedder, world.entries)
    serving.caught_up()
    modest = Modest(serving, serving.token(), ids_of(world))
    greedy = serving.token()
    with ExitStack() as stack:
        modest.ask("cstp.queryDecisions", {"query": "?"})  # the agent is there
        for path, body in requests():
            stack.enter_context(serving.connect(path, body, greedy))
        assert embedder.windows_begun.acquire(timeout=SECONDS)
        wait_until(lambda: serving.figure("cstp_requests_running") == 32, SECONDS)
        wait_until(lambda: serving.figure("cstp_requests_waiting") == 64, SECONDS)
        begun = 1
        for asked in MODEST:
            reply = modest.ask(asked.method, asked.params)
            assert "result" in reply, f"{asked}: {reply}"
            assert not (asked.tool and reply["result"].get("isError")), f"{asked}: {reply}"
            # nobody has waited for a window of the other agent: none was allowed
            assert serving.figure('cstp_pool_running{pool="embedder"}') <= 1
        while embedder.windows_begun.acquire(blocking=False):
            begun += 1
        assert begun < 100, "of 4,880 texts that were asked for at once"
    wait_until(lambda: serving.figure("cstp_requests_running") == 0, SECONDS)
    assert "result" in modest.ask("cstp.queryDecisions", {"query": "?"})


@pytest.mark.long("starts servers or processes, and waits")
def test_waiting_too_long_for_a_thread_is_overload(serve: Serve, wait_until: Any) -> None:
    embedder = EndlessEmbedder()
    serving = serve(embedder, embedding={"threads": 1, "deadline_seconds": 3})
    fields = {"Authorization": f"Bearer {serving.token()}"}
    with ThreadPoolExecutor(1) as pool:
        asked = [search(number) for number in range(8)]
        sent = pool.submit(httpx.post, serving.url, json=asked, headers=fields, timeout=SECONDS, trust_env=False)
        wait_until(lambda: serving.figure('cstp_pool_waiting{pool="embedder"}') == 7, SECONDS)
        embedder.allowed.release(WINDOWS)  # for the first; the next call holds the only thread
        errors = [each.get("error", {"code": 0}) for each in sent.result().json()]
    codes = [error["code"] for error in errors]
    assert (codes.count(0), codes.count(-32003), codes.count(-32010)) == (1, 1, 6)
    assert {"retryAfter": 1} in [error.get("data") for error in errors]
    assert serving.client.get(serving.url.replace("/cstp", "/readyz")).status_code == 200


@pytest.mark.long("starts servers or processes, and waits")
def test_batches_of_one_agent_share_its_concurrency(serve: Serve, wait_until: Any) -> None:
    embedder = EndlessEmbedder()
    serving = serve(embedder, server={"port": 0, "batch_concurrency": 3})
    numbers, one, other = count(), serving.token(), serving.token()

    def asked() -> float:
        return sum(serving.figure(f'cstp_pool_{state}{{pool="embedder"}}') for state in ("running", "waiting"))

    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(serving.connect("/cstp", [search(next(numbers)) for _ in range(20)], one))
        wait_until(lambda: serving.figure("cstp_requests_running") == 4, SECONDS)
        wait_until(lambda: asked() == 3, SECONDS)
        stack.enter_context(serving.connect("/cstp", [search(next(numbers)) for _ in range(20)], other))
        wait_until(lambda: asked() == 6, SECONDS)
        assert [asked() for _ in range(20)] == [6] * 20
    wait_until(lambda: serving.figure("cstp_requests_running") == 0, SECONDS)
