"""A collection on a Chroma server for several processes: a single writer, other readers, and no corruption."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.chroma_address import server_address
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.indexes import Indexes, open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.indexes.vectors.chroma.index import ChromaIndex
from cognition_engines.indexes.vectors.chroma.server import ChromaServer, FoundCollection, start_over
from cognition_engines.indexes.vectors.collection import collection_name
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.opening import SharedLock, shared_lock
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Entry
from tests.stores import Servers, Stores

NAMES = ("otter", "falcon", "gecko", "heron", "lynx", "marten")
MODEL, DIM = "seeded-a", 8


@dataclass
class Shared:
    """A store with a collection, and indexes for any number of processes, each with a separate folder."""

    url: str
    servers: Servers
    folder: Path
    embedder: Any
    put: Callable[..., None]
    nearest: Callable[..., list[str]]
    records: Records
    server: ChromaServer
    wait_until: Callable[..., None]
    running: list[Indexes] = field(default_factory=list)
    locks: list[SharedLock] = field(default_factory=list)

    def open(self) -> Any:
        """Open indexes as another process would: over separate connections."""
        number = len(self.running)
        records = open_records(self.url)
        indexes = open_indexes(
            self.folder / f"indexes-{number}", records, self.embedder, VectorChoice("chroma", self.servers.chroma.url)
        )
        indexes.start()
        self.running.append(indexes)
        return indexes

    def pair(self) -> tuple[Any, Any]:
        """Return the writer and a reader."""
        first, second = self.open(), self.open()
        self.wait_until(lambda: {first[DECISIONS].vectors.role, second[DECISIONS].vectors.role} == {"writer", "reader"})
        return (first, second) if first[DECISIONS].vectors.role == "writer" else (second, first)

    def close(self, indexes: Indexes) -> None:
        indexes.close()
        indexes._records.close()
        self.running[self.running.index(indexes)] = None  # type: ignore[call-overload]

    def build(self) -> None:
        """Store the records and leave a collection of them, opened by no process."""
        self.put(*NAMES)
        first = self.open()
        self.ready(first)
        self.close(first)

    def ready(self, *all_indexes: Any) -> None:
        last = self.records.last_seq()
        for indexes in all_indexes:
            self.wait_until(
                lambda indexes=indexes: (
                    indexes[DECISIONS].vectors.state == "ready" and indexes[DECISIONS].snapshot.seq == last
                )
            )

    def finds(self, indexes: Any, id: str, text: str = "") -> bool:
        return self.nearest(indexes, self.embedder.embed_query(f"{id}\n{text}"), 1) == [id]

    @property
    def name(self) -> str:
        return collection_name("decisions", MODEL, self.records.store_id)

    @property
    def found(self) -> FoundCollection:
        found = self.server.find(self.name, DIM)
        assert found is not None
        return found

    def told(self) -> Any:
        """Return the collection as reported by Chroma's own interface; None without a collection."""
        found = self.servers.chroma.collections(self.records.store_id)
        return found[0] if found else None

    def windows(self) -> int:
        return self.servers.chroma.windows(self.records.store_id)

    def unwritten(self) -> Any:
        """Keep all processes from writing until closed."""
        lock = shared_lock(self.records.store, self.name)
        assert lock is not None
        self.locks.append(lock)
        self.wait_until(lock.is_held)  # PostgreSQL frees it a moment after its last holder has closed its connection
        return lock

    def index(self) -> ChromaIndex:
        """Open the collection as a writer does."""
        index = self.found.index
        assert index is not None
        return index


@pytest.fixture
def shared(
    shared_servers: Servers,
    tmp_path: Path,
    seeded: Callable[..., Any],
    nearest: Callable[..., list[str]],
    wait_until: Callable[..., None],
) -> Iterator[Shared]:
    stores = Stores(shared_servers)
    url = stores.records(tmp_path)
    records = open_records(url)
    server = ChromaServer(server_address(shared_servers.chroma.url), 10)

    def put(*ids: str, text: str = "") -> None:
        write(records, seeded(), ids, text)

    made = Shared(url, shared_servers, tmp_path, seeded(), put, nearest, records, server, wait_until)
    yield made
    for indexes in [one for one in made.running if one is not None]:
        made.close(indexes)
    for lock in made.locks:
        lock.close()
    server.close()
    records.close()
    stores.drop()


def write(records: Records, embedder: Any, ids: tuple[str, ...], text: str) -> None:
    entries = []
    for id in ids:
        vectors = embedder.embed_text(f"{id}\n{text}")
        entries.append(Entry(Decision(id, id, text), Origin("/x.md", 0, None, f"{id} {text}"), vectors))
    records.put(entries, embedder.model)


def test_one_process_writes_and_all_find_written_changed_and_deleted_records(shared: Shared) -> None:
    shared.put(*NAMES)
    both = shared.pair()
    shared.ready(*both)
    shared.put("otter", text="changed")
    shared.put("newcomer")
    shared.records.delete(Kind.DECISION, ["lynx"])
    shared.ready(*both)
    for indexes in both:
        assert shared.finds(indexes, "otter", "changed")
        assert shared.finds(indexes, "newcomer")
        assert len(indexes[DECISIONS].vectors.nearest(shared.embedder.embed_query("x"), 50)) == len(NAMES)
        assert indexes[DECISIONS].vectors.seq == shared.records.last_seq()
    assert shared.windows() == len(NAMES)
    assert shared.told()["metadata"] == {"seq": shared.records.last_seq()}


def test_readers_alone_answer_exactly_and_leave_the_collection_as_it_is(shared: Shared) -> None:
    shared.build()
    before = shared.told()
    lock = shared.unwritten()
    readers = [shared.open(), shared.open()]
    shared.put("newcomer")
    shared.records.delete(Kind.DECISION, ["lynx"])
    for indexes in readers:
        shared.wait_until(lambda indexes=indexes: indexes[DECISIONS].snapshot.seq == shared.records.last_seq())
        assert shared.finds(indexes, "newcomer")
        assert indexes[DECISIONS].vectors.seq < shared.records.last_seq()
        assert (indexes[DECISIONS].vectors.role, indexes[DECISIONS].vectors.state) == ("reader", "rebuilding")
    assert (shared.told(), shared.windows()) == (before, len(NAMES))
    lock.close()
    shared.ready(*readers)
    assert (shared.told()["id"], shared.windows()) == (before["id"], len(NAMES))


def test_readers_without_any_collection_answer_exactly_and_make_none(shared: Shared) -> None:
    lock = shared.unwritten()
    shared.put(*NAMES)
    reader = shared.open()
    assert all(shared.finds(reader, name) for name in NAMES)
    assert reader[DECISIONS].vectors.state != "down"
    assert reader[DECISIONS].vectors.seq == 0
    assert shared.told() is None
    lock.close()


def test_another_process_continues_the_collection_of_an_ended_writer(shared: Shared) -> None:
    shared.put(*NAMES)
    writer, reader = shared.pair()
    shared.ready(writer, reader)
    before = shared.told()["id"]
    shared.close(writer)
    shared.wait_until(lambda: reader[DECISIONS].vectors.role == "writer")
    shared.put("newcomer")
    shared.ready(reader)
    assert (shared.told()["id"], shared.windows()) == (before, len(NAMES) + 1)


def test_a_writer_killed_before_noting_its_additions_costs_and_leaves_nothing(shared: Shared) -> None:
    shared.build()
    before = shared.told()
    shared.put("otter", "gecko", text="second")
    shared.put("short-lived", "lasting")
    index = shared.index()
    index.apply(shared.records.changes.page(DECISIONS, index.seq, 100, MODEL))  # and killed here
    shared.put("otter", "lasting", text="third")
    shared.records.delete(Kind.DECISION, ["short-lived", "gecko"])
    second = shared.open()
    shared.ready(second)
    assert shared.told()["id"] == before["id"], "a collection that holds more than was noted is healthy"
    assert shared.windows() == len(NAMES)
    assert shared.finds(second, "otter", "third")
    assert shared.finds(second, "lasting", "third")


def test_late_writes_of_a_former_writer_replace_nothing(shared: Shared) -> None:
    shared.build()
    late, note_late = shared.index(), shared.index()
    shared.put("otter", text="second")
    late_page = shared.records.changes.page(DECISIONS, late.seq, 100, MODEL)  # paused here
    writer, reader = shared.pair()
    shared.put("otter", text="third")
    shared.records.delete(Kind.DECISION, ["lynx"])
    shared.ready(writer, reader)
    late.apply(late_page)
    for indexes in (writer, reader):
        key = indexes[DECISIONS].vectors.nearest(shared.embedder.embed_query("otter\nthird"), 1)
        assert shared.finds(indexes, "otter", "third")
        assert indexes[DECISIONS].snapshot.ids[int(indexes[DECISIONS].snapshot.row_of[key[0]])] == "otter", (
            "the newer vectors must be there"
        )
    note_late.note()
    shared.wait_until(lambda: shared.told()["metadata"] == {"seq": shared.records.last_seq()})
    shared.put("otter", text="fourth")
    shared.ready(writer, reader)
    assert shared.windows() == len(NAMES) - 1, "the next change of the record removes what came late"


def test_a_former_writer_starting_over_cannot_remove_newer_builds(shared: Shared) -> None:
    shared.put(*NAMES)
    first = shared.open()
    shared.ready(first)
    late = shared.found  # distrusted, and paused here
    start_over(shared.records, DECISIONS, MODEL, DIM, shared.servers.chroma.url)
    shared.wait_until(lambda: shared.windows() == len(NAMES))
    before = shared.told()["id"]
    assert before != str(late.identity)
    with pytest.raises(ComponentFailed):
        shared.server.replace(shared.name, late)
    assert (shared.told()["id"], shared.windows()) == (before, len(NAMES))


def spoil_nothing_noted(shared: Shared) -> None:
    shared.servers.chroma.modify(shared.told()["id"], new_metadata={"colour": "red"})


def spoil_fewer_windows(shared: Shared) -> None:
    page = shared.records.changes.page(DECISIONS, 0, 1, MODEL)
    shared.servers.chroma.delete_vectors(shared.told()["id"], [f"{page.keys[0]}:{page.seqs[0]}:0"])
    assert shared.windows() == len(NAMES) - 1


def spoil_other_dimension(shared: Shared) -> None:
    shared.servers.chroma.forget(shared.records.store_id)
    shared.servers.chroma.create(shared.name, {"seq": 3}, [0.5] * 3)


def spoil_gone(shared: Shared) -> None:
    shared.servers.chroma.forget(shared.records.store_id)


def spoil_ahead(shared: Shared) -> None:
    ahead = shared.records.last_seq() + 3600 * 1_000_000  # an hour, beyond all writes of the test
    shared.servers.chroma.modify(shared.told()["id"], new_metadata={"seq": ahead})


SPOILED = [spoil_nothing_noted, spoil_fewer_windows, spoil_other_dimension, spoil_gone, spoil_ahead]


@pytest.mark.parametrize("spoil", SPOILED)
def test_a_wrong_collection_is_rebuilt_while_all_answer(shared: Shared, spoil: Callable[[Shared], None]) -> None:
    shared.build()
    before, noted = shared.told()["id"], shared.records.last_seq()
    spoil(shared)
    lock = shared.unwritten()
    reader = shared.open()
    shared.put("newcomer")
    shared.wait_until(lambda: shared.finds(reader, "newcomer"))
    assert (reader[DECISIONS].vectors.seq <= noted, reader[DECISIONS].vectors.state) == (True, "rebuilding")
    assert all(shared.finds(reader, name) for name in NAMES)
    lock.close()
    shared.ready(reader)
    shared.wait_until(lambda: shared.windows() == len(NAMES) + 1)
    assert shared.told()["id"] != before
    assert [one["name"] for one in shared.servers.chroma.collections(shared.records.store_id)] == [shared.name]


@pytest.mark.parametrize("spoil", [spoil_gone, spoil_other_dimension, spoil_nothing_noted])
def test_a_vanished_collection_is_rebuilt_without_failures(shared: Shared, spoil: Callable[[Shared], None]) -> None:
    shared.put(*NAMES)
    both = shared.pair()
    shared.ready(*both)
    before = shared.told()["id"]
    spoil(shared)

    def rebuilt() -> bool:
        for indexes in both:
            assert indexes[DECISIONS].vectors.state != "down"
            indexes[DECISIONS].vectors.nearest(shared.embedder.embed_query("x"), 5)
            assert shared.finds(indexes, "otter")
        told = shared.told()
        return told is not None and told["id"] != before and shared.windows() == len(NAMES)

    shared.wait_until(rebuilt)
    shared.ready(*both)


def test_starting_over_rebuilds_the_collection_under_any_writer(shared: Shared) -> None:
    shared.put(*NAMES)
    both = shared.pair()
    shared.ready(*both)
    before = shared.told()["id"]
    start_over(shared.records, DECISIONS, MODEL, DIM, shared.servers.chroma.url)
    shared.wait_until(lambda: shared.windows() == len(NAMES))
    shared.ready(*both)
    assert shared.told()["id"] != before


def test_sqlite_collections_are_trusted(shared: Shared, tmp_path: Path, wait_until: Callable[..., None]) -> None:
    records = open_records(f"sqlite:///{tmp_path}/one.sqlite3")
    write(records, shared.embedder, NAMES, "")
    seen = []
    for _ in range(2):
        indexes = open_indexes(
            tmp_path / "one", records, shared.embedder, VectorChoice("chroma", shared.servers.chroma.url)
        )
        indexes.start()
        assert indexes[DECISIONS].vectors is not None
        assert indexes[DECISIONS].vectors.role == "writer"
        assert indexes[DECISIONS].vectors.wait_until_ready()
        indexes.close()
        (told,) = shared.servers.chroma.collections(records.store_id)
        seen.append((told["id"], told["metadata"], shared.servers.chroma.windows(records.store_id)))
    assert seen[0] == seen[1]
    assert seen[0][1:] == ({"seq": records.last_seq()}, len(NAMES))
    shared.servers.chroma.forget(records.store_id)
    records.close()
