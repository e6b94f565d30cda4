"""Every method of the protocol, in one tuple."""

from typing import Any

from cstp.contract import Method
from cstp.methods.audit import AUDIT
from cstp.methods.bulk import PUT_RECORDS
from cstp.methods.changes import CHANGES
from cstp.methods.decision_graph import GET_GRAPH
from cstp.methods.decision_links import LINK_DECISIONS, UNLINK_DECISIONS
from cstp.methods.decision_reads import GET_DECISION, LIST_DECISIONS
from cstp.methods.decision_records import RECORD_DECISION, REVIEW_DECISION, SET_STATUS, UPDATE_DECISION
from cstp.methods.decisions import QUERY_DECISIONS
from cstp.methods.episode_records import FIND_EPISODES, GET_EPISODE, STORE_EPISODE
from cstp.methods.episodes import LIST_EPISODES
from cstp.methods.everything import SEARCH
from cstp.methods.extractions import GET_DECISIONS, GET_PATTERNS, GET_WARNINGS
from cstp.methods.forgetting import FORGET
from cstp.methods.knowledge import GET_CHUNK, SEARCH_KNOWLEDGE
from cstp.methods.knowledge_records import STORE_KNOWLEDGE
from cstp.methods.memory_lists import LIST_MEMORIES
from cstp.methods.memory_records import REMEMBER
from cstp.methods.recall import RECALL
from cstp.methods.statistics import GET_STATS
from cstp.methods.system import DISCOVER, WHOAMI

METHODS: tuple[Method[Any, Any], ...] = (
    SEARCH,
    QUERY_DECISIONS,
    GET_DECISION,
    LIST_DECISIONS,
    GET_STATS,
    GET_GRAPH,
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
