"""A call of each writing method with all text members, over stored ids."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

Step = str | int
Path = tuple[Step, ...]
_JSON: Final = {"steps": [{"said": "text", "count": 1}], "note": "text"}
_DECISION: Final[Mapping[str, Any]] = {
    "decision": "text",
    "confidence": 0.5,
    "category": "text",
    "context": "text",
    "reasons": [{"type": "analysis", "text": "text"}],
    "alternatives": [{"option": "text", "why": "text"}],
    "tags": ["text"],
    "pattern": "text",
    "kpiIndicators": ["text"],
    "mentalState": "text",
    "feature": "text",
    "pr": "text",
    "file": "text",
    "commit": "text",
    "affects": [{"type": "package", "pattern": "text"}],
    "sources": [{"uri": "text", "quote": "text", "hash": "text"}],
    "threadId": "text",
    "trace": _JSON,
    "deliberation": _JSON,
    "bridge": _JSON,
    "preDecision": [_JSON],
}
_CARD: Final = {"summary": "text", "takeaways": ["text 1", "text 2", "text 3"], "tags": ["text"]}
_SOURCE: Final = {
    "kind": "source",
    "id": "text",
    "title": "text",
    "authors": ["text"],
    "url": "https://example.com/text",
    "content": "text",
    "project": "text",
    "metadata": {"text": "text", "list": ["text"]},
}
_CHUNK: Final = {
    "kind": "chunk",
    "id": "text",
    "content": "text",
    "sourceId": "text",
    "title": "text",
    "author": "text",
    "source": "text",
    "category": "text",
    "tags": ["text"],
    "place": {"chapter": "text", "section": "text", "headings": ["text"]},
    "knowledgeCard": _CARD,
    "clusterIds": ["text"],
    "readwiseUrl": "https://example.com/text",
    "sourceUrl": "https://example.com/text",
    "highlightUrl": "https://example.com/text",
}
_EXTRACTION: Final = {
    "kind": "extraction",
    "type": "pattern",
    "content": {
        "name": "text",
        "problem": "text",
        "solution": "text",
        "codeExample": "text",
        "context": "text",
        "tradeOffs": ["text"],
    },
    "topics": ["text"],
}
_ORIGIN: Final = {"source": "/text/file.jsonl", "ordinal": 0, "ingestedAs": "text"}


def full_calls(one: str, other: str, memory: str) -> Mapping[str, Mapping[str, Any]]:
    """Return call parameters for each writing method; `one` and `other` are decisions."""
    key = {"idempotencyKey": "text"}
    return {
        "cstp.recordDecision": {
            **key,
            **_DECISION,
            "project": "text",
            "supersedes": [one],
            "relatedTo": [{"id": other, "context": "text"}],
        },
        "cstp.updateDecision": {
            **key,
            "id": one,
            "reason": "text",
            "updates": {name: value for name, value in _DECISION.items() if name != "confidence"},
        },
        "cstp.reviewDecision": {
            **key,
            "id": one,
            "outcome": "success",
            "actualResult": "text",
            "lessons": "text",
            "notes": "text",
            "affectedKpis": {"text": 1.0},
            "evidence": [{"uri": "text", "kind": "text", "hash": "text"}],
        },
        "cstp.setStatus": {**key, "id": one, "status": "draft", "reason": "text"},
        "cstp.linkDecisions": {
            **key,
            "sourceId": one,
            "targetId": other,
            "edgeType": "relates_to",
            "context": "text",
        },
        "cstp.unlinkDecisions": {**key, "sourceId": one, "targetId": other, "edgeType": "relates_to"},
        "cstp.storeEpisode": {
            **key,
            "query": "text",
            "reward": 0.5,
            "reflection": "text",
            "tags": ["text"],
            "category": "text",
            "project": "text",
        },
        "cstp.remember": {
            **key,
            "content": "text",
            "source": "text",
            "sourceId": "text",
            "sourceUrl": "https://example.com/text",
            "title": "text",
            "author": "text",
            "participants": ["text"],
            "project": "text",
            "supersedes": [memory],
            "events": [
                {
                    "category": "text",
                    "narrative": "text",
                    "actors": [{"ref": "text"}],
                    "subject": {"ref": "text"},
                    "evidence": [{"quote": "text"}],
                }
            ],
        },
        "cstp.storeKnowledge": {**key, "project": "text", "records": [_SOURCE, dict(_CHUNK), _EXTRACTION]},
        "cstp.forget": {**key, "id": one, "reason": "text", "confirm": True},
        "cstp.putRecords": {
            **key,
            "records": [
                {
                    "kind": "artifact",
                    "record": {"id": "art_text", "content": "text", "title": "text", "author": "text"},
                    "origin": _ORIGIN,
                    "updatedAt": "2026-01-31T10:00:00Z",
                    "digest": "0" * 32 + ".00000000",
                }
            ],
        },
    }


def turn() -> Mapping[str, Any]:
    """Return the parameters of a call that remembers a conversation turn."""
    return {"idempotencyKey": "text", "content": "text", "conversationId": "text", "author": "text", "source": "text"}


def texts_in(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of all texts in JSON."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield from texts_in(member, (*path, name))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from texts_in(item, (*path, place))


def with_text(value: Any, path: Path, text: str) -> Any:
    """Return JSON with another text at a path."""
    if not path:
        return text
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [with_text(item, rest, text) if place == step else item for place, item in enumerate(value)]
    return {name: with_text(member, rest, text) if name == step else member for name, member in value.items()}


def named(path: Path) -> str:
    """Return a path as named in errors and answers."""
    shown = ""
    for step in path:
        shown += f"[{step}]" if isinstance(step, int) else f".{step}" if shown else step
    return shown
