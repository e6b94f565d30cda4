"""Collections and folders followed by an engine while other programs write to them."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.ingest.collections.addresses import parsed_address
from cognition_engines.ingest.options import FollowedSource, Options
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Sensitivity, Viewer
from cstp.values.knowledge import SearchKnowledgeParams
from tests.ingest.chroma_places import Place
from tests.ingest.conftest import CountingEmbedder
from tests.ingest.memories.mongo_server import Mongo, served
from tests.ingest.runs import stored
from tests.stored import changes_of
from tests.stores import ChromaProgram, Stores, free_port

QUICKLY = EngineOptions(source_seconds=0.05)
Follow = Callable[..., Engine]
Wait = Callable[..., None]
PASSWORD = "a-secret-that-nothing-shows"


@pytest.fixture
def follow(tmp_path: Path, stores: Stores, embedder: CountingEmbedder) -> Iterator[Follow]:
    """Return `follow(FollowedSource(address))`: an engine following the source."""
    opened: list[Engine] = []

    def run(*sources: FollowedSource) -> Engine:
        options = replace(QUICKLY, sources=sources)
        opened.append(Engine.open(stores.records(tmp_path), tmp_path / "indexes", embedder, options))
        return opened[-1]

    yield run
    for engine in opened:
        engine.close()


@pytest.mark.long("waits for what a source reports")
def test_items_added_changed_and_deleted_by_others_are_followed(place: Place, follow: Follow, wait_until: Wait) -> None:
    address = place.fill({"a": "The heron waits.", "b": "The otter swims."})
    engine = follow(FollowedSource(address))
    wait_until(lambda: found(engine, "heron") == ["a"])
    place.fill({"c": "The beaver builds.", "a": "The crane leaves."})
    wait_until(lambda: found(engine, "beaver") == ["c"])
    wait_until(lambda: (found(engine, "crane"), found(engine, "heron")) == (["a"], []))
    place.delete("b")
    wait_until(lambda: found(engine, "otter") == [])
    assert found(engine, "crane") == ["a"]


def test_fields_are_mapped_and_rights_given_as_ingest_does(place: Place, follow: Follow, wait_until: Wait) -> None:
    metadatas = [{"title": "Birds", "author": "Ana", "page_number": 3}, {"sensitivity": "highly_sensitive"}]
    address = place.fill({"a": "The heron waits.", "b": "The heron sleeps."}, metadatas)
    engine = follow(FollowedSource(address, Options(project="fauna", sensitivity=Sensitivity.SENSITIVE)))
    wait_until(lambda: found(engine, "heron") == ["a", "b"])
    held = engine.records.reads.by_ids(Kind.CHUNK, ["a", "b"])
    first: Any = held["a"].record
    assert (first.title, first.author, first.metadata) == ("Birds", "Ana", {"page_number": 3})
    assert found(engine, "heron", Viewer(Sensitivity.NORMAL)) == []
    assert found(engine, "heron", Viewer(Sensitivity.SENSITIVE, frozenset({"fauna"}))) == ["a"]
    assert found(engine, "heron", Viewer(Sensitivity.HIGHLY_SENSITIVE, frozenset({"flora"}))) == []


@pytest.mark.long("waits for what a source reports")
def test_an_absent_server_deletes_nothing_and_is_read_after_its_return(
    tmp_path: Path, follow: Follow, embedder: CountingEmbedder, wait_until: Wait
) -> None:
    running = ChromaProgram(tmp_path / "chroma")
    place = Place(running.url, embedder, running)
    try:
        running.start()
        engine = follow(FollowedSource(place.fill({"a": "The heron waits."})))
        wait_until(lambda: found(engine, "heron") == ["a"])
        running.kill()
        wait_until(lambda: state(engine).failure is not None)
        assert found(engine, "heron") == ["a"]
        running.start()
        place.fill({"b": "The otter swims."})
        wait_until(lambda: found(engine, "otter") == ["b"])
        assert (state(engine).failure, found(engine, "heron")) == (None, ["a"])
    finally:
        running.kill()


@pytest.mark.long("waits for what a source reports")
def test_a_folder_made_later_by_another_program_is_read(
    tmp_path: Path, follow: Follow, embedder: CountingEmbedder, wait_until: Wait
) -> None:
    folder = tmp_path / "chroma"
    engine = follow(FollowedSource(parsed_address(f"chroma:{folder}/notes")))
    wait_until(lambda: "no folder of Chroma" in (state(engine).failure or ""))
    assert not folder.exists()
    write(folder, "notes", {"b": "The otter swims."}, embedder)
    wait_until(lambda: found(engine, "otter") == ["b"])
    write(folder, "notes", {"b": "The heron waits."}, embedder)
    wait_until(lambda: (found(engine, "otter"), found(engine, "heron")) == ([], ["b"]))


@pytest.mark.long("waits for what a source reports")
def test_an_unfinished_folder_of_another_program_is_not_touched(
    tmp_path: Path, follow: Follow, embedder: CountingEmbedder, wait_until: Wait
) -> None:
    folder = tmp_path / "chroma"
    folder.mkdir()
    (folder / "chroma.sqlite3").touch()
    engine = follow(FollowedSource(parsed_address(f"chroma:{folder}/notes")))
    wait_until(lambda: "no collection of this name" in (state(engine).failure or ""))
    assert [(file.name, file.stat().st_size) for file in folder.iterdir()] == [("chroma.sqlite3", 0)]
    write(folder, "notes", {"b": "The otter swims."}, embedder)
    wait_until(lambda: found(engine, "otter") == ["b"])


def test_an_absent_collection_is_an_outage_of_its_source_alone(place: Place, follow: Follow, wait_until: Wait) -> None:
    place.fill({"a": "The heron waits."})
    engine = follow(FollowedSource(place.address()), FollowedSource(place.address("nothing")))
    wait_until(lambda: found(engine, "heron") == ["a"])
    wait_until(lambda: "no collection of this name" in (engine.sources.states[1].failure or ""))  # type: ignore[union-attr]
    assert state(engine).failure is None


def test_an_absent_server_blocks_neither_opening_nor_other_sources(
    tmp_path: Path, follow: Follow, embedder: CountingEmbedder, wait_until: Wait
) -> None:
    address = Place(str(tmp_path / "chroma"), embedder).fill({"a": "The heron waits."})
    away = parsed_address(f"chroma:http://127.0.0.1:{free_port()}/notes")
    engine = follow(FollowedSource(away), FollowedSource(address))
    wait_until(lambda: found(engine, "heron") == ["a"])
    assert away in (state(engine).failure or "")


@pytest.mark.long("waits for what a source reports")
def test_deletions_during_a_read_lose_no_other_item(place: Place, follow: Follow, wait_until: Wait) -> None:
    texts = {f"i{n:04}": f"Text {n}." for n in range(1500)}
    engine = follow(FollowedSource(place.fill(texts)))
    wait_until(lambda: engine.records.counts().get(Kind.CHUNK) == 1500)
    last, before = engine.records.last_seq(), engine.records.counts()
    place.delete(*(f"i{n:04}" for n in range(0, 1500, 3)))
    wait_until(lambda: engine.records.counts().get(Kind.CHUNK) == 1000)
    wait_until(lambda: read_again(engine))
    assert len(changes_of(engine.records, last, 10_000, None)) == 500
    assert before[Kind.CHUNK] == 1500


@pytest.mark.long("waits for what a source reports")
def test_an_engine_closes_while_it_reads_a_large_source(
    tmp_path: Path, stores: Stores, embedder: CountingEmbedder, wait_until: Wait
) -> None:
    address = Place(str(tmp_path / "chroma"), embedder).fill({f"i{n}": f"Text {n}" for n in range(3000)})
    options = replace(QUICKLY, sources=(FollowedSource(address),))
    engine = Engine.open(stores.records(tmp_path), tmp_path / "indexes", embedder, options)
    wait_until(lambda: engine.records.last_seq() > 0)
    engine.close(60)
    assert not engine.sources._thread.is_alive  # type: ignore[union-attr]


@pytest.mark.long("reads many pages from a server")
def test_documents_added_changed_and_deleted_in_mongodb_are_followed(follow: Follow, wait_until: Wait) -> None:
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
def test_no_password_in_logs(follow: Follow, wait_until: Wait, caplog: pytest.LogCaptureFixture) -> None:
    address = f"mongodb://ana:{PASSWORD}@127.0.0.1:{free_port()}/harbour.notes?serverSelectionTimeoutMS=50"
    with caplog.at_level(logging.INFO):
        engine = follow(FollowedSource(parsed_address(address)))
        assert engine.sources is not None
        states = engine.sources
        wait_until(lambda: states.states[0].failure is not None)
    assert PASSWORD not in f"{states.states} {caplog.text}"
    assert states.states[0].address.endswith("/harbour.notes")


def read_again(engine: Engine) -> bool:
    return (state(engine).read_seconds_ago or 0) < 5


def found(engine: Engine, words: str, viewer: Viewer = EVERYTHING) -> list[str]:
    params = SearchKnowledgeParams(query=words, mode="keyword")
    return sorted(match.id for match in asyncio.run(engine.search_knowledge(params, viewer)).results)


def state(engine: Engine) -> Any:
    assert engine.sources is not None
    return engine.sources.states[0]


def write(folder: Path, name: str, texts: dict[str, str], embedder: CountingEmbedder) -> None:
    """Write in a separate process, as another program does."""
    vectors = [embedder.embed_query(text).tolist() for text in texts.values()]
    program = (
        "import sys, json, chromadb\n"
        "from chromadb.config import Settings\n"
        "folder, name, rows = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])\n"
        "client = chromadb.PersistentClient(path=folder, settings=Settings(anonymized_telemetry=False))\n"
        "client.get_or_create_collection(name, embedding_function=None).upsert(**rows)\n"
    )
    rows = {"ids": list(texts), "documents": list(texts.values()), "embeddings": vectors}
    subprocess.run([sys.executable, "-c", program, str(folder), name, json.dumps(rows)], check=True, timeout=60)


def test_an_absent_folder_keeps_its_records(follow: Follow, tmp_path: Path, wait_until: Wait) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Herons\n\nThe heron waits.\n")
    (docs / "b.md").write_text("# Otters\n\nThe otter swims.\n")
    engine = follow(
        FollowedSource(str(docs), Options(prune=True)), FollowedSource(str(docs / "a.md"), Options(project="fauna"))
    )
    wait_until(lambda: len(found(engine, "otter")) == 1)
    docs.rename(tmp_path / "mounted")
    assert engine.sources is not None
    wait_until(lambda: all(state.failure is not None for state in engine.sources.states))
    assert len(found(engine, "otter")) == 1
    (tmp_path / "mounted").rename(docs)
    (docs / "b.md").write_text("# Beavers\n\nThe beaver builds.\n")
    wait_until(lambda: (len(found(engine, "beaver")), found(engine, "otter")) == (1, []))
    wait_until(lambda: all(state.failure is None for state in engine.sources.states))


def test_a_folder_without_prune_keeps_all(follow: Follow, tmp_path: Path, wait_until: Wait) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Herons\n\nThe heron waits.\n")
    engine = follow(FollowedSource(str(docs)))
    wait_until(lambda: len(found(engine, "heron")) == 1)
    (docs / "a.md").unlink()
    (docs / "b.md").write_text("# Otters\n\nThe otter swims.\n")
    wait_until(lambda: len(found(engine, "otter")) == 1)
    assert len(found(engine, "heron")) == 1
