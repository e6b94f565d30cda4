"""Splits the lines of a section into statements, with link targets, and finds the field names they state.

A sentence over several lines is a single statement, and so is each item below a phrase.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cognition_engines.ingest.adr.references import item_references, open_phrase
from cognition_engines.ingest.dates import first_date
from cognition_engines.ingest.statuses import begins_with_status, is_status_alone
from cognition_engines.markdown.document import Line, Table
from cognition_engines.markdown.inline import LONGEST_LINE, bare, one_line, plain_text

_NAMES: Final = {
    "status": "status, adr status, decision status, current status, state, adr state, statut",
    "date": "date, decision date, date decided, date of decision, decided on, adr date, created, created on",
    "supersedes": "supersedes, supercedes, replaces, superseding",
    "superseded_by": "superseded by, superceded by, replaced by, superseded, superseded with",
    "changes": "changelog, change log, changes, history, revision history, revisions, release history, version history"
    ", document history",
    "links": "links, related, related decisions, related adrs, relations, see also",
    "meta": "metadata, meta, info, information, details, decision details, header",
}
KINDS: Final = {name: kind for kind, names in _NAMES.items() for name in names.split(", ")}
# Other languages' names of a date and a status, used as headings.
_IN_LINES: Final = {
    **KINDS,
    **dict.fromkeys(("datum", "fecha", "日期", "日付", "날짜"), "date"),
    **dict.fromkeys(("statut", "estado", "stato", "статус", "状态", "狀態", "状態", "ステータス", "상태"), "status"),
}
FIELDS: Final = frozenset({"status", "date", "supersedes", "superseded_by"})
_NUMBERING: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,3}[.):]?\s+")
_BOLD_NAME: Final = re.compile(r"(\*\*|__)([\w ]{1,40}?)\s?([:：]?)\1\s*([:：]?)\s*(.*)")
_NAMED: Final = re.compile(
    r"[*_`]{0,3}([\w ]{1,40}?)[*_`]{0,3}\s?(?::[*_`]{0,3}(?:\s+(.*)|$|(?=[\d{\[(<]))|：[*_`]{0,3})"
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
_RELATION: Final = re.compile(r"(?:super(?:s|c|sc)ed(?:es|ed|ing)|replace[sd]|obsolete[sd]|amend|relate)", re.I)
_WIDE: Final = 40  # characters of a possibly wrapped line


def name_of(text: str) -> str:
    """Return a heading's or field's words in lower case, without numbering, marks and a closing colon."""
    text = _NUMBERING.sub("", plain_text(text), count=1)
    letters = "".join(character if character.isalnum() or character in " &-'/" else " " for character in text)
    return one_line(letters).lower()


def _field_of(text: str) -> tuple[str, str] | None:
    """Return the kind and value of a line such as `Status: accepted` or `**Date**: 2020-01-02`."""
    if len(text) > LONGEST_LINE:
        return None
    bold = _BOLD_NAME.match(text)
    if bold is not None:
        kind = _IN_LINES.get(one_line(bold[2]).lower())
        sentence = kind in {"supersedes", "superseded_by"} and not (bold[3] or bold[4])
        return (kind, bold[5]) if kind in FIELDS and not sentence else None
    match = _NAMED.match(text)
    if match is None:
        return None
    kind = _IN_LINES.get(one_line(match[1].replace("_", " ")).lower())
    value = match[2] if match[2] is not None else text[match.end() :]
    return (kind, value) if kind in FIELDS else None


def fields_of(line: str) -> list[tuple[str, str]]:
    """Return the fields of a line; several when they are set apart by bars or dots."""
    parts = re.split(r"\s[|·•]\s", line) if line.count(":") > 1 else [line]
    found = [_field_of(part) for part in parts]
    if len(parts) > 1 and any(each is None for each in found):
        found = [_field_of(line)]
    return [each for each in found if each is not None]


def kind_of_cell(cell: str) -> str | None:
    kind = _IN_LINES.get(name_of(cell)) if len(cell) <= 80 else None
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
    """Yield the entries with link targets in place of labels, without the lines defining them."""
    for entry in entries:
        if not targets:
            yield entry
        elif isinstance(entry, Table):
            rows = ((at, tuple(_with_targets(cell, targets) for cell in cells)) for at, cells in entry.rows)
            yield replace(entry, rows=tuple(rows))
        elif _DEFINED.match(entry.text) is None:
            yield replace(entry, text=_with_targets(entry.text, targets))


def _with_targets(text: str, targets: Mapping[str, str]) -> str:
    def add_target(link: re.Match[str]) -> str:
        target = targets.get(_label(link[2] or link[1]))
        return link[0] if target is None else f"[{link[1]}](<{target}>)"

    return _REFERRED.sub(add_target, text) if len(text) <= LONGEST_LINE else text


def _label(text: str) -> str:
    """Return a label as CommonMark compares it."""
    return " ".join(text.split()).casefold()


def read_statements(entries: Iterable[Line | Table]) -> Iterator[Line | Table]:
    """Join the lines of each statement, and put the phrase above a list before each item.

    A line beginning with a name and a colon, such as `Date: 2020-01-02`, begins a statement.
    """
    return _with_phrases(_join_lines(entries))


def _join_lines(entries: Iterable[Line | Table]) -> Iterator[Line | Table]:
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
    """Return whether a line continues the sentence of earlier lines in its paragraph."""
    before = parts[-1]
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
    if begins_with_status(words) or _RELATION.match(words):
        return words[:1].islower() and not (len(parts) == 1 and is_status_alone(before))
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
