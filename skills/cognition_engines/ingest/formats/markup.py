"""HTML to Markdown: the content of a page without what leads to other pages, as headings, text, code and tables."""

import re
from collections.abc import Iterator
from typing import Final

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

from cognition_engines.ingest.formats.converted import Unreadable, clean, code_block

_DEEPEST: Final = 200  # levels; the parser keeps 256 and drops the rest
_DROPPED: Final = (
    "script", "style", "noscript", "template", "nav", "iframe", "object", "svg", "canvas", "button", "input", "select",
    "dialog", "head",
)  # fmt: skip
_AROUND: Final = "footer, [role=navigation], [role=search], [role=contentinfo], [hidden], .sphinxsidebar, .related"
_ANCHORS: Final = frozenset({"¶", "#", "§", "🔗", ""})
_MAIN: Final = ("main", "[role=main]", "article", "div.body", "div.document", "#content")
_LEAST_SHARE: Final = 0.3  # of the text of the page that its main part has
_LANGUAGE: Final = re.compile(r"(?:^|\s)(?:language|lang|highlight|brush:?|code)[-\s]+([a-z][\w+#-]{0,19})")
_MARK: Final = re.compile(r"(^|\n)([ \t]*)(?=#{1,6}\s|<[A-Za-z/!?]|[=-]+[ \t]*(?:\n|$))")
_BLANKS: Final = re.compile(r"\n{3,}")


class _Writer(MarkdownConverter):
    """Markdown without addresses within a site, without pictures, and with definitions as paragraphs."""

    def escape(self, text: str, parent_tags: set[str]) -> str:
        """Text that begins like a heading or an element is text."""
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


def parsed(html: str) -> BeautifulSoup:
    """The elements of a page. Raises Unreadable where they are nested too deeply."""
    page = BeautifulSoup(html, "lxml")
    if _depth(page) > _DEEPEST:
        raise Unreadable(f"is nested deeper than {_DEEPEST} elements")
    return page


def markdown_of(page: BeautifulSoup) -> str:
    """The Markdown of a page or a fragment, whose elements this changes."""
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
    """The Markdown of an element, whole."""
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
    """The part of a page that has its content; all of it where no part has enough of the text."""
    whole = page.body or page
    enough = len(whole.get_text()) * _LEAST_SHARE
    for selector in _MAIN:
        found = page.select(selector)
        if found and len(found[0].get_text()) >= enough and (len(found) == 1 or selector != "article"):
            return found[0]
    return whole


def _language(element: Tag) -> str:
    """The language that the classes of a block of code, or of what is around it, name."""
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
    """How many elements are around the deepest one, without recursion."""
    deepest = 0
    waiting: list[tuple[Tag, int]] = [(page, 0)]
    while waiting:
        element, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in element.children if isinstance(child, Tag)]
    return deepest
