"""Every method of the protocol, in one tuple."""

from typing import Any

from cstp.contract import Method
from cstp.methods.decisions import (
    GET_DECISION,
    GET_DECISION_CONTEXT,
    GET_GRAPH,
    GET_STATS,
    LINK_DECISIONS,
    LIST_DECISIONS,
    QUERY_DECISIONS,
    RECORD_DECISION,
    REVIEW_DECISION,
    SET_STATUS,
    UNLINK_DECISIONS,
    UPDATE_DECISION,
)
from cstp.methods.episodes import FIND_EPISODES, GET_EPISODE, LIST_EPISODES, STORE_EPISODE
from cstp.methods.everything import FETCH, GET_SESSION_CONTEXT, SEARCH
from cstp.methods.knowledge import (
    GET_CHUNK,
    GET_DECISIONS,
    GET_PATTERNS,
    GET_WARNINGS,
    SEARCH_KNOWLEDGE,
    STORE_KNOWLEDGE,
)
from cstp.methods.memories import LIST_MEMORIES, RECALL, REMEMBER
from cstp.methods.records import CHANGES, FORGET, PUT_RECORDS
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
