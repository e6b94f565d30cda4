"""The methods over chunks of knowledge: store them, find them and read one whole."""

from cognition_engines.engine import Engine
from cognition_engines.models import SENSITIVITIES
from cognition_engines.queries.answers.record_values import to_value
from cognition_engines.writing.knowledge import read_given
from cognition_engines.writing.requests import StoreKnowledge
from cstp.methods.knowledge import GET_CHUNK, SEARCH_KNOWLEDGE, STORE_KNOWLEDGE
from cstp.values import knowledge as wire
from cstp_server.handlers.conversion import found_secrets, refusals, writer_of
from cstp_server.rpc.bound import AnyBound, BoundMethod, Call, bind_read


def knowledge_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the family's methods, bound to the engine."""

    async def store_knowledge(params: wire.StoreKnowledgeParams, call: Call) -> wire.StoreKnowledgeResult:
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
            wire.StoredRecordState(kind=one.kind, id=one.id, status=one.status, num_chunks=one.chunks)  # type: ignore[arg-type]
            for one in done.records
        ]
        return to_value(wire.StoreKnowledgeResult, done, records=states, secrets=found_secrets(done.secrets))

    return (
        bind_read(GET_CHUNK, engine.get_chunk),
        bind_read(SEARCH_KNOWLEDGE, engine.search_knowledge),
        BoundMethod(STORE_KNOWLEDGE, store_knowledge),
    )
