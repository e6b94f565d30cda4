"""The front matter at the top of a text, by lines: the members of its blocks, and why it cannot be read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cognition_engines.markdown.toml_block import BrokenToml, toml_members

_FENCE: Final = "---"
_TOML: Final = "+++"
_PLAIN: Final = r"""[^\s\-?:,\[\]{}#&*!|>'"%@`](?:[^:#\n]|:(?=[^\s:#])){0,63}?"""
_KEY: Final = rf"""(?:"([^"\\\n]{{1,64}})"|'([^'\n]{{1,64}})'|({_PLAIN}))"""
_MEMBER: Final = re.compile(rf"{_KEY}[ \t]*:(?:[ \t]++(.*)|[ \t]*)")
_RIGHT: Final = re.compile(r"""(?:^|[{,])[\s"'?-]*(?:sensitivity|project)[\s"']*(?:[:=\uff1a]|$)""", re.IGNORECASE)
_TAGS: Final = re.compile(r"""(?:^|[{,])[\s"'?-]*tags[\s"']*[:=\uff1a]""", re.IGNORECASE)
_TABBED: Final = re.compile(r"(?<!\t)\t++(?=- )")  # before an item of a list, because YAML allows only blanks
_OTHER_FENCES: Final = ("---", "+++", ";;;", "{")
_NAMES: Final = frozenset({"title", "status", "date", "author", "authors", "aliases", "description", "id", "type"})
_GOES_ON: Final = ("- ", "]", "}")  # a list under its name, and the end of a list over several lines


@dataclass(frozen=True, slots=True)
class Member:
    """A front matter member: name, source text (which may run over lines) and 1-based line."""

    name: str
    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Notice:
    """A message about a 1-based line: a warning, or why a block cannot be read."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Block:
    """A block's members, the line after it (0-based), and the fault, if any.

    `rights`: a line seems to give a sensitivity or a project. `tags`: likewise.
    """

    members: tuple[Member, ...]
    end: int
    flaw: Notice | None = None
    rights: bool = False
    tags: bool = False


def front_block(lines: Sequence[str], start: int) -> Block:
    """Return the members of all consecutive blocks from line `start` on (0-based).

    A second block without rights and tags begins in the line after the first; before others there may be blank lines
    and comments. Without any block there are no members, and `end` is `start`.
    """
    first = _block(lines, start)
    found = [first]
    at = first.end if first.members else _after_empty(lines, start)
    while at > start and found[-1].flaw is None:
        below = after_comments(lines, at)
        following = _block(lines, below)
        if not _is_block(following, directly=below == at):
            break
        found.append(following)
        at = following.end
    members = tuple(member for block in found for member in block.members)
    rights, tags = any(block.rights for block in found), any(block.tags for block in found)
    return Block(members, found[-1].end, found[-1].flaw, rights, tags)


def _is_block(following: Block, *, directly: bool) -> bool:
    """Return whether a second block is front matter: prose between rules is not, unless it has rights or tags."""
    return following.rights or following.tags or (directly and following.flaw is None and bool(following.members))


def _after_empty(lines: Sequence[str], start: int) -> int:
    """Return the line after the empty block at `start`, or `start` if there is none."""
    closed = _closing_line(lines, start) if start < len(lines) and lines[start].rstrip() == _FENCE else None
    empty = closed is not None and not any(map(_says, lines[start + 1 : closed]))
    return closed + 1 if closed is not None and empty else start


def _block(lines: Sequence[str], start: int) -> Block:
    """Return the block that begins at line `start` (0-based); without a block, an empty block that ends at `start`."""
    none = Block((), start)
    opening = lines[start].rstrip() if start < len(lines) else ""
    if not opening.strip().startswith(_OTHER_FENCES):
        return none
    end = _closing_line(lines, start)
    inside = range(start + 1, _head_end(lines, start) if end is None else end)
    rights, tags = (any(name.search(lines[at]) for at in (start, *inside)) for name in (_RIGHT, _TAGS))
    if opening not in (_FENCE, _TOML):
        reason = "front matter must be YAML between two lines of ---, or TOML between two of +++"
        return Block((), start, Notice(start + 1, reason), rights, tags) if rights or tags else none
    first = next((at for at in inside if _says(lines[at])), None)
    if first is None:
        return none
    parsed = _parse_toml(lines, inside) if opening == _TOML else _parse_members(lines, range(first, inside.stop))
    if opening == _FENCE and not (rights or tags):
        last = start + 1 if end is None else end - 1
        apart = not (lines[start + 1].strip() and lines[last].strip())  # maybe text between two rules
        sure = end is not None and parsed[1] is None and all(_is_lower(member) for member in parsed[0])
        if not (sure if apart else _MEMBER.fullmatch(lines[first].strip())):
            return none
    if end is None:
        reason = f"the front matter that begins here is not closed by a line of {opening}"
        return Block((), start, Notice(start + 1, reason), rights, tags)
    return Block(parsed[0], end + 1, parsed[1], rights, tags)


def _is_lower(member: Member) -> bool:
    return member.name[0].islower() or member.name.lower() in _NAMES


def after_comments(lines: Sequence[str], at: int) -> int:
    """Return the first line from `at` on (0-based) that is neither blank nor part of a comment alone on its lines.

    Return `at`, or the line after the last comment, if all the rest is blank.
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


def _closing_line(lines: Sequence[str], start: int) -> int | None:
    opening = lines[start].strip()
    if opening == _TOML:
        return next((at for at in range(start + 1, len(lines)) if lines[at].rstrip() == _TOML), None)
    closing = {opening, _FENCE, "..."} if opening.startswith(_FENCE) else {opening, opening[:3], "}"}
    return next((at for at in range(start + 1, len(lines)) if lines[at].strip() in closing), None)


def _head_end(lines: Sequence[str], start: int) -> int:
    """Return the line of the first heading or code block below `start`: the limit for an unclosed block."""
    ends = (at for at in range(start + 1, len(lines)) if lines[at].startswith(("# ", "## ", "```", "~~~")))
    return next(ends, len(lines))


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _parse_toml(lines: Sequence[str], inside: range) -> tuple[tuple[Member, ...], Notice | None]:
    try:
        found = toml_members(lines[inside.start : inside.stop])
    except BrokenToml as error:
        return (), Notice(inside.start + error.line + 1, str(error))
    return tuple(Member(name, source, inside.start + at + 1) for name, source, at in found), None


def _parse_members(lines: Sequence[str], inside: range) -> tuple[tuple[Member, ...], Notice | None]:
    """Return the members, and the first line outside all members as a flaw."""
    indent = len(lines[inside.start]) - len(lines[inside.start].lstrip(" "))
    found: list[tuple[str, list[str], int]] = []
    wrong: int | None = None
    for at in inside:
        if not _says(lines[at]):
            continue
        line = _TABBED.sub(lambda tabs: "  " * len(tabs[0]), lines[at][indent:].rstrip(), count=1)
        match = _MEMBER.fullmatch(line) if not lines[at][:indent].strip() else None
        if match is not None:
            found.append((match[1] or match[2] or match[3].strip(), [match[4] or ""], at + 1))
        elif found and (line.startswith((" ", "\t", *_GOES_ON)) or line == "-") and not lines[at][:indent].strip():
            found[-1][1].append(line)
        elif wrong is None:
            wrong = at
    reason = "the front matter cannot be read here: each member must be a line `name: value`"
    flaw = None if wrong is None else Notice(wrong + 1, reason)
    return tuple(Member(name, "\n".join(source), at) for name, source, at in found), flaw


def may_hold_next(member: Member) -> bool:
    """Return whether a member that is no YAML may hold the next member, whose line is indented too far."""
    return any(_MEMBER.fullmatch(line.strip()) for line in member.source.split("\n")[1:])
