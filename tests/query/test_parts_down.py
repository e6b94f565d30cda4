"""Every method with each part down: an error naming the part, or the answer if it does not need the part."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa

from cognition_engines.embedding.base import FloatArray
from cognition_engines.errors import ComponentFailed
from cognition_engines.store.records import open_records
from cognition_engines.wanted import Wanted, always
from cstp.contract import Method
from tests.calls import CALLED, CALLS, READS, WORDS, fill, has_content, ids_of
from tests.isolation.world import World, make_world, put
from tests.serving import SeededEmbedder, Serving, start
from tests.stores import Stores, free_port, wait_for

PARTS = ("records", "keywords", "vectors", "embedder")
ALL = {"records", "keywords", "embedder"}  # so few vectors are ranked without the vector index
SECONDS = 15.0  # seconds before a part's change shows


@dataclass(frozen=True)
class Asked:
    """A call, and the parts required for an answer."""

    method: str
    params: Mapping[str, Any]
    needs: frozenset[str]

    def __str__(self) -> str:
        return f"{self.method}-{'-'.join(f'{name}={value}' for name, value in self.params.items())}"


def asked(method: str, needs: set[str], **params: Any) -> Asked:
    return Asked(method, params, frozenset(needs))


EMBEDDED = {"cstp.recordDecision", "cstp.storeEpisode", "cstp.remember", "cstp.storeKnowledge"}


def needs(method: Method[Any, Any]) -> set[str]:
    """Return the parts required by a method's call in tests/calls.py."""
    if method.scope is None:
        return set()
    if method.name in EMBEDDED:
        return {"records", "embedder"}
    return ALL if WORDS in CALLS[method.name].values() else {"records"}


def call_of(method: Method[Any, Any]) -> Asked:
    return asked(method.name.removeprefix("cstp."), needs(method), **CALLS[method.name])


SEARCHES = [method.name.removeprefix("cstp.") for method in READS if "mode" in method.params.model_fields]
# "?" stands for the words of a query, others for ids
CALLS_DOWN = [
    *(call_of(method) for method in CALLED if not method.writes),
    *(asked(search, {"records", "embedder"}, query="?", mode="semantic") for search in SEARCHES),
    *(asked(search, {"records", "keywords"}, query="?", mode="keyword") for search in SEARCHES),
    *(asked(search, {"records", "keywords"}, query="zzzqqq", mode="keyword") for search in SEARCHES),
    asked("search", ALL, query="?", kinds=["turn"], tags=["zzzqqq"]),
    asked("getSessionContext", ALL, taskDescription="?"),
    asked("getSessionContext", ALL, taskDescription="?", include=["warnings", "episodes"]),
    asked("getSessionContext", {"records"}, include=["ready", "changes"], since=0),
    asked("getChunk", {"records"}, chunkId="CHUNK", includeRelated=False),
    asked("recall", ALL, query="?"),
    asked("recall", {"records"}, conversationId="talk-1"),
    asked("recall", {"records"}, context="meeting"),
    asked("putRecords", {"records"}, lookUp={"guards": True}),
    # searches without results read the records, too
    asked("queryDecisions", ALL, query="?", filters={"category": "zzzqqq"}),
    asked("searchKnowledge", ALL, query="?", filters={"topic": "zzzqqq"}),
    asked("searchKnowledge", ALL, query="?", filters={"source": "zzzqqq"}),
    asked("recall", ALL, query="?", source="zzzqqq"),
    # last, so that lists have not followed these writes yet
    *(call_of(method) for method in CALLED if method.writes),
]


@dataclass(frozen=True)
class StoppableEmbedder(SeededEmbedder):
    """A model that does not answer while stopped."""

    stopped: Event = field(default_factory=Event)

    def embed_query(self, text: str, wanted: Wanted = always) -> FloatArray:
        if self.stopped.is_set():
            raise ComponentFailed("embedder", "it is stopped")
        return super().embed_query(text)

    def embed_text(self, text: str) -> FloatArray:
        if self.stopped.is_set():
            raise ComponentFailed("embedder", "it is stopped")
        return super().embed_text(text)


@contextmanager
def records_down(serving: Serving) -> Iterator[None]:
    """Rename the tables of records and audit in another process."""
    engine = sa.create_engine(serving.settings.store_url)
    with engine.begin() as connection:
        for table in ("records", "audit_rows"):
            connection.execute(sa.text(f"ALTER TABLE {table} RENAME TO {table}_elsewhere"))
    try:
        yield
    finally:
        with engine.begin() as connection:
            for table in ("records", "audit_rows"):
                connection.execute(sa.text(f"ALTER TABLE {table}_elsewhere RENAME TO {table}"))
        engine.dispose()


@contextmanager
def keywords_down(serving: Serving) -> Iterator[None]:
    """Replace the index folders with something else."""
    folders = list(serving.settings.indexes_path.glob("*/keywords"))
    assert len(folders) == len(serving.indexes.all_spaces)
    for folder in folders:
        folder.rename(folder.with_name("moved"))
        folder.touch()
    wait_for(lambda: all(not index.keywords.is_open for index in serving.indexes.all_spaces), SECONDS)
    try:
        yield
    finally:
        for folder in folders:
            folder.unlink()


@contextmanager
def embedder_down(model: StoppableEmbedder) -> Iterator[None]:
    model.stopped.set()
    try:
        yield
    finally:
        model.stopped.clear()


@contextmanager
def serving_with(
    folder: Path, stores: Stores, model: StoppableEmbedder, world: World, vectors: str | None = None
) -> Iterator[Serving]:
    records = open_records(stores.records(folder))
    put(records, model, world.entries)
    records.close()
    serving, stop = start(folder, stores, model, vectors)
    try:
        wait_for(lambda: all(index.snapshot.seq == serving.records.last_seq() for index in serving.indexes.all_spaces))
        yield serving
    finally:
        stop()


@dataclass
class Asking:
    """Caller of every call with unique words, so that no vector is kept."""

    serving: Serving
    ids: Mapping[str, Any]
    numbers: Iterator[int] = field(default_factory=count)

    def ask(self, call: Asked) -> Any:
        words = {WORDS: f"window filter {next(self.numbers)}", **self.ids}
        return self.serving.send(call.method, **fill(call.params, words))

    def wrong(self, down: str | None) -> list[str]:
        """Return the calls with wrong answers while this part is down."""
        return [f"{call}: {reply}" for call in CALLS_DOWN if not _as_it_must(call, reply := self.ask(call), down)]


def _as_it_must(call: Asked, reply: Any, down: str | None) -> bool:
    if down in call.needs:
        error = reply.get("error", {"code": 0})
        return error["code"] == -32003 and error["data"]["component"] == down and bool(error["data"]["requestId"])
    if reply.get("error", {}).get("code") == -32011:
        return call.method in ("updateDecision", "setStatus", "forget")  # of a file's decision
    result = reply.get("result", {})
    if "zzzqqq" in str(call):
        return not has_content(result)
    return (has_content(result) or "seq" in result) and (
        call.params.get("chunkId") is None or bool(result["relatedChunks"]) == call.params.get("includeRelated", True)
    )


@pytest.mark.long("waits for parts that are down")
@pytest.mark.parametrize("part", PARTS)
def test_only_calls_needing_a_failed_part_name_it(part: str, tmp_path: Path, stores: Stores) -> None:
    model, world = StoppableEmbedder(), make_world(Random(3))
    vectors = f"http://127.0.0.1:{free_port()}" if part == "vectors" else None
    ids = ids_of(world)
    with serving_with(tmp_path, stores, model, world, vectors) as serving:
        asking = Asking(serving, ids)
        downs: Mapping[str, AbstractContextManager[None]] = {
            "records": records_down(serving),
            "keywords": keywords_down(serving),
            "embedder": embedder_down(model),
            "vectors": nullcontext(),
        }
        if part != "vectors":
            assert asking.wrong(None) == []
        with downs[part]:
            if part == "vectors":
                wait_for(lambda: serving.indexes.vectors_state == "down", SECONDS)
            else:
                wait_for(lambda: asking.ask(CALLS_DOWN[0]).get("error") is not None, SECONDS)
            assert asking.wrong(part) == []
        if part != "vectors":  # an always absent server does not come back; see test_vectors_down.py
            wait_for(lambda: asking.wrong(None) == [], SECONDS)


@pytest.mark.long("waits for parts that are down")
@pytest.mark.parametrize(
    "change", ["UPDATE counter SET seq = 1", "UPDATE meta SET value = 'x' WHERE name = 'store_id'"]
)
def test_older_records_are_an_error_until_a_restart(tmp_path: Path, stores: Stores, change: str) -> None:
    model, world = StoppableEmbedder(), make_world(Random(3))
    ids = ids_of(world)
    with serving_with(tmp_path, stores, model, world) as serving:
        asking = Asking(serving, ids)
        engine = sa.create_engine(serving.settings.store_url)
        last = serving.records.last_seq()
        with engine.begin() as connection:
            connection.execute(sa.text(change))
        wait_for(lambda: asking.ask(CALLS_DOWN[0]).get("error") is not None, SECONDS)
        with engine.begin() as connection:
            connection.execute(sa.text(f"UPDATE counter SET seq = {last + 9}"))
        engine.dispose()
        assert asking.wrong("records") == []
