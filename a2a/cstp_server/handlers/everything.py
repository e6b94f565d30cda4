"""Binds the methods that search and fetch records of any kind."""

from cognition_engines.engine import Engine
from cstp.methods.everything import FETCH, SEARCH
from cstp_server.rpc.bound import AnyBound, bind_read


def everything_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""
    return (bind_read(SEARCH, engine.search), bind_read(FETCH, engine.fetch))
