"""The lines of a section as statements: a sentence that runs over lines is one, and so is each item below a phrase."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from cognition_engines.ingest.adr.fields import fields_of, is_named
from cognition_engines.ingest.adr.references import item_references, open_phrase
from cognition_engines.ingest.dates import first_date
from cognition_engines.ingest.statuses import begins_with_status, is_status_alone
from cognition_engines.markdown.document import Line, Table
from cognition_engines.markdown.inline import LONGEST_LINE, bare

_UNFINISHED: Final = re.compile(
    r"(?:[,;:(&]|\b(?:and|or|by|the|of|with|to|in|is|was|has|been|be|not|for)|supersedes|replaces)\s{0,3}[*_]{0,2}$",
    re.I,
)
_FINISHED: Final = re.compile(r"[.!?。！？][\"'”’)*_`]{0,4}$")
_RELATION: Final = re.compile(r"(?:super(?:s|c|sc)ed(?:es|ed|ing)|replace[sd]|obsolete[sd]|amend|relate)", re.I)
_WIDE: Final = 40  # characters of a line that may have been wrapped


def read_statements(entries: Iterable[Line | Table]) -> Iterator[Line | Table]:
    """Join the lines of each statement, and put the phrase above a list before each item of the list.

    A line that begins with a name and a colon, such as `Date: 2020-01-02`, begins a statement.
    """
    return _with_phrases(_joined(entries))


def _joined(entries: Iterable[Line | Table]) -> Iterator[Line | Table]:
    parts: list[str] = []
    first: Line | None = None
    length = 0
    for entry in entries:
        if (
            isinstance(entry, Line)
            and parts
            and entry.continues
            and length < LONGEST_LINE
            and _continues(parts, entry.text)
        ):
            parts.append(entry.text)
            length += len(entry.text) + 1
            continue
        if first is not None:
            yield replace(first, text=" ".join(parts))
        first = entry if isinstance(entry, Line) else None
        parts = [entry.text] if isinstance(entry, Line) else []
        length = sum(map(len, parts))
        if isinstance(entry, Table):
            yield entry
    if first is not None:
        yield replace(first, text=" ".join(parts))


def _continues(parts: Sequence[str], line: str) -> bool:
    """Whether a line continues the sentence of the lines before it in its paragraph."""
    before = parts[-1]
    if is_named(line):
        return False
    if _UNFINISHED.search(before[-_WIDE:]):
        return True
    hit = first_date(line)
    if _FINISHED.search(before[-_WIDE:]) or (hit is not None and hit.start == 0):
        return False
    words = bare(line).lstrip("~>- ")
    if words[:3].lower() == "by ":
        return True
    if begins_with_status(words) or _RELATION.match(words):
        return words[:1].islower() and not (len(parts) == 1 and is_status_alone(before))
    return not words[:1].isupper() or len(before) >= _WIDE


def _with_phrases(entries: Iterable[Line | Table]) -> Iterator[Line | Table]:
    held: Line | None = None  # the statement that ends with a phrase
    phrase: str | None = None
    first = True
    for entry in entries:
        item = _item(entry, held) if held is not None else None
        if held is not None and isinstance(entry, Line) and item is not None:
            beginning, at = (held.text, held.at) if first else (phrase, entry.at)
            yield Line(at, f"{beginning} {item}", entry.continues, held.lists)
            first = False
            continue
        if held is not None and first:
            yield held
        phrase = open_phrase(entry.text) if isinstance(entry, Line) else None
        held = entry if isinstance(entry, Line) and phrase is not None else None
        first = True
        if held is None:
            yield entry
    if held is not None and first:
        yield held


def _item(entry: Line | Table, phrase: Line) -> str | None:
    """What an entry names of the records of a phrase above it; None where it is not of its list."""
    if isinstance(entry, Table) or entry.lists < phrase.lists or fields_of(entry.text) or open_phrase(entry.text):
        return None
    return item_references(entry.text, below=entry.lists > phrase.lists)
