"""From parameters to requests of the engine, by the names of their members; and how handlers write."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar

from pydantic.alias_generators import to_camel

from cognition_engines.engine import Engine
from cognition_engines.masking.policy import FieldSecret
from cognition_engines.writing import requests
from cognition_engines.writing.requests import Request, WriteCaller, Written
from cstp.errors import Conflict, Forbidden, InvalidParams, NotFound, Violation
from cstp.values.base import Wire
from cstp.values.writes import FoundSecret, WriteParams
from cstp_server.rpc.bound import Call

A = TypeVar("A", bound=Written)
R = TypeVar("R", bound=Wire)
T = TypeVar("T")


def from_wire(kind: type[T], params: Wire, **members: object) -> T:
    """Return a dataclass of `members`, with all its other members from the parameters, which must have them.

    A list of texts becomes a tuple; absent members have the default of the dataclass.
    """
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in members and (value := getattr(params, field.name)) is not None:
            members[field.name] = tuple(value) if field.default == () else value
    return kind(**members)


async def write(engine: Engine, call: Call, params: Any, request: Request[A]) -> A:
    """Return the engine's answer to a write by the agent of the token. Raise the errors of the protocol."""
    with refusals():
        return await engine.write(writer_of(call, params), request, params.idempotency_key, params.dry_run)


def found_secrets(found: Iterable[FieldSecret]) -> list[FoundSecret]:
    """Return secrets found in a call, in wire form."""
    return [FoundSecret(field=one.field, kind=one.kind, masked=one.masked) for one in found]


def writer_of(call: Call, params: WriteParams) -> WriteCaller:
    """Return the agent of the token. Raise InvalidParams if the parameters name another one."""
    if params.agent_id is not None and params.agent_id != call.agent:
        raise InvalidParams((Violation("agentId", "must be absent, or the agent of the token"),))
    return WriteCaller(call.agent, call.viewer, frozenset(call.token.scopes), call.via, call.method, call.request_id)


@contextmanager
def refusals() -> Iterator[None]:
    """Translate the errors of a write to those of the protocol."""
    try:
        yield
    except requests.WriteRefused as error:
        path = ".".join(to_camel(step) for step in error.member.split("."))
        raise InvalidParams((Violation(path, error.message),)) from None
    except requests.WritesRefused as error:
        raise InvalidParams(tuple(Violation(path, reason) for path, reason in error.faults)) from None
    except requests.WriteConflict as error:
        raise Conflict(error.id, error.reason, error.expected, error.found) from None
    except requests.RecordNotFound as error:
        raise NotFound(error.id) from None
    except requests.ScopeNeeded as error:
        raise Forbidden(error.scope) from None
