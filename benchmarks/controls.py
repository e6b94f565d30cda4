"""What a call is compared with: Chroma asked directly, and numpy over everything."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

import chromadb
import chromadb.api.types
import numpy as np
from chromadb.config import Settings
from numpy.typing import NDArray

from benchmarks.corpus import Corpus
from benchmarks.measure import Variant
from cognition_engines.models import Decision, Filters
from cognition_engines.store.values import FloatArray

LIMIT: Final = 10
_PAGE: Final = 1000
_WHERE_EVERY: Final = 10  # a `where` of Chroma takes hundreds of milliseconds: one round in so many asks for it
Bools = NDArray[np.bool_]
Where = Mapping[str, Any]  # Chroma's own language of conditions


class RawChroma:
    """An embedded collection of the same windows, with the fields of their decision as metadata."""

    def __init__(self, folder: Path, corpus: Corpus) -> None:
        client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
        self._collection = client.create_collection(
            "raw", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        owners = np.repeat(np.arange(len(corpus.counts)), corpus.counts).tolist()
        described = [_metadata(decision) for decision in corpus.decisions]
        for start in range(0, len(owners), _PAGE):
            page = owners[start : start + _PAGE]
            self._collection.add(
                ids=[f"{owner}:{start + place}" for place, owner in enumerate(page)],
                embeddings=corpus.vectors[start : start + _PAGE],
                metadatas=[described[owner] for owner in page],
            )

    def nearest(self, vector: FloatArray, filters: Filters) -> list[int]:
        """The records that own the LIMIT nearest windows."""
        where = cast(chromadb.api.types.Where | None, _where(filters))
        answer = self._collection.query(
            query_embeddings=vector[None], n_results=LIMIT, where=where, include=["distances"]
        )
        return [int(id.partition(":")[0]) for id in answer["ids"][0]]


class BruteForce:
    """Every vector times the query, a mask, the best LIMIT."""

    def __init__(self, corpus: Corpus) -> None:
        decisions = corpus.decisions
        self._vectors = corpus.vectors
        self._starts = np.cumsum(corpus.counts) - corpus.counts
        self._single = len(corpus.vectors) == len(decisions)
        self._category = np.array([decision.category for decision in decisions])
        self._stakes = np.array([decision.stakes for decision in decisions])
        self._status = np.array([decision.status for decision in decisions])
        self._confidence = np.array([decision.confidence for decision in decisions], np.float64)
        self._date = np.array([_seconds(decision.date) for decision in decisions], np.float64)

    def mask(self, filters: Filters) -> Bools:
        mask = np.ones(len(self._starts), np.bool_)
        if filters.category is not None:
            mask &= self._category == filters.category
        if filters.stakes is not None:
            mask &= np.isin(self._stakes, filters.stakes)
        if filters.status is not None:
            mask &= np.isin(self._status, filters.status)
        if filters.min_confidence is not None:
            mask &= self._confidence >= filters.min_confidence
        if filters.max_confidence is not None:
            mask &= self._confidence <= filters.max_confidence
        if filters.date_after is not None:
            mask &= self._date >= filters.date_after.timestamp()
        if filters.date_before is not None:
            mask &= self._date <= filters.date_before.timestamp()
        return mask

    def nearest(self, vector: FloatArray, mask: Bools) -> list[int]:
        """The LIMIT records under `mask` with the nearest window, nearest first."""
        scores = self._vectors @ vector
        if not self._single:
            scores = np.maximum.reduceat(scores, self._starts)
        scores = np.where(mask, scores, -np.inf)
        limit = min(LIMIT, int(np.count_nonzero(mask)))
        best = np.argpartition(scores, len(scores) - limit)[len(scores) - limit :] if limit else np.empty(0, np.int64)
        order: list[int] = best[np.argsort(-scores[best], kind="stable")].tolist()
        return order


def control_variants(
    raw: RawChroma | None, brute: BruteForce, name: str, filters: Filters, vectors: Sequence[FloatArray]
) -> list[Variant[Any]]:
    """Both controls of a filter, `name/brute` and `name/chroma`; round n asks for the nth of `vectors`."""

    def by_force(number: int) -> list[int]:
        return brute.nearest(vectors[number % len(vectors)], brute.mask(filters))

    controls = [Variant(f"{name}/brute", by_force)]
    if raw is not None:

        def by_chroma(number: int) -> list[int]:
            return raw.nearest(vectors[number % len(vectors)], filters)

        controls.append(Variant(f"{name}/chroma", by_chroma, 1 if filters == Filters() else _WHERE_EVERY))
    return controls


def recall(found: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]]) -> float:
    """The share of what each search should have found that it found, over all searches; 1 when nothing was wanted."""
    total = sum(map(len, wanted))
    return sum(len(set(a) & set(b)) for a, b in zip(found, wanted, strict=True)) / total if total else 1.0


def _seconds(date: datetime | None) -> float:
    return np.nan if date is None else date.timestamp()


def _metadata(decision: Decision) -> dict[str, str | float]:
    return {
        "category": decision.category or "",
        "confidence": decision.confidence if decision.confidence is not None else -1.0,
        "date": _seconds(decision.date),
        "stakes": decision.stakes or "",
        "status": decision.status or "",
    }


def _where(filters: Filters) -> Where | None:
    conditions: list[Where] = []
    if filters.category is not None:
        conditions.append({"category": filters.category})
    if filters.min_confidence is not None:
        conditions.append({"confidence": {"$gte": filters.min_confidence}})
    if filters.max_confidence is not None:
        conditions.append({"confidence": {"$lte": filters.max_confidence}})
    if filters.date_after is not None:
        conditions.append({"date": {"$gte": filters.date_after.timestamp()}})
    if filters.date_before is not None:
        conditions.append({"date": {"$lte": filters.date_before.timestamp()}})
    if filters.stakes is not None:
        conditions.append({"stakes": {"$in": list(filters.stakes)}})
    if filters.status is not None:
        conditions.append({"status": {"$in": list(filters.status)}})
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return {"$and": conditions}
