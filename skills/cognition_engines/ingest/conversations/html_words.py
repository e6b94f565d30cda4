"""The words of a text in HTML, block by block on lines; scripts and styles are none of them."""

import re
from html.parser import HTMLParser
from typing import Final

_SILENT: Final = frozenset({"script", "style", "head", "title", "template"})
_BLOCKS: Final = frozenset({"p", "div", "br", "li", "tr", "table", "ul", "ol", "blockquote", "pre", "hr", "section"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLANK: Final = re.compile(r"[ \t\r\n\f\u00a0]+")
_GAPS: Final = re.compile(r"\n{3,}")


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT and self._silent:
            self._silent -= 1
        self._break(tag)

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS | _HEADINGS:
            self.found.append("\n" if tag in ("br", "li", "tr", "div") else "\n\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.found.append(_BLANK.sub(" ", data))


def html_words(written: str) -> str:
    """The text as a person reads it, without marks."""
    words = _Words()
    words.feed(written)
    words.close()
    lines = "\n".join(line.strip() for line in "".join(words.found).split("\n"))
    return _GAPS.sub("\n\n", lines).strip()
