"""Shared helpers for tests of whole runs: files of lines, counts and stored records."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cognition_engines.ingest.options import Summary
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records

Run = Callable[..., Summary]
SENTENCE = "The pilot waits for high water before he takes a ship over the bar. "


def json_lines(path: Path, *members: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in members))
    return path


def counts(summary: Summary) -> tuple[int, int, int, int]:
    """Return the numbers of new, changed, unchanged and deleted records."""
    return summary.new, summary.changed, summary.unchanged, summary.deleted


def ids(records: Records, kind: Kind) -> set[str]:
    return set(map(str, records.ids(kind)))


def stored(records: Records, kind: Kind) -> list[Any]:
    """Return the records of a kind, in order of id."""
    return [found.record for _, found in sorted(records.reads.by_ids(kind, records.ids(kind)).items())]


def document(paragraphs: int, word: str = "") -> str:
    return "\n\n".join(f"## Part {number}\n\n{word} {SENTENCE * 40}" for number in range(paragraphs))


# a record of each kind, without an id
EACH: list[dict[str, Any]] = [
    {"kind": "decision", "title": "t"},
    {"kind": "source", "title": "t"},
    {"kind": "chunk", "content": "c"},
    {"kind": "cluster", "name": "n"},
    {"kind": "extraction", "type": "warning", "content": {"title": "t", "description": "d"}},
    {"kind": "episode", "query": "q", "reward": 0},
    {"kind": "artifact", "content": "c"},
    {"kind": "artifact_chunk", "artifact_id": "a", "content": "c"},
    {"kind": "turn", "conversation_id": "v", "content": "c"},
    {"kind": "event", "category": "c", "narrative": "n"},
    {"kind": "entity", "name": "n"},
    {"kind": "edge", "source_id": "a", "target_id": "b", "type": "t"},
]
