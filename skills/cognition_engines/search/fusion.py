"""A single order from all spaces' candidates: scores, row boosts, and gains from the best hits' texts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from cognition_engines.indexes.columns.snapshot import Floats, Ints
from cognition_engines.kinds.spec import Kind
from cognition_engines.search.candidates import DATE, DECIMALS, EXACT, Doubles, Gains, Hit, RowBoost, SpaceCandidates
from cognition_engines.search.legs import cosines, distances


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """The rows of all spaces, concatenated; cosines are NaN for none.

    `by_meaning` is whether cosines were computed. `marks` has 1 or 0 for each row, by boost name.
    """

    spaces: Ints
    rows: Ints
    cosines: Doubles
    bm25: Doubles
    by_meaning: bool
    marks: Mapping[str, Doubles]

    def at(self, places: Ints) -> "JoinedRows":
        """Return the rows at the places."""
        return replace(
            self,
            spaces=self.spaces[places],
            rows=self.rows[places],
            cosines=self.cosines[places],
            bm25=self.bm25[places],
            marks={name: marks[places] for name, marks in self.marks.items()},
        )


Scoring: TypeAlias = Callable[[Sequence[SpaceCandidates], JoinedRows], Doubles]
# Arguments: cosines (NaN for none), shares of BM25, and 1 for a record from the query's named time, else 0.
RecordScoring: TypeAlias = Callable[[Doubles, Doubles, Doubles], Doubles]


def rank_spaces(
    spaces: Sequence[SpaceCandidates],
    vector: Floats | None,
    limit: int,
    scoring: Scoring,
    sets: Sequence[Sequence[int]] | None = None,
    *,
    groups: bool = False,
) -> list[list[Hit]]:
    """Return the best `limit` hits for each set of spaces, given by their numbers, with scores on a common scale.

    Without `sets`, all spaces are a single set. The candidates must have been through `with_bm25`. With `groups`, an
    artifact and its chunks are a single hit, the best among them. Without `vector` hits have no distances.
    """
    joined = _join_rows(spaces, vector)
    scores = scoring(spaces, joined)
    if sets is None or len(sets) == 1:
        return [_best_hits(spaces, joined, scores, limit, groups)]
    chosen = [np.flatnonzero(np.isin(joined.spaces, list(numbers))) for numbers in sets]
    return [_best_hits(spaces, joined.at(places), scores[places], limit, groups) for places in chosen]


def score_by_cosine(_: Sequence[SpaceCandidates], joined: JoinedRows) -> Doubles:
    """Return each row's cosine."""
    return joined.cosines


def score_by_bm25(_: Sequence[SpaceCandidates], joined: JoinedRows) -> Doubles:
    """Return each row's BM25."""
    return joined.bm25


def score_by_both(spaces: Sequence[SpaceCandidates], joined: JoinedRows) -> Doubles:
    """Return half cosine and half BM25 for each row, both scaled over all rows, with the boosts.

    A row without any of the query's words scores 0, a row without a vector gets the lowest cosine. If no row has a word
    from the query, cosines alone are the scores; without a query vector, BM25 alone, scaled.
    """
    scores = joined.cosines
    if any(len(space.keyword.rows) for space in spaces):
        scores = _scale_scores(joined.bm25)
        if joined.by_meaning:
            scores = 0.5 * _scale_scores(_fill_missing(joined.cosines)) + 0.5 * scores
        scores = np.round(scores, DECIMALS)
    for boost in spaces[0].boosts:
        marks = joined.marks[boost.name]
        if boost.always or marks.any():
            scores = np.round((scores + boost.weight * marks) / (1 + boost.weight), DECIMALS)
    return scores


def score_each(score: RecordScoring) -> Scoring:
    """Return a scoring for each row by the row's own cosine, share of BM25 and time alone.

    The candidates must have been through `with_highest`.
    """
    return partial(_score_each, score)


def _score_each(score: RecordScoring, spaces: Sequence[SpaceCandidates], joined: JoinedRows) -> Doubles:
    dates = joined.marks.get(DATE)
    most = np.array([space.highest for space in spaces])[joined.spaces]
    shares = np.divide(joined.bm25, most, out=np.zeros(len(most)), where=most > 0)
    return score(joined.cosines, np.minimum(shares, 1.0), np.zeros(len(most)) if dates is None else dates)


@dataclass(frozen=True, slots=True)
class TextGain:
    """The first hits' gain by a signal: each hit's share, and the function of a score, the weight and a share.

    With `always` each has a share, even if 0.
    """

    name: str
    weight: float
    shares: Sequence[float]
    lift: Callable[[float, float, float], float]
    always: bool


def lift_hits(spaces: Sequence[SpaceCandidates], hits: Sequence[Hit], gains: Sequence[TextGain]) -> list[Hit]:
    """Return the hits in a new order, best first: the first hits gain by their texts."""
    count = len(gains[0].shares)
    shares = zip(*(gain.shares for gain in gains), strict=True)
    first = [_lift_hit(hit, zip(gains, each, strict=True)) for hit, each in zip(hits[:count], shares, strict=True)]
    first.sort(key=lambda hit: (-hit.score, spaces[hit.space].snapshot.ids[hit.row]))
    others = [_lift_hit(hit, ((gain, 0.0) for gain in gains)) for hit in hits[count:]]
    return [*first, *(replace(lifted, gains=hit.gains) for lifted, hit in zip(others, hits[count:], strict=True))]


def _lift_hit(hit: Hit, shares: Iterable[tuple[TextGain, float]]) -> Hit:
    score, found = hit.score, hit.gains
    for gain, share in shares:
        score = gain.lift(score, gain.weight, share)
        if gain.always or share:
            found = (*found, (gain.name, share))
    return Hit(hit.space, hit.row, round(score, DECIMALS), hit.distance, found)


def order_hits(spaces: Sequence[SpaceCandidates], hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits by score, ties by id, exact hits first, with a best score that no other hit has."""
    if any(EXACT in hit.gains for hit in hits):
        best = max(hit.score for hit in hits)
        lower = round(best - 1e-9, DECIMALS)
        hits = [replace(hit, score=best if EXACT in hit.gains else min(hit.score, lower)) for hit in hits]
    return sorted(hits, key=lambda hit: (-hit.score, spaces[hit.space].snapshot.ids[hit.row]))


def with_distances(spaces: Sequence[SpaceCandidates], hits: Sequence[Hit], vector: Floats) -> list[Hit]:
    """Return the hits with their rows' distances."""
    found: dict[tuple[int, int], float | None] = {}
    for number, space in enumerate(spaces):
        if rows := [hit.row for hit in hits if hit.space == number]:
            away = distances(cosines(space.snapshot, np.array(rows), vector))
            found |= {(number, row): distance for row, distance in zip(rows, away, strict=True)}
    # built in full, as `replace` takes several times as long
    return [Hit(hit.space, hit.row, hit.score, found[hit.space, hit.row], hit.gains) for hit in hits]


def record_key(space: SpaceCandidates, row: int) -> int:
    """Return the key of a row's record, or of the artifact for a chunk."""
    snapshot = space.snapshot
    parent = int(snapshot.numbers["parent"][row])
    chunk = snapshot.codes["kind"].get(Kind.ARTIFACT_CHUNK.label)
    folded = chunk is not None and snapshot.labels["kind"][row] == chunk and parent >= 0
    return parent if folded else int(snapshot.keys[row])


def _join_rows(spaces: Sequence[SpaceCandidates], vector: Floats | None) -> JoinedRows:
    rows, meaning, words = zip(*(_rows_of(space, vector) for space in spaces), strict=True)
    return JoinedRows(
        np.repeat(np.arange(len(rows)), list(map(len, rows))),
        np.concatenate(rows),
        np.concatenate(meaning),
        np.concatenate(words),
        vector is not None,
        {boost.name: _mark_rows(list(zip(spaces, rows, strict=True)), boost) for boost in spaces[0].boosts},
    )


def _rows_of(space: SpaceCandidates, vector: Floats | None) -> tuple[Ints, Doubles, Doubles]:
    """Return the rows in both legs, each once, with their cosines and BM25."""
    if vector is None and not len(space.semantic.rows):
        leg = space.keyword
        return leg.rows, np.full(len(leg.rows), np.nan), leg.scores.astype(np.float64, copy=False)
    if not len(space.keyword.rows):
        leg = space.semantic
        return leg.rows, leg.scores, np.zeros(len(leg.rows))
    rows = np.union1d(space.semantic.rows, space.keyword.rows)
    return rows, _row_cosines(space, rows, vector), _bm25(space, rows)


def _mark_rows(pairs: Sequence[tuple[SpaceCandidates, Ints]], boost: RowBoost) -> Doubles:
    """Return 1 for each boosted row, else 0."""
    return np.concatenate([boost.marks(space.snapshot, rows) for space, rows in pairs]).astype(np.float64)


def _row_cosines(space: SpaceCandidates, rows: Ints, vector: Floats | None) -> Doubles:
    """Return the cosine for each of the ascending rows, NaN for none; the leg has computed most."""
    found = np.full(len(rows), np.nan)
    if vector is not None:
        known = np.searchsorted(rows, space.semantic.rows)
        found[known] = space.semantic.scores
        lacking = np.delete(np.arange(len(rows)), known)
        if len(lacking):
            found[lacking] = cosines(space.snapshot, rows[lacking], vector, space.semantic.products)
    return found


def _bm25(space: SpaceCandidates, rows: Ints) -> Doubles:
    """Return the BM25 for each of the ascending rows; 0 for a row without the query's words."""
    if (every := space.keyword.every) is not None:
        scores = np.zeros(len(space.snapshot.keys))
        scores[every.rows] = every.scores
        return scores[rows]
    found = np.zeros(len(rows))
    for leg in (space.keyword, space.worded):
        found[np.searchsorted(rows, leg.rows)] = leg.scores
    return found


def _fill_missing(meaning: Doubles) -> Doubles:
    """Return the cosines with the lowest in place of each NaN; all 0 if all are NaN."""
    if np.isnan(meaning).all():
        return np.zeros_like(meaning)
    return np.where(np.isnan(meaning), np.nanmin(meaning), meaning)


def _scale_scores(scores: Doubles) -> Doubles:
    """Scale the scores from min..max to 0..1; to 1 if all are equal."""
    low, high = scores.min(), scores.max()
    return np.ones_like(scores) if high == low else (scores - low) / (high - low)


def _best_hits(
    spaces: Sequence[SpaceCandidates], joined: JoinedRows, scores: Doubles, limit: int, groups: bool
) -> list[Hit]:
    """Return the `limit` best hits by score, ties by id."""
    space_of, row_of, values = joined.spaces.tolist(), joined.rows.tolist(), scores.tolist()
    group_of = _groups(spaces, joined) if groups else range(len(values))
    most = limit
    while True:
        places = _highest(scores, most).tolist()
        order = sorted(places, key=lambda place: (-values[place], spaces[space_of[place]].snapshot.ids[row_of[place]]))
        first = _firsts(order, group_of)[:limit] if groups else order[:limit]
        if len(first) == limit or len(places) == len(values):
            break
        most *= 4  # several of the best are chunks from a single artifact
    away = distances(joined.cosines[first])
    gains = _gains(spaces, joined, first)
    return [
        Hit(space_of[place], row_of[place], values[place], distance, gained)
        for place, distance, gained in zip(first, away, gains, strict=True)
    ]


def _gains(spaces: Sequence[SpaceCandidates], joined: JoinedRows, places: Sequence[int]) -> list[Gains]:
    """Return the row boosts at some places."""
    boosts = spaces[0].boosts
    if not boosts:
        return [()] * len(places)
    marked = [(boost, joined.marks[boost.name][list(places)].tolist()) for boost in boosts]
    return [
        tuple(
            (boost.name, marks[number] if boost.always else True)
            for boost, marks in marked
            if boost.always or marks[number]
        )
        for number in range(len(places))
    ]


def _highest(scores: Doubles, count: int) -> Ints:
    """Return the places of the `count` highest scores, including ties with the last."""
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - count)[len(scores) - count])


def _groups(spaces: Sequence[SpaceCandidates], joined: JoinedRows) -> list[int]:
    """Return each row's artifact key if the row is a chunk, else the row's own key."""
    found: list[int] = []
    for number, space in enumerate(spaces):
        rows = joined.rows[joined.spaces == number]
        keys, parents = space.snapshot.keys[rows], space.snapshot.numbers["parent"][rows]
        chunk = space.snapshot.codes["kind"].get(Kind.ARTIFACT_CHUNK.label)
        folded = (parents >= 0) & (space.snapshot.labels["kind"][rows] == chunk) if chunk is not None else False
        found += np.where(folded, parents, keys).tolist()
    return found


def _firsts(order: Sequence[int], groups: Sequence[int]) -> list[int]:
    """Return each group's first place."""
    first: dict[int, int] = {}
    for place in order:
        first.setdefault(groups[place], place)
    return list(first.values())
