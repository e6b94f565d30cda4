"""From the wire's values to the engine's, and back, by the names of their members; and how handlers write."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Final, TypeVar

from pydantic.alias_generators import to_camel

from cognition_engines.engine import Engine
from cognition_engines.masking.policy import FieldSecret
from cognition_engines.models import SENSITIVITIES, Sensitivity
from cognition_engines.store.values import StoredRecord
from cognition_engines.writing import requests
from cognition_engines.writing.requests import Request, WriteCaller, Written
from cstp.errors import Conflict, Forbidden, InvalidParams, NotFound, Violation
from cstp.values.base import Wire
from cstp.values.decision_reads import RecordProvenance
from cstp.values.fields import Level
from cstp.values.writes import FoundSecret, WriteParams
from cstp_server.rpc.bound import Call

A = TypeVar("A", bound=Written)
R = TypeVar("R", bound=Wire)
T = TypeVar("T")
LEVELS: Final[dict[Sensitivity, Level]] = {level: name for name, level in SENSITIVITIES.items()}  # type: ignore[misc]


def to_wire(model: type[R], *records: object, **members: object) -> R:
    """Return `members` in wire form, with all other members of the model from the first record that has the name.

    Takes longer than the model itself, so lists of records are made without it.
    """
    for name in model.model_fields.keys() - members.keys():
        for record in records:
            if hasattr(record, name):
                members[name] = getattr(record, name)
                break
    return model.model_validate(members, strict=False, from_attributes=True, by_name=True)


def from_wire(kind: type[T], params: Wire, **members: object) -> T:
    """Return a dataclass of `members`, with all its other members from the parameters, which must have them.

    A list of texts becomes a tuple; absent members have the default of the dataclass.
    """
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in members and (value := getattr(params, field.name)) is not None:
            members[field.name] = tuple(value) if field.default == () else value
    return kind(**members)


def provenance_of(stored: StoredRecord, content_hash: str, ratified_by: str | None = None) -> RecordProvenance:
    """Return the origin of a record, in wire form."""
    origin = stored.origin
    known = origin.path and origin.path != origin.source
    return RecordProvenance(
        recorded_by=origin.recorded_by,
        recorded_at=stored.recorded_at,
        via=origin.via,
        origin="wire" if origin.is_written else "file",
        path=None if origin.is_written else origin.path if known else origin.source.rpartition("/")[2],
        revision=stored.revision,
        content_hash=content_hash,
        ratified_by=ratified_by,
    )


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
