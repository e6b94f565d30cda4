"""Why a search ranks a record where it does: the same for all methods that rank."""

from typing import Annotated, Final, TypeAlias

from pydantic import Field

from cstp.contract import WireResult
from cstp.fields import InstantOut

EXPLAIN_DESCRIPTION: Final = (
    "Adds `explain`: why each result ranks where it does; and `interpreted`, where the query speaks of a time."
)


AS_OF_DESCRIPTION: Final = (
    "From when a time in the query is seen, such as `last week`, or `in May`, which is the last May that has begun; a "
    "bare date is its last moment. Absent: now."
)


class Interpreted(WireResult):
    """The time that the query speaks of, whole days of UTC, both bounds inclusive; null is open.

    In the mode `hybrid` records of that time get a boost; nothing is left out. Times are looked for in the first 2,048
    characters of the query.
    """

    date_from: InstantOut | None
    date_to: InstantOut | None


# present where an explanation was asked for and the query speaks of a time
InterpretedOut: TypeAlias = Annotated[Interpreted | None, Field(exclude_if=lambda value: value is None)]


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
    `date` is 1 where its time is within `interpreted`, 0 where it is not or there is none; null in the modes `semantic`
    and `keyword`, and for a query that speaks of no time.
    """

    phrase: float | None
    date: float | None


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
