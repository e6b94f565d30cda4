"""Converts HTML to Markdown: a page's content without navigation, and the metadata in the head."""

import codecs
import re
from collections.abc import Iterator
from typing import Final

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from markdownify import MarkdownConverter

from cognition_engines.ingest.formats.converted import (
    Converted,
    Unreadable,
    clean,
    code_block,
    line_of,
    members_of,
    right_of,
    split_front,
)
from cognition_engines.markdown.front_block import Member

_DEEPEST: Final = 200  # levels; the parser keeps 256 and drops the rest
_DROPPED: Final = (
    "script", "style", "noscript", "template", "nav", "iframe", "object", "svg", "canvas", "button", "input", "select",
    "dialog", "head",
)  # fmt: skip
_AROUND: Final = "footer, [role=navigation], [role=search], [role=contentinfo], [hidden], .sphinxsidebar, .related"
_ANCHORS: Final = frozenset({"¶", "#", "§", "🔗", ""})
_MAIN: Final = ("main", "[role=main]", "article", "div.body", "div.document", "#content")
_LEAST_SHARE: Final = 0.3  # of the page's text in its main part
_LANGUAGE: Final = re.compile(r"(?:^|\s)(?:language|lang|highlight|brush:?|code)[-\s]+([a-z][\w+#-]{0,19})")
_MARK: Final = re.compile(r"(^|\n)([ \t]*)(?=#{1,6}\s|<[A-Za-z/!?]|[=-]+[ \t]*(?:\n|$))")
_BLANKS: Final = re.compile(r"\n{3,}")
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_HEAD: Final = 4096  # bytes in which an encoding is declared
_DATES: Final = ("article:published_time", "dcterms.date", "dc.date", "dcterms.created", "date")
_AUTHORS: Final = ("author", "dcterms.creator", "dc.creator", "citation_author")
_COMMA: Final = re.compile(r"[,;]")


class _Writer(MarkdownConverter):
    """Markdown without addresses within a site, without pictures, and with definitions as paragraphs."""

    def escape(self, text: str, parent_tags: set[str]) -> str:
        """Escape text beginning like a heading or an element."""
        return _MARK.sub(r"\1\2\\", text)

    def convert_a(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        href = str(element.get("href") or "")
        if not href.lower().startswith(("http://", "https://", "mailto:")) or "[" in text or text.strip() in href:
            return text
        return str(super().convert_a(element, text, parent_tags))  # type: ignore[misc]  # its types leave it out

    def convert_img(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        return str(element.get("alt") or "")

    def convert_pre(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        # as it stands: a fence inside a cell of a table or a heading would end it
        if "_inline" in parent_tags:
            return f" {text.strip()} "
        return f"\n\n{code_block(text, _language(element))}\n\n" if text.strip() else ""

    def convert_dt(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        return f" {text.strip()} " if "_inline" in parent_tags else f"\n\n{' '.join(text.split())}\n"

    def convert_dd(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        return f" {text.strip()} " if "_inline" in parent_tags else f"\n{text.strip()}\n\n"

    def convert_video(self, element: Tag, text: str, parent_tags: set[str]) -> str:
        return text


def parse_html(html: str) -> BeautifulSoup:
    """Return the elements of a page. Raise Unreadable if they are nested too deeply."""
    page = BeautifulSoup(html, "lxml")
    if _depth(page) > _DEEPEST:
        raise Unreadable(f"is nested deeper than {_DEEPEST} elements")
    return page


def markdown_of(page: BeautifulSoup) -> str:
    """Return the Markdown of a page or a fragment, whose elements this changes."""
    for element in page.find_all(_DROPPED):
        element.decompose()
    for element in page.select(_AROUND):
        if not element.decomposed:
            element.decompose()
    for element in page.find_all("a", class_=["headerlink", "anchor", "hash-link", "anchor-link"]):
        if element.get_text().strip() in _ANCHORS:
            element.decompose()
    return markdown_of_part(_main(page))


def markdown_of_part(element: Tag) -> str:
    """Return the Markdown of an element, whole."""
    writer = _Writer(
        heading_style="atx",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        table_infer_header=True,
        autolinks=False,
        newline_style="backslash",
    )
    text = clean(str(writer.convert_soup(element)))
    lines = (line.rstrip() for line in text.replace("\\\n", "\n").split("\n"))
    return _BLANKS.sub("\n\n", "\n".join(lines)).strip("\n")


def _main(page: BeautifulSoup) -> Tag:
    """Return the part of a page with the content; the whole page if no part has enough of the text."""
    whole = page.body or page
    enough = len(whole.get_text()) * _LEAST_SHARE
    for selector in _MAIN:
        found = page.select(selector)
        if found and len(found[0].get_text()) >= enough and (len(found) == 1 or selector != "article"):
            return found[0]
    return whole


def _language(element: Tag) -> str:
    """Return the language named by the classes of a code block or the surroundings."""
    names = " ".join(_classes(element))
    match = _LANGUAGE.search(names)
    return "" if match is None or match[1] in ("default", "none", "text", "literal-block") else match[1]


def _classes(element: Tag) -> Iterator[str]:
    inner = element.find("code")
    around = [*([inner] if isinstance(inner, Tag) else []), element, *list(element.parents)[:2]]
    for one in around:
        found: object = one.get("class") or []
        yield from map(str, found) if isinstance(found, list) else [str(found)]


def _depth(page: BeautifulSoup) -> int:
    """Return the depth of the deepest element, without recursion."""
    deepest = 0
    waiting: list[tuple[Tag, int]] = [(page, 0)]
    while waiting:
        element, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in element.children if isinstance(child, Tag)]
    return deepest


def convert(content: bytes) -> Converted:
    """Return the page in a file. Raise Unreadable for an encoding neither declared nor UTF-8."""
    front, html = split_front(clean(decode_page(content)))
    page = parse_html(html)
    members = _collect_metadata(page)
    text = markdown_of(page)
    return Converted(front + "\n" + text if front else text, members, front=bool(front))


def decode_page(content: bytes) -> str:
    """Return a page's text, decoded by the byte order mark, else as declared, else as UTF-8."""
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


def _collect_metadata(page: BeautifulSoup) -> tuple[Member, ...]:
    named = dict(_meta_contents(page))
    first = page.find("h1")
    heading = line_of(first.get_text(" ")) if first is not None else ""
    heading = heading.rstrip("¶#").strip()
    title = line_of(page.title.get_text()) if page.title is not None else ""
    # a page's title often ends with the site's
    title = heading if heading and title.startswith(heading) else title
    return members_of(
        title,
        [value for name in _AUTHORS for value in named.get(name, [])],
        next((value for name in _DATES for value in named.get(name, [])), None),
        [word for value in named.get("keywords", []) for word in _COMMA.split(value)],
        project=right_of(named.get("project", [])),
        sensitivity=right_of(named.get("sensitivity", [])),
    )


def _meta_contents(page: BeautifulSoup) -> Iterator[tuple[str, list[str]]]:
    """Yield the contents of the `meta` elements, by name."""
    found: dict[str, list[str]] = {}
    for element in page.find_all("meta"):
        name = str(element.get("name") or element.get("property") or "").lower()
        value = str(element.get("content") or "").strip()
        if name and value:
            found.setdefault(name, []).append(value)
    yield from found.items()
