"""The statements of a decision record about itself in lines, tables and sections, not yet interpreted.

A sentence over several lines is a single statement, and so is each item below a phrase.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from operator import attrgetter
from typing import Final
from urllib.parse import unquote

from cognition_engines.ingest.adr.references import item_references, listed_references, open_phrase, references_in
from cognition_engines.ingest.dates import first_date
from cognition_engines.ingest.statuses import (
    JOINING,
    SHORTCODE,
    SUPERSEDE,
    begins_with_status,
    hide_titles,
    is_status_alone,
    normalise_status,
    without_struck,
)
from cognition_engines.markdown.document import Document, Heading, Line, Table
from cognition_engines.markdown.inline import LONGEST_LINE, bare, one_line, plain_text

_NAMES: Final = {
    "status": "status, adr status, decision status, current status, state, adr state, statut, état, estado, situação"
    ", stato, stan, статус, 状态, 狀態, 状態, ステータス, 상태, staus, stauts",
    "date": "date, decision date, date decided, date of decision, decided on, adr date, created, created on, start date"
    ", datum, fecha, дата, 日期, 日付, 날짜",
    "supersedes": "supersedes, supercedes, superseeds, replaces, obsoletes, superseding",
    "superseded_by": "superseded by, superceded by, superseeded by, replaced by, obsoleted by, superseded"
    ", superseded with",
    "changes": "changelog, change log, changes, history, revision history, revisions, release history, version history"
    ", document history",
    "links": "links, related, related decisions, related adrs, relations, see also",
    "meta": "metadata, meta, info, information, details, decision details, header",
}
KINDS: Final = {name: kind for kind, names in _NAMES.items() for name in names.split(", ")}
FIELDS: Final = frozenset({"status", "date", "supersedes", "superseded_by"})
_DATED: Final = "data"  # "date" in Italian, Polish and Portuguese: only above a date
_NUMBERING: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,3}[.):]?\s+")
_MARKS: Final = re.compile(r"[^\w &'/-]|_")  # all but letters, digits and the marks within names
_BOLD_NAME: Final = re.compile(r"(\*\*|__)([\w ]{1,40}?)\s?([:：]?)\1\s*([:：]?)\s*(.*)")
_NAMED: Final = re.compile(
    r"[*_`]{0,3}([\w ]{1,40}?)[*_`]{0,3}\s?(?::[*_`]{0,3}(?:\s+(.*)|$|(?=[\d{\[(<]))|：[*_`]{0,3})"
)
# Any name with its colon, or in bold; and the marks between the fields of a line, before such a name.
_NAME: Final = (
    r"(?:[*_`]{0,3}[^\W\d_](?:[^\W\d_]|[ ()'’-]){0,39}[*_`]{0,3}\s?(?::(?=[\s*_`\d{\[(<]|$)|：)"
    r"|(?:\*\*|__)[^\W\d_][\w ]{0,39}(?:\*\*|__)\s)"
)
_BEGINS_NAMED: Final = re.compile(_NAME)
_BETWEEN_FIELDS: Final = re.compile(
    r"(?:\s{0,9}(?:[|·•—–/,;(]|(?<=\s)--?(?=\s)|<br\s?/?>|&nbsp;)\s{0,9}|\s{2,9}|\s(?=\*\*|__|(?:Status|Date):))"
    rf"(?={_NAME})"
)
_DASHED: Final = re.compile(r"[*_`]{0,3}([\w ]{1,40}?)[*_`]{0,3}(?:\s?(?:=|→|[-=]>)|\s[-–—]{1,2}(?=\s))\s?(.{1,300})")
_BADGE: Final = re.compile(
    r"!\[([^\[\]\n]{0,300})\]\(<?https?://[\w.-]{0,60}shields\.io/badge/([\w%+-]{1,200})-\w{1,30}(?:\.svg)?[^()\s]{0,300}\)"
)
_DEFINED: Final = re.compile(r" {0,3}\[([^\[\]\n]{1,300})\]:[ \t]{0,9}(?:<([^<>\n]{1,1000})>|(\S{1,1000}))")
_REFERRED: Final = re.compile(
    r"(?<![\[\]!])\[((?:[^\[\]\n]|\[[^\[\]\n]{0,300}\]){1,300})\](?:\[([^\[\]\n]{0,300})\])?(?![(\[\]:])"
)
_UNFINISHED: Final = re.compile(
    r"(?:[,;:(&]|\b(?:and|or|by|the|of|with|to|in|is|was|has|been|be|not|for)|supersedes|replaces)\s{0,3}[*_]{0,2}$",
    re.I,
)
_FINISHED: Final = re.compile(r"[.!?。！？][\"'”’)*_`]{0,4}$")
_RELATION_WORD: Final = re.compile(rf"(?:{SUPERSEDE}(?:es|ed|ing)|replace[sd]|obsolete[sd]|amend|relate)", re.I)
_WIDE: Final = 40  # characters of a possibly wrapped line
# Sections with lines such as `Status:`.
_WITH_FIELDS: Final = frozenset({"status", "date", "meta", "intro"})
# A table with such a column lists records; it is no record's header.
_RECORD_COLUMNS: Final = frozenset({"adr", "title", "decision", "record", "id", "name", "number", "no", "link"})
_STATED: Final = re.compile(r"\bstatus\b", re.IGNORECASE)
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
        elif kind in FIELDS:
            {"date": self.dates, "supersedes": self.supersedes, "superseded_by": self.superseded_by}[kind].append(
                stated
            )


def heading_kind(heading: Heading) -> tuple[str | None, str]:
    """Return a section's kind and the value in its heading, as in `## Status: accepted`."""
    text = SHORTCODE.sub("", heading.text)
    for mark in (":", "：", " - ", " – ", " — "):
        before, found, after = text.partition(mark)
        kind = KINDS.get(name_of(before))
        if found and kind in FIELDS and (mark in ":：" or normalise_status(after) != "other"):
            return kind, after.strip().removeprefix("**").strip()
    return KINDS.get(name_of(text)), ""


def name_of(text: str) -> str:
    """Return a heading's or field's words in lower case, without numbering, marks and a closing colon."""
    text = _NUMBERING.sub("", plain_text(SHORTCODE.sub("", text)), count=1)
    return one_line(_MARKS.sub(" ", text)).lower()


def _kind_of(name: str, value: str) -> str | None:
    name = one_line(name.replace("_", " ")).lower()
    return "date" if name == _DATED and _is_date(value) else KINDS.get(name)


def _field_of(text: str) -> tuple[str, str] | None:
    """Return the kind and value of a line such as `Status: accepted` or `**Date**: 2020-01-02`."""
    if text.startswith("[") and text.endswith("]"):
        text = text.strip("[]")
    dashed = _DASHED.fullmatch(text)
    if dashed is not None and _kind_of(dashed[1], dashed[2]) == "status":
        alone = is_status_alone(dashed[2], JOINING) or references_in(dashed[2]).superseded_by
        return ("status", dashed[2]) if alone else None
    bold = _BOLD_NAME.match(text)
    if bold is not None:
        kind = _kind_of(bold[2], bold[5])
        sentence = kind in {"supersedes", "superseded_by"} and not (bold[3] or bold[4])
        return (kind, bold[5]) if kind in FIELDS and not sentence else None
    match = _NAMED.match(text)
    if match is None:
        return None
    value = match[2] if match[2] is not None else text[match.end() :]
    kind = _kind_of(match[1], value)
    return (kind, value) if kind in FIELDS else None


def fields_of(line: str) -> list[tuple[str, str]]:
    """Return the fields of a line; several are set apart by marks, and may stand between fields with other names."""
    if len(line) > LONGEST_LINE:
        return []
    parts = [line]
    if line.count(":") + line.count("：") + line.count("**") // 2 > 1 and _BEGINS_NAMED.match(line):
        hidden = hide_titles(line)
        cuts = [cut.span() for cut in _BETWEEN_FIELDS.finditer(line) if hidden[slice(*cut.span())] == cut[0]]
        parts = [line[start:end] for (_, start), (end, _) in pairwise([(0, 0), *cuts, (len(line), 0)])]
    return [each for each in map(_field_of, parts) if each is not None]


def kind_of_cell(cell: str) -> str | None:
    kind = KINDS.get(name_of(cell)) if len(cell) <= 80 else None
    return kind if kind in FIELDS else None


def link_targets(lines: Sequence[str]) -> Mapping[str, str]:
    """Return the target of each label defined by the lines; the first definition counts."""
    found: dict[str, str] = {}
    for line in lines:
        match = _DEFINED.match(line) if len(line) <= LONGEST_LINE else None
        if match is not None:
            found.setdefault(_label(match[1]), match[2] or match[3])
    return found


def with_targets(entries: Iterable[Line | Table], targets: Mapping[str, str]) -> Iterator[Line | Table]:
    """Yield the entries with link targets in place of labels, and words in place of badges.

    They lack the lines that define labels, and struck-out text.
    """
    for entry in entries:
        if isinstance(entry, Table):
            rows = ((at, tuple(_with_targets(cell, targets) for cell in cells)) for at, cells in entry.rows)
            yield replace(entry, rows=tuple(rows))
        elif not targets or _DEFINED.match(entry.text) is None:
            text = _with_targets(entry.text, targets)
            yield entry if text == entry.text else replace(entry, text=text)


def _with_targets(text: str, targets: Mapping[str, str]) -> str:
    def add_target(link: re.Match[str]) -> str:
        target = targets.get(_label(link[2] or link[1]))
        return link[0] if target is None else f"[{link[1]}](<{target}>)"

    if len(text) > LONGEST_LINE:
        return text
    return _BADGE.sub(_words_of_badge, without_struck(_REFERRED.sub(add_target, text) if targets else text)).strip()


def _words_of_badge(badge: re.Match[str]) -> str:
    """Return the status in the words of a picture by shields.io, else its address, as in "status: proposed"."""
    if normalise_status(badge[1]) != "other":
        return badge[1]
    return ": ".join(unquote(part).replace("_", " ") for part in badge[2].replace("--", " ").split("-"))


def _label(text: str) -> str:
    """Return a label as CommonMark compares it."""
    return " ".join(text.split()).casefold()


def read_statements(entries: Iterable[Line | Table]) -> Iterator[Line | Table]:
    """Join the lines of each statement, and put the phrase above a list before each item.

    A line beginning with a name and a colon, such as `Date: 2020-01-02`, begins a statement.
    """
    return _with_phrases(_join_lines(entries))


def _join_lines(entries: Iterable[Line | Table]) -> Iterator[Line | Table]:
    held: Line | None = None  # the statement
    last = ""  # its last line
    for entry in entries:
        follows = held is not None and isinstance(entry, Line) and entry.continues and len(held.text) < LONGEST_LINE
        if held is not None and isinstance(entry, Line) and follows and _continues(held.text, last, entry.text):
            held = replace(held, text=f"{held.text} {entry.text}")
        else:
            if held is not None:
                yield held
            held = entry if isinstance(entry, Line) else None
            if held is None:
                yield entry
        last = entry.text if isinstance(entry, Line) else ""
    if held is not None:
        yield held


def _continues(statement: str, before: str, line: str) -> bool:
    """Return whether a line continues the sentence of a statement whose last line is `before`."""
    if len(line) <= LONGEST_LINE and (_BOLD_NAME.match(line) or _NAMED.match(line)) is not None:
        return False
    if _UNFINISHED.search(before[-_WIDE:]):
        return True
    hit = first_date(line)
    if _FINISHED.search(before[-_WIDE:]) or (hit is not None and hit.start == 0):
        return False
    words = bare(line).lstrip("~>- ")
    if words[:3].lower() == "by ":
        return True
    if begins_with_status(words) or _RELATION_WORD.match(words):
        return words[:1].islower() and not (statement == before and is_status_alone(before))
    return not words[:1].isupper() or len(before) >= _WIDE


def _with_phrases(entries: Iterable[Line | Table]) -> Iterator[Line | Table]:
    held: Line | None = None  # the statement ending with a phrase
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
    """Return the record named by an entry below a phrase; None if the entry is not in the phrase's list."""
    if isinstance(entry, Table) or entry.lists < phrase.lists or fields_of(entry.text) or open_phrase(entry.text):
        return None
    return item_references(entry.text, below=entry.lists > phrase.lists)


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
                if isinstance(below, Line) and below.at <= entry.at + 2 and _is_value(below.text):
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

    def read_stray(self, parts: Iterable[tuple[int, int]]) -> None:
        """Read a status from a field in other parts of the text, if a single field there says nothing but a status."""
        other = _Reader(self.document, Header(), self.targets)
        for start, end in parts:
            other.section(start, end, "intro")
        found = [each for each in other.header.statuses if is_status_alone(each[0].text, JOINING)]
        if len(found) == 1:
            self.header.late_statuses += found

    def _line(self, line: StatedText, kind: str, status: list[StatedText]) -> None:
        """Add a line without a field."""
        if kind == "changes":
            self.header.changes.append(line)
        elif kind in {"status", "intro", _DATED} and _is_date(line.text):
            self.header.lone_dates.append(line)
        elif kind == "status":
            if set(line.text) - set("-*_="):
                status.append(line)
        elif kind in FIELDS:
            self.header.take(kind, line.text, line.line)
        elif _RELATION_WORD.match(line.text.lstrip("*_ [")) or (
            kind == "intro" and references_in(line.text).superseded_by
        ):
            self.header.relations.append(line)

    def _table(self, table: Table, kind: str, status: list[StatedText]) -> None:
        names = table.rows[0][1]
        named = any(map(kind_of_cell, names)) or not _RECORD_COLUMNS.isdisjoint(map(name_of, names))
        apart = table.headed and not (
            _states_value(names) or any(map(fields_of, chain(*(cells for _, cells in table.rows))))
        )
        if apart and (named or kind not in {"status", "changes"}):
            self._columns(names, table.rows[1:], status if kind == "status" else self.header.changes)
            return
        for at, cells in table.rows:
            within = [each for cell in cells for each in fields_of(cell)] if kind in _WITH_FIELDS else []
            pairs = [(kind_of_cell(name), value) for name, value in zip(cells[::2], cells[1::2], strict=False)]
            if any(name is not None for name, _ in pairs) or within:
                for name, value in [*pairs, *within]:
                    self.header.take(name or "", value, at + 1)
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


def _is_value(text: str) -> bool:
    """Return whether a line may be the value of the name above it, and names nothing itself."""
    return len(text) <= LONGEST_LINE and (_BEGINS_NAMED.match(text) is None or begins_with_status(bare(text)))


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
    if len(cells) != 2 and not (len(cells) == 4 and kind_of_cell(cells[2]) and re.search(r"\d", cells[1] + cells[3])):
        return False
    if kind == "status":
        return normalise_status(cells[1]) != "other" and kind_of_cell(cells[1]) is None
    return any(character.isdigit() for character in cells[1])


def read_header(document: Document, title: Heading | None) -> Header:
    """Return the statements above the body and in the sections for status, date, changes and links."""
    reader = _Reader(document, Header(), link_targets(document.lines))
    headings = document.headings
    first = headings[0].start if headings else len(document.lines)
    reader.section(document.body, first, "intro")
    above = True
    body: list[tuple[int, int]] = []
    for index, heading in enumerate(headings):
        end = headings[index + 1].start if index + 1 < len(headings) else len(document.lines)
        kind, value = heading_kind(heading)
        if heading == title:
            reader.section(heading.end, end, "intro")
        elif kind in {"status", "changes"} or kind in FIELDS:
            reader.header.take(kind or "", value, heading.start + 1)
            if not value:
                reader.section(heading.end, end, kind or "", late=not above)
        elif kind == "links" or (kind == "meta" and above) or name_of(heading.text) == _DATED:
            reader.section(heading.end, end, kind or _DATED)
        else:
            above = False
            body.append((heading.end, end))
    if not (reader.header.statuses or reader.header.late_statuses) and _STATED.search(document.text):
        reader.read_stray(body)
    return reader.header
