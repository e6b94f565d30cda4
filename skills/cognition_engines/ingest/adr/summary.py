"""A decision's summary: the first sentences of its decision section, as plain text on one line."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from cognition_engines.ingest.adr.header import KINDS, fields_of, name_of
from cognition_engines.ingest.adr.sections import named_line, role_of
from cognition_engines.ingest.statuses import SHORTCODE
from cognition_engines.markdown.document import Heading, without_comments
from cognition_engines.markdown.inline import LONGEST_LINE, plain_text, without_marks

_READ: Final = 20_000  # characters of a text
_FRONT: Final = re.compile(r"\A(---|\+\+\+)\n.*?\n\1[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCED: Final = re.compile(r"^[ \t>]{0,20}(```|~~~)[^\n]*\n.*?(?:^[ \t>]{0,20}\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_UNDERLINED: Final = re.compile(r"^(\w[^\n]{0,200})\n(?:(=+)|-{3,})[ \t]*$", re.MULTILINE)
_HEADING: Final = re.compile(r" {0,3}(#{1,6}(?=[ \t])|#{2,6}(?=[^\W\d_]))(.*)")
_ITEM: Final = re.compile(r"[ \t>]{0,20}(?:[-*+]|\d{1,3}[.)])[ \t]+")
_TAG: Final = re.compile(r"</?(?:a|b|br|code|details|div|em|i|img|kbd|p|span|strong|sub|summary|sup)\b[^<>\n]{0,300}>")
_NO_TEXT: Final = re.compile(r"\||!\[|\[!\[|\[[^\]\n]{1,300}\]:[ \t]|[-*_= \t]*+$")  # tables, pictures, targets, rules
_ABOUT: Final = re.compile(  # people and labels
    r"[*_`]{0,3}(?:authors?|categor(?:y|ies)|consulted|deciders?|decision[ -]makers?|informed|owners?|reviewers?|tags"
    r"|technical story|tickets?)[*_`]{0,3}:",
    re.IGNORECASE,
)
_END: Final = re.compile(r"(?<!\W[^\W\d_])[.!?…][\"'”’»)\]]{0,4}(?=\s|$)|[。！？]")  # not of "i.e."
_FINISHED: Final = tuple(".!?…:;,。！？、")


class _Block(NamedTuple):
    """A paragraph or an item, and whether the decision section has it."""

    text: str
    is_item: bool
    decides: bool


def summarize_decision(text: str, most: int) -> str:
    """Return the first sentences of a decision's text, at most `most` characters; empty if it has none.

    They are from the decision section, or from the whole text without one. Headings, comments, front matter, tables,
    code, and lines about status, dates and people are left out. A longer first sentence is cut.
    """
    blocks: list[_Block] = []
    left = 2 * most  # with the marks of Markdown
    for block in _blocks(text[:_READ].replace("\r\n", "\n")):
        blocks.append(block)
        left -= len(block.text) if block.decides else 0
        if left < 0:
            break
    found = _joined([block for block in blocks if block.decides] or blocks, most)
    if len(found) <= most:
        return found
    ends = [end.end() for end in _END.finditer(found[: most + 1]) if end.end() <= most]
    return found[: ends[-1]] if ends else f"{found[: most - 1].rpartition(' ')[0] or found[: most - 1]}…"


def _joined(blocks: Sequence[_Block], most: int) -> str:
    """Return the blocks as plain text on one line, as far as they begin within `most` characters."""
    said, after_item = "", False
    for block in blocks:
        if len(said) > most:
            break
        if words := plain_text(block.text):
            mark = " " if said.endswith(_FINISHED) else ": " if block.is_item and not after_item else "; "
            said, after_item = f"{said}{mark if said else ''}{words}", block.is_item
    return said


def _blocks(text: str) -> Iterator[_Block]:
    text = _FENCED.sub("\n", without_comments(_FRONT.sub("", text)))
    text = _UNDERLINED.sub(lambda found: f"{'#' if found[2] else '##'} {found[1]}\n", text)
    is_item = decides = skips = False
    depth = 0  # of the heading of the decision section
    held: list[str] = []
    for line in (*text.split("\n"), ""):
        heading, item = _HEADING.fullmatch(line[:LONGEST_LINE]), _ITEM.match(line)
        line = without_marks(line[item.end() if item else 0 : LONGEST_LINE])
        named = None if heading else named_line(line)
        if held and (heading or item or named or not line):
            yield _Block(" ".join(held), is_item, decides)
            held = []
        if heading:
            name, _, line = SHORTCODE.sub("", heading[2]).rstrip(" \t#").partition(":")
            role, skips, level = role_of(Heading(1, name, 0, 0)), name_of(name) in KINDS, len(heading[1])
            decides = role == "decision" or (decides and role is None and not skips and level > depth)
            line, depth = (line, level) if role == "decision" else ("", depth)
        elif named and not (decides and named[0] == "decision"):
            decides, depth, line = named[0] == "decision", 6, named[1]
        line = SHORTCODE.sub("", line, count=1).strip() if line.startswith(":") else line
        line = _TAG.sub("", line).strip() if "<" in line else line
        if not (skips or _NO_TEXT.match(line) or _ABOUT.match(line) or fields_of(line)):
            is_item = item is not None if not held else is_item
            held.append(line)
