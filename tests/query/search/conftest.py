"""A store with manually followed indexes, and the expected answers next to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cognition_engines.indexes.columns.builder import Columns
from cognition_engines.indexes.columns.snapshot import Snapshot
from cognition_engines.indexes.keywords.index import KeywordIndex
from cognition_engines.indexes.keywords.text_documents import Marks, add_label_terms, textual
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Viewer
from cognition_engines.queries.answers.filter_conditions import query_conditions
from cognition_engines.search.candidates import SpaceCandidates
from cognition_engines.search.fusion import rank_spaces, score_by_both
from cognition_engines.search.legs import CANDIDATES, keyword_leg, semantic_leg, with_bm25
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records, open_records
from cognition_engines.store.values import Text
from cstp.values.decision_searches import QueryFilters
from tests.stores import Stores

MODEL = "seeded-8"


@dataclass
class Words:
    """The real keyword index, with a note of the request path."""

    index: KeywordIndex
    asked: list[str]

    def search(self, query: str, limit: int, marks: Marks = ()) -> Any:
        self.asked.append("labelled" if marks else "search")
        return self.index.search(query, limit, marks=marks)

    def search_among(self, query: str, keys: Sequence[int]) -> Any:
        self.asked.append("among")
        return self.index.search_among(query, keys)


@dataclass
class World:
    """A store with manually followed indexes, and the reference next to it."""

    kit: ModuleType
    records: Records
    columns: Columns
    words: Words
    known: dict[str, Any]

    @property
    def reference(self) -> Any:
        return self.kit.Reference(self.known)

    def put(self, *known: Any) -> None:
        self.kit.put(self.records, known)
        self.known |= {one.decision.id: one for one in known}

    def delete(self, *ids: str) -> None:
        self.records.delete(Kind.DECISION, ids)
        for id in ids:
            del self.known[id]

    def follow(self) -> Snapshot:
        while page := self.records.changes.page(DECISIONS, self.columns.seq, 700, MODEL):
            found = self.records.reads.by_keys(page.keys.tolist(), EVERYTHING)
            texts = [Text(key, embedding_text(stored.record) or "") for key, stored in found.items()]
            self.words.index.apply(
                add_label_terms(texts, page, self.columns.snapshot.read), page.removed.tolist(), page.seq
            )
            self.columns.apply(page)
        return self.columns.publish()

    def semantic(self, snapshot: Snapshot, filters: QueryFilters, viewer: Viewer, vector: Any, limit: int) -> Any:
        ranked = semantic_leg(snapshot, snapshot.mask(query_conditions(filters), viewer), vector, limit, None, viewer)
        return named(snapshot, ranked)

    def keyword(self, snapshot: Snapshot, filters: QueryFilters, viewer: Viewer, query: str, limit: int) -> Any:
        conditions = query_conditions(filters)
        mask, labelled = snapshot.mask(conditions, viewer), textual(conditions)
        return named(snapshot, keyword_leg(snapshot, mask, query, limit, self.words, viewer, labelled))

    def bm25(self, snapshot: Snapshot, query: str) -> dict[str, float]:
        """Return the score of every record with a query word."""
        keys = snapshot.keys[snapshot.alive].tolist()
        ids = {int(snapshot.keys[row]): snapshot.ids[row] for row in np.flatnonzero(snapshot.alive)}
        found, scores = self.words.index.search_among(query, keys)
        return {ids[key]: float(score) for key, score in zip(found.tolist(), scores.tolist(), strict=True)}

    def expected_words(self, snapshot: Snapshot, filters: QueryFilters, viewer: Viewer, query: str, limit: int) -> Any:
        allowed = {one.decision.id for one in self.reference.matching(filters, viewer)}
        return self.kit.best([pair for pair in self.bm25(snapshot, query).items() if pair[0] in allowed], limit)

    def hybrid(
        self, snapshot: Snapshot, filters: QueryFilters, viewer: Viewer, query: str, vector: Any, limit: int
    ) -> Any:
        mask = snapshot.mask(query_conditions(filters), viewer)
        words = keyword_leg(snapshot, mask, query, CANDIDATES, self.words, viewer, textual(query_conditions(filters)))
        meaning = semantic_leg(snapshot, mask, vector, CANDIDATES, None, viewer)
        space = with_bm25(SpaceCandidates(viewer, snapshot, mask, self.words, meaning, words), query)
        (hits,) = rank_spaces([space], vector, limit, score_by_both)
        return [(snapshot.ids[hit.row], hit.score) for hit in hits]

    def expected_hybrid(
        self, snapshot: Snapshot, filters: QueryFilters, viewer: Viewer, query: str, vector: Any, limit: int
    ) -> Any:
        """Return the defined result: union of top lists, missing scores computed, min-max over it, half and half."""
        words = self.expected_words(snapshot, filters, viewer, query, CANDIDATES)
        meaning = self.reference.semantic(filters, viewer, vector, CANDIDATES)
        if not words:
            return [id for id, _ in meaning[:limit]]
        union = sorted({id for id, _ in (*words, *meaning)})
        bm25 = self.bm25(snapshot, query)
        cosine = {id: self.reference.cosine(self.known[id], vector) for id in union}
        lowest = min((value for value in cosine.values() if value is not None), default=0.0)
        by_meaning = scaled({id: lowest if value is None else value for id, value in cosine.items()})
        by_words = scaled({id: bm25.get(id, 0.0) for id in union})
        return [
            id
            for id, _ in self.kit.best(
                [(id, round(0.5 * by_meaning[id] + 0.5 * by_words[id], 9)) for id in union], limit
            )
        ]

    def named(self, snapshot: Snapshot, ranked: Any) -> list[tuple[str, float]]:
        return named(snapshot, ranked)


def scaled(scores: dict[str, float]) -> dict[str, float]:
    low, high = min(scores.values()), max(scores.values())
    return {id: 1.0 if high == low else (score - low) / (high - low) for id, score in scores.items()}


def named(snapshot: Snapshot, ranked: Any) -> list[tuple[str, float]]:
    return [
        (snapshot.ids[row], float(score))
        for row, score in zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True)
    ]


def open_world(kit: ModuleType, stores: Stores, folder: Path) -> World:
    records = open_records(stores.records(folder))
    words = KeywordIndex.open(folder / "keywords", records.store_id)
    return World(kit, records, Columns(DECISIONS, kit.DIM), Words(words, []), {})


@pytest.fixture
def world(kit: ModuleType, stores: Stores, tmp_path: Path) -> Iterator[World]:
    opened = open_world(kit, stores, tmp_path)
    yield opened
    opened.words.index.close()
    opened.records.close()


@pytest.fixture(scope="module")
def mixed(kit: ModuleType, lasting_stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Store 1,500 random records, more than the keyword leg requests individually; a fifth changed, a fifth deleted."""
    opened = open_world(kit, lasting_stores, tmp_path_factory.mktemp("mixed"))
    random = Random(11)
    opened.put(*(kit.Known(kit.random_decision(random, n), kit.random_vectors(random)) for n in range(1500)))
    opened.follow()
    changed = [replace(kit.random_decision(random, 0), id=one) for one in random.sample(sorted(opened.known), 300)]
    opened.put(*(kit.Known(one, kit.random_vectors(random)) for one in changed))
    opened.delete(*random.sample(sorted(opened.known), 300))
    opened.follow()
    yield opened
    opened.words.index.close()
    opened.records.close()
