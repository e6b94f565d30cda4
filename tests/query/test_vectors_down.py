"""A Chroma server that is not there, goes away and comes back; and the default model over a socket."""

from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from cognition_engines.models import Decision
from cognition_engines.records.store import open_records
from cognition_engines.records.values import Entry, Origin
from tests.stores import ChromaProgram, Stores, free_port

TITLES = {
    "d-db": "Use PostgreSQL as the database",
    "d-queue": "Put slow work on a message queue",
    "d-auth": "Bearer tokens identify agents",
}
SECONDS = 8.0  # that a change of the server's state may take to show


def fill(url: str) -> None:
    """Records without vectors: a server embeds them itself."""
    records = open_records(url)
    records.put([Entry(Decision(id, title), Origin("/x.md", 0, None, title)) for id, title in TITLES.items()], None)
    records.close()


@pytest.fixture
def start(live_server: Callable[..., Any], stores: Stores, tmp_path: Path) -> Callable[..., Any]:
    """`start(url)`: a server with the default model, these records and that Chroma server."""

    def started(url: str) -> Any:
        fill(stores.records(tmp_path / "data"))
        return live_server(
            {"embedding.model": "minilm", "vectors.url": url, "limits.default": "100000/minute"},
            data_dir=tmp_path / "data",
        )

    return started


def asked(live: Any, token: str, mode: str) -> Any:
    return live.call("cstp.queryDecisions", token, {"query": "which database", "mode": mode}).json


def component(reply: Any) -> str | None:
    """The part that failed; None for an answer."""
    if "result" in reply:
        return None
    assert (reply["error"]["code"], reply["error"]["message"]) == (-32003, "Query failed")
    part: str = reply["error"]["data"]["component"]
    return part


def first(reply: Any) -> str | None:
    """The id that came first; None before the server has embedded anything."""
    found = reply["result"]["decisions"]
    return found[0]["id"] if found else None


def test_with_no_chroma_server_at_its_address_keyword_goes_on_and_the_others_name_the_part(
    start: Callable[..., Any], wait_until: Callable[..., None]
) -> None:
    live = start(f"http://127.0.0.1:{free_port()}")
    token = live.token()
    wait_until(lambda: component(asked(live, token, "semantic")) == "vectors", SECONDS)
    began = monotonic()
    assert component(asked(live, token, "hybrid")) == "vectors"
    assert monotonic() - began < 2
    assert first(asked(live, token, "keyword")) == "d-db"
    # the distance comes from the stored vectors, once the server has embedded what it found without any
    wait_until(lambda: asked(live, token, "keyword")["result"]["decisions"][0]["distance"] is not None, SECONDS)


@pytest.fixture
def chroma(tmp_path: Path) -> Iterator[ChromaProgram]:
    """A Chroma server of the test's own."""
    running = ChromaProgram(tmp_path / "chroma")
    running.start()
    yield running
    running.kill()


def test_a_chroma_server_that_dies_is_told_within_seconds_and_used_again_when_it_is_back(
    start: Callable[..., Any], chroma: ChromaProgram, wait_until: Callable[..., None]
) -> None:
    live = start(chroma.url)
    token = live.token()
    wait_until(lambda: first(asked(live, token, "semantic")) == "d-db", SECONDS)
    wait_until(lambda: chroma.windows() == len(TITLES), SECONDS)

    chroma.kill()
    for mode in ("semantic", "hybrid"):
        wait_until(lambda mode=mode: component(asked(live, token, mode)) == "vectors", SECONDS)
    assert first(asked(live, token, "keyword")) == "d-db"

    chroma.start()
    for mode in ("semantic", "hybrid"):
        wait_until(lambda mode=mode: component(asked(live, token, mode)) is None, SECONDS)
        assert first(asked(live, token, mode)) == "d-db"
    wait_until(lambda: chroma.windows() == len(TITLES), SECONDS)


def test_a_chroma_server_that_hangs_costs_a_call_its_deadline_and_no_more_and_is_used_again_when_it_goes_on(
    start: Callable[..., Any], chroma: ChromaProgram, wait_until: Callable[..., None]
) -> None:
    live = start(chroma.url)
    token = live.token()
    wait_until(lambda: first(asked(live, token, "semantic")) == "d-db", SECONDS)
    chroma.freeze()
    try:
        # it is asked once a second, and an answer that does not come in 5 s is none
        wait_until(lambda: component(asked(live, token, "semantic")) == "vectors", 2 * SECONDS)
        began = monotonic()
        for _ in range(5):
            assert component(asked(live, token, "hybrid")) == "vectors"
        assert monotonic() - began < 5, "calls must be refused at once, and not one after the other at their deadline"
        assert first(asked(live, token, "keyword")) == "d-db"
    finally:
        chroma.thaw()
    wait_until(lambda: first_if_any(asked(live, token, "semantic")) == "d-db", 2 * SECONDS)


def first_if_any(reply: Any) -> str | None:
    """As `first`; None also while the part is down."""
    return first(reply) if component(reply) is None else None
