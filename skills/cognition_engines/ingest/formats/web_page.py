"""HTML pages: their main part as Markdown, and what their head says of them."""

import codecs
import re
from collections.abc import Iterator
from typing import Final

from bs4 import BeautifulSoup
from bs4.dammit import EncodingDetector

from cognition_engines.ingest.formats.converted import (
    Converted,
    Member,
    Unreadable,
    clean,
    line_of,
    members_of,
    right_of,
    split_front,
)
from cognition_engines.ingest.formats.markup import markdown_of, parsed

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_HEAD: Final = 4096  # bytes in which an encoding is declared
_DATES: Final = ("article:published_time", "dcterms.date", "dc.date", "dcterms.created", "date")
_AUTHORS: Final = ("author", "dcterms.creator", "dc.creator", "citation_author")
_COMMA: Final = re.compile(r"[,;]")


def convert(content: bytes) -> Converted:
    """The page in a file. Raises Unreadable for an encoding that is not declared and not UTF-8."""
    front, html = split_front(clean(decoded(content)))
    page = parsed(html)
    members = _members(page)
    text = markdown_of(page)
    return Converted(front + "\n" + text if front else text, members, front=bool(front))


def decoded(content: bytes) -> str:
    """The text of a page: as its byte order mark says, else as it declares, else UTF-8."""
    marked = next((name for mark, name in _BOMS if content.startswith(mark)), None)
    named = marked or EncodingDetector.find_declared_encoding(content[:_HEAD], is_html=True)
    for encoding in dict.fromkeys((named or "utf-8", "utf-8")):
        try:
            return content.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    if named is None:
        raise Unreadable("declares no encoding, and is not UTF-8")
    raise Unreadable(f"is not in the encoding that it declares, {line_of(str(named))}")


def _members(page: BeautifulSoup) -> tuple[Member, ...]:
    named = dict(_named(page))
    first = page.find("h1")
    heading = line_of(first.get_text(" ")) if first is not None else ""
    heading = heading.rstrip("¶#").strip()
    title = line_of(page.title.get_text()) if page.title is not None else ""
    # the title of a page often ends with that of its site
    title = heading if heading and title.startswith(heading) else title
    return members_of(
        title,
        [value for name in _AUTHORS for value in named.get(name, [])],
        next((value for name in _DATES for value in named.get(name, [])), None),
        [word for value in named.get("keywords", []) for word in _COMMA.split(value)],
        project=right_of(named.get("project", [])),
        sensitivity=right_of(named.get("sensitivity", [])),
    )


def _named(page: BeautifulSoup) -> Iterator[tuple[str, list[str]]]:
    """The contents of the `meta` elements, by name."""
    found: dict[str, list[str]] = {}
    for element in page.find_all("meta"):
        name = str(element.get("name") or element.get("property") or "").lower()
        value = str(element.get("content") or "").strip()
        if name and value:
            found.setdefault(name, []).append(value)
    yield from found.items()
