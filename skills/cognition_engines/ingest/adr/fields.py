"""The names under which decision records state their status, date and links, in lines, tables and headings."""

import re
from typing import Final

from cognition_engines.markdown.inline import LONGEST_LINE, one_line, plain_text

_STATUS_NAMES: Final = frozenset(
    {"status", "adr status", "decision status", "current status", "state", "adr state", "statut"}
)
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
# Other languages' names of a date and a status, which a heading may have as its words.
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


def name_of(text: str) -> str:
    """A heading's or field's words in lower case, without numbering, marks and a closing colon."""
    text = _NUMBERING.sub("", plain_text(text), count=1)
    letters = "".join(character if character.isalnum() or character in " &-'/" else " " for character in text)
    return one_line(letters).lower()


def _field_of(text: str) -> tuple[str, str] | None:
    """The kind and value of a line such as `Status: accepted` or `**Date**: 2020-01-02`."""
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
    """The fields of a line; several when they are set apart by bars or dots."""
    parts = re.split(r"\s[|·•]\s", line) if line.count(":") > 1 else [line]
    found = [_field_of(part) for part in parts]
    if len(parts) > 1 and any(each is None for each in found):
        found = [_field_of(line)]
    return [each for each in found if each is not None]


def kind_of_cell(cell: str) -> str | None:
    kind = _IN_LINES.get(name_of(cell)) if len(cell) <= 80 else None
    return kind if kind in FIELDS else None


def is_named(text: str) -> bool:
    """Whether a line begins with a name and a colon, so that it continues no other."""
    return len(text) <= LONGEST_LINE and (_BOLD_NAME.match(text) or _NAMED.match(text)) is not None
