"""The time that a question speaks of, in its ranking: records of that time get a boost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Final, TypeAlias

import numpy as np

from cognition_engines.indexes.columns.snapshot import Bools, Floats, Ints, Snapshot
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, Viewer, microseconds
from cognition_engines.relevance import Language, Relevance
from cognition_engines.retrieval.asked_speakers import SpeakerBoost
from cognition_engines.retrieval.legs import (
    EMPTY,
    Doubles,
    KeywordSource,
    Neighbours,
    RankedRows,
    cosines,
    distances,
    keyword_leg,
    semantic_leg,
)
from cognition_engines.retrieval.temporal import read_days
from cognition_engines.retrieval.temporal_days import Days
from cognition_engines.spaces import NO_NUMBER

COLUMN: Final = "at"
CANDIDATES: Final = 100  # of each leg
# Takes cosines (NaN for none), shares of BM25, and 1 for a record of the time that the query speaks of, else 0.
Scoring: TypeAlias = Callable[[Doubles, Doubles, Doubles], Doubles]


@dataclass(frozen=True, slots=True)
class Interval:
    """A span from the first moment to the last one, both inclusive; None is open."""

    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class DateBoost:
    """An interval, and the weight that is added to the score, 0 to 1, of a record within it."""

    interval: Interval
    weight: float

    def holds(self, snapshot: Snapshot, rows: Ints) -> Bools:
        """Return a mask of the rows that are within the interval."""
        times = snapshot.numbers[COLUMN][rows]
        inside: Bools = times != NO_NUMBER
        if self.interval.first is not None:
            inside &= times >= microseconds(self.interval.first)
        if self.interval.last is not None:
            inside &= times <= microseconds(self.interval.last)
        return inside


class QuestionDates:
    """A reader of the time that questions speak of."""

    def __init__(self, relevance: Relevance) -> None:
        self._language: Final[Language] = relevance.language
        self._weight: Final = relevance.date_weight

    def read(self, question: str, as_of: datetime | None = None) -> Interval | None:
        """Return the time that the question names, seen from a moment, by default now; None if it names none."""
        days = read_days(question, as_of or datetime.now(UTC), self._language)
        return None if days is None else _interval(days)

    def boost(self, question: str, as_of: datetime | None) -> DateBoost | None:
        """Return the boost for records of the time that the question names; None if it names none."""
        found = self.read(question, as_of) if self._weight else None
        return None if found is None else DateBoost(found, self._weight)


def _interval(days: Days) -> Interval:
    return Interval(
        None if days.first is None else _moment(days.first, time.min),
        None if days.last is None else _moment(days.last, time.max),
    )


def _moment(day: date, at: time) -> datetime:
    return datetime.combine(day, at, UTC)


@dataclass(frozen=True, slots=True)
class Part:
    """One space in a search: the rows that may be found, and the rows that each leg found among them.

    `words` is None if no words are searched; then `keyword` is empty. `viewer` is the reader that searches. `worded`
    are the rows that the semantic leg alone found, with their BM25, once `with_bm25` has asked for it. `dates` is the
    boost for rows of the time that the query speaks of; None if it speaks of none. `speakers` is the boost for turns of
    the speakers that it asks about; None if it asks about none. `highest` is the highest BM25 that the query could
    reach, once `with_highest` has asked for it. `known` are the rows that alone have an id, a version, a symbol or a
    quoted phrase of the query.
    """

    viewer: Viewer
    snapshot: Snapshot
    mask: Bools
    words: KeywordSource | None
    semantic: RankedRows
    keyword: RankedRows
    worded: RankedRows = EMPTY
    dates: DateBoost | None = None
    highest: float = 0.0
    speakers: SpeakerBoost | None = None
    known: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A row of one part. `distance` is the cosine distance of its best window, 0 to 2; None if it has no window.

    `phrase` is the share of the query's pairs of words that its text has side by side; None if none was looked for.
    `date` is 1 if the row is of the time that the query speaks of, else 0; None if that was not looked for. `exact` is
    whether the row comes first as the only one with an id, a version, a symbol or a quoted phrase of the query;
    `current` is whether it comes before a decision that it replaced, which matched a little better; `states` is whether
    it gains as a statement, for a query that asks for advice.
    """

    part: int
    row: int
    score: float
    distance: float | None
    phrase: float | None = None
    date: float | None = None
    exact: bool = False
    current: bool = False
    states: bool = False


@dataclass(frozen=True, slots=True)
class _Union:
    """Rows of all parts, one after the other; cosines are NaN for none. `dates` are as in `Hit`, or None."""

    parts: Ints
    rows: Ints
    cosines: Doubles
    bm25: Doubles
    dates: Doubles | None = None

    def at(self, places: Ints) -> "_Union":
        dates = None if self.dates is None else self.dates[places]
        return _Union(self.parts[places], self.rows[places], self.cosines[places], self.bm25[places], dates)


def with_bm25(part: Part, query: str) -> Part:
    """Return the part with the BM25 of the rows that the semantic leg alone found, from the keyword index."""
    # if the keyword leg found nothing, no row has a word of the query
    if part.words is None or not len(part.keyword.rows) or part.keyword.every is not None:
        return part
    lacking = np.setdiff1d(part.semantic.rows, part.keyword.rows, assume_unique=True)
    if not len(lacking):
        return part
    keys, scores = part.words.search_among(query, part.snapshot.keys[lacking].tolist())
    return replace(part, worded=RankedRows(part.snapshot.row_of[keys].astype(np.int64), scores))


def with_highest(part: Part, query: str) -> Part:
    """Return the part with the highest BM25 that the query could reach, from the keyword index."""
    return part if part.words is None else replace(part, highest=part.words.highest(query))


def rank_by_score(parts: Sequence[Part], vector: Floats | None, limit: int, scores: Scoring) -> list[Hit]:
    """Return the best hits of all parts; `scores` ranks each row by its cosine, its share of BM25 and its time alone.

    The parts must have been through `with_bm25` and `with_highest`. An artifact and its chunks are one hit.
    """
    union = _with_dates(parts, _union(parts, vector))
    dates = np.zeros(len(union.rows)) if union.dates is None else union.dates
    most = np.array([part.highest for part in parts])[union.parts]
    shares = np.divide(union.bm25, most, out=np.zeros(len(most)), where=most > 0)
    return _best_hits(parts, union, scores(union.cosines, np.minimum(shares, 1.0), dates), limit, groups=True)


def fuse_parts(parts: Sequence[Part], vector: Floats | None, limit: int, groups: bool = False) -> list[Hit]:
    """Return the best hits of all parts; see `fused_apart`."""
    return fused_apart(parts, vector, limit, (range(len(parts)),), groups)[0]


def fused_apart(
    parts: Sequence[Part], vector: Floats | None, limit: int, sets: Sequence[Sequence[int]], groups: bool = False
) -> list[list[Hit]]:
    """Return the best `limit` hits of each set of parts, given by their numbers, with scores on one scale.

    A score is half cosine, half BM25 over the union of all legs; the parts must have been through `with_bm25`.

    A row that has none of the query's words scores 0, a row without a vector takes the lowest cosine of the union.
    If no row has a word of the query, cosines alone are the scores; without `vector`, BM25 alone, scaled.
    With `groups`, an artifact and its chunks are one hit, the best of them. Rows of the time that the query speaks of
    get the weight of `dates`; then all scores are divided by 1 + the weight, and stay within 0 to 1. So do turns of the
    speakers that it asks about, with the weight of `speakers`.
    """
    union = _union(parts, vector)
    scores = union.cosines
    if any(len(part.keyword.rows) for part in parts):
        scores = _scale_scores(union.bm25)
        if vector is not None:
            scores = 0.5 * _scale_scores(_fill_missing(union.cosines)) + 0.5 * scores
        scores = np.round(scores, 9)
    union, boost = _with_dates(parts, union), parts[0].dates
    if boost is not None and union.dates is not None:
        scores = np.round((scores + boost.weight * union.dates) / (1 + boost.weight), 9)
    if (asked := parts[0].speakers) is not None and (said := _mark_rows(parts, union, asked)).any():
        scores = np.round((scores + asked.weight * said) / (1 + asked.weight), 9)
    if len(sets) == 1:
        return [_best_hits(parts, union, scores, limit, groups)]
    chosen = [np.flatnonzero(np.isin(union.parts, list(numbers))) for numbers in sets]
    return [_best_hits(parts, union.at(places), scores[places], limit, groups) for places in chosen]


def _with_dates(parts: Sequence[Part], union: _Union) -> _Union:
    """Return the union with its rows of the time that the query speaks of marked; unchanged if it speaks of none."""
    boost = parts[0].dates
    return union if boost is None else replace(union, dates=_mark_rows(parts, union, boost))


def _mark_rows(parts: Sequence[Part], union: _Union, boost: DateBoost | SpeakerBoost) -> Doubles:
    """Return 1 for each row that the boost is for, else 0."""
    inside = [boost.holds(part.snapshot, union.rows[union.parts == number]) for number, part in enumerate(parts)]
    return np.concatenate(inside).astype(np.float64)


def wide(part: Part) -> int:
    """Return how many rows to ask the legs of a part for so that they find more: twice as many."""
    return 2 * max(len(part.semantic.rows), len(part.keyword.rows), 1)


def more_meaning(part: Part, limit: int, vector: Floats | None, neighbours: Neighbours | None = None) -> Part:
    """Return the part with a semantic leg of `limit` rows, or of fewer if there are no more."""
    if vector is None:
        return replace(part, semantic=EMPTY)
    return replace(part, semantic=semantic_leg(part.snapshot, part.mask, vector, limit, neighbours, part.viewer))


def more_words(part: Part, limit: int, query: str, labelled: Conditions = ()) -> Part:
    """Return the part with a keyword leg of `limit` rows, or of fewer if there are no more, and `worded` empty.

    `labelled` are conditions on labels and sets that every row of the part meets.
    """
    leg = EMPTY
    if part.words is not None:
        leg = keyword_leg(part.snapshot, part.mask, query, limit, part.words, part.viewer, labelled)
    return replace(part, keyword=leg, worded=EMPTY)


def has_grown(before: Sequence[Part], after: Sequence[Part]) -> bool:
    """Return whether a leg has found more."""
    return any(_size(new) != _size(old) for old, new in zip(before, after, strict=True))


def best_of(parts: Sequence[Part], legs: Sequence[RankedRows], vector: Floats | None, limit: int) -> list[Hit]:
    """Return the `limit` best hits of one leg of each part, by the scores of the leg."""
    union = _Union(
        _number_parts([len(leg.rows) for leg in legs]),
        np.concatenate([leg.rows for leg in legs]),
        _cosines_of(parts, [leg.rows for leg in legs], vector),
        np.empty(0),
    )
    return _best_hits(parts, union, np.concatenate([leg.scores for leg in legs]), limit, groups=False)


def record_key(part: Part, row: int) -> int:
    """Return the key of a row's record, or of its artifact if it is a chunk of one."""
    snapshot = part.snapshot
    parent = int(snapshot.numbers["parent"][row])
    chunk = snapshot.codes["kind"].get(Kind.ARTIFACT_CHUNK.label)
    folded = chunk is not None and snapshot.labels["kind"][row] == chunk and parent >= 0
    return parent if folded else int(snapshot.keys[row])


def _union(parts: Sequence[Part], vector: Floats | None) -> _Union:
    rows = [np.union1d(part.semantic.rows, part.keyword.rows) for part in parts]
    return _Union(
        _number_parts(list(map(len, rows))),
        np.concatenate(rows),
        np.concatenate([_row_cosines(part, of, vector) for part, of in zip(parts, rows, strict=True)]),
        np.concatenate([_bm25(part, of) for part, of in zip(parts, rows, strict=True)]),
    )


def _number_parts(sizes: Sequence[int]) -> Ints:
    return np.repeat(np.arange(len(sizes)), sizes)


def _cosines_of(parts: Sequence[Part], rows: Sequence[Ints], vector: Floats | None) -> Doubles:
    if vector is None:
        return np.full(sum(map(len, rows)), np.nan)
    return np.concatenate([cosines(part.snapshot, of, vector) for part, of in zip(parts, rows, strict=True)])


def _row_cosines(part: Part, rows: Ints, vector: Floats | None) -> Doubles:
    """Return the cosine of each of the ascending rows, NaN for none; the leg has computed most of them."""
    found = np.full(len(rows), np.nan)
    if vector is not None:
        known = np.searchsorted(rows, part.semantic.rows)
        found[known] = part.semantic.scores
        lacking = np.delete(np.arange(len(rows)), known)
        found[lacking] = cosines(part.snapshot, rows[lacking], vector, part.semantic.products)
    return found


def _bm25(part: Part, rows: Ints) -> Doubles:
    """Return the BM25 of each of the ascending rows; 0 for a row that has none of the query's words."""
    if (every := part.keyword.every) is not None:
        scores = np.zeros(len(part.snapshot.keys))
        scores[every.rows] = every.scores
        return scores[rows]
    found = np.zeros(len(rows))
    for leg in (part.keyword, part.worded):
        found[np.searchsorted(rows, leg.rows)] = leg.scores
    return found


def _fill_missing(meaning: Doubles) -> Doubles:
    """Return the cosines with the lowest one in place of each NaN; all 0 if all are NaN."""
    if np.isnan(meaning).all():
        return np.zeros_like(meaning)
    return np.where(np.isnan(meaning), np.nanmin(meaning), meaning)


def _scale_scores(scores: Doubles) -> Doubles:
    """Scale the scores from min..max to 0..1; to 1 if all are equal."""
    low, high = scores.min(), scores.max()
    return np.ones_like(scores) if high == low else (scores - low) / (high - low)


def _best_hits(parts: Sequence[Part], union: _Union, scores: Doubles, limit: int, groups: bool) -> list[Hit]:
    """Return the `limit` best hits by score, ties by id."""
    part_of, row_of, values = union.parts.tolist(), union.rows.tolist(), scores.tolist()
    group_of = _groups(parts, union) if groups else list(range(len(values)))
    most = limit
    while True:
        places = _highest(scores, most).tolist()
        order = sorted(places, key=lambda place: (-values[place], parts[part_of[place]].snapshot.ids[row_of[place]]))
        first = _firsts(order, group_of)[:limit]
        if len(first) == limit or len(places) == len(values):
            break
        most *= 4  # several of the best are chunks of one artifact
    away = distances(union.cosines[first])
    dates = [None] * len(first) if union.dates is None else union.dates[first].tolist()
    return [
        Hit(part_of[place], row_of[place], values[place], distance, date=of_the_time)
        for place, distance, of_the_time in zip(first, away, dates, strict=True)
    ]


def _highest(scores: Doubles, count: int) -> Ints:
    """Return the places of the `count` highest scores, with all that equal the last of them."""
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - count)[len(scores) - count])


def _groups(parts: Sequence[Part], union: _Union) -> list[int]:
    """Return the key of each row's artifact if the row is a chunk of one, else the row's own key."""
    found: list[int] = []
    for number, part in enumerate(parts):
        rows = union.rows[union.parts == number]
        keys, parents = part.snapshot.keys[rows], part.snapshot.numbers["parent"][rows]
        chunk = part.snapshot.codes["kind"].get(Kind.ARTIFACT_CHUNK.label)
        folded = (parents >= 0) & (part.snapshot.labels["kind"][rows] == chunk) if chunk is not None else False
        found += np.where(folded, parents, keys).tolist()
    return found


def _firsts(order: Sequence[int], groups: Sequence[int]) -> list[int]:
    """Return the first place of each group."""
    first: dict[int, int] = {}
    for place in order:
        first.setdefault(groups[place], place)
    return list(first.values())


def _size(part: Part) -> int:
    return len(part.semantic.rows) + len(part.keyword.rows)
