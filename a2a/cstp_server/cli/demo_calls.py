"""The calls that `cstp demo` prints, one of each method; README.md has their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Call:
    """One call, and what it is there for."""

    about: str
    method: str
    params: Mapping[str, Any]


CALLS: Final[Sequence[Call]] = (
    Call(
        "Decisions, by meaning and by words",
        "cstp.queryDecisions",
        {
            "query": "why are the records in SQLite",
            "limit": 1,
            "include": ["snippet", "links", "provenance"],
        },
    ),
    Call(
        "Records of all kinds in one order, by meaning and by words",
        "cstp.search",
        {"query": "what to do about a damaged index", "limit": 2},
    ),
    Call(
        "Decisions page by page, newest first",
        "cstp.listDecisions",
        {"category": "reliability", "dateTo": "2026-11-30", "limit": 1},
    ),
    Call("How many decisions there are", "cstp.getStats", {"dateFrom": "2026-11-22", "dateTo": "2026-11-23"}),
    Call(
        "Decisions extracted from sources, by topic",
        "cstp.getDecisions",
        {"topic": "indexes", "limit": 1},
    ),
    Call("Patterns extracted from sources, by topic", "cstp.getPatterns", {"topic": "search", "limit": 1}),
    Call("Warnings extracted from sources, by topic", "cstp.getWarnings", {"topic": "errors", "limit": 1}),
    Call(
        "A passage with its knowledge card, its clusters and what is like it",
        "cstp.getChunk",
        {"chunkId": "chk_running-2", "relatedLimit": 1},
    ),
    Call(
        "What was tried and how well it went, newest first",
        "cstp.listEpisodes",
        {"tags": ["filters"], "limit": 2},
    ),
    Call("An episode whole, with what was learned", "cstp.getEpisode", {"id": 2}),
    Call(
        "Episodes, by meaning and by words of what was tried and learned",
        "cstp.findEpisodes",
        {"query": "measure a filter", "maxReward": 0, "limit": 1},
    ),
    Call(
        "Passages and what was extracted from them, by meaning and by words",
        "cstp.searchKnowledge",
        {"query": "can an index be trusted after a crash", "filters": {"type": "extraction"}, "limit": 1},
    ),
    Call(
        "Conversations, minutes and mails, with related records",
        "cstp.recall",
        {"query": "what happened after the power cut", "source": "wiki", "limit": 1, "graphBudget": 1},
    ),
    Call(
        "What was said and written, page by page",
        "cstp.listMemories",
        {"context": "document", "limit": 1},
    ),
    Call("What changes from now on", "cstp.changes", {"since": "now", "kinds": ["decision"], "waitMs": 10}),
    Call("Who the token makes the caller", "cstp.whoami", {}),
)
