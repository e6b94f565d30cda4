"""The controls of a call: Chroma asked directly, and numpy over everything."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import chromadb
import chromadb.api.types
import numpy as np
from chromadb.config import Settings
from numpy.typing import NDArray

from benchmarks.corpus import Decisions
from cognition_engines.models import Decision
from cognition_engines.store.values import FloatArray
from cstp.values.decision_searches import QueryFilters

LIMIT: Final = 10
_PAGE: Final = 1000
Bools = NDArray[np.bool_]
Where = Mapping[str, Any]  # Chroma's own language of conditions
_OPERATORS: Final[Mapping[str, Callable[..., Bools]]] = {
    "$eq": np.equal,
    "$gte": np.greater_equal,
    "$lte": np.less_equal,
    "$in": np.isin,
}


class RawChroma:
    """An embedded collection of the same windows, with the fields of their decision as metadata."""

    def __init__(self, folder: Path, corpus: Decisions) -> None:
        client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
        self._collection = client.create_collection(
            "raw", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        owners = np.repeat(np.arange(len(corpus.counts)), corpus.counts).tolist()
        described = [_metadata(decision) for decision in corpus.records]
        for start in range(0, len(owners), _PAGE):
            page = owners[start : start + _PAGE]
            self._collection.add(
                ids=[f"{owner}:{start + place}" for place, owner in enumerate(page)],
                embeddings=corpus.vectors[start : start + _PAGE],
                metadatas=[described[owner] for owner in page],
            )

    def nearest(self, vector: FloatArray, filters: QueryFilters) -> list[int]:
        """Return the records that own the LIMIT nearest windows."""
        where = cast(chromadb.api.types.Where | None, _where(filters))
        answer = self._collection.query(
            query_embeddings=vector[None], n_results=LIMIT, where=where, include=["distances"]
        )
        return [int(id.partition(":")[0]) for id in answer["ids"][0]]


class BruteForce:
    """Every vector times the query, a mask, the best LIMIT."""

    def __init__(self, corpus: Decisions) -> None:
        described = [_metadata(decision) for decision in corpus.records]
        self._fields = {name: np.array([each[name] for each in described]) for name in described[0]}
        self._vectors = corpus.vectors
        self._starts = np.cumsum(corpus.counts) - corpus.counts
        self._single = len(corpus.vectors) == len(described)

    def mask(self, filters: QueryFilters) -> Bools:
        mask = np.ones(len(self._starts), np.bool_)
        for name, operator, value in _conditions(filters):
            mask &= _OPERATORS[operator](self._fields[name], value)
        return mask

    def nearest(self, vector: FloatArray, mask: Bools) -> list[int]:
        """Return the LIMIT records under `mask` with the nearest window, nearest first."""
        scores = self._vectors @ vector
        if not self._single:
            scores = np.maximum.reduceat(scores, self._starts)
        scores = np.where(mask, scores, -np.inf)
        limit = min(LIMIT, int(np.count_nonzero(mask)))
        best = np.argpartition(scores, len(scores) - limit)[len(scores) - limit :] if limit else np.empty(0, np.int64)
        order: list[int] = best[np.argsort(-scores[best], kind="stable")].tolist()
        return order


def recall(found: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]]) -> float:
    """Return the share of the wanted results among those found, over all searches; 1 when nothing was wanted."""
    total = sum(map(len, wanted))
    return sum(len(set(a) & set(b)) for a, b in zip(found, wanted, strict=True)) / total if total else 1.0


def _metadata(decision: Decision) -> dict[str, str | float]:
    return {
        "category": decision.category or "",
        "confidence": decision.confidence if decision.confidence is not None else -1.0,
        "date": np.nan if decision.date is None else decision.date.timestamp(),
        "stakes": decision.stakes or "",
        "status": decision.status or "",
    }


def _conditions(filters: QueryFilters) -> list[tuple[str, str, Any]]:
    """Return fields with Chroma's operators and values."""
    conditions = [
        ("category", "$eq", filters.category),
        ("confidence", "$gte", filters.min_confidence),
        ("confidence", "$lte", filters.max_confidence),
        ("date", "$gte", filters.date_after and filters.date_after.timestamp()),
        ("date", "$lte", filters.date_before and filters.date_before.timestamp()),
        ("stakes", "$in", filters.stakes and list(filters.stakes)),
        ("status", "$in", filters.status and list(filters.status)),
    ]
    return [each for each in conditions if each[2] is not None]


def _where(filters: QueryFilters) -> Where | None:
    conditions: list[Where] = [{name: {operator: value}} for name, operator, value in _conditions(filters)]
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return {"$and": conditions}
