"""The memory corpus as records: documents, turns, events, entities and edges of one made-up company."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

Members: TypeAlias = dict[str, Any]  # of one record, with its `kind`, as a JSONL file of records has it

CONTEXTS: Final = {"meetings": "meeting", "emails": "email", "decisions": "decision", "conversations": "chat"}
_HEADER: Final = re.compile(r"([A-Z][A-Za-z ]{1,20}): (.+)")
_PEOPLE: Final = ("From", "To", "CC", "Attendees", "Decision Maker", "Stakeholders")
_ASIDE: Final = re.compile(r"\([^)]*\)|\bwith input from\b")
_DOMAIN: Final = "company.com"


def read_corpus(folder: Path) -> Iterator[Members]:
    """Yield every record of the corpus in `folder`, references after the records that they name."""
    named = json.loads((folder / "ground_truth" / "entities.json").read_text(encoding="utf-8"))
    events = json.loads((folder / "ground_truth" / "events.json").read_text(encoding="utf-8"))
    yield from _entities(named)
    yield from _edges(named)
    for path in sorted((folder / "corpus").rglob("*.txt")):
        yield _document(path, named)
    for line in (folder / "conversation_turns.jsonl").read_text(encoding="utf-8").splitlines():
        yield _turn(json.loads(line))
    for document, told in events["documents"].items():
        for event in told["events"]:
            yield _event(document, event)


def document_id(name: str) -> str:
    """Return the id of the artifact of a file such as `meetings/meeting_001.txt`."""
    return f"art_{name}"


def _entities(named: Mapping[str, Any]) -> Iterator[Members]:
    for entity in (each for group in named["global_entities"].values() for each in group):
        handle = ".".join(entity["name"].casefold().split())
        people = entity["type"] == "PERSON"
        yield {
            "kind": "entity",
            "id": entity["id"],
            "name": entity["name"],
            "type": entity["type"],
            "role": entity.get("role"),
            "aliases": [handle, f"{handle}@{_DOMAIN}"] if people else [],
        }


def _edges(named: Mapping[str, Any]) -> Iterator[Members]:
    for number, edge in enumerate(named["relationships"]):
        ends = {"source_id": edge["from"], "target_id": edge["to"]}
        yield {"kind": "edge", "id": f"edg_{number}", **ends, "type": edge["type"], "evidence": edge["evidence"]}


def _document(path: Path, named: Mapping[str, Any]) -> Members:
    text = path.read_text(encoding="utf-8")
    name = f"{path.parent.name}/{path.name}"
    first, _, _ = text.partition("\n\n")
    headers = {found[1]: found[2] for line in first.splitlines() if (found := _HEADER.fullmatch(line))}
    title = headers.get("Subject") or headers.get("Decision Record") or text.partition("\n")[0]
    mentioned = named["documents"].get(name, {"entities": []})["entities"]
    return {
        "kind": "artifact",
        "id": document_id(name),
        "context": CONTEXTS[path.parent.name],
        "title": title,
        "content": text,
        "ts": headers.get("Date"),
        "participants": [who for header in _PEOPLE for who in _people(headers.get(header, ""))],
        "mentions": [entity["id"] for entity in mentioned],
    }


def _people(header: str) -> list[str]:
    return [name for part in _ASIDE.sub(",", header).split(",") if (name := part.strip())]


def _turn(turn: Mapping[str, Any]) -> Members:
    return {
        "kind": "turn",
        "id": f"{turn['conversation_id']}-{turn['turn_index']}",
        **{name: turn[name] for name in ("conversation_id", "turn_index", "speaker", "ts", "content")},
    }


def _event(document: str, event: Mapping[str, Any]) -> Members:
    return {
        "kind": "event",
        "id": event["id"],
        "artifact_id": document_id(document),
        "category": event["category"],
        "narrative": event["narrative"],
        "actors": [event["actor"]] if event.get("actor") else [],
        "subject": event.get("subject"),
        "evidence": [{"quote": event["evidence_quote"]}],
        "metadata": {"due_date": event["due_date"]} if "due_date" in event else {},
    }
