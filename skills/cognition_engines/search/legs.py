"""Search legs: the best rows under a mask, by meaning and by words. Plain functions over a snapshot.

Semantic: cosine between a record's best window and the query. Keyword: BM25. Every order breaks ties by id. fusion.py
combines both.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import Final, Protocol

import numpy as np

from cognition_engines.indexes.columns import sketches
from cognition_engines.indexes.columns.snapshot import Bools, Floats, Ints, Snapshot, window_indices
from cognition_engines.indexes.keywords.text_documents import Marks, marks_for, textual
from cognition_engines.models import Conditions, Viewer
from cognition_engines.search.candidates import EMPTY, Doubles, KeywordSource, RankedRows, SpaceCandidates

CANDIDATES: Final = 100  # of each leg
SMALL_SPACE: Final = 2000  # rows visible to the viewer: up to here all rows with a word are fetched at once
FEW_ROWS: Final = 500  # up to here the keyword index is asked about these rows only
LEAST_CANDIDATES: Final = 1000  # of the sketches, for exact ranking: see indexes/columns/sketches.py
CANDIDATES_EACH: Final = 10
TIE: Final = 1e-5  # cosines closer than this are compared again in double precision
FEW_WINDOWS: Final = 64  # up to here, double precision for all is faster than to find the near ones first
DECIMALS: Final = 6  # of a cosine: as many as single precision can distinguish
BLOCK: Final = 2048  # vectors gathered at a time

# Costs in microseconds, measured once at 100,000 vectors; only their proportions matter.
GATHERED_VECTOR: Final = 0.14
FETCHED_VECTOR: Final = 4.0
STREAMED_VECTOR: Final = 0.045
NEIGHBOUR_CALL: Final = 1000.0
NEIGHBOUR: Final = 4.5
# A share of the sketches' cost: the neighbour index finds far fewer of the true nearest, so it must save the rest.
CLEARLY: Final = 0.2
LEAST_NEIGHBOURS: Final = 300  # asked for ten among 200,000 it finds 0.88 of the true ten, asked for this many 0.94
NAMING: Final = 2300  # naming rows to the keyword index costs as much as this number of hits,
NAMING_EACH: Final = 2.7  # and this many more for each row
# Restricting the index to a label costs up to this many hits for each row with the label; less than the real cost, as a
# filter may be opposed to the query, and then most hits fall away.
LABELLED_EACH: Final = 0.01
SPARE: Final = 1.25  # hits beyond the number predicted by the share of matching rows
BOLDEST: Final = 8  # the number of hits asked for grows at most by this factor


class Neighbours(Protocol):
    """An approximate nearest-neighbour index over windows that covers every change up to `seq`."""

    @property
    def seq(self) -> int: ...

    def nearest(self, vector: Floats, limit: int) -> Ints | None:
        """Return the keys of the records with the nearest windows, with repeats; None if the index is lost."""


def _coarse_cosines(snapshot: Snapshot, rows: Ints, vector: Floats) -> tuple[Floats, Floats | None]:
    """Return each row's best cosine to `vector` over windows, in single precision; every row must have a window.

    The products with all windows come second, None if they were not computed.
    """
    counts = snapshot.counts[rows]
    total = int(counts.sum())
    single = total == len(rows)
    if total * GATHERED_VECTOR < len(snapshot.vectors) * STREAMED_VECTOR:
        windows = snapshot.starts[rows] if single else window_indices(snapshot.starts[rows], counts)
        gathered = gathered_products(snapshot.vectors, windows, vector)
        return gathered if single else np.maximum.reduceat(gathered, np.cumsum(counts) - counts), None
    # vecdot and not a matrix product: as fast on one core, and it leaves the others to other calls
    products: Floats = np.vecdot(snapshot.vectors, vector)
    if single:
        return products[snapshot.starts[rows]], products
    owned = snapshot.counts > 0
    best = np.maximum.reduceat(products, snapshot.starts[owned])
    return best[(np.cumsum(owned) - 1)[rows]], products


def gathered_products(vectors: Floats, places: Ints, vector: Floats) -> Floats:
    """Return `vectors[places] @ vector`, block by block: a copy of all would not fit the processor's cache."""
    products = np.empty(len(places), np.float32)
    block = np.empty((min(BLOCK, len(places)), vectors.shape[1]), np.float32)
    for start in range(0, len(places), BLOCK):
        part = places[start : start + BLOCK]
        gathered = np.take(vectors, part, axis=0, out=block[: len(part)], mode="clip")
        np.vecdot(gathered, vector, out=products[start : start + BLOCK])
    return products


def cosines(snapshot: Snapshot, rows: Ints, vector: Floats, products: Floats | None = None) -> Doubles:
    """Return each row's best cosine to `vector` over windows, in double precision; NaN for a row without a window.

    Equal vectors get equal cosines. `products` are as in `RankedRows`.
    """
    result = np.full(len(rows), np.nan)
    vectors, places, counts = snapshot.windows_at(rows)
    if not len(places):
        return result
    owned = counts > 0
    first = np.cumsum(counts[owned]) - counts[owned]
    if products is not None or len(places) > FEW_WINDOWS:
        coarse = gathered_products(vectors, places, vector) if products is None else products[places]
        # the best window of a row is within TIE of the best in single precision
        near = np.flatnonzero(coarse >= np.repeat(np.maximum.reduceat(coarse, first) - TIE, counts[owned]))
        places, first = places[near], np.searchsorted(near, first)
    # a row-wise sum, unlike a matrix product, does not depend on where in the array a row stands
    similarities = (vectors[places].astype(np.float64) * vector.astype(np.float64)).sum(axis=1)
    result[owned] = np.round(np.maximum.reduceat(similarities, first), DECIMALS)
    return result


def _best(snapshot: Snapshot, rows: Ints, scores: Doubles, limit: int) -> RankedRows:
    """Return the `limit` best rows by score, ties by id."""
    if len(rows) > limit:
        threshold = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        near = scores >= threshold
        rows, scores = rows[near], scores[near]
    order = rank_places(scores, lambda place: snapshot.ids[rows[place]])[:limit]
    return RankedRows(rows[order], scores[order])


def rank_places(scores: Doubles, id_of: Callable[[int], str]) -> Ints:
    """Return the places by score, the highest first, ties by `id_of` the place."""
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    tied = np.flatnonzero(falling[1:] == falling[:-1])
    if len(tied):
        firsts = tied[np.diff(tied, prepend=-2) > 1]
        ends = tied[np.diff(tied, append=len(scores) + 1) > 1] + 2
        for first, end in zip(firsts.tolist(), ends.tolist(), strict=True):
            order[first:end] = sorted(order[first:end].tolist(), key=id_of)
    return order


def _best_cosines(snapshot: Snapshot, rows: Ints, vector: Floats, limit: int) -> RankedRows:
    rows = rows[snapshot.counts[rows] > 0]
    products = None
    if len(rows) > limit and snapshot.fetch is None:
        coarse, products = _coarse_cosines(snapshot, rows, vector)
        threshold = np.partition(coarse, len(coarse) - limit)[len(coarse) - limit]
        rows = rows[coarse >= threshold - TIE]
    scores = cosines(snapshot, rows, vector, products)
    scored = ~np.isnan(scores)  # false if a fetched record is gone by now
    if not scored.any():
        return EMPTY
    return replace(_best(snapshot, rows[scored], scores[scored], limit), products=products)


def semantic_leg(
    snapshot: Snapshot, mask: Bools, vector: Floats, limit: int, neighbours: Neighbours | None, viewer: Viewer
) -> RankedRows:
    """Return the `limit` rows under the mask with the nearest best windows, with their cosines.

    Use the cheapest way by the constants above: exact ranking if few rows match; the neighbour index if most do (a
    filter may be opposed to the query, and the neighbours then all fall away); sketches in between. Rows unseen by the
    neighbour index are always ranked exactly.

    Rows hidden from `viewer` change nothing: they have no part in the costs, and as the neighbour index is approximate
    over all rows, it answers only a viewer who sees all of them.
    """
    accepted = snapshot.windows_of(mask)
    exact, sketched = _costs(snapshot, int(np.count_nonzero(accepted)), limit, viewer)
    budget = min(exact, sketched * CLEARLY) if snapshot.fetch is None else exact
    matching = int(np.count_nonzero(mask))
    seen = snapshot.count((), viewer)
    most = 2 * matching >= seen or not snapshot.sketches
    if neighbours is not None and matching > limit and most and seen == snapshot.alive_count:
        found = _approximate(snapshot, mask, matching, vector, limit, neighbours, budget)
        if found is not None:
            return found
    if sketched < exact:
        for count in _candidate_counts(_candidates(limit), snapshot):
            alike = _nearest_rows(snapshot, accepted, vector, count)
            # a few long records may own all chosen windows
            if len(alike) >= limit:
                return _best_cosines(snapshot, alike, vector, limit)
    return _best_cosines(snapshot, np.flatnonzero(mask), vector, limit)


def nearest_of(snapshot: Snapshot, rows: Ints, vector: Floats, limit: int, viewer: Viewer) -> RankedRows:
    """Rank the given ascending rows as `semantic_leg` does, without a mask if exact ranking is cheaper."""
    exact, sketched = _costs(snapshot, int(snapshot.counts[rows].sum()), limit, viewer)
    if exact <= sketched:
        return _best_cosines(snapshot, rows, vector, limit)
    mask = np.zeros(len(snapshot.keys), np.bool_)
    mask[rows] = True
    return semantic_leg(snapshot, mask, vector, limit, None, viewer)


def _costs(snapshot: Snapshot, matching: int, limit: int, viewer: Viewer) -> tuple[float, float]:
    """Return the microseconds to rank `matching` windows exactly, and by sketches, counting the viewer's windows alone.

    Without sketches, the second is the first divided by CLEARLY.
    """
    windows = snapshot.window_count(viewer)
    each = GATHERED_VECTOR if snapshot.fetch is None else FETCHED_VECTOR
    exact = matching * each if snapshot.fetch else min(matching * each, windows * STREAMED_VECTOR)
    if not snapshot.sketches:
        return exact, exact / CLEARLY
    count = _candidates(limit)
    return exact, sketches.cost(windows, matching, count) + count * each


def _candidates(limit: int) -> int:
    return max(LEAST_CANDIDATES, CANDIDATES_EACH * limit)


def _candidate_counts(count: int, snapshot: Snapshot) -> Iterator[int]:
    """Yield how many windows to choose by their sketches; then more and more, only if vectors must be fetched."""
    yield count
    while snapshot.fetch is not None and (count := 4 * count) < len(snapshot.owners):
        yield count


def _nearest_rows(snapshot: Snapshot, accepted: Bools, vector: Floats, count: int) -> Ints:
    """Return the rows with the `count` accepted windows whose signs differ least from the query's."""
    nearest = sketches.nearest_sketches(snapshot.sketches, vector, accepted, count)
    owners = snapshot.owners[nearest]  # in order, as all windows of a row stand together
    return owners[np.flatnonzero(np.diff(owners, prepend=-1))]


def _approximate(
    snapshot: Snapshot, mask: Bools, matching: int, vector: Floats, limit: int, neighbours: Neighbours, budget: float
) -> RankedRows | None:
    """Over-fetch by the share of matching rows, then by the seen share, while `budget` microseconds allow."""
    fresh = snapshot.newer_than(neighbours.seq)
    budget -= int(snapshot.counts[fresh].sum()) * (GATHERED_VECTOR if snapshot.fetch is None else FETCHED_VECTOR)
    per_record = len(snapshot.owners) / max(1, len(snapshot.keys))
    wanted = max(LEAST_NEIGHBOURS, int(limit / (matching / max(1, len(snapshot.keys))) * 1.5 * per_record) + 1)
    while wanted <= len(snapshot.owners) and NEIGHBOUR_CALL + wanted * NEIGHBOUR < budget:
        keys = neighbours.nearest(vector, wanted)
        if keys is None:
            return None
        candidates = np.unique(np.concatenate((snapshot.rows_of(keys), fresh)))
        candidates = candidates[mask[candidates]]
        if len(candidates) >= limit:
            return _best_cosines(snapshot, candidates, vector, limit)
        if not len(candidates):
            return None
        budget -= NEIGHBOUR_CALL + wanted * NEIGHBOUR
        wanted = max(2 * wanted, int(wanted * limit / len(candidates) * 1.5))
    return None


def keyword_leg(
    snapshot: Snapshot,
    mask: Bools,
    query: str,
    limit: int,
    words: KeywordSource,
    viewer: Viewer,
    conditions: Conditions = (),
) -> RankedRows:
    """Return the `limit` rows under the mask with the best BM25 score; only rows with a word from the query.

    `words` finds rows visible to `viewer`. Every row under the mask meets the `conditions`. The keyword index is
    restricted to the condition on labels or sets met by the fewest rows, if that costs less than the hits that would
    fall away, or if too many did.
    """
    matching = int(np.count_nonzero(mask))
    if not matching:
        return EMPTY
    seen = snapshot.count((), viewer)
    if seen <= SMALL_SPACE:
        hits = words.search(query, seen + 1)
        if len(hits[0]) <= seen:  # else the index has more records than the snapshot
            rows, scores = accepted_hits(snapshot, mask, hits)
            return replace(_best(snapshot, rows, scores, limit), every=RankedRows(rows, scores))
    labelled = textual(conditions)
    meeting = [snapshot.count((each,), viewer) for each in labelled]
    among = min(meeting, default=0)
    narrowest = labelled[meeting.index(among)] if labelled else None
    marks: Marks = ()
    wanted = _wanted_hits(limit, matching, seen)
    held = narrowest is not None and among * LABELLED_EACH <= wanted
    if narrowest is not None and held:
        marks, wanted = marks_for(narrowest, snapshot.read), _wanted_hits(limit, matching, among)
    while matching > FEW_ROWS and wanted <= NAMING + NAMING_EACH * matching:
        keys, scores = words.search(query, wanted, marks=marks)
        found = _ranked_hits(snapshot, mask, (keys, scores), limit)
        exhausted = len(keys) < wanted
        # the last hit must score below the last taken hit, or an equal hit with a smaller id may still be missing
        if exhausted or (len(found.rows) == limit and scores[-1] < found.scores[-1]):
            return found
        if narrowest is not None and not held:
            held, marks, wanted = True, marks_for(narrowest, snapshot.read), _wanted_hits(limit, matching, among)
        else:
            wanted *= min(BOLDEST, max(2, limit * 3 // (2 * max(1, len(found.rows)))))
    return _ranked_hits(snapshot, mask, words.search_among(query, snapshot.keys[mask].tolist()), limit)


def _wanted_hits(limit: int, matching: int, among: int) -> int:
    """Estimate how many hits in `among` rows include `limit` matching hits."""
    return int(limit * among / matching * SPARE) + 1


def _ranked_hits(snapshot: Snapshot, mask: Bools, hits: tuple[Ints, Doubles], limit: int) -> RankedRows:
    return _best(snapshot, *accepted_hits(snapshot, mask, hits), limit)


def accepted_hits(snapshot: Snapshot, mask: Bools, hits: tuple[Ints, Doubles]) -> tuple[Ints, Doubles]:
    """Return the hit rows under the mask, and their scores."""
    keys, scores = hits
    within = (keys >= 0) & (keys < len(snapshot.row_of))
    rows = snapshot.row_of[keys[within]]
    scores = scores[within]
    kept = rows >= 0
    kept[kept] = mask[rows[kept]]
    return rows[kept].astype(np.int64), scores[kept]


def distances(meaning: Doubles) -> list[float | None]:
    """Return cosines as cosine distances, 0 to 2; None in place of NaN."""
    found: list[float] = np.round(1.0 - meaning, DECIMALS).tolist()
    return [None if isnan(distance) else min(2.0, max(0.0, distance)) for distance in found]


def with_semantic_leg(
    space: SpaceCandidates, limit: int, vector: Floats | None, neighbours: Neighbours | None = None
) -> SpaceCandidates:
    """Return the candidates with a semantic leg of at most `limit` rows."""
    if vector is None:
        return replace(space, semantic=EMPTY)
    found = semantic_leg(space.snapshot, space.mask, vector, limit, neighbours, space.viewer)
    return replace(space, semantic=found)


def with_keyword_leg(space: SpaceCandidates, limit: int, query: str, conditions: Conditions = ()) -> SpaceCandidates:
    """Return the candidates with a keyword leg of at most `limit` rows, and empty `worded`.

    Every allowed row meets the `conditions`.
    """
    leg = EMPTY
    if space.words is not None:
        leg = keyword_leg(space.snapshot, space.mask, query, limit, space.words, space.viewer, conditions)
    return replace(space, keyword=leg, worded=EMPTY)


def with_bm25(space: SpaceCandidates, query: str) -> SpaceCandidates:
    """Return the candidates with the keyword index's BM25 for rows found only by the semantic leg."""
    # if the keyword leg found nothing, no row has a word of the query
    if space.words is None or not len(space.keyword.rows) or space.keyword.every is not None:
        return space
    lacking = np.setdiff1d(space.semantic.rows, space.keyword.rows, assume_unique=True)
    if not len(lacking):
        return space
    keys, scores = space.words.search_among(query, space.snapshot.keys[lacking].tolist())
    return replace(space, worded=RankedRows(space.snapshot.row_of[keys].astype(np.int64), scores))


def with_highest(space: SpaceCandidates, query: str) -> SpaceCandidates:
    """Return the candidates with the query's highest possible BM25, from the keyword index."""
    return space if space.words is None else replace(space, highest=space.words.highest(query))


def doubled_limit(space: SpaceCandidates) -> int:
    """Return the row limit for legs that should find more: twice the current number."""
    return 2 * max(len(space.semantic.rows), len(space.keyword.rows), 1)


def has_grown(before: Sequence[SpaceCandidates], after: Sequence[SpaceCandidates]) -> bool:
    """Return whether a leg has found more."""
    return any(_count_rows(new) != _count_rows(old) for old, new in zip(before, after, strict=True))


def _count_rows(space: SpaceCandidates) -> int:
    return len(space.semantic.rows) + len(space.keyword.rows)
