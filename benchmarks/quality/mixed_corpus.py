"""Records of every kind in one store: decisions, documents, patterns, episodes, and what was said and written.

Ids say where a record is from, so that questions can name them without a word of the data.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.quality.memory_corpus import Members, read_corpus
from benchmarks.quality.turns import read_asked
from benchmarks.texts import read_decision_files, write_records

FOLDERS: Final = ("decisions", "knowledge", "extractions", "episodes", "memory", "conversations")


def write_mixed(data: Path, path: Path) -> None:
    """Every record of the folders of `data` as a line each. Raises FileNotFoundError."""
    write_records(read_mixed(data), path)


def read_mixed(data: Path) -> Iterator[Members]:
    """Every record, sources cut into chunks by `ingest`."""
    yield from _decisions(data / "decisions")
    yield from (_document(each) for each in _objects(data / "knowledge" / "documents.jsonl"))
    yield from (_pattern(each) for each in _objects(data / "extractions" / "patterns.jsonl") if each["solution"])
    yield from (_episode(number, each) for number, each in enumerate(_objects(data / "episodes" / "episodes.jsonl"), 1))
    yield from read_corpus(data / "memory")
    for turn in read_asked(data / "conversations").turns:
        yield {name: getattr(turn, name) for name in turn.__slots__}


def _decisions(folder: Path) -> Iterator[Members]:
    """The id is the path of the file, without its ending, below the folder of its repository."""
    for path, drafts in read_decision_files(folder):
        place = path.relative_to(folder)
        stem = place.parent.name if place.stem == "README" else place.stem
        name = f"{place.parts[0].partition('+')[2]}/{stem}"
        for number, draft in enumerate(drafts):
            id = f"{name}#{number}" if number else name
            yield {"kind": "decision", "id": id, "title": draft.title, "text": draft.text}


def _document(entry: Members) -> Members:
    return {"kind": "source", "id": entry["doc_id"], **{name: entry[name] for name in ("title", "markdown", "tags")}}


def _pattern(entry: Members) -> Members:
    """The id is that of the document that it was extracted from, with `pattern/` in front."""
    name = Path(entry["source"]["path"]).parent.name
    content: dict[str, Any] = {"name": entry["name"], "problem": entry["problem"], "solution": entry["solution"]}
    trade_offs = [line.strip() for line in (entry["tradeoffs"] or "").splitlines() if line.strip()]
    return {
        "kind": "extraction",
        "id": f"pattern/{name}",
        "type": "pattern",
        "content": content | {"trade_offs": trade_offs},
        "topics": entry["topics"],
        "source_id": f"jdp/{name}",
    }


def _episode(number: int, entry: Members) -> Members:
    return {
        "kind": "episode",
        "id": number,
        "query": entry["query"],
        "reward": entry["reward"],
        "reflection": entry["reflection"],
        "tags": [entry["env"]],
    }


def _objects(path: Path) -> Iterator[Members]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
