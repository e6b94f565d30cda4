"""What all handlers that write have in common: who writes, and errors of the engine as those of the protocol."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from pydantic.alias_generators import to_camel

from cognition_engines.engine import Engine
from cognition_engines.writing.requests import (
    A,
    RecordNotFound,
    Request,
    ScopeNeeded,
    WriteCaller,
    WriteConflict,
    WriteRefused,
    WritesRefused,
)
from cstp.contract import WireResult
from cstp.errors import Conflict, Forbidden, InvalidParams, NotFound, Violation
from cstp.writes import WriteParams
from cstp_server.rpc.bound import Call

W = TypeVar("W", bound=WireResult)


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


async def write(engine: Engine, call: Call, params: WriteParams, request: Request[A], *, dry_run: bool) -> A:
    """Write what a call asks for. Raises errors of the protocol."""
    with refusals():
        return await engine.write(writer_of(call, params), request, params.idempotency_key, dry_run)


def result_of(result: type[W], *parts: object, **others: object) -> W:
    """Return a result whose members are the attributes of `parts` of the same names, and `others`.

    It is for single records, not for lists: a validation costs more than a constructor.
    """
    known = {name: getattr(part, name) for part in parts for name in _names(result) if hasattr(part, name)}
    return result.model_validate(known | others, strict=False, from_attributes=True)


@cache
def _names(result: type[WireResult]) -> tuple[str, ...]:
    return tuple(result.model_fields)
