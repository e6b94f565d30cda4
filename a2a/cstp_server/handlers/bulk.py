"""The method that puts records of files: from the wire's values to a request, and back."""

from typing import Any, Final

from cognition_engines.engine import Engine
from cognition_engines.exchange.lines import UnreadableLine, origin_object, read_object
from cognition_engines.kinds.kind import KINDS
from cognition_engines.models import SENSITIVITIES
from cognition_engines.queries.operator_reads import LookUp
from cognition_engines.store.values import Entry, KnownRecord, Outcome, Replaces
from cognition_engines.writing.knowledge import check_import
from cognition_engines.writing.requests import PutRecords, WritesRefused
from cstp.errors import MAX_VIOLATIONS
from cstp.methods import records
from cstp.methods.records import (
    PUT_RECORDS,
    GuardedPlace,
    KnownRecordState,
    PutRecordsParams,
    PutRecordsResult,
)
from cstp_server.handlers.writing import refusals, writer_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_LEVELS: Final = {level: name for name, level in SENSITIVITIES.items()}


def bulk_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the method, bound to the engine."""

    async def put_records(params: PutRecordsParams, call: Call) -> PutRecordsResult:
        with refusals():
            writer = writer_of(call, params)
            check_import(writer)
            caller = engine.pools.caller(call.agent)
            entries = await engine.pools.writes.run(caller, _entries, params)
            request = PutRecords(records=entries, replaces=_replaces(params))
            before = await engine.look_up(_look_up(params.look_up or records.LookUp()), call.agent)
            seq, indexed = before.seq, True
            outcomes: tuple[Outcome, ...] = ()
            if request.records or request.replaces:
                done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
                seq, indexed, outcomes = done.seq, done.indexed, done.outcomes
        return PutRecordsResult(
            outcomes=[one.value for one in outcomes],
            known=[_known(one) for one in before.known],
            guarded=[
                GuardedPlace(source=one.source, path=one.path, scope=one.scope, level=_LEVELS[one.level])  # type: ignore[arg-type]
                for one in before.guarded
            ],
            indexed=indexed,
            seq=seq,
        )

    return (BoundMethod(PUT_RECORDS, put_records),)


def _entries(params: PutRecordsParams) -> tuple[Entry, ...]:
    """Return the records of a call. Raises WritesRefused with what is wrong with them, at most a hundred."""
    found: list[Entry] = []
    faults: list[tuple[str, str]] = []
    for place, given in enumerate(params.records or ()):
        try:
            found.append(read_object(given))
        except UnreadableLine as error:
            faults.append((f"records[{place}]", str(error)))
            if len(faults) == MAX_VIOLATIONS:
                break
    if faults:
        raise WritesRefused(faults)
    return tuple(found)


def _replaces(params: PutRecordsParams) -> tuple[Replaces, ...]:
    return tuple(
        Replaces(KINDS[one.kind], one.id, frozenset((KINDS[kept.kind], kept.id) for kept in one.kept))
        for one in params.replaces or ()
    )


def _look_up(asked: records.LookUp) -> LookUp:
    return LookUp(
        [(KINDS[one.kind], one.id) for one in asked.ids or ()],
        list(asked.identities or ()),
        [(one.repository, one.path) for one in asked.places or ()],
        asked.guards,
    )


def _known(one: KnownRecord) -> KnownRecordState:
    kind: Any = one.kind.label
    return KnownRecordState(key=one.key, kind=kind, id=one.id, project=one.project, origin=origin_object(one.origin))
