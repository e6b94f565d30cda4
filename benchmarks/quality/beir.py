"""A collection in the shape of BEIR: documents, queries, and which documents answer which query."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.quality.measures import Grades
from benchmarks.texts import UnknownShape, read_objects, write_records

_QUERIES: Final = ("queries_test.jsonl", "queries.jsonl")
_JUDGEMENTS: Final = ("qrels_test.tsv", "qrels/test.tsv")
_COLUMNS: Final = ["query-id", "corpus-id", "score"]


@dataclass(frozen=True, slots=True)
class Document:
    """One document; `title` may be empty."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """What is searched, what is asked, and what should be found. Queries without a judgement are left out."""

    documents: Mapping[str, Document]
    queries: Mapping[str, str]
    judgements: Mapping[str, Grades]


def read_collection(folder: Path) -> Collection:
    """Read `corpus.jsonl`, the queries and the judgements of the test split.

    Raises UnknownShape for a file that is not there or has another shape.
    """
    corpus = folder / "corpus.jsonl"
    documents = {
        entry["_id"]: Document(entry["_id"], entry.get("title", ""), entry["text"])
        for entry in read_objects(corpus, "_id", "text")
    }
    judgements = _read_judgements(_first(folder, _JUDGEMENTS))
    texts = {entry["_id"]: entry["text"] for entry in read_objects(_first(folder, _QUERIES), "_id", "text")}
    queries = {id: text for id, text in texts.items() if id in judgements}
    if missing := {id for grades in judgements.values() for id in grades} - set(documents):
        raise UnknownShape(f"{corpus}: {len(missing)} documents are judged but not given, such as {min(missing)}")
    if unasked := set(judgements) - set(queries):
        raise UnknownShape(f"{folder}: {len(unasked)} queries are judged but not given, such as {min(unasked)}")
    return Collection(documents, queries, judgements)


def write_chunks(collection: Collection, path: Path) -> None:
    """Write the documents as chunks, one a line. One without any text has its title as content."""
    write_records(map(_chunk, collection.documents.values()), path)


def _chunk(document: Document) -> dict[str, str]:
    record = {"kind": "chunk", "id": document.id, "content": document.text.strip() or document.title}
    if document.title.strip() and document.text.strip():
        record["title"] = " ".join(document.title.split())
    return record


def _read_judgements(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t")
        if next(rows, None) != _COLUMNS:
            raise UnknownShape(f"{path}: the first line must be {' '.join(_COLUMNS)}, with tabs")
        for query, document, grade in rows:
            found.setdefault(query, {})[document] = int(grade)
    return found


def _first(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise UnknownShape(f"{folder}: there is no {' or '.join(names)}")
