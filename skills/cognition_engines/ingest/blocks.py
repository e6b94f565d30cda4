"""A text in Markdown by its blocks: headings, text, and what is never cut (code, tables)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cognition_engines.ingest.inline import one_line, plain_text

_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{3,})[ \t]*")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_FENCE: Final = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*)")
_RAW_NAMES: Final = ("table", "pre", "script", "style")
_RAW: Final = re.compile(rf"[ \t]*<({'|'.join(_RAW_NAMES)})\b", re.IGNORECASE)
_GRID: Final = re.compile(r"[ \t]*\+[-=+]{3,}")
_QUOTED_WHOLE: Final = re.compile(r"[ \t>]*(?:`{3}|~{3}|\|)")
_CODE: Final = 4  # columns by which code is indented
_LONGEST_TITLE: Final = 500


@dataclass(frozen=True, slots=True)
class Block:
    """`text[start:end]`, whole lines. `level` is 1 to 6 for a heading, which has a `title`; `whole` is never cut."""

    start: int
    end: int
    level: int = 0
    title: str = ""
    whole: bool = False


class _Lines:
    """The lines of a text, and where the block that begins in one of them ends. Every answer is a line number."""

    def __init__(self, text: str, indented_code: bool) -> None:
        self.texts: Final[Sequence[str]] = text.split("\n")
        self._indented_code = indented_code
        lower = text.lower()
        self._last_close = {name: lower.rfind(f"</{name}") for name in _RAW_NAMES}
        self.starts: Final[list[int]] = []
        at = 0
        for line in self.texts:
            self.starts.append(at)
            at += len(line) + 1

    def blank(self, at: int) -> bool:
        return not (0 <= at < len(self.texts) and self.texts[at].strip())

    def heading(self, at: int) -> tuple[int, int]:
        """The level of the heading that begins at a line and the line after it; level 0 when none does."""
        match = _ATX.match(self.texts[at])
        if match is not None:
            return len(match[1]), at + 1
        below = None if self.blank(at + 1) else _UNDERLINE.fullmatch(self.texts[at + 1].rstrip())
        if below is None or not self.blank(at - 1) or self.texts[at].lstrip()[:1] in set("#>|-=") or self.item(at):
            return 0, at
        return (1 if below[1][0] == "=" else 2), at + 2

    def item(self, at: int) -> int:
        """The column of the text of the list item that begins at a line; 0 when none does."""
        match = _ITEM.match(self.texts[at])
        return _column(match[0]) if match is not None else 0

    def whole(self, at: int) -> int:
        """The line after the fenced code or the table that begins at a line, else the line itself."""
        line = self.texts[at]
        fence = _FENCE.match(line)
        if fence is not None and not (fence[1][0] == "`" and "`" in fence[2]):
            return self._after_fence(at, fence[1])
        raw = _RAW.match(line)
        if raw is not None and self._last_close[raw[1].lower()] > self.starts[at]:
            return self._after_raw(at, raw[1].lower())
        if _GRID.match(line) or line.lstrip().startswith("|") or ("|" in line and self._ruled(at + 1)):
            return self._after_table(at)
        return at

    def _ruled(self, at: int) -> bool:
        """Whether a line is the one between the head of a table and its rows."""
        line = self.texts[at].strip() if at < len(self.texts) else ""
        return "|" in line and "-" in line and not line.strip("|:- \t")

    def _after_fence(self, at: int, mark: str) -> int:
        for end in range(at + 1, len(self.texts)):
            line = self.texts[end].strip()
            if len(line) >= len(mark) and not line.strip(mark[0]):
                return end + 1
        return len(self.texts)

    def _after_raw(self, at: int, name: str) -> int:
        depth = 0
        for end in range(at, len(self.texts)):
            line = self.texts[end].lower()
            depth += line.count(f"<{name}") - line.count(f"</{name}")
            if depth <= 0:
                return end + 1
        return len(self.texts)

    def _after_table(self, at: int) -> int:
        end = at + 1
        while not self.blank(end) and not _FENCE.match(self.texts[end]) and not _ATX.match(self.texts[end]):
            end += 1
        return end

    def code(self, at: int, column: int) -> int:
        """The line after the code, indented by `column` or more, that begins at a line; else the line itself."""
        end = at
        while self._indented_code and end < len(self.texts):
            after = end
            while after < len(self.texts) and self.blank(after):
                after += 1
            if after >= len(self.texts) or _indent(self.texts[after]) < column:
                break
            end = after + 1
        return end

    def quote(self, at: int) -> int:
        """The line after the quotation that begins at a line, else the line itself."""
        while at < len(self.texts) and self.texts[at].lstrip().startswith(">"):
            at += 1
        return at

    def text(self, at: int) -> int:
        """The line after the paragraph or list item that begins at a line."""
        end = at + 1
        while not self.blank(end) and not self.item(end) and not _ATX.match(self.texts[end]):
            if self.whole(end) > end or self.texts[end].lstrip().startswith(">"):
                break
            end += 1
        return end


def _column(text: str) -> int:
    return len(text.expandtabs(4))


def _indent(line: str) -> int:
    return _column(line[: len(line) - len(line.lstrip(" \t"))])


def _title(line: str) -> str:
    """The words of a heading; none when they are no fit name of a section."""
    marks = _ATX.match(line)
    words = line[marks.end() :].strip() if marks is not None else line.strip()
    closed = words.rstrip("#")
    words = closed if not closed or closed[-1].isspace() else words
    title = one_line(plain_text(words))
    return title if title.isprintable() and len(title) <= _LONGEST_TITLE else ""


def blocks(text: str, indented_code: bool = True) -> Iterator[Block]:
    """The blocks of a text with lines that end with LF, in order; what lies between them is blank.

    In plain text an indented paragraph is none of code: `indented_code` False. Takes time linear in the text's length.
    """
    lines = _Lines(text, indented_code)
    at = 0
    column = 0  # of the text of the list item around, 0 outside of lists
    while at < len(lines.texts):
        if lines.blank(at):
            at += 1
            continue
        if column and lines.blank(at - 1) and not _indent(lines.texts[at]) and not lines.item(at):
            column = 0
        level, title, whole = 0, "", True
        end = lines.code(at, column + _CODE) if lines.blank(at - 1) else at
        end = end if end > at else lines.whole(at)
        if end == at and (end := lines.quote(at)) > at:
            whole = any(_QUOTED_WHOLE.match(line) for line in lines.texts[at:end])
        elif end == at:
            whole = False
            level, end = lines.heading(at)
            title = _title(lines.texts[at]) if level else ""
            column = 0 if level else column
        if end == at:
            column = lines.item(at) or column
            end = lines.text(at)
        stop = lines.starts[end - 1] + len(lines.texts[end - 1])
        yield Block(lines.starts[at], stop, level, title, whole)
        at = end
