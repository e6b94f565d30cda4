"""What all handlers that write have in common: who writes, and errors of the engine as those of the protocol."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic.alias_generators import to_camel

from cognition_engines.writing.requests import (
    RecordNotFound,
    ScopeNeeded,
    Warning,
    WriteCaller,
    WriteConflict,
    WriteRefused,
    WritesRefused,
)
from cstp.errors import Conflict, Forbidden, InvalidParams, NotFound, Violation
from cstp.writes import WriteParams, WriteWarning
from cstp_server.rpc.bound import Call


def writer_of(call: Call, params: WriteParams) -> WriteCaller:
    """Return the agent of the token. Raises InvalidParams if the parameters name another one."""
    if params.agent_id is not None and params.agent_id != call.agent:
        raise InvalidParams((Violation("agentId", "must be absent, or the agent of the token"),))
    return WriteCaller(call.agent, call.viewer, frozenset(call.token.scopes), call.via, call.method, call.request_id)


@contextmanager
def refusals() -> Iterator[None]:
    """Translate the errors of a write to those of the protocol."""
    try:
        yield
    except WriteRefused as error:
        path = ".".join(to_camel(step) for step in error.member.split("."))
        raise InvalidParams((Violation(path, error.message),)) from None
    except WritesRefused as error:
        raise InvalidParams(tuple(Violation(path, reason) for path, reason in error.faults)) from None
    except WriteConflict as error:
        raise Conflict(error.id, error.reason, error.expected, error.found) from None
    except RecordNotFound as error:
        raise NotFound(error.id) from None
    except ScopeNeeded as error:
        raise Forbidden(error.scope) from None


def warnings_of(found: tuple[Warning, ...]) -> list[WriteWarning]:
    """Return warnings in wire form."""
    return [WriteWarning(code=one.code, message=one.message) for one in found]
