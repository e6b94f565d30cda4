"""The calls printed by `cstp demo`: a call for each reading method, and the write calls.

A method without required parameters is called without any, unless a call with parameters shows more of it.
"""

import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cstp.client.sync_client import Client
from cstp.methods.registry import METHODS


@dataclass(frozen=True, slots=True)
class Call:
    """A call with a purpose."""

    about: str
    method: str
    params: Mapping[str, Any]


_SHOWN: Final[Sequence[Call]] = (
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
    Call("The whole record of an id, of any kind", "cstp.fetch", {"id": "art_power-cut"}),
    Call(
        "A briefing for the start of a session, within a budget of tokens",
        "cstp.getSessionContext",
        {"taskDescription": "restore a damaged index", "include": ["decisions", "warnings"], "maxTokens": 400},
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
    Call(
        "The decisions that govern a file",
        "cstp.getDecisionContext",
        {"files": ["skills/cognition_engines/indexes/columns/sketches.py"], "maxTokens": 300},
    ),
    Call("What changes from now on", "cstp.changes", {"since": "now", "kinds": ["decision"], "waitMs": 10}),
)


def _calls_without_parameters() -> Iterator[Call]:
    shown = {call.method for call in _SHOWN} | {"rpc.discover"}
    for method in METHODS:
        required = any(field.is_required() for field in method.params.model_fields.values())
        if method.name not in shown and method.scope in (None, "read") and not required:
            yield Call(method.summary.removesuffix("."), method.name, {})


CALLS: Final[Sequence[Call]] = (*_SHOWN, *_calls_without_parameters())

ID: Final = "<id>"  # stands for that of the decision, SEQ for the change that recorded it
SEQ: Final = "<seq>"
STEPS: Final[Sequence[Call]] = (
    Call(
        "An agent records a decision",
        "cstp.recordDecision",
        {
            "decision": "Bake rye bread on Mondays",
            "confidence": 0.7,
            "context": "The oven is free on Mondays, and rye keeps for a week.",
            "tags": ["bread"],
        },
    ),
    Call(
        "States how it turned out",
        "cstp.reviewDecision",
        {"id": ID, "outcome": "partial", "lessons": "Start the sour dough on Sunday."},
    ),
    Call("Asks for it", "cstp.queryDecisions", {"query": "when do we bake rye bread", "limit": 1}),
    Call("Follows what changed since it was recorded", "cstp.changes", {"since": SEQ, "kinds": ["decision"]}),
    Call("And has it forgotten, with all that came of it", "cstp.forget", {"id": ID, "confirm": True}),
)
# The shown member of each result, so that a line is enough.
SHOWN: Final = {
    "cstp.recordDecision": ("id", "status", "created"),
    "cstp.reviewDecision": ("status", "outcome", "selfReview"),
    "cstp.queryDecisions": ("decisions",),
    "cstp.changes": ("changes",),
    "cstp.forget": ("deleted", "receipt"),
}


def write_through(url: str, token: str, certificate: str | None) -> Iterator[tuple[Call, Mapping[str, Any]]]:
    """Yield each call and the shown part of its result. Raise CstpError or TransportError."""
    known: dict[str, object] = {}
    with Client(url, token, ssl_context=_trust_certificate(certificate)) as client:
        for step in STEPS:
            params = {name: known.get(str(value), value) for name, value in step.params.items()}
            result = client.call(step.method, params)  # type: ignore[arg-type]  # the values are JSON
            assert isinstance(result, dict)
            if ID not in known:
                known |= {ID: result["id"], SEQ: result["seq"]}
            shown = {name: result[name] for name in SHOWN[step.method] if name in result}
            yield Call(step.about, step.method, params), shown


def _trust_certificate(certificate: str | None) -> ssl.SSLContext | None:
    """Return a context that accepts the server's own certificate, from any authority; None without a certificate."""
    if certificate is None:
        return None
    context = ssl.create_default_context(cafile=certificate)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context
