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


class Boosts(WireResult):
    """What the score has in addition to the two legs.

    `phrase` is the share of the pairs of words of the query, 0 to 1, that its text has side by side; null where that
    was not looked for: in the modes `semantic` and `keyword`, beyond the first 20, and for a query without such pairs.
    """

    phrase: float | None


class Explained(WireResult):
    """Why a result ranks where it does.

    `score` is what the results are in the order of, the highest first. `bm25` is 0 where it has none of the query's
    words, null in the mode `semantic`; `cosine` is null without a vector. `matchedWindow` is null in the mode `keyword`
    and without a vector.
    """

    score: float
    boosts: Boosts
    bm25: float | None
    cosine: float | None
    ranks: LegRanks
    matched_window: MatchedWindow | None
