"""The real texts that are embedded, and the queries that are asked of them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.discover import walk
from cognition_engines.ingest.items import RecordDraft
from cognition_engines.models import Decision

DECISION: Final = "software"
ABSTRACT: Final = "science"
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]+")


@dataclass(frozen=True, slots=True)
class Text:
    """A title, a text, and which world it comes from."""

    title: str
    body: str
    topic: str

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.body}"


def read_texts(folder: Path, count: int) -> list[Text]:
    """Return every decision record under `folder`, then abstracts (`scifact/corpus.jsonl`) up to `count`.

    The order is shuffled, but always the same.

    Raises FileNotFoundError when `folder` holds no decision record at all.
    """
    chosen = list(read_decisions(folder))[:count]
    if not chosen:
        raise FileNotFoundError(f"{folder} holds no decision record to measure with")
    abstracts = folder / "scifact" / "corpus.jsonl"
    if abstracts.is_file():
        found = [json.loads(line) for line in abstracts.read_text(encoding="utf-8").splitlines()]
        picked = Random(1).sample(found, min(len(found), count - len(chosen)))
        chosen += [Text(entry["title"], entry["text"], ABSTRACT) for entry in picked]
    Random(2).shuffle(chosen)
    return chosen


def read_queries(texts: Sequence[Text], count: int) -> list[str]:
    """Return different queries of 4 to 20 words: titles of decisions first, then sentences out of them."""
    decisions = [text for text in texts if text.topic == DECISION]
    sentences = [sentence for text in decisions for sentence in _SENTENCE.split(text.body)]
    Random(3).shuffle(sentences)
    candidates = [text.title for text in decisions] + sentences
    cleaned = (" ".join(_WORD.findall(candidate)) for candidate in candidates)
    return list(dict.fromkeys(query for query in cleaned if 4 <= len(query.split()) <= 20))[:count]


def read_decisions(folder: Path) -> Iterator[Text]:
    """Yield every decision record in Markdown under `folder`."""
    for _, drafts in read_decision_files(folder):
        yield from (Text(one.title, one.text, DECISION) for one in drafts)


def read_decision_files(folder: Path) -> Iterator[tuple[Path, list[Decision]]]:
    """Yield every Markdown file under `folder` with its decision records."""
    for found in walk(folder).files:
        if found.path.suffix == ".md":
            with found.path.open("rb") as file:
                items = read(str(found.path), file) or ()
                yield (
                    found.path,
                    [one.record for one in items if isinstance(one, RecordDraft) and isinstance(one.record, Decision)],
                )


class UnknownShape(Exception):
    """A folder lacks the files of its kind of set, or one has another shape; the message names the file."""


def read_objects(path: Path, *members: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of one a line. Raises UnknownShape for a missing file, or one without the members."""
    if not path.is_file():
        raise UnknownShape(f"{path}: there is no such file")
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                entry = json.loads(line)
            except ValueError:
                entry = None
            if not isinstance(entry, dict) or not entry.keys() >= {*members}:
                raise UnknownShape(f"{path}:{number}: must be an object with {' and '.join(members) or 'members'}")
            yield entry


def write_records(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write records as `cstp ingest` reads them, one a line, without members that are None."""
    with path.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps({name: value for name, value in record.items() if value is not None}) + "\n")
