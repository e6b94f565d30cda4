"""A Markdown file by its lines: front matter, headings, and the text that is neither code nor comment."""

import re
from dataclasses import dataclass
from typing import Final

from cognition_engines.ingest.front_block import Flaw, Member, front_block

_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_TIGHT: Final = re.compile(r"(#{1,6})[\w\[{`*]")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{3,})[ \t]*")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level 1 to 6, its text as written, and the lines it covers (0-based, end exclusive)."""

    level: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A file split up. `lines` are all its lines; `plain` the same with code blocks and comments blanked.

    The body, what follows front matter and leading comments, begins at line `body` (0-based).
    """

    lines: tuple[str, ...]
    plain: tuple[str, ...]
    body: int
    front: tuple[Member, ...]
    headings: tuple[Heading, ...]
    flaw: Flaw | None = None  # of the front matter: then nothing of the file may be stored


def _skip_comments(text: str, at: int) -> int:
    """The start of the first line that is neither blank nor within a comment, from the line start `at` on."""
    while True:
        start = at
        while start < len(text) and text[start].isspace():
            start += 1
        if not text.startswith("<!--", start):
            return at if start >= len(text) else text.rfind("\n", 0, start) + 1
        end = text.find("-->", start + 4)
        if end < 0:
            return text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        line_end = len(text) if line_end < 0 else line_end
        if text[end + 3 : line_end].strip():
            return text.rfind("\n", 0, start) + 1
        at = min(line_end + 1, len(text))


def _blank_comments(line: str, inside: bool, last_end: int, index: int) -> tuple[str, bool]:
    kept: list[str] = []
    at = 0
    while at < len(line):
        if inside:
            end = line.find("-->", at)
            if end < 0:
                return "".join(kept), True
            at, inside = end + 3, False
            continue
        start = line.find("<!--", at)
        # In a code span, or never closed, it is text.
        if start < 0 or index > last_end or line.count("`", at, start) % 2:
            kept.append(line[at:])
            break
        if index == last_end and line.find("-->", start + 4) < 0:
            kept.append(line[at:])
            break
        kept.append(line[at:start])
        at, inside = start + 4, True
    return "".join(kept), inside


def _plain(lines: list[str], body: int) -> tuple[str, ...]:
    """The lines with front matter, code blocks and comments blanked."""
    last_end = max((index for index in range(body, len(lines)) if "-->" in lines[index]), default=-1)
    plain = [""] * len(lines)
    fence = ""
    inside = False
    for index in range(body, len(lines)):
        line = lines[index]
        mark = line.strip() if not inside else ""
        if fence:
            if mark and not mark.strip(fence[0]) and len(mark) >= len(fence):
                fence = ""
            continue
        if mark.startswith(("```", "~~~")):
            length = len(mark) - len(mark.lstrip(mark[0]))
            if mark[0] == "~" or "`" not in mark[length:]:
                fence = mark[:length]
                continue
        plain[index], inside = _blank_comments(line, inside, last_end, index)
    return tuple(plain)


def _headings(plain: tuple[str, ...]) -> tuple[Heading, ...]:
    found: list[Heading] = []
    first = next((index for index, line in enumerate(plain) if line.strip()), -1)
    for index, line in enumerate(plain):
        # Where a title stands, "#46. Title" is one, though the blank is missing.
        match = _ATX.match(line) or (_TIGHT.match(line) if index == first else None)
        if match is not None:
            text = line.strip()[len(match[1]) :].strip()
            closed = text.rstrip("#")
            text = closed.rstrip() if closed != text and (not closed or closed[-1].isspace()) else text
            found.append(Heading(len(match[1]), text, index, index + 1))
            continue
        above = plain[index - 1].strip() if index else ""
        underline = _UNDERLINE.fullmatch(line) if above else None
        if underline is None or above[:1] in "#>|" or above.startswith(("- ", "* ", "+ ", "---", "===")):
            continue
        if index < 2 or not plain[index - 2].strip():
            found.append(Heading(1 if underline[1][0] == "=" else 2, above, index - 1, index + 1))
    return tuple(found)


def split_markdown(text: str) -> Document:
    """Split a file, in time linear in its size. Lines end with LF, CRLF or CR."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    start = text.count("\n", 0, _skip_comments(text, 0))
    block = front_block(lines, start)
    body = block.end
    if block.members:
        offset = sum(len(line) + 1 for line in lines[: block.end])
        body = text.count("\n", 0, _skip_comments(text, min(offset, len(text))))
    plain = _plain(lines, body)
    return Document(tuple(lines), plain, body, block.members, _headings(plain), block.flaw)
