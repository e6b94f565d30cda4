"""The statements of a decision record about itself in lines, tables and sections, not yet interpreted."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final

from cognition_engines.ingest.adr.references import listed_references
from cognition_engines.ingest.adr.statements import (
    FIELDS,
    KINDS,
    fields_of,
    kind_of_cell,
    link_targets,
    name_of,
    read_statements,
    with_targets,
)
from cognition_engines.ingest.dates import first_date
from cognition_engines.ingest.statuses import begins_with_status, normalise_status
from cognition_engines.markdown.document import Document, Heading, Line, Table
from cognition_engines.markdown.inline import bare

# Sections with lines such as `Status:`.
_WITH_FIELDS: Final = frozenset({"status", "date", "meta", "intro"})
# A table with such a column lists records; it is no record's header.
_RECORD_COLUMNS: Final = frozenset({"adr", "title", "decision", "record", "id", "name", "number", "no", "link"})
_RELATION: Final = re.compile(r"(?:super(?:s|c|sc)ed(?:es|ed)|replace[sd])\b", re.IGNORECASE)
_DAY: Final = re.compile(r"[ >]{0,20}(\d{1,2}\.)[ ]")


@dataclass(frozen=True, slots=True)
class StatedText:
    """A text from the file with a 1-based line."""

    text: str
    line: int


@dataclass(slots=True)
class Header:
    """All statements, in file order. Each status consists of the lines that may decide it."""

    statuses: list[tuple[StatedText, ...]] = field(default_factory=list)
    dates: list[StatedText] = field(default_factory=list)
    lone_dates: list[StatedText] = field(default_factory=list)  # lines with only a date, below the title or a status
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


def heading_kind(heading: Heading) -> tuple[str | None, str]:
    """Return a section's kind and the value in its heading, as in `## Status: accepted`."""
    before, colon, after = heading.text.partition(":")
    kind = KINDS.get(name_of(before))
    if kind is not None and colon and kind in FIELDS:
        return kind, after.strip()
    return KINDS.get(name_of(heading.text)), ""


@dataclass(slots=True)
class _Reader:
    """Reader of a file's text, filling `header`."""

    document: Document
    header: Header
    targets: Mapping[str, str]  # of the document's links by their labels

    def section(self, start: int, end: int, kind: str, late: bool = False) -> None:
        """Read lines `start` to `end` (0-based, end exclusive) as a section of this kind."""
        status: list[StatedText] = []
        place, stop = (bisect_left(self.document.entries, at, key=attrgetter("at")) for at in (start, end))
        numbered = _with_days(self.document.entries[place:stop], self.document.lines)
        entries = list(read_statements(with_targets(numbered, self.targets)))
        place = 0
        while place < len(entries):
            entry = entries[place]
            place += 1
            if isinstance(entry, Table):
                self._table(entry, kind, status)
                continue
            fields = fields_of(entry.text) if kind in _WITH_FIELDS else []
            below = entries[place] if place < len(entries) else None
            if len(fields) == 1 and not fields[0][1].strip():
                if isinstance(below, Line) and below.at <= entry.at + 2 and not fields_of(below.text):
                    self.header.take(fields[0][0], below.text, below.at + 1)
                    place += 1
            elif fields:
                for field_kind, value in fields:
                    self.header.take(field_kind, value, entry.at + 1)
                if kind == "status" and any(
                    name == "superseded_by" and listed_references(value) for name, value in fields
                ):
                    status.append(StatedText(entry.text, entry.at + 1))
            else:
                self._line(StatedText(entry.text, entry.at + 1), kind, status)
        if status:
            (self.header.late_statuses if late else self.header.statuses).append(tuple(status))

    def _line(self, line: StatedText, kind: str, status: list[StatedText]) -> None:
        """Add a line without a field."""
        if kind == "changes":
            self.header.changes.append(line)
        elif kind in {"status", "intro"} and _is_date(line.text):
            self.header.lone_dates.append(line)
        elif kind == "status":
            if set(line.text) - set("-*_="):
                status.append(line)
        elif kind in FIELDS:
            self.header.take(kind, line.text, line.line)
        elif _RELATION.match(line.text.lstrip("*_ [")):
            self.header.relations.append(line)

    def _table(self, table: Table, kind: str, status: list[StatedText]) -> None:
        names = table.rows[0][1]
        named = any(map(kind_of_cell, names)) or not _RECORD_COLUMNS.isdisjoint(map(name_of, names))
        if table.headed and not _states_value(names) and (named or kind not in {"status", "changes"}):
            self._columns(names, table.rows[1:], status if kind == "status" else self.header.changes)
            return
        for at, cells in table.rows:
            cell_kind = kind_of_cell(cells[0])
            if cell_kind is not None and len(cells) > 1:
                self.header.take(cell_kind, cells[1], at + 1)
            elif kind in {"status", "changes"}:
                self._line(StatedText(" ".join(cells), at + 1), kind, status)

    def _columns(
        self, names: Sequence[str], rows: Sequence[tuple[int, tuple[str, ...]]], history: list[StatedText]
    ) -> None:
        """Read a table with a row of names: a single row states the record's own fields, several rows the history."""
        kinds = [kind_of_cell(name) for name in names]
        if not _RECORD_COLUMNS.isdisjoint(name_of(name) for name in names):
            return
        own = len(rows) == 1 and "status" in kinds
        for at, cells in rows:
            stated = [(kind, cell) for kind, cell in zip(kinds, cells, strict=False) if kind is not None and cell]
            if own:
                for kind, cell in stated:
                    self.header.take(kind, cell, at + 1)
            elif any(kind == "date" for kind, _ in stated):
                texts = sorted(stated, key=lambda each: each[0] != "date")  # the date first, as in a line
                if "status" not in kinds:
                    texts += [("status", cell) for cell in cells if begins_with_status(cell) and not _is_date(cell)][:1]
                history.append(StatedText(" ".join(cell for kind, cell in texts if kind in {"date", "status"}), at + 1))


def _with_days(entries: Iterable[Line | Table], lines: Sequence[str]) -> Iterator[Line | Table]:
    """Yield the entries; restore the day of a date parsed as an item number, as in `9. März 2024`."""
    for entry in entries:
        day = _DAY.match(lines[entry.at]) if isinstance(entry, Line) else None
        whole = f"{day[1]} {entry.text}" if day is not None and isinstance(entry, Line) else ""
        hit = first_date(whole) if whole and lines[entry.at].endswith(whole) else None
        yield replace(entry, text=whole) if hit is not None and hit.start == 0 and isinstance(entry, Line) else entry


def _is_date(text: str) -> bool:
    """Return whether a text is a date and nothing else."""
    plain = bare(text).strip(" .*_()")
    hit = first_date(plain)
    return hit is not None and hit.date is not None and (hit.start, hit.end) == (0, len(plain))


def _states_value(cells: Sequence[str]) -> bool:
    """Return whether a table's first row is a name with a value, so the table has no row of names."""
    kind = kind_of_cell(cells[0])
    if kind is None:
        return len(cells) == 2 and name_of(cells[0]) in {"metadata", "field", "key", "name", ""}
    if len(cells) != 2:
        return False
    if kind == "status":
        return normalise_status(cells[1]) != "other"
    return any(character.isdigit() for character in cells[1])


def read_header(document: Document, title: Heading | None) -> Header:
    """Return the statements above the body and in the sections for status, date, changes and links."""
    reader = _Reader(document, Header(), link_targets(document.lines))
    headings = document.headings
    first = headings[0].start if headings else len(document.lines)
    reader.section(document.body, first, "intro")
    above = True
    for index, heading in enumerate(headings):
        end = headings[index + 1].start if index + 1 < len(headings) else len(document.lines)
        kind, value = heading_kind(heading)
        if heading == title:
            reader.section(heading.end, end, "intro")
        elif kind in {"status", "changes"} or kind in FIELDS:
            reader.header.take(kind or "", value, heading.start + 1)
            if not value:
                reader.section(heading.end, end, kind or "", late=not above)
        elif kind == "links" or (kind == "meta" and above):
            reader.section(heading.end, end, kind)
        else:
            above = False
    return reader.header
