"""Every method of the protocol, in one tuple."""

from typing import Any

from cstp.contract import Method
from cstp.methods.decision_context import GET_DECISION_CONTEXT
from cstp.methods.decision_links import GET_GRAPH, LINK_DECISIONS, UNLINK_DECISIONS
from cstp.methods.decision_reads import GET_DECISION, GET_STATS, LIST_DECISIONS
from cstp.methods.decision_records import RECORD_DECISION, REVIEW_DECISION, SET_STATUS, UPDATE_DECISION
from cstp.methods.decisions import QUERY_DECISIONS
from cstp.methods.episodes import FIND_EPISODES, GET_EPISODE, LIST_EPISODES, STORE_EPISODE
from cstp.methods.everything import FETCH, SEARCH
from cstp.methods.extractions import GET_DECISIONS, GET_PATTERNS, GET_WARNINGS
from cstp.methods.knowledge import GET_CHUNK, SEARCH_KNOWLEDGE, STORE_KNOWLEDGE
from cstp.methods.memories import LIST_MEMORIES, REMEMBER
from cstp.methods.recall import RECALL
from cstp.methods.records import CHANGES, FORGET, PUT_RECORDS
from cstp.methods.session_context import GET_SESSION_CONTEXT
from cstp.methods.system import AUDIT, DISCOVER, WHOAMI

METHODS: tuple[Method[Any, Any], ...] = (
    SEARCH,
    FETCH,
    GET_SESSION_CONTEXT,
    QUERY_DECISIONS,
    GET_DECISION,
    LIST_DECISIONS,
    GET_STATS,
    GET_GRAPH,
    GET_DECISION_CONTEXT,
    GET_DECISIONS,
    GET_PATTERNS,
    GET_WARNINGS,
    GET_CHUNK,
    LIST_EPISODES,
    GET_EPISODE,
    FIND_EPISODES,
    SEARCH_KNOWLEDGE,
    RECALL,
    LIST_MEMORIES,
    RECORD_DECISION,
    UPDATE_DECISION,
    REVIEW_DECISION,
    SET_STATUS,
    LINK_DECISIONS,
    UNLINK_DECISIONS,
    CHANGES,
    STORE_EPISODE,
    REMEMBER,
    STORE_KNOWLEDGE,
    FORGET,
    PUT_RECORDS,
    AUDIT,
    WHOAMI,
    DISCOVER,
)
