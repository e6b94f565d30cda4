"""A Chroma server that is absent, stops and returns; and the default model over a socket."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision
from cognition_engines.search import legs as search
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from tests.stores import ChromaProgram, Stores, free_port

TITLES = {
    "d-db": "Use PostgreSQL as the database",
    "d-queue": "Put slow work on a message queue",
    "d-auth": "Bearer tokens identify agents",
}
SECONDS = 8.0  # seconds before a change of the server's state shows


def fill(url: str) -> None:
    """Store records without vectors: a server embeds them itself."""
    records = open_records(url)
    records.put([Entry(Decision(id, title), Origin("/x.md", 0, None, title)) for id, title in TITLES.items()], None)
    records.close()


@pytest.fixture
def start(live_server: Callable[..., Any], stores: Stores, tmp_path: Path) -> Callable[..., Any]:
    """Return `start(url)`: starts a server with the default model, these records and the Chroma server."""

    def started(url: str) -> Any:
        fill(stores.records(tmp_path / "data"))
        return live_server(
            {"embedding.model": "minilm", "vectors.url": url, "limits.default": "100000/minute"},
            data_dir=tmp_path / "data",
        )

    return started


def asked(live: Any, token: str, mode: str) -> Any:
    params = {"query": "which database", "mode": mode, "limit": 1 if mode == "semantic" else 10}
    return live.call("cstp.queryDecisions", token, params).json


@pytest.fixture
def worth_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the top of three vectors use the Chroma server, like the top ten among hundreds of thousands."""
    for cost in ("NEIGHBOUR_CALL", "NEIGHBOUR"):
        monkeypatch.setattr(search, cost, 0.0)
    monkeypatch.setattr(search, "LEAST_NEIGHBOURS", 1)


@pytest.fixture
def reported(request_bytes: Any) -> Callable[[Any], str]:
    """Return the `/readyz` status, and the vector report."""

    def look(live: Any) -> str:
        with live.connect() as connection:
            connection.send(request_bytes(b"", [("Connection", "close")], "GET", "/readyz"))
            reply = connection.read("GET")
            return f"{reply.status} {reply.json['parts']['vectors']}"

    return look


def component(reply: Any) -> str | None:
    """Return the failed part; None for an answer."""
    if "result" in reply:
        return None
    assert (reply["error"]["code"], reply["error"]["message"]) == (-32003, "Query failed")
    part: str = reply["error"]["data"]["component"]
    return part


def first(reply: Any) -> str | None:
    """Return the first id; None before the server has embedded anything, and while the part is down."""
    found = reply["result"]["decisions"] if component(reply) is None else []
    return found[0]["id"] if found else None


@pytest.mark.long("kills a Chroma server")
@pytest.mark.usefixtures("worth_asking")
def test_with_no_chroma_server_at_its_address_every_search_is_answered_from_memory(
    start: Callable[..., Any], wait_until: Callable[..., None], reported: Callable[[Any], str]
) -> None:
    live = start(f"http://127.0.0.1:{free_port()}")
    token = live.token()
    wait_until(lambda: first(asked(live, token, "semantic")) == "d-db", SECONDS)
    wait_until(lambda: reported(live) == "200 degraded", SECONDS)
    for mode in ("semantic", "hybrid", "keyword"):
        reply = asked(live, token, mode)
        assert first(reply) == "d-db"
        assert reply["result"]["decisions"][0]["distance"] is not None


MODES = ("semantic", "hybrid", "keyword")


@pytest.mark.long("kills a Chroma server")
@pytest.mark.usefixtures("worth_asking")
def test_a_dying_chroma_server_costs_no_answer_and_is_used_again_after_its_return(
    start: Callable[..., Any],
    own_chroma: ChromaProgram,
    wait_until: Callable[..., None],
    reported: Callable[[Any], str],
) -> None:
    live = start(own_chroma.url)
    token = live.token()
    wait_until(lambda: first(asked(live, token, "semantic")) == "d-db", SECONDS)
    wait_until(lambda: own_chroma.windows() == len(TITLES) and reported(live) == "200 ready", SECONDS)

    def answered(state: str) -> bool:
        assert [first(asked(live, token, mode)) for mode in MODES] == ["d-db"] * 3
        return reported(live) == state

    own_chroma.kill()
    wait_until(lambda: answered("200 degraded"), SECONDS)
    assert answered("200 degraded")
    own_chroma.start()
    wait_until(lambda: answered("200 ready"), SECONDS)
    wait_until(lambda: own_chroma.windows() == len(TITLES), SECONDS)


@pytest.mark.long("kills a Chroma server")
@pytest.mark.usefixtures("worth_asking")
def test_a_receipt_reports_unchecked_vectors_while_their_server_is_gone(
    start: Callable[..., Any],
    own_chroma: ChromaProgram,
    wait_until: Callable[..., None],
    reported: Callable[[Any], str],
) -> None:
    live = start(own_chroma.url)
    token = live.token(scopes=("read", "write"))
    recorded = live.call("cstp.recordDecision", token, {"decision": "Cache prices", "confidence": 0.5}).json["result"]
    wait_until(lambda: own_chroma.windows() == len(TITLES) + 1 and reported(live) == "200 ready", SECONDS)
    own_chroma.kill()
    answer = live.call("cstp.forget", token, {"id": recorded["id"], "confirm": True}).json["result"]
    receipt = answer["receipt"]
    assert receipt["remaining"] == {"records": 0, "keywords": 0, "vectors": None}
    assert "vectors" in {one["part"] for one in receipt["pending"]}
    assert recorded["id"] not in str(asked(live, token, "hybrid"))
    own_chroma.start()
    wait_until(lambda: own_chroma.windows() == len(TITLES), SECONDS)


@pytest.mark.long("kills a Chroma server")
@pytest.mark.usefixtures("worth_asking")
def test_a_hanging_chroma_server_costs_calls_their_deadline_once_and_then_no_answer(
    start: Callable[..., Any],
    own_chroma: ChromaProgram,
    wait_until: Callable[..., None],
    reported: Callable[[Any], str],
) -> None:
    live = start(own_chroma.url)
    token = live.token()
    wait_until(lambda: first(asked(live, token, "semantic")) == "d-db", SECONDS)
    wait_until(lambda: own_chroma.windows() == len(TITLES) and reported(live) == "200 ready", SECONDS)
    own_chroma.freeze()
    try:
        # it is asked once a second; an answer later than 5 s counts as missing
        assert component(asked(live, token, "semantic")) in ("vectors", None)
        wait_until(lambda: reported(live) == "200 degraded", 2 * SECONDS)
        began = monotonic()
        for _ in range(5):
            assert [first(asked(live, token, mode)) for mode in MODES] == ["d-db"] * 3
        assert monotonic() - began < 30, "calls must not wait for it, one after the other"
    finally:
        own_chroma.thaw()
    wait_until(lambda: reported(live) == "200 ready", 2 * SECONDS)
    assert first(asked(live, token, "semantic")) == "d-db"
