"""The title of a Markdown record, and the parts of the file name."""

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from cognition_engines.ingest.adr.header import FIELDS, StatedText, fields_of, heading_kind, name_of, read_statements
from cognition_engines.ingest.adr.sections import role_of
from cognition_engines.ingest.dates import date_in_name, first_date
from cognition_engines.ingest.options import bare_name
from cognition_engines.markdown.document import Document, Heading, Line, Table
from cognition_engines.markdown.inline import LONGEST_LINE, plain_text

# First headings that name a section or the form, never the record itself.
_FORM_NAMES: Final = re.compile(
    r"(?:executive |decision )?summary|abstract|tl ?dr|template|[\W\d_]+|(?:technical |software )?design doc(?:ument)?"
    r"|(?:adr[ -]?)?decision record title\b.*|title(?: of (?:the |this )?(?:adr|decision|record)\b.*)?"
    r"|(?:m?adr|[a-z]?dr|rfc|(?:architectur(?:e|al) )?decision(?: record| document)?)"
    r"(?: ?-?#?(?:\d{1,6}|[nx]{3,6}))?(?:[ -]?title| template)?"
)
_GENERAL: Final = frozenset({"goal", "goals", "introduction", "overview", "purpose", "scope", "description"})
_RECORD: Final = r"(?:M?ADR|architect(?:ure|ural)\s+decision(?:\s+record)?|decision\s+record)"
_NUMBER: Final = r"(?:(?:19|20)\d\d-\d\d-\d\d|\d{1,6})"
_LEAD: Final = re.compile(r"(?P<mark>\s{0,3}[:.–—-])?\s+(?=\S)")  # between a date and a title
_TITLE_NAME: Final = re.compile(r"title\s{0,3}:\s+(?=\S)", re.IGNORECASE)
_PREFIXES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\[?{_RECORD}[\s_#-]{{0,3}}{_NUMBER}\]?(?:\s{{0,3}}[:.)–—-]\s+|:|\s+|<br ?/?>\s*)(?=\S)",
        rf"\[?(?:[A-Z]?DR|ADD?|RFC|decision)[\s_#-]?{_NUMBER}\]?\s{{0,3}}[:.)–—-]\s+(?=\S)",
        rf"(?:{_RECORD}|decision)\s{{0,3}}(?::|\s[–—-])\s+(?=\S)",
        r"\[\d{3,6}\]\s+(?=\S)",
        r"#?\d{1,6}\s{0,3}[.):–—-]\s+(?=\S)",
        r"0\d{2,5}-(?=[^\W\d_])",
    )
)
_OF_RECORD: Final = re.compile(
    rf"^\[?M?ADR[\s_#-]?\d|^(?:{_RECORD}|decision|design decisions?)\s{{0,3}}(?::|\s[–—-])\s"
    r"|\b(?:decision record|ADR)$",
    re.IGNORECASE,
)
_OF_GUIDE: Final = re.compile(
    r"(?:how (?:to|do)|guide|what (?:is|are)|writing|about|introduction)\b[^\n]{0,60}\b(?:adrs?|decisions?)\b", re.I
)
_NUMBER_ALONE: Final = re.compile(r"(\d{1,6})\s+(?=\S)")
_TITLE_FIELD: Final = re.compile(r"(?:\*\*|__)?title\s?(?::(?:\*\*|__)?|(?:\*\*|__)\s?:)\s+(\S.*)", re.IGNORECASE)
_RECORD_NAME: Final = r"(?:m?adr|[a-z]?dr|decision|rfc|itd)"
# Behind other words two digits are those of a week or a part, and four may be a year: `week-12`, `notes-2024`.
_NUMBERED: Final = re.compile(
    rf"(?:(?:(?:[a-z]{{1,8}}[-_. ])?{_RECORD_NAME}[-_. ]?)?\d{{1,6}}"
    r"|(?:[a-z]{1,8}[-_. ]){1,2}(?!(?:19|20|21)\d\d(?:\d\d)?(?!\d))\d{3,6})(?=[-_. ]|$)",
    re.IGNORECASE,
)
# A year, with or without a month and a day, then a record's number, if any: `2022-03-28_017-x`.
_PERIOD: Final = re.compile(r"(?:19|20|21)\d\d(?:[-_. ]?\d\d){0,2}(?=[-_. ]|$)(?P<number>[-_. ]\d{1,6}(?=[-_. ]|$))?")
_NAME_PREFIX: Final = re.compile(
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{8}})[-_. ]|{_RECORD_NAME}?[-_. ]?\d{{1,6}}[-_. ]", re.IGNORECASE
)
_RECORD_FILE: Final = re.compile(r"(?:[a-z]{1,8}[-_. ])?(?:m?adr|dr|decision)[-_. ]?\d", re.IGNORECASE)
_BLANK_WORDS: Final = frozenset(
    {"template", "empty", "blank", "modele", "modèle", "modelo", "vorlage", "plantilla", "szablon", "шаблон"}
)
_TEMPLATE_WORDS: Final = (
    {"adr", "madr", "nygard", "decision", "record", "architecture", "short", "long", "full", "bare"}
    | {"minimal", "basic", "default", "example", "rfc", "itd", "title", "de"}
    | _BLANK_WORDS
)
_NO_NUMBER: Final = re.compile(r"(?:[a-z]{1,8}[-_. ])?(?:n{3,6}|x{3,6})(?=[-_. ]|$)", re.IGNORECASE)
_PLACEHOLDER: Final = re.compile(
    r"(?:\{[^{}]*\}|\[[^\[\]\s]*\s[^\[\]]*\]|<[^<>]*>)[.\s]*|(?:NUMBER\.\s*)?TITLE|[Ss]hort title of .*"
)
_FOLDER_FILES: Final = frozenset({"readme", "index", "adr", "decision"})
LISTING_FILES: Final = frozenset(
    {"readme", "index", "contributing", "changelog", "summary", "license", "notice", "security"}
)


@dataclass(frozen=True, slots=True)
class FileName:
    """The parts of a path: the stem naming the record (for a README the folder's name), and a mark of listings.

    `above` are the names of the two folders around it. `own_folder` says that the folder belongs to the record.
    """

    stem: str
    listing: bool
    above: tuple[str, ...] = ()
    own_folder: bool = False

    @property
    def has_number(self) -> bool:
        """Return whether the name begins with the number of a record, which a date is for a folder alone."""
        period = _PERIOD.match(self.stem)
        if period is None:
            return _NUMBERED.match(self.stem) is not None
        return period["number"] is not None or (self.own_folder and date_in_name(self.stem) is not None)

    @property
    def number(self) -> int | None:
        """Return the number of a name that begins with it and with words, as 12 of `0012-use-udp`."""
        match = _NUMBERED.match(self.stem)
        if match is None or self.stem[match.end() + 1 :][:1].isdigit():
            return None
        return int(re.split(r"\D", match[0])[-1])

    @property
    def of_record(self) -> bool:
        """Return whether the name says that it is a record's, as in `adr-12-use-udp`."""
        return _RECORD_FILE.match(self.stem) is not None

    @property
    def has_date(self) -> bool:
        """Return whether the name begins with a year, a month or a day; names of notes may, too."""
        return _PERIOD.match(self.stem) is not None

    def lies_in(self, folders: Collection[str]) -> bool:
        """Return whether the file is in or below a folder with such a name, compared by `bare_name`.

        A number before the name, as in `09-decisions`, gives the folder its place among others.
        """
        names = {bare_name(folder) for folder in self.above}
        return not {*names, *(name.lstrip("0123456789") for name in names)}.isdisjoint(folders)

    @property
    def template(self) -> bool:
        """Return whether the name is one of a blank form; the file may still be filled."""
        words = [word for word in re.split(r"[-_. \d]+", self.stem.lower()[:200]) if word]
        if _BLANK_WORDS.isdisjoint(words):
            return _NO_NUMBER.match(self.stem) is not None
        if self.has_date:
            return False
        return (self.number == 0 and words[-1] == "template") or _TEMPLATE_WORDS.issuperset(words)

    def words(self) -> str:
        """Return the words of the name after date and number; empty if it has no others."""
        rest = "" if self.stem.lower() in _FOLDER_FILES else self.stem
        for _ in range(2):
            match = _NAME_PREFIX.match(rest)
            rest = rest[match.end() :] if match is not None else rest
        if not any(map(str.isalpha, rest)):
            return self.stem if any(map(str.isdigit, rest)) else ""
        return " ".join(re.split(r"[-_\s]+", rest)).strip()


def file_name(path: str) -> FileName:
    """Return the parts of a record's name in the last parts of a path, separated by / or \\."""
    parts = [part for part in re.split(r"[/\\]", path) if part]
    stem = parts[-1].rpartition(".")[0] or parts[-1] if parts else ""
    listing = stem.lower() in LISTING_FILES
    if stem.lower() in _FOLDER_FILES and len(parts) > 1:
        folder = FileName(parts[-2], listing=False, above=tuple(parts[-4:-2]), own_folder=True)
        return folder if folder.has_number else FileName(parts[-2], listing, tuple(parts[-3:-1]))
    return FileName(stem, listing, tuple(parts[-3:-1]))


def name_of_text(path: str) -> str:
    """Return the name of an untitled text: the whole file name, or the folder name for a README or an index."""
    stem = re.split(r"[/\\]", path)[-1].rpartition(".")[0]
    return stem if stem.lower() in _FOLDER_FILES - LISTING_FILES else file_name(path).stem


def _is_section(heading: Heading) -> bool:
    general = not heading.text or name_of(heading.text) in _GENERAL
    return general or role_of(heading) is not None or heading_kind(heading)[0] is not None


def names_form(text: str) -> bool:
    """Return whether a heading or title is that of a form, such as `ADR 12`, or of its first section."""
    return _FORM_NAMES.fullmatch(name_of(text)) is not None


def title_heading(document: Document) -> Heading | None:
    """Return the title: the first heading, or the first of level 1 after deeper ones; never a section's.

    Directly below the name of a form, such as `ADR 12`, the next heading is the title.
    """
    headings = document.headings
    first = headings[0] if headings else None
    if first is not None and names_form(first.text):
        below = headings[1] if len(headings) > 1 and not _entries(document, first.end, headings[1].start) else None
        return below if below is not None and not (_is_section(below) or names_form(below.text)) else None
    if first is None or not _is_section(first):
        return first
    top = next((each for each in headings if each.level == 1 and heading_kind(each)[0] not in FIELDS), None)
    return top if top is not None and not (_is_section(top) or names_form(top.text)) else None


def title_line(document: Document) -> StatedText | None:
    """Return the title in a line `Title: ...` above the sections, or as the text of a section Title."""
    end = next((heading.start for heading in document.headings if _is_section(heading)), len(document.lines))
    section = next((each.end for each in document.headings[:2] if name_of(each.text) == "title"), None)
    for entry in read_statements(_entries(document, document.body, end)):
        text = entry.text if isinstance(entry, Line) and len(entry.text) <= LONGEST_LINE else ""
        match = _TITLE_FIELD.fullmatch(text)
        if match is not None or (section is not None and entry.at >= section and text and not fields_of(text)):
            return StatedText(match[1] if match is not None else text, entry.at + 1)
    return None


def _entries(document: Document, start: int, end: int) -> Sequence[Line | Table]:
    first, stop = (bisect_left(document.entries, at, key=attrgetter("at")) for at in (start, end))
    return document.entries[first:stop]


def clean_title(text: str, name: FileName) -> str:
    """Return a title's words without Markdown marks and without a leading date, number or record prefix.

    `ADR 12: Use UDP` and `12. Use UDP` become `Use UDP`; a number belonging to the words is kept, so `12 Use UDP` loses
    only that of the file's name.
    """
    title = plain_text(" ".join(text.split()))
    day = date_in_name(title) or first_date(title)
    lead = _LEAD.match(title, day.end) if day is not None and day.start == 0 else None
    # words behind a date in letters may go on with it, as in `1 May 2020 release`
    if lead is not None and (lead["mark"] or not any(map(str.isalpha, title[: lead.start()]))):
        title = title[lead.end() :]
    for patterns in ((_TITLE_NAME,), _PREFIXES):
        match = next(filter(None, (pattern.match(title) for pattern in patterns)), None)
        title = title[match.end() :] if match is not None else title
    match = _NUMBER_ALONE.match(title)
    return title[match.end() :] if match is not None and int(match[1]) == name.number else title


def names_record(heading: Heading | None) -> bool:
    """Return whether a heading says that the file is a record, as in `ADR 12: Use UDP` and `Router decision record`."""
    return heading is not None and _OF_RECORD.search(plain_text(heading.text[:LONGEST_LINE])) is not None


def names_guide(heading: Heading | None) -> bool:
    """Return whether a heading is that of a guide to records, as `How to write ADRs`."""
    return heading is not None and _OF_GUIDE.match(plain_text(heading.text[:LONGEST_LINE])) is not None


def is_placeholder(title: str) -> bool:
    """Return whether a title belongs to an empty form, such as `{short title}` or `[short title of solved problem]`."""
    return len(title) <= 1000 and _PLACEHOLDER.fullmatch(title) is not None
