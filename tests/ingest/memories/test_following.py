"""Collections of other systems that an engine follows."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.ingest.collections.addresses import parsed_address
from cognition_engines.ingest.options import FollowedSource, Options
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from tests.ingest.conftest import CountingEmbedder
from tests.ingest.memories.collected import stored
from tests.ingest.memories.mongo_server import Mongo, served
from tests.stores import Stores, free_port

PASSWORD = "a-secret-that-nothing-shows"
Follow = Callable[[FollowedSource], Engine]


@pytest.fixture
def follow(tmp_path: Path, stores: Stores, embedder: CountingEmbedder) -> Iterator[Follow]:
    """`follow(source)`: an engine that follows it."""
    opened: list[Engine] = []

    def run(source: FollowedSource) -> Engine:
        options = replace(EngineOptions(source_seconds=0.05), sources=(source,))
        opened.append(Engine.open(stores.records(tmp_path), tmp_path / "indexes", embedder, options))
        return opened[-1]

    yield run
    for engine in opened:
        engine.close()


@pytest.mark.long("reads many pages from a server")
def test_what_others_add_change_and_delete_in_mongodb_is_found(follow: Follow, wait_until: Callable[..., None]) -> None:
    def texts(engine: Engine) -> dict[str, Any]:
        return {one.id: one.content for one in stored(engine.records, Kind.ARTIFACT)}

    documents: list[dict[str, Any]] = [{"_id": "a", "text": "The heron waits."}, {"_id": "b", "text": "Otters."}]
    with served(Mongo({"harbour": {"notes": documents}})) as mongo:
        address = parsed_address(f"mongodb://127.0.0.1:{mongo.port}/harbour.notes")
        engine = follow(FollowedSource(address, Options(project="fauna", sensitivity=Sensitivity.SENSITIVE)))
        wait_until(lambda: len(texts(engine)) == 2)
        mongo.databases["harbour"]["notes"] = [
            {"_id": "a", "text": "The crane leaves."},
            {"_id": "c", "text": "Beavers."},
        ]
        wait_until(lambda: texts(engine) == {"art_a": "The crane leaves.", "art_c": "Beavers."})
        assert {(one.project, one.sensitivity) for one in stored(engine.records, Kind.ARTIFACT)} == {
            ("fauna", Sensitivity.SENSITIVE)
        }


@pytest.mark.long("reads many pages from a server")
def test_no_password_in_logs(follow: Follow, wait_until: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    address = f"mongodb://ana:{PASSWORD}@127.0.0.1:{free_port()}/harbour.notes?serverSelectionTimeoutMS=50"
    with caplog.at_level(logging.INFO):
        engine = follow(FollowedSource(parsed_address(address)))
        assert engine.sources is not None
        states = engine.sources
        wait_until(lambda: states.states[0].failure is not None)
    assert PASSWORD not in f"{states.states} {caplog.text}"
    assert states.states[0].address.endswith("/harbour.notes")
