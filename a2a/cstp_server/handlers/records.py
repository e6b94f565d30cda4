"""The methods over records of any kind: put those of files, forget, and follow changes."""

from typing import Any

from cognition_engines.engine import Engine
from cognition_engines.exchange.lines import UnreadableLine, origin_object, read_object
from cognition_engines.kinds.spec import KINDS
from cognition_engines.masking.policy import FieldSecret
from cognition_engines.queries.answers.record_values import LEVELS, to_value
from cognition_engines.queries.operator_reads import LookUp
from cognition_engines.store.values import Entry, KnownRecord, Outcome, Replaces
from cognition_engines.writing.erasing import Forget
from cognition_engines.writing.knowledge import check_import
from cognition_engines.writing.requests import PutRecords, WritesRefused
from cstp.errors import MAX_VIOLATIONS, InvalidParams, Overloaded, Violation
from cstp.methods.records import CHANGES, FORGET, PUT_RECORDS
from cstp.values import records as wire
from cstp.values.writes import NotIndexed
from cstp_server.handlers.conversion import found_secrets, refusals, write, writer_of
from cstp_server.limits.places import FollowerPlaces
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call

_RETRY_SECONDS = 1


def record_methods(engine: Engine, followers: FollowerPlaces) -> tuple[AnyBound, ...]:
    """Return the methods, bound to the engine and the places of waiting calls."""
    following = engine.following

    async def put_records(params: wire.PutRecordsParams, call: Call) -> wire.PutRecordsResult:
        with refusals():
            writer = writer_of(call, params)
            check_import(writer)
            caller = engine.pools.caller(call.agent)
            entries = await engine.pools.writes.run(caller, _entries, params)
            request = PutRecords(records=entries, replaces=_replaces(params))
            before = await engine.look_up(_look_up(params.look_up or wire.LookUp()), call.agent)
            seq, indexed = before.seq, True
            not_indexed: tuple[NotIndexed, ...] = ()
            secrets: tuple[FieldSecret, ...] = ()
            outcomes: tuple[Outcome, ...] = ()
            if request.records or request.replaces:
                done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
                seq, indexed, not_indexed = done.seq, done.indexed, done.not_indexed
                outcomes, secrets = done.outcomes, done.secrets
        return to_value(
            wire.PutRecordsResult,
            outcomes=[one.value for one in outcomes],
            known=[_known_state(one) for one in before.known],
            guarded=[
                wire.GuardedPlace(source=one.source, path=one.path, scope=one.scope, level=LEVELS[one.level])
                for one in before.guarded
            ],
            indexed=indexed,
            seq=seq,
            not_indexed=not_indexed,
            secrets=found_secrets(secrets),
        )

    async def forget(params: wire.ForgetParams, call: Call) -> wire.ForgetResult:
        kind = None if params.kind is None else KINDS[params.kind]
        done = await write(engine, call, params, Forget(id=params.id, kind=kind, reason=params.reason))
        receipt = (
            None
            if done.receipt is None
            else to_value(wire.ForgetReceipt, done.receipt, remaining=to_value(wire.ForgetRemaining, done.receipt))
        )
        return to_value(wire.ForgetResult, done, deleted=not params.dry_run, receipt=receipt)

    async def changes(params: wire.ChangesParams, call: Call) -> wire.ChangesResult:
        if params.wait_ms and call.batched:
            raise InvalidParams((Violation("waitMs", "must be 0 in a batch"),))
        cursor = await following.start(params.since, call.viewer, call.agent)
        params = params.model_copy(update={"since": cursor})
        found = await following.read(params, call.viewer, call.agent)
        if found.changes or not params.wait_ms:
            return found
        if not followers.enter(call.agent):
            raise Overloaded(_RETRY_SECONDS)
        try:
            if call.place is not None:
                call.place.leave()
            return await following.wait(
                params, call.viewer, call.agent, params.wait_ms / 1000, lambda: followers.must_stop(call.token)
            )
        finally:
            followers.leave(call.agent)

    return (
        BoundMethod(PUT_RECORDS, put_records),
        BoundMethod(FORGET, forget),
        BoundMethod(CHANGES, changes),
    )


def _entries(params: wire.PutRecordsParams) -> tuple[Entry, ...]:
    """Return the records of a call. Raise WritesRefused with their faults, at most a hundred."""
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


def _replaces(params: wire.PutRecordsParams) -> tuple[Replaces, ...]:
    return tuple(
        Replaces(KINDS[one.kind], one.id, frozenset((KINDS[kept.kind], kept.id) for kept in one.kept))
        for one in params.replaces or ()
    )


def _look_up(asked: wire.LookUp) -> LookUp:
    return LookUp(
        [(KINDS[one.kind], one.id) for one in asked.ids or ()],
        list(asked.identities or ()),
        [(one.repository, one.path) for one in asked.places or ()],
        asked.guards,
    )


def _known_state(one: KnownRecord) -> wire.KnownRecordState:
    kind: Any = one.kind.label
    return wire.KnownRecordState(
        key=one.key, kind=kind, id=one.id, project=one.project, origin=origin_object(one.origin)
    )
