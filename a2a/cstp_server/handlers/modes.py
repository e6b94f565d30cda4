"""The mode of a search that a call asks for, and whether it may answer that nothing is near enough."""

from time import perf_counter
from typing import Any

from cognition_engines.engine import Engine
from cognition_engines.errors import NoGoodMatch
from cognition_engines.models import Mode
from cstp.errors import InvalidParams, Violation
from cstp.reads import NearestRecord


def check_abstain(engine: Engine, mode: Mode, *, wanted: bool) -> None:
    """Raise InvalidParams if a search cannot know that nothing is near enough."""
    if wanted and mode is Mode.KEYWORD:
        raise InvalidParams((Violation("abstain", "needs a search by meaning, which the mode keyword is not"),))
    if wanted and engine.least_cosine is None:
        raise InvalidParams((Violation("abstain", "needs search.least_cosine, which is not known of this model"),))


def unanswered(found: NoGoodMatch) -> dict[str, Any]:
    """Return the members of an answer without a good match."""
    nearest = None if found.id is None or found.cosine is None else NearestRecord(id=found.id, cosine=found.cosine)
    return {"no_good_match": True, "nearest": nearest}


def taken_since(began: float) -> dict[str, Any]:
    """Return the milliseconds since `began`, a value of `perf_counter`, as the member of an answer."""
    return {"query_time_ms": round((perf_counter() - began) * 1000)}


def chosen_mode(engine: Engine, given: str | None) -> Mode:
    """Return the given mode, else the engine's default. Raises InvalidParams for an unavailable mode."""
    mode = engine.modes[0] if given is None else Mode(given)
    if mode not in engine.modes:
        raise InvalidParams((Violation("mode", 'must be "keyword": this server has no embedding model'),))
    return mode
