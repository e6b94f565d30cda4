"""The methods over records of any kind: put those of files, and forget."""

from typing import Any

from cognition_engines.engine import Engine
from cognition_engines.exchange.lines import UnreadableLine, origin_object, read_object
from cognition_engines.kinds.kind import KINDS
from cognition_engines.queries.imports import LookUp
from cognition_engines.store.values import Entry, KnownRecord, Outcome, Replaces
from cognition_engines.writing.knowledge import check_import
from cognition_engines.writing.memory_requests import PutRecords
from cognition_engines.writing.requests import ErasureReceipt, Forget, WritesRefused
from cstp.errors import MAX_VIOLATIONS
from cstp.methods import bulk, forgetting
from cstp_server.handlers.conversion import LEVELS, refusals, to_wire, write, writer_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def record_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the methods, bound to the engine."""

    async def put_records(params: bulk.PutRecordsParams, call: Call) -> bulk.PutRecordsResult:
        with refusals():
            writer = writer_of(call, params)
            check_import(writer)
            caller = engine.pools.caller(call.agent)
            entries = await engine.pools.writes.run(caller, _entries, params)
            request = PutRecords(records=entries, replaces=_replaces(params))
            before = await engine.look_up(_look_up(params.look_up or bulk.LookUp()), call.agent)
            seq, indexed = before.seq, True
            outcomes: tuple[Outcome, ...] = ()
            if request.records or request.replaces:
                done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
                seq, indexed, outcomes = done.seq, done.indexed, done.outcomes
        return bulk.PutRecordsResult(
            outcomes=[one.value for one in outcomes],
            known=[_known(one) for one in before.known],
            guarded=[
                bulk.GuardedPlace(source=one.source, path=one.path, scope=one.scope, level=LEVELS[one.level])
                for one in before.guarded
            ],
            indexed=indexed,
            seq=seq,
        )

    async def forget(params: forgetting.ForgetParams, call: Call) -> forgetting.ForgetResult:
        kind = None if params.kind is None else KINDS[params.kind]
        done = await write(engine, call, params, Forget(id=params.id, kind=kind, reason=params.reason))
        receipt = None if done.receipt is None else _receipt(done.receipt)
        return to_wire(forgetting.ForgetResult, done, deleted=not params.dry_run, receipt=receipt)

    return (BoundMethod(bulk.PUT_RECORDS, put_records), BoundMethod(forgetting.FORGET, forget))


def _entries(params: bulk.PutRecordsParams) -> tuple[Entry, ...]:
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


def _replaces(params: bulk.PutRecordsParams) -> tuple[Replaces, ...]:
    return tuple(
        Replaces(KINDS[one.kind], one.id, frozenset((KINDS[kept.kind], kept.id) for kept in one.kept))
        for one in params.replaces or ()
    )


def _look_up(asked: bulk.LookUp) -> LookUp:
    return LookUp(
        [(KINDS[one.kind], one.id) for one in asked.ids or ()],
        list(asked.identities or ()),
        [(one.repository, one.path) for one in asked.places or ()],
        asked.guards,
    )


def _known(one: KnownRecord) -> bulk.KnownRecordState:
    kind: Any = one.kind.label
    return bulk.KnownRecordState(
        key=one.key, kind=kind, id=one.id, project=one.project, origin=origin_object(one.origin)
    )


def _receipt(found: ErasureReceipt) -> forgetting.ForgetReceipt:
    return to_wire(forgetting.ForgetReceipt, found, remaining=to_wire(forgetting.ForgetRemaining, found))
