"""Known-item search: each decision is asked for by its title, which its own text no longer has."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.quality.measures import Grades
from benchmarks.texts import read_decisions, write_records

_CONTEXT: Final = re.compile(r"^#+ .*(?:context|problem).*$", re.IGNORECASE | re.MULTILINE)
_WORD: Final = re.compile(r"[\w'’.-]*\w")


@dataclass(frozen=True, slots=True)
class Item:
    """A decision as it is searched: `text` without its title, and the title as the query."""

    id: str
    query: str
    text: str


def read_items(folder: Path) -> list[Item]:
    """Return the decision records under `folder` that have any text beside their title, in the order of their files."""
    found = [(text.title, without(text.title, text.body)) for text in read_decisions(folder)]
    return [
        Item(f"item-{number:05d}", title, text) for number, (title, text) in enumerate(found, start=1) if text.strip()
    ]


def judge(items: Sequence[Item]) -> dict[str, Grades]:
    """Return for each item the results of its title: itself, and every other item that has the same title."""
    same: dict[str, list[str]] = {}
    for item in items:
        same.setdefault(_folded(item.query), []).append(item.id)
    return {item.id: dict.fromkeys(same[_folded(item.query)], 1) for item in items}


def write_decisions(items: Sequence[Item], path: Path, *, whole: bool = False) -> None:
    """Write the items as decisions: with their titles if `whole`, otherwise with the id in the title's place."""
    write_records(
        (
            {"kind": "decision", "id": item.id, "title": item.query if whole else item.id, "text": item.text}
            for item in items
        ),
        path,
    )


def context_words(text: str, count: int = 12) -> str | None:
    """Return the first words below a heading of the context, as they stand; None if there are fewer."""
    found = _CONTEXT.search(text)
    words = [] if found is None else _WORD.findall(text[found.end() :].partition("\n#")[0])
    return " ".join(words[:count]) if len(words) >= count else None


def without(title: str, text: str) -> str:
    """Return `text` without the words of `title` in that order, in any case and with any blanks."""
    words = r"\s+".join(re.escape(word) for word in title.split())
    return re.sub(rf"(?<!\w){words}(?!\w)", " ", text, flags=re.IGNORECASE) if words else text


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())
