"""A Markdown text by lines, as parsed by markdown-it-py: headings, running text, tables, and blocks to cut at."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from cognition_engines.markdown.asides import without_asides
from cognition_engines.markdown.blobs import Shortened, without_blobs
from cognition_engines.markdown.front_block import Block as FrontBlock, Member, Notice, after_comments, front_block
from cognition_engines.markdown.inline import LONGEST_LINE, is_title, one_line, plain_text

MOST_LINES: Final = 250_000  # beyond which a text is refused before it is parsed
_DEEPEST: Final = 20  # deeper levels are text
_LONGEST_TITLE: Final = 500
_TIGHT: Final = re.compile(r"(#{1,6})(?=[\w\[{`*])")
_TAGS: Final = re.compile(r"(?:#[^\s#]+[ \t]+)+#[^\s#]+[ \t]*")  # as notes have them
_TIGHT_SECTION: Final = re.compile(r"(#{2,6})(?=[^\W\d_]|[\[{`*\xa0])")
_RAW_NAMES: Final = ("table", "pre", "script", "style")
_RAW: Final = re.compile(rf"<({'|'.join(_RAW_NAMES)})\b", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"\d{1,9}[.)] ")
_ANCHOR: Final = re.compile(r"\{:? ?[#.][^{}\n]{1,200}\}$")
_TARGET: Final = re.compile(r"<(?:a|span)\s[^<>]{1,300}>|</(?:a|span)>", re.IGNORECASE)
_GRID: Final = re.compile(r"\+[-=+]{3,}")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: level 1 to 6, text as written, and lines (0-based, end exclusive)."""

    level: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of running text, without list and quote marks and without comments; `at` is 0-based.

    `continues`: it continues the paragraph of the line before; `lists` is the number of lists around it.
    """

    at: int
    text: str
    continues: bool = field(default=False, compare=False)
    lists: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Table:
    """A table's cells by row, with the row's line (0-based); if `headed`, the first row has the column names."""

    at: int
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    headed: bool


@dataclass(frozen=True, slots=True)
class Block:
    """`text[start:end]`, whole lines. `level` is 1 to 6 for a heading, which has a `title`; `whole` is never cut."""

    start: int
    end: int
    level: int = 0
    title: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A text split up. Lines end with LF; body lines, below front matter and comments, begin at `body`.

    The text has no blobs; `shortened` maps positions to the original positions. `entries` is all body text except
    headings, fenced code and comments, in order; `blocks` covers everything but blank lines.
    """

    text: str
    lines: tuple[str, ...]
    body: int
    front: tuple[Member, ...]
    headings: tuple[Heading, ...]
    entries: tuple[Line | Table, ...]
    blocks: tuple[Block, ...]
    flaw: Notice | None = None  # in the front matter: then nothing from the file may be stored
    shortened: Shortened = field(default_factory=Shortened)


def read_markdown(
    text: str, *, indented_code: bool = True, front_matter: bool = True, asides: re.Pattern[str] | None = None
) -> Document:
    """Split a text, in time linear in the size. Lines end with LF, CRLF or CR.

    In plain text an indented paragraph is no code: `indented_code` False. Without `front_matter` none is parsed.
    `asides` are parts to leave out: see `without_asides`.
    """
    whole = text.replace("\r\n", "\n").replace("\r", "\n")
    said = Shortened(whole) if asides is None else without_asides(whole, asides)
    shortened = replace(without_blobs(said.text), before=said)
    text = shortened.text
    lines = text.split("\n")
    front = front_block(lines, after_comments(lines, 0)) if front_matter else FrontBlock((), 0)
    body = after_comments(lines, front.end) if front.members else front.end
    found = _find_line_facts(lines, body, indented_code)
    blocks = tuple(_blocks(lines, body, found.spans))
    headings, entries = tuple(found.headings), tuple(found.entries)
    return Document(text, tuple(lines), body, front.members, headings, entries, blocks, front.flaw, shortened)


def blocks(text: str, *, indented_code: bool = True) -> tuple[Block, ...]:
    """Return the blocks in a text without front matter and with LF line ends."""
    lines = text.split("\n")
    return tuple(_blocks(lines, 0, _find_line_facts(lines, 0, indented_code).spans))


@dataclass(slots=True)
class _Span:
    """A block by lines (0-based, end exclusive)."""

    start: int
    end: int
    heading: Heading | None = None
    whole: bool = False


@dataclass(slots=True)
class _LineFacts:
    """Facts about a text's lines, from the tokens."""

    lines: Sequence[str]
    last_closed: Mapping[str, int]  # the last line that closes an element named in _RAW_NAMES
    headings: list[Heading] = field(default_factory=list)
    entries: list[Line | Table] = field(default_factory=list)
    spans: list[_Span] = field(default_factory=list)
    rule: int = -1  # the line after the last rule
    lists: int = 0  # open lists
    _quote: _Span | None = None  # the outermost quotation around
    _raw_end: int = 0  # the line after the last searched element

    def span(self, start: int, end: int, *, whole: bool = False, heading: Heading | None = None) -> None:
        if self._quote is not None and start < self._quote.end:
            self._quote.whole |= whole
        else:
            self.spans.append(_Span(start, end, heading, whole))

    def quote(self, start: int, end: int) -> None:
        if self._quote is None or start >= self._quote.end:
            self._quote = _Span(start, end)
            self.spans.append(self._quote)

    def heading(self, token: Token, words: Token, start: int, end: int) -> None:
        between = token.markup == "-" and start == self.rule
        if token.level or between or "\n" in words.content:  # fields above a rule, and between two, are no title
            self.add_paragraph(words.content, start, end)
            return
        first = self.first_line(words.content, start, end)
        heading = Heading(int(token.tag[1]), _without_anchor(without_comments(words.content)), first, end)
        self.headings.append(heading)
        self.span(start, end, heading=heading)

    def first_line(self, text: str, start: int, end: int) -> int:
        """Return a text's first line: the parser skips lines it alone considers blank, as with a no-break space."""
        while start < end - 1 and text.partition("\n")[0].strip() not in self.lines[start]:
            start += 1
        return start

    def add_paragraph(self, text: str, start: int, end: int) -> None:
        """Add a paragraph's lines. From the first line that looks like a table, it is not cut."""
        first = self.first_line(text, start, end)
        lines = [(first + offset, line.strip()) for offset, line in enumerate(without_comments(text).split("\n"))]
        if len(lines) == 2 and set(lines[1][1]) == {"="} and _NUMBERED.match(self.lines[first]):
            heading = Heading(1, _without_anchor(self.lines[first]), first, end)  # to the parser "12. Title" is a list
            self.headings.append(heading)
            self.span(first, end, heading=heading)
            return
        ruled = next((at for at, line in lines if line.startswith("|") or _GRID.match(line)), end)
        if ruled > start:
            self.span(start, ruled)
        if ruled < end:
            self.span(ruled, end, whole=True)
        self.text(lines, paragraph=True)

    def text(self, lines: Iterable[tuple[int, str]], *, paragraph: bool = False) -> None:
        continues = False
        rows: list[tuple[int, tuple[str, ...]]] = []
        for at, line in lines:
            if len(self.lines[at]) > LONGEST_LINE:
                continue
            if line.startswith("|"):
                rows.append((at, _cells(line)))
                continues = False
                continue
            self.table(rows, headed=False)
            rows = []
            if line:
                self.entries.append(Line(at, line, continues, self.lists))
                continues = paragraph
        self.table(rows, headed=False)

    def table(self, rows: Sequence[tuple[int, tuple[str, ...]]], *, headed: bool) -> None:
        if not headed and len(rows) > 1 and all(cell and not cell.strip(" :-") for cell in rows[1][1]):
            rows, headed = [rows[0], *rows[2:]], True
        if rows:
            self.entries.append(Table(rows[0][0], tuple(rows), headed))

    def raw(self, content: str, start: int, end: int) -> None:
        """Add an HTML block's text, and a span up to the end of an element that is never cut."""
        match = _RAW.match(self.lines[start].lstrip())
        table = html_rows(content, start) if match is not None and match[1].lower() == "table" else ()
        name = match[1].lower() if match is not None else ""
        if start >= self._raw_end and self.last_closed.get(name, -1) >= start:
            self._raw_end = _closing_line(self.lines, start, name)
        self.span(start, max(end, self._raw_end), whole=match is not None)
        if table:
            self.entries.append(Table(start, table, headed=False))
            return
        self.text((start + offset, line.strip()) for offset, line in enumerate(without_comments(content).split("\n")))


def _find_line_facts(lines: Sequence[str], body: int, indented_code: bool) -> _LineFacts:
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table").disable("reference")
    parser.core.ruler.enableOnly(["block"])
    if not indented_code:
        parser.disable("code")
    found = _LineFacts(
        lines, {name: at for name in _RAW_NAMES for at, line in enumerate(lines) if f"</{name}" in line.lower()}
    )
    tokens = parser.parse("\n".join(_bound_lines(lines[body:])))
    for place, token in enumerate(tokens):
        found.lists += token.nesting if token.type.endswith("_list_open") or token.type.endswith("_list_close") else 0
        if token.map is None:
            continue
        start, end = token.map[0] + body, token.map[1] + body
        if token.type == "blockquote_open":
            found.quote(start, end)
        elif token.type == "heading_open":
            found.heading(token, tokens[place + 1], start, end)
        elif token.type == "paragraph_open":
            found.add_paragraph(tokens[place + 1].content, start, end)
        elif token.type == "html_block":
            found.raw(token.content, start, end)
        elif token.type == "table_open":
            found.span(start, end, whole=True)
            found.table(list(_rows(lines, tokens, place, body)), headed=True)
        elif token.type in {"fence", "code_block", "hr"}:
            found.span(start, end, whole=token.type != "hr")
            found.rule = end if token.type == "hr" else found.rule
            if token.type == "code_block":
                found.text((at, lines[at].strip()) for at in range(start, end))
    return found


def _bound_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines for the parser: long ones cut; a blank added to a heading that lacks it.

    Such headings are the first line with words, and, below a blank line, any line with two marks or more and a letter.
    """
    first, blank = True, True
    for line in lines:
        tight = (
            (_TIGHT if first else _TIGHT_SECTION).match(line)
            if blank and _TAGS.fullmatch(line[:LONGEST_LINE]) is None
            else None
        )
        yield (f"{tight[1]} {line[tight.end() :]}" if tight is not None else line)[:LONGEST_LINE]
        blank = not line.strip()
        first = first and blank


def _rows(
    lines: Sequence[str], tokens: Sequence[Token], place: int, body: int
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the rows of a table whose first token is at an index."""
    at = 0
    cells: list[str] = []
    for token in tokens[place + 1 :]:
        if token.type == "table_close":
            return
        if token.type == "tr_open" and token.map is not None:
            at, cells = token.map[0] + body, []
        elif token.type == "inline":
            cells.append(without_comments(token.content).strip())
        elif token.type == "tr_close" and len(lines[at]) <= LONGEST_LINE:
            yield at, tuple(cells)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip("|").split("|"))


def without_comments(text: str) -> str:
    """Return the text without comments, line by line as before; in a code span, or never closed, they are text."""
    kept: list[str] = []
    at = end = 0
    start = text.find("<!--")
    while start >= 0:
        end = max(end, text.find("-->", start + 4)) if end < start + 4 else end
        if end < start + 4:
            break
        kept.append(text[at:start])
        if kept[-1].rpartition("\n")[2].count("`") % 2:
            kept.append("<!--")
            at = start + 4
        else:
            kept.append("\n" * text.count("\n", start, end))
            at = end + 3
        start = text.find("<!--", at)
    return "".join([*kept, text[at:]])


def _without_anchor(text: str) -> str:
    """Return a heading without the name that links to it use, as in `Context {#context}` or `<a id="x"></a>Context`."""
    text = _TARGET.sub("", text[:LONGEST_LINE]).strip() + text[LONGEST_LINE:]
    anchor = _ANCHOR.search(text[-LONGEST_LINE:])
    return text if anchor is None else text[: -len(anchor[0])].rstrip()


def _closing_line(lines: Sequence[str], start: int, name: str) -> int:
    """Return the line number after the end of the element opened by a line."""
    depth = 0
    for at in range(start, len(lines)):
        line = lines[at].lower()
        depth += line.count(f"<{name}") - line.count(f"</{name}")
        if depth <= 0:
            return at + 1
    return len(lines)


def _blocks(lines: Sequence[str], body: int, spans: Sequence[_Span]) -> Iterator[Block]:
    """Yield blocks for the spans, and for uncovered lines, such as text nested too deeply."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    at = body
    for span in [*spans, _Span(len(lines), len(lines))]:
        for gap in (_Span(at, span.start), _Span(max(at, span.start), span.end, span.heading, span.whole)):
            start, end = gap.start, gap.end
            while start < end and not lines[start].strip():
                start += 1
            while end > start and not lines[end - 1].strip():
                end -= 1
            if start < end:
                title = _title(gap.heading.text) if gap.heading is not None else ""
                level = gap.heading.level if gap.heading is not None else 0
                yield Block(starts[start], starts[end] - 1, level, title, gap.whole)
        at = max(at, span.end)


def _title(text: str) -> str:
    """Return a heading's words; none when they are no fit section name."""
    title = one_line(plain_text(text))
    return title if is_title(title) and len(title) <= _LONGEST_TITLE else ""


_LONGEST: Final = 20_000  # characters per table; a longer table is text
_ROW: Final = re.compile(r"<tr\b[^<>]{0,300}>(.*?)(?=<tr\b|</table|$)", re.IGNORECASE | re.DOTALL)
_CELL: Final = re.compile(r"<t[hd]\b[^<>]{0,300}>(.*?)(?=<t[hd]\b|</t[hdr]|$)", re.IGNORECASE | re.DOTALL)
_LINK: Final = re.compile(
    r"<a\s[^<>]{0,300}?href=[\"']([^\"'<>\s]{1,1000})[\"'][^<>]{0,300}>([^<>\[\]]{0,300})</a>", re.IGNORECASE
)
_TAG: Final = re.compile(r"<[^<>]{0,1000}>")


def html_rows(content: str, at: int) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the rows with cells in an HTML table that begins in line `at`, with line numbers; links are Markdown."""
    if len(content) > _LONGEST:
        return ()
    found: list[tuple[int, tuple[str, ...]]] = []
    end = 0
    for row in _ROW.finditer(content):
        at += content.count("\n", end, row.start())
        end = row.start()
        cells = tuple(_cell_text(cell[1]) for cell in _CELL.finditer(row[1]))
        if cells:
            found.append((at, cells))
    return tuple(found)


def _cell_text(cell: str) -> str:
    return one_line(unescape(_TAG.sub(" ", _LINK.sub(r"[\2](\1)", cell))))
