"""Converts AsciiDoc to Markdown, line by line: no maintained Python library reads it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from cognition_engines.ingest.formats.converted import Converted, code_block, members_of, split_front, text_of

_HEADING: Final = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)$", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r":!?([\w][\w-]*)!?:(?:[ \t]+(.*))?$", re.DOTALL)
_REFERENCE: Final = re.compile(r"\{([\w][\w-]*)\}")
_STYLE: Final = re.compile(r"\[([^\[\]]*)\]$")
_TITLE: Final = re.compile(r"\.([^\s.].*)$")
_UNORDERED: Final = re.compile(r"[ \t]*(\*{1,5}|-)[ \t]+(\S.*)$")
_ORDERED: Final = re.compile(r"[ \t]*(\.{1,5}|\d+\.)[ \t]+(\S.*)$")
_TERM: Final = re.compile(r"[ \t]*(\S.*?)(?:::{1,3}|;;)(?:[ \t]+(.*))?$", re.DOTALL)
_DIRECTIVE: Final = re.compile(r"(?:include|ifdef|ifndef|ifeval|endif|toc)::[^\s\[]*\[.*\]$")
_BLOCK_MACRO: Final = re.compile(r"(?:image|video|audio)::[^\[\s]*\[([^\],]*)(?:,[^\]]*)?\]$")
_VERBATIM: Final = re.compile(r"(-{4,}|\.{4,}|\+{4,}|`{3,})(\w*)$")
_LEVELS: Final = "=-~^+"  # underlines of titles
_UNDERLINE: Final = re.compile(r"=+|-+|~+|\^+|\++")
_TITLED: Final = re.compile(r"[^\W_]|\{")
_MISSING: Final = 2  # characters by which an underline may differ from the title
_COMMENT: Final = re.compile(r"/{4,}$")
_AROUND: Final = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--)$")
_TABLE: Final = re.compile(r"[|,:!]={3,}$")
_CELL: Final = re.compile(r"(?:(?<=\s)|^)(?:\d+(?:\.\d+)?[+*])?[<^>.]{0,3}[a-zA-Z]?\|")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_NAME: Final = r"[^\W\d_][^<>:;|=!?]{0,60}(?:<[^<>\s]{1,200}>)?"
_AND: Final = r"(?:;|(?<=>)(?:,|[ \t]{1,3}(?:and\b|&)))[ \t]*"
_AUTHOR: Final = re.compile(rf"{_NAME}(?:{_AND}{_NAME}){{0,20}}$")
_STATED: Final = re.compile(r"^[^\w\n]{0,9}(status|date)\b", re.IGNORECASE | re.MULTILINE)  # a line or a heading
_REVISION: Final = re.compile(r"v?\d[\w.-]*(?:,|$)|\d{4}-\d{2}-\d{2}")
_INLINE: Final = (
    (re.compile(r"<<[^<>,]*,[ \t]*+([^<>]*)>>"), r"\1"),
    (re.compile(r"<<([^<>]*)>>"), r"\1"),
    (re.compile(r"(?:xref|anchor):[^\s\[\]]{0,1000}\[([^\[\]]*)\]"), r"\1"),
    (re.compile(r"(?:link:)?(https?://[^\s\[\]<>]{1,1000})\[([^\[\]\"]+?)\^?\]"), r"[\2](\1)"),
    (re.compile(r"link:[^\s\[\]]{1,1000}\[([^\[\]]+?)\^?\]"), r"\1"),
    (re.compile(r"\[\[[^\[\]]*\]\]|\[#[^\[\]]*\](?=[`*_#])|\(\(\([^()]*\)\)\)"), ""),
    (re.compile(r"image:[^\s\[\]]{1,1000}\[([^\[\],]*)(?:,[^\[\]]*)?\]"), r"\1"),
    (re.compile(r"footnote:[\w-]*\[([^\[\]]*)\]"), r" (\1)"),
    (re.compile(r"(?:kbd|btn|menu|icon|pass):[^\s\[\]]{0,1000}\[([^\[\]]*)\]"), r"\1"),
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]{1,1000}?)(?<=\S)\*(?![\w*])"), r"**\1**"),
    (re.compile(r"(?<![\w`])`\+([^`\n]{1,1000}?)\+`"), r"`\1`"),
    (re.compile(r"(?<![ \t])[ \t]+\+$"), ""),
)
_LONGEST_LINE: Final = 4000  # characters in which marks are looked for
_ADMONITION: Final = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+(.*)$", re.DOTALL)


@dataclass(slots=True)
class _Reader:
    """The remaining lines, and the result so far."""

    lines: list[str]
    at: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    language: str = ""  # of the next block

    def next(self) -> str | None:
        if self.at >= len(self.lines):
            return None
        self.at += 1
        return self.lines[self.at - 1]

    def until(self, fence: str) -> list[str]:
        """Return a block's lines up to the fence, or all if unclosed."""
        found: list[str] = []
        while (line := self.next()) is not None and line.rstrip() != fence:
            found.append(line)
        return found


def convert(content: bytes) -> Converted:
    """Return the document in a file; included files are not read."""
    front, text = split_front(text_of(content))
    reader = _Reader(_one_line_titles(text.split("\n")))
    authors, created = _header(reader)
    markdown = "\n".join(_blocks(reader))
    markdown = re.sub(r"\n{3,}", "\n\n", markdown).strip("\n")
    said, stated = reader.attributes, {found[1].lower() for found in _STATED.finditer(markdown)}
    revised = said.get("revdate") or created
    members = members_of(
        None,
        [said["author"]] if "author" in said else authors,
        (None if "date" in stated else revised) or said.get("date"),
        [word.strip() for word in said.get("keywords", "").split(",")],
        project=said.get("project"),
        sensitivity=said.get("sensitivity"),
        status=None if "status" in stated else said.get("status"),
        revdate=revised if "date" in stated else None,
    )
    return Converted(f"{front}\n{markdown}" if front else markdown, members, front=bool(front))


def _one_line_titles(lines: list[str]) -> list[str]:
    """Return the lines with `== Title` for an underlined title, as found in older documents."""
    found: list[str] = []
    fence: str | None = None
    at = 0
    while at < len(lines):
        line, below = lines[at].rstrip(), lines[at + 1].rstrip() if at + 1 < len(lines) else ""
        at += 1
        if fence is not None:
            fence = None if line == fence else fence
        elif _UNDERLINE.fullmatch(below) and _TITLED.match(line) and abs(len(line) - len(below)) <= _MISSING:
            line = f"{'=' * (1 + _LEVELS.index(below[0]))} {line}"
            at += 1
        elif (match := _VERBATIM.match(line)) is not None or _COMMENT.match(line):
            fence = match[1] if match is not None else line
        found.append(line)
    return found


def _header(reader: _Reader) -> tuple[list[str], str | None]:
    """Read the attributes and the lines of author and revision below the title, which stays."""
    start = next((at for at, line in enumerate(reader.lines) if line.strip() and not _is_skipped(line)), None)
    for line in reader.lines[: start or 0]:
        _set(reader.attributes, line)
    if start is None or not (match := _HEADING.match(reader.lines[start])) or len(match[1]) > 1:
        return [], None
    end = next((at for at in range(start + 1, len(reader.lines)) if not reader.lines[at].strip()), len(reader.lines))
    plain = [at for at in range(start + 1, end) if not _is_skipped(reader.lines[at])]
    authors: list[str] = []
    created: str | None = None
    taken: set[int] = set()
    if plain and _AUTHOR.match(reader.lines[plain[0]].strip()) and plain[0] == start + 1:
        authors = [name.partition("<")[0].strip() for name in re.split(_AND, reader.lines[plain[0]])]
        taken.add(plain[0])
        if len(plain) > 1 and _REVISION.match(reader.lines[plain[1]].strip()):
            day = _DATE.search(reader.lines[plain[1]])
            created = None if day is None else day[0]
            taken.add(plain[1])
    for at in range(start + 1, end):
        _set(reader.attributes, reader.lines[at])
    reader.lines[:] = [line for at, line in enumerate(reader.lines) if at not in taken]
    return authors, created


def _is_skipped(line: str) -> bool:
    return bool(_ATTRIBUTE.match(line)) or (line.startswith("//") and not _COMMENT.match(line))


def _set(attributes: dict[str, str], line: str) -> bool:
    match = _ATTRIBUTE.match(line)
    if match is not None:
        attributes[match[1].lower()] = (match[2] or "").strip()
    return match is not None


def _blocks(reader: _Reader) -> Iterator[str]:
    while (line := reader.next()) is not None:
        bare = line.strip()
        if _set(reader.attributes, line) or _DIRECTIVE.match(bare):
            continue
        if _COMMENT.match(bare):
            reader.until(bare)
        elif bare.startswith("//"):
            continue
        elif (match := _VERBATIM.match(bare)) is not None:
            yield from _verbatim(reader, match)
        elif _TABLE.match(bare):
            yield from _table(reader.until(bare), reader.attributes)
        elif _AROUND.match(bare):
            yield ""
        elif (match := _STYLE.match(bare)) is not None:
            names = [name.strip() for name in match[1].split(",")]
            reader.language = names[1] if len(names) > 1 and names[0].partition("%")[0] in ("source", "") else ""
        else:
            yield from _line(line, reader.attributes)


def _verbatim(reader: _Reader, match: re.Match[str]) -> Iterator[str]:
    mark, language = match[1], match[2] or reader.language
    lines = reader.until(mark if mark[0] != "`" else "```")
    reader.language = ""
    if any(line.strip() for line in lines):
        yield from ("", code_block("\n".join(lines), language if re.fullmatch(r"[\w+#-]{0,20}", language) else ""), "")


def _line(line: str, attributes: Mapping[str, str]) -> Iterator[str]:
    bare = line.strip()
    if (match := _HEADING.match(line)) is not None:
        title = _without_closing(match[2], match[1])
        yield from ("", f"{'#' * len(match[1])} {_inline(title, attributes)}", "")
    elif (match := _BLOCK_MACRO.match(bare)) is not None:
        yield match[1]
    elif (match := _UNORDERED.match(line)) is not None:
        depth = 0 if match[1] == "-" else len(match[1]) - 1
        yield f"{'  ' * depth}- {_inline(match[2], attributes)}"
    elif (match := _ORDERED.match(line)) is not None:
        depth = 0 if match[1][0].isdigit() else len(match[1]) - 1
        yield f"{'   ' * depth}1. {_inline(match[2], attributes)}"
    elif (match := _ADMONITION.match(bare)) is not None:
        yield f"**{match[1].capitalize()}:** {_inline(match[2], attributes)}"
    elif (match := _TITLE.match(bare)) is not None:
        yield from ("", f"**{_inline(match[1], attributes)}**", "")
    elif bare == "+":
        yield ""
    elif bare in ("'''", "<<<"):
        yield from ("", "---" if bare == "'''" else "", "")
    elif (match := _TERM.match(line)) is not None and "://" not in match[1]:
        yield from ("", f"**{_inline(match[1], attributes)}**", *([_inline(match[2], attributes)] if match[2] else []))
    else:
        yield _inline(bare, attributes)


def _without_closing(title: str, mark: str) -> str:
    """Return a title without the same mark behind it, which may close it."""
    words = title.removesuffix(mark)
    return words.rstrip(" \t") if words.endswith((" ", "\t")) and words != title else title


def _inline(text: str, attributes: Mapping[str, str]) -> str:
    if len(text) > _LONGEST_LINE:
        return text
    text = _REFERENCE.sub(lambda match: attributes.get(match[1].lower(), match[0]), text)
    for mark, instead in _INLINE:
        text = mark.sub(instead, text)
    return text


def _table(lines: list[str], attributes: Mapping[str, str]) -> Iterator[str]:
    """Yield a table, whose cells begin with bars, in Markdown; the first line with bars gives the number of columns."""
    rows: list[list[str]] = []
    width = 0
    for line in lines:
        if not line.strip():
            continue
        before, *cells = _CELL.split(line)
        if not cells:
            if rows and rows[-1]:
                rows[-1][-1] += f" {line.strip()}"
            continue
        width = width or len(cells)
        if rows and rows[-1] and before.strip():
            rows[-1][-1] += f" {before.strip()}"
        for cell in cells:
            if not rows or len(rows[-1]) >= width:
                rows.append([])
            rows[-1].append(cell.strip())
    if not rows:
        return
    shown = [" | ".join(_inline(cell, attributes).replace("|", "\\|") for cell in row) for row in rows]
    yield from ("", f"| {shown[0]} |", "|" + " --- |" * max(1, width), *(f"| {row} |" for row in shown[1:]), "")
