"""The method that stores knowledge: from the wire's values to a request, and back."""

from cognition_engines.engine import Engine
from cognition_engines.models import SENSITIVITIES
from cognition_engines.writing.knowledge import read_given
from cognition_engines.writing.requests import StoreKnowledge
from cstp.methods.knowledge import (
    STORE_KNOWLEDGE,
    StoredRecordState,
    StoreKnowledgeParams,
    StoreKnowledgeResult,
)
from cstp_server.handlers.writing import refusals, writer_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call


def knowledge_record_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the method, bound to the engine."""

    async def store_knowledge(params: StoreKnowledgeParams, call: Call) -> StoreKnowledgeResult:
        with refusals():
            writer = writer_of(call, params)
            pools = engine.pools
            request = StoreKnowledge(
                records=await pools.writes.run(pools.caller(call.agent), read_given, params.records),
                project=params.project,
                sensitivity=SENSITIVITIES[params.sensitivity],
            )
            done = await engine.write(writer, request, params.idempotency_key, params.dry_run)
        states = [
            StoredRecordState(kind=one.kind, id=one.id, status=one.status, num_chunks=one.chunks)  # type: ignore[arg-type]
            for one in done.records
        ]
        return StoreKnowledgeResult(records=states, indexed=done.indexed, seq=done.seq)

    return (BoundMethod(STORE_KNOWLEDGE, store_knowledge),)
