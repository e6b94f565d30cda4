"""Common parts of search answers: the mode, conditions, abstention, explanations, and places."""

from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Protocol

from cognition_engines.errors import NoGoodMatch
from cognition_engines.kinds.knowledge import Chunk
from cognition_engines.models import Mode
from cognition_engines.queries.search import Search
from cognition_engines.search.explanations import Explanation
from cognition_engines.search.signals.dates import read_interval
from cognition_engines.search.snippets import Window
from cstp.errors import InvalidParams, Violation
from cstp.values.reads import Boosts, Explained, Interpreted, LegRanks, MatchedWindow, NearestRecord, PassagePlace


class AnySearchParams(Protocol):
    """Parameters common to all searches."""

    @property
    def query(self) -> str | None: ...

    @property
    def mode(self) -> str | None: ...

    @property
    def as_of(self) -> datetime | None: ...

    @property
    def abstain(self) -> bool: ...

    @property
    def explain(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The options of a search's answer: its mode, the moment for relative times, and the dates to explain.

    `began` is a value of `perf_counter`.
    """

    mode: Mode
    as_of: datetime
    dates: Interpreted | None
    began: float

    @property
    def query_time_ms(self) -> int:
        """Return the milliseconds since it began."""
        return round((perf_counter() - self.began) * 1000)


def read_options(searching: Search, params: AnySearchParams) -> SearchOptions:
    """Return the options of a search's answer; its dates only if they are explained and named by the query.

    Raise InvalidParams for an unavailable mode, and for `abstain` in the mode keyword or without a least cosine.
    """
    began = perf_counter()
    mode = searching.modes[0] if params.mode is None else Mode(params.mode)
    if mode not in searching.modes:
        raise InvalidParams((Violation("mode", 'must be "keyword": this server has no embedding model'),))
    if params.abstain and mode is Mode.KEYWORD:
        raise InvalidParams((Violation("abstain", "needs a search by meaning, which the mode keyword is not"),))
    if params.abstain and searching.least_cosine is None:
        raise InvalidParams((Violation("abstain", "needs search.least_cosine, which is not known of this model"),))
    as_of = params.as_of or datetime.now(UTC)
    dates = _interpreted(searching, params.query, as_of) if params.explain and params.query is not None else None
    return SearchOptions(mode, as_of, dates, began)


def _interpreted(searching: Search, query: str, as_of: datetime) -> Interpreted | None:
    found = read_interval(query, as_of, searching.parser.relevance.language)
    return None if found is None else Interpreted(date_from=found.first, date_to=found.last)


def count_omitted(max_tokens: int | None, lacking: int) -> int | None:
    """Return the number of results missing from an answer; None without a token limit if none is missing."""
    return None if max_tokens is None and not lacking else lacking


def no_match(found: NoGoodMatch) -> dict[str, Any]:
    """Return the members of an answer without a good match."""
    nearest = None if found.id is None or found.cosine is None else NearestRecord(id=found.id, cosine=found.cosine)
    return {"no_good_match": True, "nearest": nearest}


def explain_result(found: Explanation | None, window: Window | None) -> Explained | None:
    """Return the explanation of a result; None if `explain` is off."""
    if found is None:
        return None
    return Explained(
        score=found.score,
        boosts=Boosts.model_validate(found.gains),
        bm25=found.bm25,
        cosine=found.cosine,
        ranks=LegRanks(semantic=found.semantic_rank, keyword=found.keyword_rank),
        matched_window=None if window is None else MatchedWindow(index=window.place, total=window.total),
    )


def shown_place(record: object) -> PassagePlace | None:
    """Return the place of a chunk; None if it is unknown or the record is not a chunk."""
    if not isinstance(record, Chunk) or record.place is None:
        return None
    place = record.place
    return PassagePlace(
        chapter=place.chapter,
        section=place.section,
        page=place.page,
        slide=place.slide,
        cell=place.cell,
        headings=list(place.headings) or None,
    )
