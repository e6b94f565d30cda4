"""Vectors searched by an index and read from the store: equal answers to vectors held in memory."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from cognition_engines.engine import EngineOptions
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.columns.snapshot import Snapshot
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision, Mode, Sensitivity, Viewer
from cognition_engines.queries.answers.filter_conditions import query_conditions
from cognition_engines.search.legs import cosines, semantic_leg
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from cognition_engines.sync_engine import SyncEngine
from cstp.values.decision_searches import QueryDecisionsParams, QueryFilters
from tests.serving import SeededEmbedder
from tests.stores import Stores

pytestmark = pytest.mark.long("makes thousands of vectors")
DIM = 192
COUNT = 3000
LONG = 25  # records with many windows
SECONDS = 60.0
WORDS = ("queue", "cache", "retry", "shard")
VIEWERS = {"all": Viewer(Sensitivity.HIGHLY_SENSITIVE), "normal": Viewer(Sensitivity.NORMAL)}
FILTERS = {"none": QueryFilters(), "few": QueryFilters(category="rare"), "half": QueryFilters(category="half")}
Opened = Callable[[VectorChoice], SyncEngine]


def entries() -> Iterator[Entry]:
    """Yield decisions in clusters; some have many windows, some are guarded."""
    random = np.random.default_rng(3)
    centres = random.normal(size=(60, DIM))
    for number in range(COUNT):
        windows = 60 if number < LONG else 1
        vectors = centres[number % 60] + 0.7 * random.normal(size=(windows, DIM))
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        yield Entry(
            Decision(
                f"d-{number:04}",
                f"{WORDS[number % 4]} {number}",
                text=WORDS[number % 3],
                category="rare" if number % 100 == 7 else "half" if number % 2 else "other",
                sensitivity=Sensitivity.SENSITIVE if number % 5 == 0 else Sensitivity.NORMAL,
            ),
            Origin("/records.md", number, None, f"digest-{number}"),
            vectors,
        )


@pytest.fixture(scope="module")
def embedder() -> SeededEmbedder:
    return SeededEmbedder(dim=DIM)


@pytest.fixture(scope="module")
def url(lasting_stores: Stores, tmp_path_factory: pytest.TempPathFactory, embedder: SeededEmbedder) -> str:
    """Return the URL of a store with them."""
    named = lasting_stores.records(tmp_path_factory.mktemp("fetched"))
    records = open_records(named)
    made = list(entries())
    for start in range(0, COUNT, 500):
        records.put(made[start : start + 500], embedder.model)
    records.close()
    return named


@pytest.fixture(scope="module")
def opened(
    url: str, embedder: SeededEmbedder, lasting_stores: Stores, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Opened]:
    """Yield `opened(choice)`: an engine over them with a ready index."""
    engines = []

    def open_engine(choice: VectorChoice) -> SyncEngine:
        server = lasting_stores.vectors if choice.index == "chroma" else None
        options = EngineOptions(vector_index=replace(choice, url=server))
        engine = SyncEngine.open(url, tmp_path_factory.mktemp("indexes"), embedder, options)
        engines.append(engine)
        assert engine.engine.indexes.wait_until_vectors_are_ready()
        return engine

    yield open_engine
    for engine in engines:
        engine.close()


@pytest.fixture(scope="module")
def held(opened: Opened) -> SyncEngine:
    return opened(VectorChoice("memory"))


@pytest.fixture(scope="module")
def fetched(opened: Opened) -> SyncEngine:
    return opened(VectorChoice("chroma"))


def snapshot_of(engine: SyncEngine) -> Snapshot:
    return engine.engine.indexes[DECISIONS].snapshot


def test_an_engine_with_an_index_holds_no_vectors(held: SyncEngine, fetched: SyncEngine) -> None:
    windows = COUNT + LONG * 59
    assert snapshot_of(held).vectors.shape == (windows, DIM)
    assert snapshot_of(fetched).vectors.shape == (0, DIM)
    assert len(snapshot_of(fetched).owners) == windows


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("viewer", VIEWERS)
@pytest.mark.parametrize("mode", [Mode.SEMANTIC, Mode.HYBRID])
def test_an_index_equals_memory(held: SyncEngine, fetched: SyncEngine, mode: Mode, viewer: str, filters: str) -> None:
    same = total = 0
    for number in range(20):
        query = f"{WORDS[number % 4]} {number}"
        asked = QueryDecisionsParams(query=query, filters=FILTERS[filters], mode=mode, include=["snippet"])
        expected = {match.id: match for match in held.query_decisions(asked, VIEWERS[viewer]).decisions}
        found = fetched.query_decisions(asked, VIEWERS[viewer]).decisions
        assert len(found) == len(expected) == 10
        for match in found:
            assert filters == "none" or match.category == FILTERS[filters].category
            if match.id in expected:
                assert match.distance == expected[match.id].distance
                assert match.snippet == expected[match.id].snippet
        same += len(expected.keys() & {match.id for match in found})
        total += len(expected)
    assert same >= 0.95 * total
    assert filters != "few" or same == total


@dataclass
class Noted:
    """The real index, with a note of the requested amount."""

    index: Any
    asked: list[int] = field(default_factory=list)

    @property
    def seq(self) -> int:
        return int(self.index.seq)

    def nearest(self, vector: Any, limit: int) -> Any:
        self.asked.append(limit)
        return self.index.nearest(vector, limit)


@pytest.mark.parametrize(("filters", "viewer", "asks"), [("none", "all", 1), ("few", "all", 0), ("none", "normal", 0)])
def test_the_index_is_asked_when_most_rows_match(fetched: SyncEngine, filters: str, viewer: str, asks: int) -> None:
    snapshot, noted = snapshot_of(fetched), Noted(fetched.engine.indexes[DECISIONS].vectors)
    mask = snapshot.mask(query_conditions(FILTERS[filters] or QueryFilters()), VIEWERS[viewer])
    found = semantic_leg(snapshot, mask, SeededEmbedder(dim=DIM).embed_query("queue"), 10, noted, VIEWERS[viewer])
    assert (len(noted.asked), len(found.rows)) == (asks, 10)


@dataclass
class Behind:
    """The real index, without the last records, or when lost or failing."""

    index: Any
    snapshot: Snapshot
    seq: int
    state: str

    def nearest(self, vector: Any, limit: int) -> Any:
        if self.state == "fails":
            raise ComponentFailed("vectors", "down")
        keys = self.index.nearest(vector, limit)
        return None if self.state == "lost" else keys[self.snapshot.seqs[self.snapshot.rows_of(keys)] <= self.seq]


@pytest.mark.parametrize("state", ["lacks some", "lost", "fails"])
def test_a_record_missing_from_an_index_is_ranked_and_index_failures_are_reported(
    fetched: SyncEngine, state: str
) -> None:
    snapshot = snapshot_of(fetched)
    late = len(snapshot.keys) - 5
    index = Behind(fetched.engine.indexes[DECISIONS].vectors, snapshot, int(snapshot.seqs[late - 1]), state)
    vector = snapshot.vectors_of(np.array([late]))[0][0]
    outcome = pytest.raises(ComponentFailed, match="down") if state == "fails" else nullcontext()
    with outcome:
        found = semantic_leg(snapshot, snapshot.mask((), VIEWERS["all"]), vector, 2, index, VIEWERS["all"])
        assert (found.rows[0], found.scores[0]) == (late, 1.0)


def test_every_result_meets_filters_unknown_to_vector_indexes(fetched: SyncEngine) -> None:
    snapshot, vector = snapshot_of(fetched), SeededEmbedder(dim=DIM).embed_query("queue")
    mask = np.zeros(len(snapshot.keys), np.bool_)
    mask[:LONG] = True  # with many windows
    found = semantic_leg(snapshot, mask, vector, 20, None, VIEWERS["all"])
    expected = sorted(zip(-cosines(snapshot, np.arange(LONG), vector), range(LONG), strict=True))[:20]
    assert found.rows.tolist() == [row for _, row in expected]


def test_a_record_deleted_since_is_not_ranked(fetched: SyncEngine, url: str, embedder: SeededEmbedder) -> None:
    snapshot = snapshot_of(fetched)
    records = open_records(url)
    gone = snapshot.ids[100]
    entry = next(entry for entry in entries() if entry.record.id == gone)
    records.delete(Kind.DECISION, [gone])
    try:
        vector = embedder.embed_query("queue")
        rows = np.arange(99, 102)
        assert np.isnan(cosines(snapshot, rows, vector)).tolist() == [False, True, False]
        mask = np.zeros(len(snapshot.keys), np.bool_)
        mask[rows] = True
        assert set(semantic_leg(snapshot, mask, vector, 3, None, VIEWERS["all"]).rows.tolist()) == {99, 101}
    finally:
        records.put([entry], embedder.model)
        records.close()


def test_vectors_leave_memory_when_they_outgrow_it(opened: Opened, url: str, embedder: SeededEmbedder) -> None:
    bound = (COUNT + LONG * 59) * DIM * 4 / 1e6
    engine = opened(VectorChoice("auto", memory_mb=bound))
    assert len(snapshot_of(engine).vectors) == COUNT + LONG * 59
    records = open_records(url)
    asked, vector = QueryDecisionsParams(query="one more", limit=1), embedder.embed_text("one more")
    records.put([Entry(Decision("late", "one more"), Origin("/late.md", 0, None, "late"), vector)], embedder.model)
    try:
        wait_until(lambda: snapshot_of(engine).vectors.shape == (0, DIM))
        assert [match.id for match in engine.query_decisions(asked).decisions] == ["late"]
        assert engine.engine.indexes.wait_until_vectors_are_ready()
        assert [match.id for match in engine.query_decisions(asked).decisions] == ["late"]
    finally:
        records.delete(Kind.DECISION, ["late"])
        records.close()


def wait_until(holds: Callable[[], Any]) -> None:
    until = monotonic() + SECONDS
    while not holds():
        assert monotonic() < until
        sleep(0.02)
