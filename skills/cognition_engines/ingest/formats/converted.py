"""Document formats, and their conversion to Markdown with the position of each page, slide or cell."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from struct import Struct
from typing import Final

from cognition_engines.markdown.front_block import Member, after_comments, front_block
from cognition_engines.markdown.inline import is_title

LENGTH: Final = Struct(">Q")  # before messages to and from the reading process: their bytes
_LONGEST_LINE: Final = 500  # characters of a title or a name
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_DATE: Final = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)")
_YEARS: Final = range(1900, 2101)
_MARKS: Final = re.compile(r"[#>|<]|```|~~~|[=+-]+$")  # with which a line would be more than text
_FENCE: Final = re.compile(r"`{3,}")
# default titles of programs
_NO_TITLE: Final = re.compile(
    r"(?:microsoft (?:word|powerpoint)\b.*|(?:untitled|document|presentation|slide|powerpoint presentation|title)"
    r"[ \-_]*\d*|.*\.(?:docx?|pptx?|indd|dvi|tex|qxd|pdf|rtf|odt|md|rst|html?))",
    re.IGNORECASE,
)


class Format(StrEnum):
    """A document format; the value is the `type` of a source in the format."""

    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    EPUB = "epub"
    NOTEBOOK = "notebook"
    RESTRUCTURED = "rst"
    ASCIIDOC = "asciidoc"


# by extension in lower case
FORMATS: Final[Mapping[str, Format]] = {
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".xhtml": Format.HTML,
    ".pdf": Format.PDF,
    ".docx": Format.DOCX,
    ".pptx": Format.PPTX,
    ".epub": Format.EPUB,
    ".ipynb": Format.NOTEBOOK,
    ".rst": Format.RESTRUCTURED,
    ".adoc": Format.ASCIIDOC,
    ".asciidoc": Format.ASCIIDOC,
}

# these are also used for decision records
WRITTEN_AS_TEXT: Final = frozenset({Format.HTML, Format.RESTRUCTURED, Format.ASCIIDOC})

_OF_MARKUP: Final = ("bs4", "lxml", "markdownify")
LIBRARIES: Final[Mapping[Format, tuple[str, ...]]] = {
    Format.HTML: _OF_MARKUP,
    Format.PDF: ("pypdfium2",),
    Format.DOCX: ("mammoth", *_OF_MARKUP),
    Format.PPTX: ("pptx",),
    Format.EPUB: _OF_MARKUP,
    Format.NOTEBOOK: ("nbformat",),
    Format.RESTRUCTURED: ("docutils", *_OF_MARKUP),
    Format.ASCIIDOC: (),
}


class Unreadable(Exception):
    """An unreadable document; the message is the reason for rejecting it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The start `at` (a character of the Markdown) of this page, slide or cell, counted from 1."""

    at: int = 0
    page: int | None = None
    slide: int | None = None
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Converted:
    """A document as Markdown. Lines end with LF. With `front` the text begins with front matter, else it never does.

    `marks` are in the order of their characters; `warnings` are reasons.
    """

    text: str
    members: tuple[Member, ...] = ()
    marks: tuple[Mark, ...] = ()
    warnings: tuple[str, ...] = ()
    front: bool = False


def clean(text: str) -> str:
    """Return the text with LF as line end, and without the control characters not allowed in texts."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\v", "\n"))


def join_parts(parts: Iterable[tuple[str, Mark]]) -> tuple[str, tuple[Mark, ...]]:
    """Return the parts as a single text, with a blank line between them, and their starts; leave out empty parts."""
    texts: list[str] = []
    marks: list[Mark] = []
    at = 0
    for part, mark in parts:
        text = clean(part).strip("\n")
        if text.strip():
            marks.append(replace(mark, at=at))
            texts.append(text)
            at += len(text) + 2
    return "\n\n".join(texts), tuple(marks)


def members_of(
    title: str | None = None,
    authors: Sequence[str] = (),
    created: str | None = None,
    tags: Sequence[str] = (),
    **rights: str | None,
) -> tuple[Member, ...]:
    """Return the members given by metadata: a title by a person, names, a date. `rights` are kept unchanged."""
    name = line_of(title or "")
    found: dict[str, str | list[str]] = {
        "title": "" if _NO_TITLE.fullmatch(name) else name,
        "authors": list(dict.fromkeys(filter(None, map(line_of, authors)))),
        "date": date_of(created or "") or "",
        "tags": list(dict.fromkeys(filter(None, map(line_of, tags)))),
        **{name: (value or "").strip() for name, value in rights.items()},
    }
    # the value as YAML: JSON is YAML
    return tuple(Member(name, json.dumps(value, ensure_ascii=False), 1) for name, value in found.items() if value)


def right_of(values: Sequence[str]) -> str | None:
    """Return a project or a sensitivity; different values are joined, and so rejected."""
    return " and ".join(dict.fromkeys(value.strip() for value in values if value.strip())) or None


def line_of(text: str) -> str:
    """Return the text on a single line; empty if too long for a title or a name."""
    line = " ".join(clean(text).split())
    return line if len(line) <= _LONGEST_LINE and is_title(line) else ""


def literal(line: str) -> str:
    """Return a line that Markdown parses as text, escaped if needed."""
    return f"\\{line}" if _MARKS.match(line) else line


def date_of(text: str) -> str | None:
    """Return the day at a text's beginning, as YYYY-MM-DD; None without a day."""
    match = _DATE.match(text.strip().removeprefix("D:"))
    try:
        day = None if match is None else date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    return day.isoformat() if day is not None and day.year in _YEARS else None


def text_of(content: bytes) -> str:
    """Return the text of a file in UTF-8. Raise Unreadable."""
    try:
        return clean(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"the encoding must be UTF-8; line {line} is in another one") from None


def split_front(text: str) -> tuple[str, str]:
    """Return all blocks of front matter at a text's top, and the rest; all of it as front if flawed.

    Only a line of `---` opens it: other formats underline their titles with longer lines and with other marks.
    """
    lines = text.split("\n")
    start = after_comments(lines, 0)
    if start == len(lines) or lines[start].rstrip() != "---":
        return "", text
    front = front_block(lines, start)
    if front.flaw is not None:
        return text, ""
    if not front.members:
        return "", text
    return "\n".join(lines[: front.end]) + "\n", "\n".join(lines[front.end :])


def code_block(text: str, language: str = "") -> str:
    """Return a fenced block that the text cannot close."""
    longest = max((len(run) for run in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}"
