"""Reads a text without a decision, in Markdown or converted from another format, into a source with chunks."""

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Final

from cognition_engines.drafts.chunking import Piece, cut, in_whole, too_long
from cognition_engines.drafts.plain_values import RefusedValue, Unacceptable, Value
from cognition_engines.ingest.adr.reader import form_sign
from cognition_engines.ingest.adr.titles import name_of_text
from cognition_engines.ingest.dates import date_of_note, sure_date
from cognition_engines.ingest.formats.converted import Converted, Format, Mark
from cognition_engines.ingest.items import DocumentDraft, Item, Warned, left_out, rejected, warned
from cognition_engines.ingest.parse.front_matter import FrontMatter, plain_name, read_front_matter
from cognition_engines.ingest.structured.records import read_other
from cognition_engines.kinds.fields import sound
from cognition_engines.kinds.knowledge import Source
from cognition_engines.kinds.spec import Kind
from cognition_engines.markdown.document import Document, read_markdown
from cognition_engines.markdown.front_block import Member
from cognition_engines.markdown.inline import bare, is_title, one_line, plain_text, without_links
from cognition_engines.models import Problem

_LONGEST_TITLE: Final = 500
_LICENCE: Final = re.compile(
    r"(?:.*[-_. +])?(?:licen[cs]es?|copying|notice)|licen[cs]e[-_. ](?:apache|mit|bsd|isc|mpl|epl|cc|[al]?gpl)\b.*",
    re.IGNORECASE,
)
_OF_LICENCES: Final = re.compile(r"\b(?:licen[cs]e|copyright)", re.IGNORECASE)
_LEAST_LINKS: Final = 2
_HEADER_LINES: Final = 8
_SAYS: Final = {"created_at": "date", "authors": "list of authors", "tags": "list of tags"}
_LOOKED_AT: Final = 4000  # characters of a possible licence
# possessive: both runs take blanks and pipes, and to share them out in every way would be quadratic
_LINKED: Final = re.compile(r"[\s>|]*+(?:[-*+]|\d{1,6}[.)])?[\s*_|\d]*+\[[^\[\]\n]{1,1000}\][(\[]")
_TIGHT: Final = re.compile(r"#{1,6}[^#\s]")  # no heading: notes begin with tags such as #harbour
_TITLED: Final = re.compile(r"(?:subject|title|betreff):[ \t]+(\S.*)", re.IGNORECASE)
# Front matter members that are source fields, by name without blanks and marks.
_RIGHTS: Final = {"id": "id", "docid": "id", "project": "project", "sensitivity": "sensitivity"}
_FIELDS: Final = {
    "title": "title",
    "author": "authors",
    "authors": "authors",
    "type": "type",
    "url": "url",
    "sourceurl": "url",
    "year": "year",
    "category": "category",
    "tags": "tags",
    "tag": "tags",
    "keywords": "tags",
    "date": "created_at",
    "created": "created_at",
    "createdat": "created_at",
    "datecreated": "created_at",
    "creationdate": "created_at",
    "revdate": "created_at",
}
_SEARCHED: Final = ("aliases", "alias", "description", "summary")  # next to the text
_FENCES: Final = ("---", "...", "+++")
MEMBERS: Final = _RIGHTS.keys() | _FIELDS.keys()


def as_document(converted: Converted, format: Format) -> Document:
    """Return the document, with metadata as front matter; metadata never replace the document's own values.

    The beginning of the text is parsed as front matter only if the converter found some.
    """
    document = read_markdown(converted.text, indented_code=False, front_matter=converted.front)
    given = {plain_name(member.name) for member in document.front}
    given |= {{"authors": "authors", "created_at": "date"}.get(_FIELDS.get(name, ""), name) for name in given}
    given -= {"project", "sensitivity"}  # two of these are refused as given twice
    said = [member for member in converted.members if member.name not in given]
    typed = [] if "type" in given else [Member("type", json.dumps(format.value), 1)]
    return replace(document, front=(*document.front, *said, *typed))


def add_places(pieces: Iterable[Piece], marks: Sequence[Mark]) -> list[Piece]:
    """Return the pieces with the page, slide or cell in which each begins; `marks` are in the order of characters."""
    if not marks:
        return list(pieces)
    found: list[Piece] = []
    for piece in pieces:
        at = bisect_right(marks, piece.start, key=attrgetter("at")) - 1
        mark = marks[at] if at >= 0 else Mark()
        found.append(replace(piece, page=mark.page, slide=mark.slide, cell=mark.cell))
    return found


def read(
    path: str,
    document: Document,
    explicit: bool = False,
    markdown: bool = True,
    marks: Sequence[Mark] = (),
    *,
    converted: bool = False,
) -> Iterator[Item] | None:
    """Return a file's document as a single item, with warnings before it; None without a document.

    Blank forms are refused. Pages that are mostly a list of links yield no document, nor do, with a warning, texts of
    licences, unless the file was named explicitly (`explicit`). Chunk positions count characters from the start of the
    file, line ends as one character. In plain text (`markdown` False) indented lines are no code. `marks` are the
    positions of pages, slides or cells in another format. The title of a document `converted` from another format may
    be its first heading, at any level.
    """
    text = document.text
    if not text.strip():
        return None
    if markdown and (form := blank_form(path, document, explicit)) is not None:
        return form
    stem = re.split(r"[/\\]", path)[-1].rpartition(".")[0]
    if not explicit and _LICENCE.fullmatch(stem) and _OF_LICENCES.search(text[:_LOOKED_AT]):
        return iter([warned(path, "the text of a licence is not read; name the file itself to read it")])
    if not explicit and markdown and is_index(document):
        return None
    front = read_front_matter(document.front, document.flaw)
    pieces = cut(text, document.blocks)
    pieces = [*_properties(document, front, within=bool(pieces)), *pieces]
    pieces = add_places([in_whole(piece, document.shortened) for piece in pieces], marks)
    if not pieces and front.flaw is None:
        return None
    if front.flaw is not None:
        return iter([rejected(path, front.flaw.reason, front.flaw.line)])
    try:
        _check(text, pieces)
        members, notices = _head(path, front, _title(document, markdown, converted))
        source = read_other(Kind.SOURCE, members, named_kind=True).record
    except Unacceptable as error:
        return iter([rejected(path, str(error), _line(document, str(error)))])
    assert isinstance(source, Source)
    return chain(map(Warned, notices), [DocumentDraft(source, tuple(pieces), 0, 1, is_file=True)])


def blank_form(path: str, document: Document, explicit: bool) -> Iterator[Item] | None:
    """Return the refusal of a blank form for decisions, a warning unless the file was named; None for other files."""
    sign = form_sign(path, document) if document.text.strip() else None
    return None if sign is None else left_out(path, f"is a blank form, not a decision: {sign}", explicit)


def _check(text: str, pieces: Sequence[Piece]) -> None:
    """Raise `Unacceptable` for a text that chunks cannot hold: with NUL, or with a too long part."""
    if not sound(text):
        raise Unacceptable("the text must have no NUL")
    if (reason := too_long(text, pieces)) is not None:
        raise Unacceptable(reason)


def _properties(document: Document, front: FrontMatter, *, within: bool) -> Iterator[Piece]:
    """Yield front matter as pieces: next to a text (`within`) what is searched, else all, if more than rights."""
    names = _SEARCHED if within else front.members.keys() - _RIGHTS.keys()
    wanted = [front.members[name] for name in names if name in front.members and front.text(name)]
    if not wanted:
        return
    if not within:
        wanted = list(document.front)
    begins = {member.line - 1 for member in document.front}
    written = [member for member in wanted if member.name in document.lines[member.line - 1]]
    for first, end in _spans(document, sorted(member.line - 1 for member in written), begins):
        start = sum(len(line) + 1 for line in document.lines[:first])
        words = "\n".join(document.lines[first:end]).rstrip()
        yield Piece(words, start, start + len(words))


def _spans(document: Document, starts: Sequence[int], begins: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the lines of some members (0-based, end exclusive); adjacent members form a single span."""
    first = end = -1
    for start in starts:
        if start != end:
            if first >= 0:
                yield first, end
            first = start
        end = start + 1
        while end < document.body and end not in begins and document.lines[end].strip() not in _FENCES:
            end += 1
    if first >= 0:
        yield first, end


def _title(document: Document, markdown: bool, converted: bool) -> str:
    """Return the first heading of level 1, else in plain text a line `Subject:`; empty without a title."""
    above = document.entries[0].at if converted and document.entries else len(document.lines) if converted else -1
    headings = [one for one in document.headings if not (markdown and _TIGHT.match(document.lines[one.start]))]
    titles = (heading for heading in headings if heading.level == 1 or heading == document.headings[0])
    first = next((heading for heading in titles if heading.level == 1 or heading.start < above), None)
    title = one_line(plain_text(first.text)) if first is not None else ""
    if not title and not markdown:
        beginning = document.lines[document.body : document.body + _HEADER_LINES]
        title = next((match[1].strip() for line in beginning if (match := _TITLED.fullmatch(line))), "")
    return _fit(title)


def _fit(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE and is_title(title) else ""


def is_index(document: Document) -> bool:
    """Return whether a page is mostly lines beginning with a link, such as a folder's index."""
    linked = others = lines = 0
    headed = {at for heading in document.headings for at in range(heading.start, heading.end)}
    for at in range(document.body, len(document.lines)):
        line = document.lines[at].strip()
        if at in headed or not line.strip("|:- "):
            continue
        if _LINKED.match(line):
            lines += 1
            linked += len(without_links(line))
        else:
            others += len(line)
    return lines >= _LEAST_LINKS and linked > others


def _head(path: str, front: FrontMatter, title: str) -> tuple[dict[str, Value], list[Problem]]:
    """Return a source's members; values without a source field go to the metadata, with a warning."""
    members: dict[str, Value] = {"title": title or _fit(one_line(plain_text(front.text("name")))) or name_of_text(path)}
    metadata: dict[str, Value] = {}
    notices = [Problem(path, notice.line, notice.reason) for notice in front.notices]
    for name, member in front.members.items():
        value = front.value(name)
        if name in _RIGHTS:
            members[_RIGHTS[name]] = value
            continue
        shown: Value = front.text(name) if isinstance(value, RefusedValue) else value
        if shown is None or shown in ("", [], {}):
            continue
        field = _FIELDS.get(name)
        read = None if field is None else _read_field(front, name, field)
        before = members.get("tags")
        if field == "tags" and isinstance(read, list) and isinstance(before, list):
            members["tags"] = [*before, *(tag for tag in read if tag not in before)]
        elif field is None or read is None or field in members.keys() - {"title"}:
            metadata[member.name] = shown
        else:
            members[field] = read
        if field is not None and read is None:
            reason = f"{member.name} is no {_SAYS.get(field, field)} of a document: it is kept in the metadata"
            notices.append(Problem(path, member.line, reason))
    named = date_of_note(name_of_text(path))
    if "created_at" not in members and named is not None:
        members["created_at"] = named.isoformat()
    return members | {"metadata": metadata}, notices


def _read_field(front: FrontMatter, name: str, field: str) -> Value:
    """Return the member as a source field; None if impossible."""
    value: Value = front.value(name)
    if field == "created_at":
        day = sure_date(bare(front.text(name)))
        return None if day is None else day.isoformat()
    if field == "title":
        value = one_line(plain_text(front.text(name)))
    elif field == "tags" and all(isinstance(item, str) for item in (value if isinstance(value, list) else [value])):
        value = list(front.tags(name))
    try:
        read_other(Kind.SOURCE, {"title": "title", field: value}, named_kind=True)
    except Unacceptable:
        return None
    return value


def _line(document: Document, reason: str) -> int:
    """Return the line of the front matter member named at a refusal's beginning; else the first line."""
    name = reason.partition(" ")[0].rstrip(":").replace("_", "")
    return next((member.line for member in document.front if plain_name(member.name) == name), 1)
