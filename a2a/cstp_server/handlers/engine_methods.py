"""Binds the methods answered by the engine alone."""

from cognition_engines.engine import Engine
from cstp.methods import decisions, episodes, everything, extractions, knowledge, memories, records, system
from cstp_server.rpc.bound import AnyBound, bind_read, bind_write


def engine_methods(engine: Engine) -> tuple[AnyBound, ...]:
    """Return the methods, each bound to the engine function that answers it."""
    return (
        bind_read(everything.SEARCH, engine.search),
        bind_read(everything.FETCH, engine.fetch),
        bind_read(everything.GET_SESSION_CONTEXT, engine.session_context),
        bind_read(decisions.QUERY_DECISIONS, engine.query_decisions),
        bind_read(decisions.GET_DECISION, engine.get_decision),
        bind_read(decisions.LIST_DECISIONS, engine.list_decisions),
        bind_read(decisions.GET_STATS, engine.count_decisions),
        bind_read(decisions.GET_GRAPH, engine.decision_graph),
        bind_read(decisions.GET_DECISION_CONTEXT, engine.decision_context),
        bind_read(extractions.GET_DECISIONS, engine.list_extracted_decisions),
        bind_read(extractions.GET_PATTERNS, engine.list_patterns),
        bind_read(extractions.GET_WARNINGS, engine.list_warnings),
        bind_read(extractions.GET_CHUNK, engine.get_chunk),
        bind_read(knowledge.SEARCH_KNOWLEDGE, engine.search_knowledge),
        bind_read(episodes.LIST_EPISODES, engine.list_episodes),
        bind_read(episodes.GET_EPISODE, engine.get_episode),
        bind_read(episodes.FIND_EPISODES, engine.find_episodes),
        bind_read(memories.RECALL, engine.recall),
        bind_read(memories.LIST_MEMORIES, engine.list_memories),
        bind_read(system.AUDIT, engine.list_audit),
        bind_write(decisions.RECORD_DECISION, engine.record_decision),
        bind_write(decisions.UPDATE_DECISION, engine.update_decision),
        bind_write(decisions.REVIEW_DECISION, engine.review_decision),
        bind_write(decisions.SET_STATUS, engine.set_status),
        bind_write(decisions.LINK_DECISIONS, engine.link_decisions),
        bind_write(decisions.UNLINK_DECISIONS, engine.unlink_decisions),
        bind_write(knowledge.STORE_KNOWLEDGE, engine.store_knowledge),
        bind_write(episodes.STORE_EPISODE, engine.store_episode),
        bind_write(memories.REMEMBER, engine.remember),
        bind_write(records.PUT_RECORDS, engine.put_records),
        bind_write(records.FORGET, engine.forget),
    )
