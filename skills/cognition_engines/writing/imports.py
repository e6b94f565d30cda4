"""Records sent by an ingest elsewhere: looked up, and put as a local ingest would."""

from collections.abc import Awaitable, Callable
from typing import Any

from cognition_engines.exchange.lines import UnreadableLine, origin_object, read_object
from cognition_engines.kinds.spec import KINDS
from cognition_engines.queries.answers.record_values import LEVELS
from cognition_engines.queries.operator_reads import LookUp, OperatorReads
from cognition_engines.queries.pools import Pools
from cognition_engines.store.values import Entry, KnownRecord, Replaces
from cognition_engines.writing.knowledge import PUT_RECORDS, check_import
from cognition_engines.writing.requests import PutRecords, WriteCaller
from cognition_engines.writing.writer import Writer, check_agent
from cstp.errors import MAX_VIOLATIONS, InvalidParams, Violation
from cstp.values import records as wire


def bind_put_records(
    writes: Writer, reads: OperatorReads, pools: Pools
) -> Callable[[wire.PutRecordsParams, WriteCaller], Awaitable[wire.PutRecordsResult]]:
    """Return the function that looks up stored records, then puts the sent records."""

    async def put_records(params: wire.PutRecordsParams, writer: WriteCaller) -> wire.PutRecordsResult:
        check_agent(params, writer)
        check_import(writer)
        request = await pools.writes.run(pools.caller(writer.agent), _request, params)
        before = await reads.look_up(_look_up(params.look_up or wire.LookUp()), writer.agent)
        known = [_known_state(one) for one in before.known]
        guarded: list[Any] = [
            wire.GuardedPlace(source=one.source, path=one.path, scope=one.scope, level=LEVELS[one.level])
            for one in before.guarded
        ]
        if not request.records and not request.replaces:
            return wire.PutRecordsResult(outcomes=[], known=known, guarded=guarded, indexed=True, seq=before.seq)
        done = await writes.write(PUT_RECORDS, request, writer)
        return done.model_copy(update={"known": known, "guarded": guarded})

    return put_records


def _request(params: wire.PutRecordsParams) -> PutRecords:
    """Return a call's records. Raise InvalidParams with their faults, at most a hundred."""
    found: list[Entry] = []
    faults: list[Violation] = []
    for place, given in enumerate(params.records or ()):
        try:
            found.append(read_object(given))
        except UnreadableLine as error:
            faults.append(Violation(f"records[{place}]", str(error)))
            if len(faults) == MAX_VIOLATIONS:
                break
    if faults:
        raise InvalidParams(tuple(faults))
    replaces = tuple(
        Replaces(KINDS[one.kind], one.id, frozenset((KINDS[kept.kind], kept.id) for kept in one.kept))
        for one in params.replaces or ()
    )
    return PutRecords(
        records=tuple(found),
        replaces=replaces,
        idempotency_key=params.idempotency_key,
        dry_run=params.dry_run,
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
