"""The front matter block at the top of a text, by its lines: its members, and why it cannot be read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_FENCE: Final = "---"
_PLAIN: Final = r"""[^\s\-?:,\[\]{}#&*!|>'"%@`](?:[^:#\n]|:(?=[^\s:#])){0,63}?"""
_KEY: Final = rf"""(?:"([^"\\\n]{{1,64}})"|'([^'\n]{{1,64}})'|({_PLAIN}))"""
_MEMBER: Final = re.compile(rf"{_KEY}[ \t]*:(?:[ \t]+(.*)|[ \t]*)")
_RIGHT: Final = re.compile(r"""(?:^|[{,])[\s"'?-]*(?:sensitivity|project)[\s"']*(?:[:=\uff1a]|$)""", re.IGNORECASE)
_OTHER_FENCES: Final = ("---", "+++", ";;;", "{")
_GOES_ON: Final = ("- ", "]", "}")  # a list under its name, and the end of one that runs over lines


@dataclass(frozen=True, slots=True)
class Member:
    """One front matter member: its name, its source text (which may run over lines) and its 1-based line."""

    name: str
    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a block cannot be read, and its 1-based line."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Block:
    """The members of a block, the line after it (0-based), and what is wrong with it, if anything is.

    `rights`: a line of it seems to give a sensitivity or a project.
    """

    members: tuple[Member, ...]
    end: int
    flaw: Flaw | None = None
    rights: bool = False


def front_block(lines: Sequence[str], start: int) -> Block:
    """The block that begins at line `start` (0-based); one without members that ends at `start` where none does."""
    none = Block((), start)
    opening = lines[start].rstrip() if start < len(lines) else ""
    if not opening.strip().startswith(_OTHER_FENCES):
        return none
    end = _closing(lines, start)
    inside = range(start + 1, _head_end(lines, start) if end is None else end)
    rights = any(_RIGHT.search(lines[at]) for at in (start, *inside))
    if opening != _FENCE:
        reason = "front matter must be YAML between two lines of ---"
        return Block((), start, Flaw(start + 1, reason), rights) if rights or opening == "+++" else none
    first = next((at for at in inside if _says(lines[at])), None)
    if first is None or not (rights or _MEMBER.fullmatch(lines[first].strip())):
        return none
    if end is None:
        reason = "the front matter that begins here is not closed by a line of ---"
        return Block((), start, Flaw(start + 1, reason), rights)
    members, wrong = _members(lines, range(first, end))
    if wrong is None:
        return Block(members, end + 1, None, rights)
    reason = "the front matter cannot be read here: each member must be a line `name: value`"
    return Block(members, end + 1, Flaw(wrong + 1, reason), rights)


def after_comments(lines: Sequence[str], at: int) -> int:
    """The first line from `at` on (0-based) that is neither blank nor part of a comment with nothing else on the line.

    `at`, or the line after the last comment, when all the rest is blank.
    """
    while True:
        start = next((line for line in range(at, len(lines)) if lines[line].strip()), None)
        if start is None or not lines[start].lstrip().startswith("<!--"):
            return at if start is None else start
        opened = lines[start].index("<!--") + 4
        rest, end = lines[start][opened:], start
        while "-->" not in rest:
            end += 1
            if end == len(lines):
                return start
            rest = lines[end]
        if rest.partition("-->")[2].strip():
            return start
        at = end + 1


def _closing(lines: Sequence[str], start: int) -> int | None:
    closing = {_FENCE, "..."} if lines[start].strip().startswith(_FENCE) else {lines[start].strip()[:3], "}"}
    return next((at for at in range(start + 1, len(lines)) if lines[at].strip() in closing), None)


def _head_end(lines: Sequence[str], start: int) -> int:
    """The line of the first heading or code block below `start`: up to there a block may run that is not closed."""
    ends = (at for at in range(start + 1, len(lines)) if lines[at].startswith(("# ", "## ", "```", "~~~")))
    return next(ends, len(lines))


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _members(lines: Sequence[str], inside: range) -> tuple[tuple[Member, ...], int | None]:
    """The members, and the first line (0-based) that belongs to none."""
    indent = len(lines[inside.start]) - len(lines[inside.start].lstrip(" "))
    found: list[tuple[str, list[str], int]] = []
    wrong: int | None = None
    for at in inside:
        if not _says(lines[at]):
            continue
        line = lines[at][indent:].rstrip()
        match = _MEMBER.fullmatch(line) if not lines[at][:indent].strip() else None
        if match is not None:
            found.append((match[1] or match[2] or match[3].strip(), [match[4] or ""], at + 1))
        elif found and (line.startswith((" ", "\t", *_GOES_ON)) or line == "-") and not lines[at][:indent].strip():
            found[-1][1].append(line)
        elif wrong is None:
            wrong = at
    return tuple(Member(name, "\n".join(source), at) for name, source, at in found), wrong


def swallowed(member: Member) -> bool:
    """Whether a member that is no YAML may hold the next one, whose line is indented too far."""
    return any(_MEMBER.fullmatch(line.strip()) for line in member.source.split("\n")[1:])
