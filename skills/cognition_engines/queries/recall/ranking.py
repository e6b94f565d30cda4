"""Which related rows come first: everything is scored before anything is cut."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from cognition_engines.indexes.columns.snapshot import Bools, Floats, Ints, Snapshot
from cognition_engines.models import Viewer
from cognition_engines.queries.recall.graph import Node, candidates, passages
from cognition_engines.queries.recall.results import Reason, RecallRequest
from cognition_engines.queries.recall.selectors import groups
from cognition_engines.retrieval.legs import KeywordSource, RankedRows, nearest_of

EDGE_WEIGHT: Final = 0.8  # of what an edge leads to, relative to what names the same
DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class Comparison:
    """What related records are compared with: a vector, or else the words of a text, or nothing."""

    vector: Floats | None
    text: str | None = None
    words: KeywordSource | None = None


@dataclass(frozen=True, slots=True)
class ReachedRecord:
    """A related record as a snapshot has it, its score, and the node by which it was reached."""

    key: int
    seq: int
    score: float | None
    node: Node


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A row and its score, 0.0 to 1.0; None where there is nothing to compare with."""

    row: int
    score: float | None


def reach(
    snapshot: Snapshot, asked: RecallRequest, nodes: Sequence[Node], without: Iterable[int], compared: Comparison
) -> list[ReachedRecord]:
    """The best `asked.budget` records that name a node; without the keys `without`."""
    conditions, budget = asked.filters.conditions(), asked.budget
    rows, node_of = candidates(snapshot, conditions, asked.viewer, asked.categories, nodes, without)
    first = dict(zip(rows.tolist(), node_of.tolist(), strict=True))
    away = np.array([node.reason is Reason.EDGE for node in nodes], np.bool_)[node_of]
    near, far = rows[~away], rows[away]
    mask = snapshot.mask(conditions, asked.viewer)
    if compared.vector is not None:
        scored = by_meaning(snapshot, mask, near, far, compared.vector, budget, asked.viewer)
    elif compared.words is not None and compared.text is not None:
        scored = by_words(snapshot, mask, near, far, compared.words, compared.text, budget)
    else:
        scored = by_time(snapshot, near, far, budget)
    return [
        ReachedRecord(int(snapshot.keys[one.row]), int(snapshot.seqs[one.row]), one.score, nodes[first[one.row]])
        for one in scored
    ]


def by_meaning(
    snapshot: Snapshot, mask: Bools, near: Ints, far: Ints, vector: Floats, budget: int, viewer: Viewer
) -> list[ScoredRow]:
    """The best of both by cosine, at least 0; those of `far` weigh less. An artifact counts with its best chunk."""
    found: list[ScoredRow] = []
    for rows, weight in ((near, 1.0), (far, EDGE_WEIGHT)):
        best = _nearest(snapshot, mask, rows, vector, budget, viewer)
        scored = {row: round(weight * max(0.0, cosine), DECIMALS) for row, cosine in best.items()}
        found += _filled(snapshot, rows, scored, budget)
    return _ordered(snapshot, found, budget)


def by_words(
    snapshot: Snapshot, mask: Bools, near: Ints, far: Ints, words: KeywordSource, query: str, budget: int
) -> list[ScoredRow]:
    """As `by_meaning`, by BM25 scores, of which the highest is 1."""
    both = np.concatenate((near, far))
    rows = np.concatenate((both, passages(snapshot, mask, both)))
    keys, scores = words.search_among(query, snapshot.keys[rows].tolist())
    best = _folded(snapshot, RankedRows(snapshot.rows_of(keys), scores))
    top = max(best.values(), default=1.0)
    found: list[ScoredRow] = []
    for part, weight in ((near, 1.0), (far, EDGE_WEIGHT)):
        scored = {row: round(weight * best[row] / top, DECIMALS) for row in part.tolist() if row in best}
        found += _filled(snapshot, part, scored, budget)
    return _ordered(snapshot, found, budget)


def by_time(snapshot: Snapshot, near: Ints, far: Ints, budget: int) -> list[ScoredRow]:
    """The newest of both, unscored."""
    return [ScoredRow(row, None) for row in _newest(snapshot, np.concatenate((near, far)), budget)]


def mean_vector(snapshot: Snapshot, key: int, viewer: Viewer) -> Floats | None:
    """The direction of a record's windows and those of its chunks that the viewer sees; None where there are none."""
    row = snapshot.rows_of(np.array([key], np.int64))
    rows = np.concatenate((row, passages(snapshot, snapshot.mask((), viewer), row)))
    windows, _ = snapshot.vectors_of(rows)
    if not len(windows):
        return None
    mean: Floats = windows.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return None if length == 0 else (mean / length).astype(np.float32)


def _nearest(
    snapshot: Snapshot, mask: Bools, rows: Ints, vector: Floats, budget: int, viewer: Viewer
) -> dict[int, float]:
    """The cosines of at least the best `budget` of the rows that have vectors."""
    chosen = np.union1d(rows, passages(snapshot, mask, rows))
    limit = budget
    while True:
        ranked = nearest_of(snapshot, chosen, vector, limit, viewer)
        best = _folded(snapshot, ranked)
        if len(best) >= budget or len(ranked.rows) < limit:
            return best
        limit *= 2


def _folded(snapshot: Snapshot, ranked: RankedRows) -> dict[int, float]:
    """The best score of each artifact and its chunks, by the artifact's row."""
    owners = snapshot.row_of[groups(snapshot, ranked.rows)]
    best: dict[int, float] = {}
    for row, score in zip(owners.tolist(), ranked.scores.tolist(), strict=True):
        best[row] = max(score, best.get(row, score))
    return best


def _filled(snapshot: Snapshot, rows: Ints, scored: dict[int, float], budget: int) -> list[ScoredRow]:
    """The scored rows, and where they are fewer than `budget`, the newest of the others with a score of 0."""
    found = [ScoredRow(row, score) for row, score in scored.items()]
    if len(found) < budget:
        others = rows[~np.isin(rows, list(scored))] if scored else rows
        found += [ScoredRow(row, 0.0) for row in _newest(snapshot, others, budget - len(found))]
    return found


def _newest(snapshot: Snapshot, rows: Ints, most: int) -> list[int]:
    """The first `most` in order of time, those without one last, ties by id."""
    at = snapshot.numbers["at"]
    if len(rows) > most > 0:
        moments = at[rows]
        rows = rows[moments >= np.partition(moments, len(rows) - most)[len(rows) - most]]
    return sorted(rows.tolist(), key=lambda row: (~int(at[row]), snapshot.ids[row]))[:most]


def _ordered(snapshot: Snapshot, found: Sequence[ScoredRow], budget: int) -> list[ScoredRow]:
    return sorted(found, key=lambda one: (-(one.score or 0.0), snapshot.ids[one.row]))[:budget]
