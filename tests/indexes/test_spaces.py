"""A separate index for each search space: writes to a space change nothing in other spaces."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import sqlalchemy as sa

from cognition_engines.background import Background
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.indexes.keywords.text_documents import textual
from cognition_engines.indexes.space import open_space
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.indexes.vectors.collection import collection_name
from cognition_engines.kinds.artifacts import Artifact
from cognition_engines.kinds.graph import Entity
from cognition_engines.kinds.registry import Record, embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision, Sensitivity, Viewer
from cognition_engines.queries.answers.filter_conditions import query_conditions
from cognition_engines.relevance import RELEVANCE
from cognition_engines.search.candidates import SpaceCandidates
from cognition_engines.search.fusion import rank_spaces, score_by_both
from cognition_engines.search.legs import keyword_leg, semantic_leg, with_bm25
from cognition_engines.set_aside import SetAside
from cognition_engines.spaces import DECISIONS, EPISODES, KNOWLEDGE, MEMORY, SEARCHED, Space
from cognition_engines.store.records import Records
from cstp.values.decision_searches import QueryFilters
from tests.indexes.made import MADE, Maker, entry
from tests.stores import Stores

ALL = Viewer(Sensitivity.HIGHLY_SENSITIVE)


@dataclass
class Run:
    """A store of all kinds, with indexes."""

    records: Records
    stores: Stores
    opened: Callable[..., Indexes]
    embedder: Any
    folder: Path
    wait_until: Callable[..., None]

    def put(self, *made: Record) -> None:
        texts = [embedding_text(one) for one in made]
        vectors = [None if text is None else self.embedder.embed_text(text) for text in texts]
        entries = [entry(one, each) for one, each in zip(made, vectors, strict=True)]
        self.records.put(entries, self.embedder.model)

    def followed(self, indexes: Indexes) -> None:
        def caught_up() -> bool:
            last = self.records.last_seq()
            return indexes.vectors_state == "ready" and all(each.snapshot.seq == last for each in indexes.all_spaces)

        self.wait_until(caught_up)

    def answer(self, indexes: Indexes, space: Space, query: str) -> list[tuple[str, float]]:
        """Return ids and scores of a hybrid search."""
        index = indexes[space]
        snapshot, words, vector = index.snapshot, index.words(ALL, index.snapshot), self.embedder.embed_query(query)
        mask = snapshot.mask((), ALL)
        meaning = semantic_leg(snapshot, mask, vector, 50, index.vectors, ALL)
        worded = keyword_leg(snapshot, mask, query, 50, words, ALL)
        space = with_bm25(SpaceCandidates(ALL, snapshot, mask, words, meaning, worded), query)
        (hits,) = rank_spaces([space], vector, 50, score_by_both)
        return [(snapshot.ids[hit.row], hit.score) for hit in hits]

    def collections(self) -> set[str]:
        """Return the spaces with a collection."""
        if self.stores.servers is None:
            return {path.parent.name for path in self.folder.glob("*/chroma-*") if path.is_dir()}
        names = [one["name"] for one in self.stores.servers.chroma.collections(self.records.store_id)]
        return {space.name for space in SEARCHED if self.named(space) in names}

    def told(self) -> list[dict[str, Any]]:
        """Return a server's collections as it reports them; empty without a server."""
        return [] if self.stores.servers is None else self.stores.servers.chroma.collections(self.records.store_id)

    def named(self, space: Space) -> str:
        return collection_name(space.name, self.embedder.model, self.records.store_id)


@pytest.fixture
def run(
    records: Records,
    stores: Stores,
    opened: Callable[..., Indexes],
    seeded: Callable[..., Any],
    tmp_path: Path,
    wait_until: Callable[..., None],
) -> Run:
    return Run(records, stores, opened, seeded(), tmp_path / "indexes", wait_until)


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_every_searched_kind_is_found_in_its_space_by_words_and_by_meaning(run: Run) -> None:
    maker = Maker(1)
    indexes = run.opened(run.embedder)
    for space in SEARCHED:
        for kind in space.kinds:
            record = maker.record(kind)
            while embedding_text(record) is None:  # an artifact searched by its chunks
                record = maker.record(kind)
            run.put(record)
            run.followed(indexes)
            text = embedding_text(record)
            assert text is not None
            assert str(record.id) in [id for id, _ in run.answer(indexes, space, text)][:5]
    assert run.collections() == {space.name for space in SEARCHED}


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_kinds_of_other_spaces_change_no_score_and_no_snapshot(run: Run) -> None:
    maker = Maker(2)
    run.put(*(maker.record(kind) for kind in MADE for _ in range(30)))
    indexes = run.opened(run.embedder)
    run.followed(indexes)
    for space in SEARCHED:
        before, answer = indexes[space].snapshot, run.answer(indexes, space, "database queue")
        assert answer
        count = indexes[space].keywords.count
        run.put(*(maker.record(kind) for kind in MADE if kind not in space.kinds for _ in range(10)))
        run.followed(indexes)
        after = indexes[space].snapshot
        assert after.seq > before.seq
        assert (after.keys is before.keys, after.vectors is before.vectors) == (True, True)
        assert indexes[space].keywords.count == count
        assert run.answer(indexes, space, "database queue") == answer


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_page_without_changes_commits_nothing(run: Run) -> None:
    maker = Maker(3)
    run.put(*(maker.record(kind) for kind in MADE))
    indexes = run.opened(run.embedder)
    run.followed(indexes)
    files = words_of(run.folder / "knowledge")
    # a collection is made before it notes how far it is
    run.wait_until(lambda: all(each["metadata"]["seq"] > 0 for each in run.told()))
    told = run.told()
    for number in range(3):
        run.put(Entity(id=f"e-{number}", name="Nobody"))
        run.followed(indexes)
    assert run.told() == told
    for _ in range(3):
        run.put(maker.record(Kind.EPISODE))
        run.followed(indexes)
    assert words_of(run.folder / "knowledge") == files
    episodes = run.named(EPISODES)
    assert [one for one in run.told() if one["name"] != episodes] == [one for one in told if one["name"] != episodes]
    assert {index.keywords_state for index in indexes.all_spaces} == {"ready"}


def words_of(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / "keywords").iterdir() if path.suffix != ".lock"}


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_start_after_changes_of_other_spaces_reads_no_text_again(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    maker = Maker(4)
    run.put(*(maker.record(kind) for kind in MADE for _ in range(5)))
    indexes = run.opened(run.embedder)
    run.followed(indexes)
    run.put(*(maker.record(Kind.DECISION) for _ in range(5)))
    run.followed(indexes)
    indexes.close()
    before = {space.name: words_of(run.folder / space.name) for space in SEARCHED}
    again = run.opened(run.embedder)
    run.followed(again)
    assert {space.name: words_of(run.folder / space.name) for space in SEARCHED} == before
    for space in SEARCHED:
        assert again[space].keywords.seq == again[space].snapshot.seq == run.records.last_seq()
        assert run.answer(again, space, "database queue")


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_space_without_vectors_has_no_collection_and_is_ready(run: Run) -> None:
    maker = Maker(5)
    indexes = run.opened(run.embedder)
    run.followed(indexes)
    assert run.collections() == set()
    run.put(maker.record(Kind.DECISION), Artifact(id="art_1", content="cut into chunks", chunked=True))
    run.followed(indexes)
    assert indexes[MEMORY].snapshot.ids == ["art_1"]
    assert run.collections() == {"decisions"}
    run.put(maker.record(Kind.EPISODE))
    run.followed(indexes)
    assert run.collections() == {"decisions", "episodes"}
    run.put(maker.record(Kind.CHUNK))
    run.followed(indexes)
    assert run.collections() == {"decisions", "episodes", "knowledge"}
    vectors = indexes[KNOWLEDGE].vectors
    assert vectors is not None
    assert vectors.wait_until_ready()
    assert len(vectors.nearest(run.embedder.embed_query("x"), 9)) == 1  # type: ignore[arg-type]


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_chroma_is_loaded_later(run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "cognition_engines.indexes.vectors.chroma.loaded", None)  # an import of it fails
    chunk = Maker(7).record(Kind.CHUNK)
    run.put(chunk)
    indexes = run.opened(run.embedder)
    run.wait_until(lambda: "ModuleNotFoundError" in caplog.text)
    text = embedding_text(chunk)
    assert text is not None
    assert [id for id, _ in run.answer(indexes, KNOWLEDGE, text)] == [str(chunk.id)]
    assert indexes.vectors_state == ("rebuilding" if run.stores.servers is None else "down")
    monkeypatch.undo()
    run.followed(indexes)
    assert run.collections() == {"knowledge"}


def test_an_artifact_cut_into_chunks_is_no_longer_found_by_its_own_text(run: Run) -> None:
    whole = Artifact(id="art_1", content="quokka wombat")
    run.put(whole)
    indexes = run.opened(run.embedder)
    run.followed(indexes)
    assert [id for id, _ in run.answer(indexes, MEMORY, "quokka")] == ["art_1"]
    run.put(Artifact(id="art_1", content="quokka wombat", chunked=True))
    run.followed(indexes)
    assert run.answer(indexes, MEMORY, "quokka") == []
    assert indexes[MEMORY].keywords.count == 0


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_an_idle_index_asks_the_store_for_no_page(run: Run) -> None:
    maker = Maker(7)
    run.put(*(maker.record(kind) for kind in MADE))
    indexes = run.opened(run.embedder)
    run.followed(indexes)
    asked: list[str] = []
    sa.event.listen(
        run.records.store.reader, "before_cursor_execute", lambda _c, _u, statement, *_: asked.append(statement)
    )
    run.wait_until(lambda: len(asked) > 12)
    assert not [statement for statement in asked if "tombstones" in statement]


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_a_space_getting_a_column_has_its_keyword_index_rebuilt_with_it(run: Run) -> None:
    fewer = replace(DECISIONS, labels=tuple(label for label in DECISIONS.labels if label.name != "stakes"))
    run.put(*(Decision(f"d-{n}", "one queue", stakes="high" if n % 2 else "low") for n in range(1500)))
    earlier = open_space(
        *(fewer, run.folder / "decisions", run.folder / "decisions", run.records, None, VectorChoice(), RELEVANCE),
        *(SetAside(), Background()),
    )
    earlier.start()
    earlier.close(monotonic() + 5)
    index = run.opened(None)[DECISIONS]
    run.wait_until(lambda: index.keywords_state == "ready")
    snapshot, high = index.snapshot, query_conditions(QueryFilters(stakes=["high"]))
    words = index.words(ALL, snapshot)
    found = keyword_leg(snapshot, snapshot.mask(high, ALL), "queue", 10, words, ALL, textual(high))
    assert len(found.rows) == 10
