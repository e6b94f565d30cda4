"""Statements: for a query that asks for advice, turns in which a person states a preference or an instruction gain."""

import re
from collections.abc import Sequence
from typing import Final

from cognition_engines.kinds.artifacts import Turn
from cognition_engines.kinds.registry import Record
from cognition_engines.relevance import Relevance
from cognition_engines.search.query import LOOKED_AT, QueryText
from cognition_engines.search.signals.signal import TextSignal

_STATEMENT: Final = re.compile(
    r"\bi(?:['’]d| would| really| still| usually| always| generally)? (?:prefer|rather)\b"
    r"|\bmy preference\b|\bwhen i ask\b|\bfrom now on\b"
    r"|(?:^|[.!?]\s)(?:please )?(?:always|never)\b",
    re.IGNORECASE,
)


def _share(_: Sequence[str], record: Record, __: str) -> bool:
    """Return whether a record is a turn in which a person states a preference or an instruction, in English."""
    if not isinstance(record, Turn) or "assistant" in (record.role, record.speaker):
        return False
    return _STATEMENT.search(record.content[:LOOKED_AT]) is not None


def _weigh(query: QueryText, relevance: Relevance) -> float:
    return relevance.statement_weight if relevance.language == "en" and query.asks_for_advice else 0.0


def _lift(score: float, weight: float, share: float) -> float:
    """Return the score, moved toward 1 by a part of the distance."""
    return score + weight * (1 - score) if share else score


SIGNAL: Final = TextSignal(name="statement", setting="statement_weight", share=_share, weigh=_weigh, lift=_lift)
