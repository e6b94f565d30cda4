"""The mode of a search that a call asks for."""

from cognition_engines.engine import Engine
from cognition_engines.models import Mode
from cstp.errors import InvalidParams, Violation


def chosen_mode(engine: Engine, given: str | None) -> Mode:
    """The mode that is given, else the engine's default. Raises InvalidParams for one that it does not have."""
    mode = engine.modes[0] if given is None else Mode(given)
    if mode not in engine.modes:
        raise InvalidParams((Violation("mode", 'must be "keyword": this server has no embedding model'),))
    return mode
