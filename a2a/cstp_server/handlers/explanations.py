"""Why a result ranks where it does, on the wire."""

from cognition_engines.queries.explanation import Explanation
from cognition_engines.retrieval.snippets import Window
from cstp.explained import Boosts, Explained, LegRanks, MatchedWindow


def explained(found: Explanation | None, window: Window | None) -> Explained | None:
    """The explanation of a result; None where none was asked for."""
    if found is None:
        return None
    return Explained(
        score=found.score,
        boosts=Boosts(phrase=found.phrase),
        bm25=found.bm25,
        cosine=found.cosine,
        ranks=LegRanks(semantic=found.semantic_rank, keyword=found.keyword_rank),
        matched_window=None if window is None else MatchedWindow(index=window.place, total=window.total),
    )
