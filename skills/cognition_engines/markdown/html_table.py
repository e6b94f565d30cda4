"""The rows of a table that a Markdown text has as HTML, such as the header of a record."""

import re
from html import unescape
from typing import Final

from cognition_engines.markdown.inline import one_line

_LONGEST: Final = 20_000  # characters of a table that is read; a longer one is text
_ROW: Final = re.compile(r"<tr\b[^<>]{0,300}>(.*?)(?=<tr\b|</table|$)", re.IGNORECASE | re.DOTALL)
_CELL: Final = re.compile(r"<t[hd]\b[^<>]{0,300}>(.*?)(?=<t[hd]\b|</t[hdr]|$)", re.IGNORECASE | re.DOTALL)
_LINK: Final = re.compile(
    r"<a\s[^<>]{0,300}?href=[\"']([^\"'<>\s]{1,1000})[\"'][^<>]{0,300}>([^<>\[\]]{0,300})</a>", re.IGNORECASE
)
_TAG: Final = re.compile(r"<[^<>]{0,1000}>")


def html_rows(content: str, at: int) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the rows with cells of an HTML table that begins in line `at`, each with its line; links are Markdown."""
    if len(content) > _LONGEST:
        return ()
    found: list[tuple[int, tuple[str, ...]]] = []
    end = 0
    for row in _ROW.finditer(content):
        at += content.count("\n", end, row.start())
        end = row.start()
        cells = tuple(_words(cell[1]) for cell in _CELL.finditer(row[1]))
        if cells:
            found.append((at, cells))
    return tuple(found)


def _words(cell: str) -> str:
    return one_line(unescape(_TAG.sub(" ", _LINK.sub(r"[\2](\1)", cell))))
