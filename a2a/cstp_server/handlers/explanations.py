"""Why a result ranks where it does, on the wire."""

from datetime import datetime

from cognition_engines.engine import Engine
from cognition_engines.retrieval.scores import Explanation
from cognition_engines.retrieval.snippets import Window
from cstp.reads import Boosts, Explained, Interpreted, LegRanks, MatchedWindow


def interpreted(engine: Engine, query: str, as_of: datetime, *, wanted: bool) -> Interpreted | None:
    """Return the time that a query names; None if it names none or `explain` is off."""
    found = engine.read_dates(query, as_of) if wanted else None
    return None if found is None else Interpreted(date_from=found.first, date_to=found.last)


def explained(found: Explanation | None, window: Window | None) -> Explained | None:
    """Return the explanation of a result; None if `explain` is off."""
    if found is None:
        return None
    return Explained(
        score=found.score,
        boosts=Boosts(phrase=found.phrase, date=found.date),
        bm25=found.bm25,
        cosine=found.cosine,
        ranks=LegRanks(semantic=found.semantic_rank, keyword=found.keyword_rank),
        matched_window=None if window is None else MatchedWindow(index=window.place, total=window.total),
    )
