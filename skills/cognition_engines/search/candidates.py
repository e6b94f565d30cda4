"""Search candidates in a space, boosts for their rows, and hits. Frozen values."""

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
DATE: Final = "date"  # the boost that calibrated scores also use
EXACT: Final = ("exact", True)  # the gain that puts a hit before all others
Doubles = NDArray[np.float64]
Gains: TypeAlias = tuple[tuple[str, float], ...]  # by signal name: a share of the signal's weight, or True


class KeywordSource(Protocol):
    """A keyword index: keys and BM25 scores, best first."""

    def search(self, query: str, limit: int, marks: Marks = ()) -> tuple[Ints, Doubles]: ...

    def search_among(self, query: str, keys: Sequence[int]) -> tuple[Ints, Doubles]: ...

    def highest(self, query: str) -> float: ...

    def holders(self, item: str, limit: int) -> tuple[Ints, Doubles]: ...


@dataclass(frozen=True, slots=True)
class RankedRows:
    """Rows best first, each with a score: a cosine, a BM25 score or a fused score.

    `every` has all rows with a score, unordered, if a leg knows them. `products` are the query's products with all
    windows in the snapshot, in single precision, if a leg has computed them.
    """

    rows: Ints
    scores: Doubles
    every: "RankedRows | None" = None
    products: Floats | None = None


EMPTY: Final = RankedRows(np.empty(0, np.int64), np.empty(0, np.float64))


@dataclass(frozen=True, slots=True)
class RowBoost:
    """A signal's weight, added to the score, 0 to 1, of the rows accepted by `marks`.

    With `always` all scores are divided by 1 + the weight, and each hit has a share, 0 or 1, even if no row is marked.
    `question` is the text to embed in place of the query's, None for the query's own.
    """

    name: str
    weight: float
    marks: Callable[[Snapshot, Ints], Bools]
    always: bool = False
    question: str | None = None


@dataclass(frozen=True, slots=True)
class SpaceCandidates:
    """A space in a search: the allowed rows, and the rows found among them by each leg.

    `words` is None if no words are searched; then `keyword` is empty. `viewer` is the searching reader. `worded` are
    the rows found only by the semantic leg, with their BM25, after `with_bm25`. `boosts` apply to rows in any space.
    `highest` is the query's highest possible BM25, after `with_highest`. `known` are the only rows with an id, a
    version, a symbol or a quoted phrase from the query.
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
    """A row in a space. `distance` is its best window's cosine distance, 0 to 2; None if it has no window.

    `gains` are the signals checked in the row, with the gains.
    """

    space: int
    row: int
    score: float
    distance: float | None
    gains: Gains = ()
