"""Binds the methods that list extractions."""

from cognition_engines.engine import Engine
from cstp.methods.knowledge import GET_DECISIONS, GET_PATTERNS, GET_WARNINGS
from cstp_server.rpc.bound import AnyBound, bind_read


def extraction_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""
    return (
        bind_read(GET_DECISIONS, engine.list_extracted_decisions),
        bind_read(GET_PATTERNS, engine.list_patterns),
        bind_read(GET_WARNINGS, engine.list_warnings),
    )
