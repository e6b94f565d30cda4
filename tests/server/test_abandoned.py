"""Calls with a vanished caller: their work stops, and nothing of them is left."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from cognition_engines.embedding.base import FloatArray
from cognition_engines.errors import NotWanted
from cognition_engines.wanted import Wanted, always
from tests.serving import SeededEmbedder, Serving, serve

__all__ = ["serve"]
Serve = Callable[..., Serving]
SECONDS = 20.0
SEARCH = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": {"query": "slow"}}
TOOL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"} | {
    "params": {"name": "query_decisions", "arguments": {"query": "slow"}}
}


@dataclass(frozen=True)
class SlowEmbedder(SeededEmbedder):
    """An embedder that works on the text "slow" for as long as anybody waits."""

    begun: Event = field(default_factory=Event)
    stopped: Event = field(default_factory=Event)

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        if "slow" not in text:
            return super().embed_query(text)
        self.begun.set()
        until = monotonic() + SECONDS
        while wanted() and monotonic() < until:
            sleep(0.001)
        assert monotonic() < until
        self.stopped.set()
        raise NotWanted("nobody waits")


@pytest.mark.parametrize(
    ("path", "body"),
    [("/cstp", SEARCH), ("/cstp", [SEARCH] * 20), ("/mcp", TOOL)],
    ids=["a call", "a batch", "a tool"],
)
def test_an_embedding_stops_after_its_client_vanished(serve: Serve, wait_until: Any, path: str, body: Any) -> None:
    embedder = SlowEmbedder()
    serving = serve(embedder)
    connection = serving.connect(path, body)
    assert embedder.begun.wait(SECONDS)
    assert serving.figure("cstp_requests_running") == 1
    connection.close()
    assert embedder.stopped.wait(SECONDS / 2)
    wait_until(lambda: serving.figure("cstp_requests_running") == 0, SECONDS)
    wait_until(lambda: serving.figure('cstp_pool_waiting{pool="embedder"}') == 0, SECONDS)
    assert "result" in serving.send("queryDecisions", query="quick")


@pytest.mark.long("starts servers or processes, and waits")
def test_an_embedding_stops_after_its_call_failed_at_its_deadline(serve: Serve) -> None:
    embedder = SlowEmbedder()
    serving = serve(embedder)
    assert serving.failed_part("queryDecisions", query="slow") == "embedder"
    assert embedder.stopped.wait(SECONDS / 2)


def test_an_embedding_continues_for_a_second_caller_of_the_same_text(serve: Serve, wait_until: Any) -> None:
    embedder = SlowEmbedder()
    serving = serve(embedder)
    first = serving.connect("/cstp", SEARCH)
    assert embedder.begun.wait(SECONDS)
    second = serving.connect("/cstp", SEARCH)
    wait_until(lambda: serving.figure('cstp_pool_running{pool="embedder"}') == 2, SECONDS)
    first.close()
    wait_until(lambda: serving.figure("cstp_requests_running") == 1, SECONDS)
    assert not embedder.stopped.is_set()
    second.close()
    assert embedder.stopped.wait(SECONDS / 2)
