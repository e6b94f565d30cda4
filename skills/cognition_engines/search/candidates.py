"""Candidates of a search in one space, boosts for their rows, and hits. Frozen values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cognition_engines.indexes.columns.snapshot import Bools, Floats, Ints, Snapshot
from cognition_engines.indexes.keywords.text_documents import Marks
from cognition_engines.models import Viewer

BEST: Final = 20  # hits whose texts are read
DECIMALS: Final = 9  # of a score
DATE: Final = "date"  # the name of the boost that calibrated scores know, too
EXACT: Final = ("exact", True)  # the gain of a hit that comes before all others
Doubles = NDArray[np.float64]
Gains: TypeAlias = tuple[tuple[str, float], ...]  # by the name of a signal: a share of its weight, or True


class KeywordSource(Protocol):
    """A keyword index: keys and BM25 scores, best first."""

    def search(self, query: str, limit: int, marks: Marks = ()) -> tuple[Ints, Doubles]: ...

    def search_among(self, query: str, keys: Sequence[int]) -> tuple[Ints, Doubles]: ...

    def highest(self, query: str) -> float: ...

    def holders(self, item: str, limit: int) -> tuple[Ints, Doubles]: ...


@dataclass(frozen=True, slots=True)
class RankedRows:
    """Rows best first, each with its score: a cosine, a BM25 score or a fused one.

    `every` has all rows that have a score, in no order, if a leg knows them. `products` are the products of the query
    with all windows of the snapshot, in single precision, if a leg has computed them.
    """

    rows: Ints
    scores: Doubles
    every: "RankedRows | None" = None
    products: Floats | None = None


EMPTY: Final = RankedRows(np.empty(0, np.int64), np.empty(0, np.float64))


@dataclass(frozen=True, slots=True)
class RowBoost:
    """The weight that a signal adds to the score, 0 to 1, of the rows that `marks` accepts.

    With `always` all scores are divided by 1 + the weight, and each hit has its share, 0 or 1, also if no row is
    marked. `question` is the text to embed in place of the query's, None for the query's own.
    """

    name: str
    weight: float
    marks: Callable[[Snapshot, Ints], Bools]
    always: bool = False
    question: str | None = None


@dataclass(frozen=True, slots=True)
class SpaceCandidates:
    """One space in a search: the rows that may be found, and the rows that each leg found among them.

    `words` is None if no words are searched; then `keyword` is empty. `viewer` is the reader that searches. `worded`
    are the rows that the semantic leg alone found, with their BM25, once `with_bm25` has asked for it. `boosts` are
    those of the query for rows of any space. `highest` is the highest BM25 that the query could reach, once
    `with_highest` has asked for it. `known` are the rows that alone have an id, a version, a symbol or a quoted phrase
    of the query.
    """

    viewer: Viewer
    snapshot: Snapshot
    mask: Bools
    words: KeywordSource | None
    semantic: RankedRows
    keyword: RankedRows
    worded: RankedRows = EMPTY
    boosts: tuple[RowBoost, ...] = ()
    highest: float = 0.0
    known: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A row of one space. `distance` is the cosine distance of its best window, 0 to 2; None if it has no window.

    `gains` are the signals that were looked for in the row, and by which it may have gained.
    """

    space: int
    row: int
    score: float
    distance: float | None
    gains: Gains = ()
