"""What a decision record states about itself in lines, tables and sections, before any of it is interpreted."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cognition_engines.ingest.markdown.document import Document, Heading, Line, Table
from cognition_engines.ingest.markdown.inline import LONGEST_LINE, one_line, plain_text
from cognition_engines.ingest.statuses import normalise_status

_STATUS_NAMES: Final = frozenset({"status", "adr status", "decision status", "current status", "state", "adr state"})
_DATE_NAMES: Final = frozenset(
    {"date", "decision date", "date decided", "date of decision", "decided on", "adr date", "created", "created on"}
)
_OVER_NAMES: Final = frozenset({"supersedes", "supercedes", "replaces", "superseding"})
_BY_NAMES: Final = frozenset({"superseded by", "superceded by", "replaced by", "superseded", "superseded with"})
_CHANGE_NAMES: Final = frozenset(
    {
        "changelog",
        "change log",
        "changes",
        "history",
        "revision history",
        "revisions",
        "release history",
        "version history",
        "document history",
    }
)
_LINK_NAMES: Final = frozenset({"links", "related", "related decisions", "related adrs", "relations", "see also"})
_META_NAMES: Final = frozenset({"metadata", "meta", "info", "information", "details", "decision details", "header"})
KINDS: Final = {
    **dict.fromkeys(_STATUS_NAMES, "status"),
    **dict.fromkeys(_DATE_NAMES, "date"),
    **dict.fromkeys(_OVER_NAMES, "supersedes"),
    **dict.fromkeys(_BY_NAMES, "superseded_by"),
    **dict.fromkeys(_CHANGE_NAMES, "changes"),
    **dict.fromkeys(_LINK_NAMES, "links"),
    **dict.fromkeys(_META_NAMES, "meta"),
}
_FIELDS: Final = frozenset({"status", "date", "supersedes", "superseded_by"})
_WITH_FIELDS: Final = frozenset(
    {"status", "date", "meta", "intro"}
)  # the sections that may have lines such as `Status:`
_NUMBERING: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,3}[.):]?\s+")
_BOLD_NAME: Final = re.compile(r"(\*\*|__)([\w ]{1,40}?)\s?(:?)\1\s*(:?)\s*(.*)")
_NAMED: Final = re.compile(r"[*_`]{0,3}([\w ]{1,40}?)[*_`]{0,3}\s?:[*_`]{0,3}(?:\s+(.*)|$|(?=[\d{\[(<]))")
# A table with such a column lists records; it is not the header of one.
_RECORD_COLUMNS: Final = frozenset({"adr", "title", "decision", "record", "id", "name", "number", "no", "link"})
_RELATION: Final = re.compile(r"(?:super(?:s|c|sc)ed(?:es|ed)|replace[sd])\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StatedText:
    """Some text of the file and its 1-based line."""

    text: str
    line: int


@dataclass(slots=True)
class Header:
    """Everything stated, in the order of the file. Each status is the lines that may decide it."""

    statuses: list[tuple[StatedText, ...]] = field(default_factory=list)
    dates: list[StatedText] = field(default_factory=list)
    changes: list[StatedText] = field(default_factory=list)
    supersedes: list[StatedText] = field(default_factory=list)
    superseded_by: list[StatedText] = field(default_factory=list)
    relations: list[StatedText] = field(default_factory=list)
    late_statuses: list[tuple[StatedText, ...]] = field(default_factory=list)  # from sections below the body's first

    def take(self, kind: str, text: str, line: int) -> None:
        stated = StatedText(text.strip(), line)
        if not stated.text:
            return
        if kind == "status":
            self.statuses.append((stated,))
        elif kind == "date":
            self.dates.append(stated)
        elif kind == "supersedes":
            self.supersedes.append(stated)
        elif kind == "superseded_by":
            self.superseded_by.append(stated)


def name_of(text: str) -> str:
    """A heading's or field's words in lower case, without numbering, marks and a closing colon."""
    text = _NUMBERING.sub("", plain_text(text), count=1)
    letters = "".join(character if character.isalnum() or character in " &-'/" else " " for character in text)
    return one_line(letters).lower()


def heading_kind(heading: Heading) -> tuple[str | None, str]:
    """What a section is for, and what its heading states itself, as in `## Status: accepted`."""
    before, colon, after = heading.text.partition(":")
    kind = KINDS.get(name_of(before))
    if kind is not None and colon and kind in _FIELDS:
        return kind, after.strip()
    return KINDS.get(name_of(heading.text)), ""


def _field_of(text: str) -> tuple[str, str] | None:
    """The kind and value of a line such as `Status: accepted` or `**Date**: 2020-01-02`."""
    if len(text) > LONGEST_LINE:
        return None
    bold = _BOLD_NAME.match(text)
    if bold is not None:
        kind = KINDS.get(one_line(bold[2]).lower())
        return (kind, bold[5]) if kind in _FIELDS else None
    match = _NAMED.match(text)
    if match is None:
        return None
    kind = KINDS.get(one_line(match[1].replace("_", " ")).lower())
    value = match[2] if match[2] is not None else text[match.end() :]
    return (kind, value) if kind in _FIELDS else None


def _fields_of(line: str) -> list[tuple[str, str]]:
    """The fields of a line; several when they are set apart by bars or dots."""
    parts = re.split(r"\s[|·•]\s", line) if line.count(":") > 1 else [line]
    found = [_field_of(part) for part in parts]
    if len(parts) > 1 and any(each is None for each in found):
        found = [_field_of(line)]
    return [each for each in found if each is not None]


def _kind_of_cell(cell: str) -> str | None:
    kind = KINDS.get(name_of(cell)) if len(cell) <= 80 else None
    return kind if kind in _FIELDS else None


@dataclass(slots=True)
class _Reader:
    """Goes through the text of one file and fills `header`."""

    document: Document
    header: Header

    def section(self, start: int, end: int, kind: str, late: bool = False) -> None:
        """Read lines `start` to `end` (0-based, end exclusive) as a section of this kind."""
        status: list[StatedText] = []
        entries = self.document.entries
        place, stop = (bisect_left(entries, at, key=_place) for at in (start, end))
        while place < stop:
            entry = entries[place]
            place += 1
            if isinstance(entry, Table):
                self._table(entry, kind)
                continue
            fields = _fields_of(entry.text) if kind in _WITH_FIELDS else []
            below = entries[place] if place < stop else None
            if len(fields) == 1 and not fields[0][1].strip():
                if isinstance(below, Line) and below.at <= entry.at + 2 and not _fields_of(below.text):
                    self.header.take(fields[0][0], below.text, below.at + 1)
                    place += 1
            elif fields:
                for field_kind, value in fields:
                    self.header.take(field_kind, value, entry.at + 1)
            else:
                self._line(StatedText(entry.text, entry.at + 1), kind, status)
        if status:
            (self.header.late_statuses if late else self.header.statuses).append(tuple(status))

    def _line(self, line: StatedText, kind: str, status: list[StatedText]) -> None:
        """A line that is no field."""
        if kind == "changes":
            self.header.changes.append(line)
        elif kind == "status":
            if set(line.text) - set("-*_="):
                status.append(line)
        elif kind in _FIELDS:
            self.header.take(kind, line.text, line.line)
        elif _RELATION.match(line.text.lstrip("*_ [")):
            self.header.relations.append(line)

    def _table(self, table: Table, kind: str) -> None:
        if table.headed and not _states_value(table.rows[0][1]):
            self._columns(table.rows[0][1], table.rows[1:])
            return
        for at, cells in table.rows:
            cell_kind = _kind_of_cell(cells[0])
            if cell_kind is not None and len(cells) > 1:
                self.header.take(cell_kind, cells[1], at + 1)
            elif kind == "changes":
                self.header.changes.append(StatedText(" ".join(cells), at + 1))

    def _columns(self, names: Sequence[str], rows: Sequence[tuple[int, tuple[str, ...]]]) -> None:
        """A table with a row of names: one row states the record's own fields, several are its history."""
        kinds = [_kind_of_cell(name) for name in names]
        if not _RECORD_COLUMNS.isdisjoint(name_of(name) for name in names):
            return
        own = len(rows) == 1 and "status" in kinds
        for at, cells in rows:
            for kind, cell in zip(kinds, cells, strict=False):
                if own and kind is not None:
                    self.header.take(kind, cell, at + 1)
                elif kind == "date" and cell:
                    self.header.changes.append(StatedText(cell, at + 1))


def _place(entry: Line | Table) -> int:
    return entry.at


def _states_value(cells: Sequence[str]) -> bool:
    """Whether a table's first row is a name and its value, so that the table has no row of names."""
    kind = _kind_of_cell(cells[0])
    if kind is None:
        return len(cells) == 2 and name_of(cells[0]) in {"metadata", "field", "key", "name", ""}
    if len(cells) != 2:
        return False
    if kind == "status":
        return normalise_status(cells[1]) != "other"
    return any(character.isdigit() for character in cells[1])


def read_header(document: Document, title: Heading | None) -> Header:
    """What the file states above its body and in its sections for status, date, changes and links."""
    reader = _Reader(document, Header())
    headings = document.headings
    first = headings[0].start if headings else len(document.lines)
    reader.section(document.body, first, "intro")
    above = True
    for index, heading in enumerate(headings):
        end = headings[index + 1].start if index + 1 < len(headings) else len(document.lines)
        kind, value = heading_kind(heading)
        if heading == title:
            reader.section(heading.end, end, "intro")
        elif kind in {"status", "changes"} or kind in _FIELDS:
            reader.header.take(kind or "", value, heading.start + 1)
            if not value:
                reader.section(heading.end, end, kind or "", late=not above)
        elif kind == "links" or (kind == "meta" and above):
            reader.section(heading.end, end, kind)
        else:
            above = False
    return reader.header
