"""The words of a text in HTML, block by block on lines; scripts and styles are none of them."""

import re
from html import unescape
from html.parser import HTMLParser
from typing import Final

_SILENT: Final = frozenset({"script", "style", "head", "title", "template"})
_BLOCKS: Final = frozenset({"p", "div", "br", "li", "tr", "table", "ul", "ol", "blockquote", "pre", "hr", "section"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLANK: Final = re.compile(r"[ \t\r\n\f\u00a0]+")
_GAPS: Final = re.compile(r"\n{3,}")
_MOST_UNCLOSED: Final = 20  # tags and comments that are not closed, after which the rest is text


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

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """What follows `<![` is a comment up to `>`, as in a browser; that of the base class raises for most of it."""
        return self.parse_bogus_comment(i)

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
    _end(words)
    lines = "\n".join(line.strip() for line in "".join(words.found).split("\n"))
    return _GAPS.sub("\n\n", lines).strip()


def _end(words: _Words) -> None:
    """Reads what is left from a mark on that is not closed; `close` would take time by the square of the length."""
    for _ in range(_MOST_UNCLOSED):
        mark, closed, rest = words.rawdata.partition(">")
        if not closed:
            break
        words.rawdata = ""
        words.handle_data(unescape(mark + closed))
        words.feed(rest)
    words.handle_data(unescape(words.rawdata))
