"""The audit rows of calls, as the dispatcher sees them: every read, and every write that was refused or failed.

`Engine.write` adds the row of a write in its transaction.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cognition_engines.store.audit.audit_rows import AuditedRecord, AuditEntry
from cognition_engines.store.audit.trail import AuditTrail
from cstp.contract import Wire, named_records
from cstp.errors import Conflict, CstpError
from cstp.methods.registry import METHODS
from cstp_server.rpc.bound import Call

ANY_KIND: Final = "record"  # of a record whose kind an error does not say
_READS: Final = frozenset(method.name for method in METHODS if method.audited and not method.writes)
_WRITES: Final = frozenset(method.name for method in METHODS if method.audited and method.writes)


@dataclass(slots=True)
class AuditNotes:
    """What is known of a call until it is answered; `admitted` once the limits let it in."""

    admitted: bool = False
    records: tuple[AuditedRecord, ...] = ()
    query: str | None = None


class AuditedCalls:
    """Makes the rows and leaves them with the engine."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail: Final = trail
        self._reads: Final = trail.options.reads
        self._queries: Final = trail.options.queries

    def asked(self, method: str, params: Wire, notes: AuditNotes) -> None:
        """Note the text of a search, if queries are kept."""
        if self._queries and method in _READS:
            notes.query = getattr(params, "query", None)

    def answered(self, method: str, result: Wire, notes: AuditNotes) -> None:
        """Note the records of a result, each once."""
        if self._reads and method in _READS:
            notes.records = tuple(AuditedRecord(*named) for named in dict.fromkeys(named_records(result)))

    async def add_answer(self, method: str, call: Call, result: Wire) -> None:
        """Add a row for a part of a streamed answer. Raises ComponentFailed as `add` does."""
        notes = AuditNotes(admitted=True)
        self.answered(method, result, notes)
        await self.add(method, call, notes, None)

    async def add(self, method: str, call: Call, notes: AuditNotes, error: CstpError | None) -> None:
        """Add the row of a call that ends now. Raises ComponentFailed if the store accepts none."""
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
                records=notes.records if error is None else _refused(error),
                query=notes.query,
            )
        )


def _refused(error: CstpError) -> tuple[AuditedRecord, ...]:
    """The record that a conflict names, whatever its kind. What callers send themselves is not kept."""
    if isinstance(error, Conflict) and error.id is not None:
        return (AuditedRecord(ANY_KIND, error.id),)
    return ()
