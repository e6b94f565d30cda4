"""The title of a Markdown record, and the parts of the file name."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from cognition_engines.ingest.adr.header import heading_kind, name_of
from cognition_engines.ingest.dates import date_in_name
from cognition_engines.ingest.options import bare_name
from cognition_engines.markdown.document import Document, Heading
from cognition_engines.markdown.inline import plain_text

# Headings of the forms for decision records; with a status they identify a file as a record.
DECISION_HEADINGS: Final = frozenset(
    {"decision", "the decision", "our decision", "decision outcome", "decision drivers", "decision drivers / forces"}
    | {"decision made", "decision taken", "architecture decision", "architectural decision", "chosen option"}
)
_MINUTES_HEADINGS: Final = frozenset({"attendees", "participants", "agenda", "minutes", "action items", "apologies"})
_TYPICAL_HEADINGS: Final = DECISION_HEADINGS | frozenset(
    {"context", "context and problem statement", "problem statement", "problem", "background", "motivation"}
    | {"proposal", "solution", "approach", "options", "considered options", "options considered"}
    | {"considered alternatives", "alternatives considered", "alternatives", "rationale", "consequences"}
    | {"positive consequences", "negative consequences", "implications", "impact", "outcome", "drawbacks"}
    | {"pros and cons of the options", "pros and cons of the alternatives"}
)
_RECORD: Final = r"(?:M?ADR|architect(?:ure|ural)\s+decision(?:\s+record)?|decision\s+record)"
_PREFIXES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\[?{_RECORD}[\s_#-]{{0,3}}\d{{1,6}}\]?(?:\s{{0,3}}[:.)–—-]\s+|:|\s+)(?=\S)",
        r"\[?(?:[A-Z]?DR|ADD?|decision)[\s_#-]?\d{1,6}\]?\s{0,3}[:.)–—-]\s+(?=\S)",
        rf"(?:{_RECORD}|decision)\s{{0,3}}(?::|\s[–—-])\s+(?=\S)",
        r"\[\d{3,6}\]\s+(?=\S)",
        r"#?\d{1,6}\s{0,3}[.):–—-]\s+(?=\S)",
    )
)
_RECORD_NAME: Final = r"(?:m?adr|[a-z]?dr|decision)"
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
_TEMPLATE_WORDS: Final = frozenset(
    {"template", "adr", "madr", "nygard", "decision", "record", "architecture", "short", "long", "full", "bare"}
    | {"minimal", "basic", "default", "example"}
)
_PLACEHOLDER: Final = re.compile(r"(?:\{[^{}]*\}|\[[^\[\]\s]*\s[^\[\]]*\]|<[^<>]*>)[.\s]*|(?:NUMBER\.\s*)?TITLE")
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
    def has_date(self) -> bool:
        """Return whether the name begins with a year, a month or a day; names of notes may, too."""
        return _PERIOD.match(self.stem) is not None

    def lies_in(self, folders: Collection[str]) -> bool:
        """Return whether the file is in or below a folder with such a name, compared by `bare_name`."""
        return any(bare_name(folder) in folders for folder in self.above)

    @property
    def template(self) -> bool:
        """Return whether the name denotes an empty form."""
        words = [word for word in re.split(r"[-_. \d]+", self.stem.lower()[:200]) if word]
        return "template" in words and _TEMPLATE_WORDS.issuperset(words)

    def words(self) -> str:
        """Return the words of the name after date and number; empty if it has no others."""
        rest = "" if self.stem.lower() in _FOLDER_FILES else self.stem
        for _ in range(2):
            match = _NAME_PREFIX.match(rest)
            rest = rest[match.end() :] if match is not None else rest
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


def form_sections(document: Document) -> frozenset[str]:
    """Return the names of headings used by decision records; a heading for the status is `status`."""
    names = {name for name in map(typical_name, document.headings) if name is not None}
    has_status = any(heading_kind(heading)[0] == "status" for heading in document.headings)
    return frozenset(names | {"status"} if has_status else names)


def typical_name(heading: Heading) -> str | None:
    """Return the heading's name if decision records use it."""
    name = name_of(heading.text).replace("&", "and")
    return name if name in _TYPICAL_HEADINGS else None


def is_minutes(document: Document) -> bool:
    """Return whether the headings belong to the minutes of a meeting."""
    return any(name_of(heading.text) in _MINUTES_HEADINGS for heading in document.headings)


def _is_section(heading: Heading) -> bool:
    return typical_name(heading) is not None or heading_kind(heading)[0] is not None or not heading.text


def title_heading(document: Document) -> Heading | None:
    """Return the title: the first heading, or the first of level 1 after deeper ones; never a section's."""
    if not document.headings:
        return None
    if not _is_section(document.headings[0]):
        return document.headings[0]
    top = next((heading for heading in document.headings if heading.level == 1), None)
    return top if top is not None and top is not document.headings[0] and not _is_section(top) else None


def clean_title(text: str) -> str:
    """Return a title's words without Markdown marks and without a leading number or record prefix.

    `ADR 12: Use UDP` and `12. Use UDP` become `Use UDP`; a number belonging to the words is kept.
    """
    title = plain_text(" ".join(text.split()))
    for pattern in _PREFIXES:
        match = pattern.match(title)
        if match is not None:
            return title[match.end() :]
    return title


def is_placeholder(title: str) -> bool:
    """Return whether a title belongs to an empty form, such as `{short title}` or `[short title of solved problem]`."""
    return len(title) <= 1000 and _PLACEHOLDER.fullmatch(title) is not None
