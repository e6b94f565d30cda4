"""A call as its handler sees it, and the call's row in the audit trail.

There is a row for every read, and for every refused or failed write; `Engine.write` adds the row of any other write in
its transaction.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import starmap
from random import getrandbits
from typing import Any, Final, Generic, TypeVar

from cognition_engines.models import Viewer
from cognition_engines.store.audit.chain import AuditedRecord, AuditEntry
from cognition_engines.store.audit.trail import AuditTrail
from cognition_engines.writing.requests import WriteCaller
from cstp.contract import Method
from cstp.errors import Conflict, CstpError
from cstp.methods.registry import METHODS
from cstp.values.base import Names, Wire, models_in
from cstp_server.limits.admission import Slot
from cstp_server.tokens import Token

P = TypeVar("P", bound=Wire)
R = TypeVar("R", bound=Wire)
ANY_KIND: Final = "record"  # of a record whose kind an error does not say
_READS: Final = frozenset(method.name for method in METHODS if method.audited and not method.writes)
_WRITES: Final = frozenset(method.name for method in METHODS if method.audited and method.writes)


@dataclass(frozen=True, slots=True)
class Call:
    """A method's caller, the request id, the transport (cstp or mcp), and the method once it is known.

    A waiting call lends the `slot` to others; a `batched` call has none.
    """

    token: Token
    request_id: str
    via: str = "cstp"
    method: str = ""
    slot: Slot | None = None
    batched: bool = False

    @property
    def agent(self) -> str:
        return self.token.agent

    @property
    def viewer(self) -> Viewer:
        return self.token.viewer


@dataclass(frozen=True, slots=True)
class BoundMethod(Generic[P, R]):
    """A method with the function that answers it."""

    method: Method[P, R]
    handle: Callable[[P, Call], Awaitable[R]]


AnyBound = BoundMethod[Any, Any]


def bind_read(method: Method[P, R], answer: Callable[[P, Viewer, str], Awaitable[R]]) -> BoundMethod[P, R]:
    """Return a method with the engine function that answers it for a viewer and an agent."""
    return BoundMethod(method, lambda params, call: answer(params, call.viewer, call.agent))


def bind_write(method: Method[P, R], answer: Callable[[P, WriteCaller], Awaitable[R]]) -> BoundMethod[P, R]:
    """Return a method with the engine function that executes it for the token's agent."""
    return BoundMethod(method, lambda params, call: answer(params, _writer_of(call)))


def _writer_of(call: Call) -> WriteCaller:
    return WriteCaller(call.agent, call.viewer, frozenset(call.token.scopes), call.via, call.method, call.request_id)


def new_request_id() -> str:
    """Return an id for a request. It is not secret."""
    return f"{getrandbits(128):032x}"


@dataclass(slots=True)
class AuditNotes:
    """Facts about a call until it is answered; `admitted` once the limits allow it."""

    admitted: bool = False
    records: tuple[AuditedRecord, ...] = ()
    query: str | None = None


class AuditedCalls:
    """Maker of audit rows, which the engine receives."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail: Final = trail
        self._reads: Final = trail.options.reads
        self._queries: Final = trail.options.queries

    def note_query(self, method: str, params: Wire, notes: AuditNotes) -> None:
        """Note the text of a search, if queries are kept."""
        if self._queries and method in _READS:
            notes.query = getattr(params, "query", getattr(params, "task_description", None))

    def note_result(self, method: str, result: Wire, notes: AuditNotes) -> None:
        """Note the records of a result, each once."""
        if self._reads and method in _READS:
            notes.records = tuple(starmap(AuditedRecord, dict.fromkeys(_named_records(result))))

    async def add_answer(self, method: str, call: Call, result: Wire) -> None:
        """Add a row for a part of a streamed answer. Raise ComponentFailed as `add` does."""
        notes = AuditNotes(admitted=True)
        self.note_result(method, result, notes)
        await self.add(method, call, notes, None)

    async def add(self, method: str, call: Call, notes: AuditNotes, error: CstpError | None) -> None:
        """Add the row of a call ending now. Raise ComponentFailed if the store accepts none."""
        read = method in _READS and self._reads
        if not notes.admitted or not (read or (method in _WRITES and error is not None)):
            return
        await self._trail.add(
            AuditEntry(
                at=datetime.now(UTC),
                agent=call.agent,
                via=call.via,
                method=method,
                request_id=call.request_id,
                code=0 if error is None else error.code,
                records=notes.records if error is None else _conflicting_records(error),
                query=notes.query,
            )
        )


def _conflicting_records(error: CstpError) -> tuple[AuditedRecord, ...]:
    """Return the record named by a conflict, of any kind. Callers' parameters are not kept."""
    if isinstance(error, Conflict) and error.id is not None:
        return (AuditedRecord(ANY_KIND, error.id),)
    return ()


def _named_records(result: Wire) -> list[tuple[str, str]]:
    """Return the kind and id of each record named in a result, in member order."""
    found: list[tuple[str, str]] = []
    _add_named(result, found)
    return found


def _add_named(value: Wire, found: list[tuple[str, str]]) -> None:
    for name, mark in _naming_members(type(value)):
        member = getattr(value, name)
        for each in member if isinstance(member, list) else (member,):
            if mark is None:
                if isinstance(each, Wire):
                    _add_named(each, found)
            elif each is not None:
                kind = mark.kind if isinstance(mark.kind, str) else mark.kind(value)
                if kind is not None:
                    found.append((kind, str(each)))


@cache
def _naming_members(model: type[Wire]) -> Sequence[tuple[str, Names | None]]:
    """Return the members with record ids, and with None those whose models have such members."""
    found: list[tuple[str, Names | None]] = []
    for name, info in model.model_fields.items():
        mark = next((one for one in info.metadata if isinstance(one, Names)), None)
        if mark is not None or any(map(_naming_members, models_in(info.annotation))):
            found.append((name, mark))
    return found
