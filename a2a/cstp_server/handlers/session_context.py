"""Binds the method that reads the context of a session."""

from cognition_engines.engine import Engine
from cstp.methods.everything import GET_SESSION_CONTEXT
from cstp_server.rpc.bound import AnyBound, bind_read


def session_context_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's method, bound to the engine."""
    return (bind_read(GET_SESSION_CONTEXT, engine.session_context),)
