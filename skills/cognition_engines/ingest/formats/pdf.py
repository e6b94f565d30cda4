"""Reads PDF: the text of each page, with outline entries as headings."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from pypdfium2 import PdfDocument, PdfiumError, PdfPage
from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_PAGEOBJ_IMAGE

from cognition_engines.ingest.formats.converted import (
    Converted,
    Mark,
    Unreadable,
    clean,
    join_parts,
    line_of,
    literal,
    members_of,
)

_MOST_ENTRIES: Final = 10_000  # of an outline
_DEEPEST: Final = 6
_NAMED: Final = 20  # pages named in a warning
_HYPHEN: Final = re.compile("\ufffe\r?\n?")  # if pdfium found a word continued in the next line
_NUMBER: Final = re.compile(
    r"^(?:chapter\s+|section\s+|appendix\s+)?(?:\d{1,3}|[A-Z](?=[.\d]))[.\d]*[.:)]?\s+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the outline; `page` counts from 0."""

    level: int
    title: str
    page: int


def convert(content: bytes) -> Converted:
    """Return the document in a file. Raise Unreadable if it is encrypted, broken or has no text."""
    try:
        document = PdfDocument(content)
    except PdfiumError as error:
        if getattr(error, "err_code", None) == FPDF_ERR_PASSWORD:
            raise Unreadable("is encrypted: save it without a password") from None
        raise Unreadable("is no sound PDF") from None
    entries: dict[int, list[_Entry]] = {}
    for entry in islice(_outline(document), _MOST_ENTRIES):
        entries.setdefault(entry.page, []).append(entry)
    scanned: list[int] = []
    broken: list[int] = []
    text, marks = join_parts(_pages(document, entries, scanned, broken))
    if not marks:
        raise Unreadable("has no page that can be read" if broken else "has no text: it may be scanned")
    warnings = [
        *_warning(scanned, "no text but a picture: what was scanned is not read"),
        *_warning(broken, "a flaw: what stands there is not read"),
    ]
    said = document.get_metadata_dict()
    members = members_of(said["Title"], said["Author"].split(";"), said["CreationDate"])
    return Converted(text, members, marks, tuple(warnings))


def _pages(
    document: PdfDocument, entries: dict[int, list[_Entry]], scanned: list[int], broken: list[int]
) -> Iterator[tuple[str, Mark]]:
    for number in range(len(document)):
        try:
            page = document[number]
        except PdfiumError:
            broken.append(number + 1)
            continue
        lines = _lines(page)
        if not lines and (next(iter(page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=3)), None) is not None):
            scanned.append(number + 1)
        page.close()
        yield "\n".join(_add_headings(lines, entries.get(number, []))) if lines else "", Mark(page=number + 1)


def _lines(page: PdfPage) -> list[str]:
    """Return a page's lines without blank lines; to Markdown each is only text."""
    words = page.get_textpage()
    text = clean(_HYPHEN.sub("", words.get_text_bounded()))
    words.close()
    found = (line.strip() for line in text.split("\n"))
    return [literal(line) for line in found if line]


def _add_headings(lines: Sequence[str], entries: Iterable[_Entry]) -> list[str]:
    """Return the lines with a heading for each entry: in place of the line with the same text, else above all."""
    found = list(lines)
    above: list[str] = []
    at = 0  # entries are in the order of the text
    for entry in entries:
        heading = f"\n{'#' * min(_DEEPEST, entry.level + 1)} {entry.title}\n"
        wanted = _plain(entry.title)
        place = next((each for each in range(at, len(found)) if _plain(found[each]) == wanted), None)
        if place is None:
            above.append(heading)
        else:
            found[place], at = heading, place + 1
    return [*above, *found]


def _plain(line: str) -> str:
    """Return a line for comparison: without a number."""
    return _NUMBER.sub("", " ".join(line.split()), count=1).casefold()


def _outline(document: PdfDocument) -> Iterator[_Entry]:
    for entry in document.get_toc(max_depth=_DEEPEST):
        title, target = line_of(entry.get_title()), entry.get_dest()
        page = None if target is None else target.get_index()
        if title and page is not None:
            yield _Entry(entry.level, title, page)


def _warning(pages: Sequence[int], reason: str) -> Iterator[str]:
    if pages:
        shown = ", ".join(map(str, pages[:_NAMED]))
        rest = f" and {len(pages) - _NAMED} more" if len(pages) > _NAMED else ""
        yield f"{'page' if len(pages) == 1 else 'pages'} {shown}{rest}: {reason}"
