"""Why a search ranks a record where it does: the same for all methods that rank."""

from typing import Final

from cstp.contract import WireResult

EXPLAIN_DESCRIPTION: Final = "Adds `explain`: why each result ranks where it does."


class LegRanks(WireResult):
    """The places of a result among what is nearest by meaning and by words, from 1; null where it is not there."""

    semantic: int | None
    keyword: int | None


class MatchedWindow(WireResult):
    """Which piece of the text is nearest to the query, from 0, of how many the model makes of it."""

    index: int
    total: int


class Explained(WireResult):
    """Why a result ranks where it does.

    `score` is what the results are in the order of, the highest first. `bm25` is 0 where it has none of the query's
    words, null in the mode `semantic`; `cosine` is null without a vector. `matchedWindow` is null in the mode `keyword`
    and without a vector.
    """

    score: float
    bm25: float | None
    cosine: float | None
    ranks: LegRanks
    matched_window: MatchedWindow | None
