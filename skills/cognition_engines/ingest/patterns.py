"""Patterns as in a `.gitignore`, of a run and of the folders themselves, matched without backtracking.

A path is read once, whatever a pattern says.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import xor
from typing import Final

from cognition_engines.ingest.options import Selection
from cognition_engines.open_file import NotAFile, open_in

MOST_PATTERNS: Final = 1_000  # in one list
LONGEST_PATTERN: Final = 500  # characters
IGNORE_FILE: Final = ".cstpignore"
_LARGEST: Final = 250_000  # bytes of such a file
_MOST_IN_FORCE: Final = 2_000  # patterns that the folders of a path have together


class BadPattern(ValueError):
    """A pattern that means nothing or is too much; the message gives its 1-based number among its lines."""


@dataclass(frozen=True, slots=True)
class _Characters:
    """A set of characters by inclusive ranges that do not overlap, or all others."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False

    @property
    def only(self) -> str | None:
        """Return the one character; None for a set of others."""
        first, last = self.ranges[0] if len(self.ranges) == 1 else (0, 1)
        return chr(first) if first == last and not self.negated else None


_ANY: Final = _Characters((), negated=True)
_SLASH: Final = _Characters(((ord("/"), ord("/")),))


@dataclass(frozen=True)
class _Glob:
    """Sets of characters in their order. Of each mask bit n says something of the place in front of token n.

    Characters of one name may be skipped at `stars`, any at `deep`. A token of `slashes` is a slash, the only one that
    accepts it; one of `optional` need not be there.
    """

    tokens: tuple[_Characters, ...]
    stars: int
    deep: int
    slashes: int
    optional: int

    @cached_property
    def ends(self) -> tuple[str, str]:
        """Return the characters before the first wildcard and after the last one."""
        wild = self.stars | self.deep
        first = (wild & -wild).bit_length() - 1 if wild else len(self.tokens)
        last = max(0, wild.bit_length() - 1)
        last += self.optional >> last & 1  # the slash of `**/`
        return _leading(self.tokens[:first]), _leading(self.tokens[last:][::-1])[::-1]

    @cached_property
    def accepted(self) -> tuple[list[int], list[int]]:
        """Code points, and from each on the tokens that accept a character, as bits; first those before the first."""
        changes: dict[int, int] = {}
        bits = 0
        for place, token in enumerate(self.tokens):
            bits |= token.negated << place
            for first, last in token.ranges:
                changes[first] = changes.get(first, 0) ^ 1 << place
                changes[last + 1] = changes.get(last + 1, 0) ^ 1 << place
        points = sorted(changes)
        return points, list(accumulate((changes[point] for point in points), xor, initial=bits))

    def matches(self, path: str) -> bool:
        """Return whether the glob stands for the whole path."""
        head, tail = self.ends
        if not (path.startswith(head) and path.endswith(tail)):
            return False
        points, accepted = self.accepted
        skipping = self.stars | self.deep
        reached = 1 | (1 & self.optional) << 1  # bit n: the first n tokens stand for what was read
        for character in path:
            if character == "/":
                further, stays = (reached & self.slashes) << 1, reached & self.deep
            else:
                further = (reached & accepted[bisect_right(points, ord(character))]) << 1
                stays = reached & skipping
            reached = further | (further & self.optional) << 1 | stays
            if not reached:
                return False
        return bool(reached >> len(self.tokens) & 1)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a `.gitignore`.

    `glob` stands for the last name of a path if it is `anywhere`, else for the whole path; None matches nothing.
    """

    negated: bool
    folders_only: bool
    anywhere: bool
    glob: _Glob | None

    def matches(self, path: str, *, folder: bool) -> bool:
        """Return whether the pattern stands for this path itself, which has no slash at its end."""
        if self.glob is None or (self.folders_only and not folder):
            return False
        return self.glob.matches(path.rpartition("/")[2] if self.anywhere else path)


def parse_patterns(lines: Sequence[str]) -> tuple[Pattern, ...]:
    """Return the patterns of lines; blank ones and comments have none. Raises BadPattern."""
    found: list[Pattern] = []
    for number, line in enumerate(lines, start=1):
        text = _trimmed(line)
        if not text or text.startswith("#") or text == "/":
            continue
        if len(text) > LONGEST_PATTERN:
            raise BadPattern(f"pattern {number} must have at most {LONGEST_PATTERN} characters")
        if len(found) == MOST_PATTERNS:
            raise BadPattern(f"there must be at most {MOST_PATTERNS:,} patterns; pattern {number} is one more")
        if "[[:" in text:
            raise BadPattern(f"pattern {number} has a class of characters by name, which is not known: {line!r}")
        if text in {"!", "!/"} or (len(text) - len(text.rstrip("\\"))) % 2:
            raise BadPattern(f"pattern {number} is none of a .gitignore: {line!r}")
        found.append(_parse(text))
    return tuple(found)


def _trimmed(line: str) -> str:
    """Return the line without the spaces at its end, but for one after a backslash."""
    text = line.rstrip(" ")
    escaped = (len(text) - len(text.rstrip("\\"))) % 2 and len(text) < len(line)
    return f"{text} " if escaped else text


def _parse(text: str) -> Pattern:
    negated = text.startswith("!")
    text = text[negated:]
    folders_only = text.endswith("/")
    text = text[: len(text) - folders_only]
    return Pattern(negated, folders_only, "/" not in text, _glob(text.removeprefix("/")))


def _glob(text: str) -> _Glob | None:
    """Return what a pattern stands for; None if a `[` has no `]` or a `\\` no character, which in git is nothing."""
    tokens: list[_Characters] = []
    stars = deep = slashes = optional = at = 0
    while at < len(text):
        character, place = text[at], 1 << len(tokens)
        at += 1
        if character == "*":
            begin, at = at - 1, at + len(text[at:]) - len(text[at:].lstrip("*"))
            if not _is_deep(text, begin, at):
                stars |= place
            elif at == len(text):
                deep |= place
                tokens.append(_ANY)  # `a/**` is all that is in `a`, not `a` itself
            else:
                at += 1
                if not place >> 1 & optional:  # `**/**/` is `**/`
                    deep, slashes, optional = deep | place, slashes | place, optional | place
                    tokens.append(_SLASH)
        elif character == "[":
            characters, at = _characters(text, at)
            if characters is None:
                return None
            tokens.append(characters)
        elif character == "?":
            tokens.append(_ANY)
        else:
            if character == "\\":
                character, at = text[at : at + 1], at + 1
            if not character:
                return None
            slashes |= place if character == "/" else 0
            tokens.append(_Characters(((ord(character), ord(character)),)))
    return _Glob(tuple(tokens), stars, deep, slashes, optional)


def _is_deep(text: str, begin: int, end: int) -> bool:
    """Return whether the stars from `begin` to `end` are two or more, and all that stands between slashes."""
    return end - begin > 1 and text[begin - 1 : begin] in {"", "/"} and text[end : end + 1] in {"", "/"}


def _characters(text: str, at: int) -> tuple[_Characters | None, int]:
    """Return the set that begins after a `[`, and the place after its `]`; None without one."""
    negated = text[at : at + 1] in {"!", "^"}
    at += negated
    ranges: list[tuple[int, int]] = []
    first = at
    while at < len(text) and (text[at] != "]" or at == first):
        low, at = _character(text, at)
        ranges.append((low, low))
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in {"", "]"}:
            high, at = _character(text, at + 1)
            ranges.append((low, high))
    return (_Characters(_joined(ranges), negated) if at < len(text) else None), at + 1


def _character(text: str, at: int) -> tuple[int, int]:
    """Return a code point of a set, and where the next one begins; a backslash only stands in front of one."""
    at += text[at] == "\\"
    return (ord(text[at]) if at < len(text) else 0), at + 1


def _joined(ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return ranges with the same characters that do not overlap; a range that ends before it begins has none."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(each for each in ranges if each[0] <= each[1]):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple(found)


def _leading(tokens: Sequence[_Characters]) -> str:
    """Return the characters up to the first set of several."""
    found: list[str] = []
    for token in tokens:
        if (character := token.only) is None:
            break
        found.append(character)
    return "".join(found)


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one folder, which is `base` below the folder that was named, "" for that one."""

    base: str
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """What a walk leaves out at one folder: by the patterns of the run, and of the folder and those above it.

    Paths are POSIX, relative to the folder that was named; that of a folder ends with a slash.
    """

    include: tuple[Pattern, ...] | None
    exclude: tuple[Pattern, ...]
    rules: tuple[_Rules, ...] = ()

    def within(self, base: str, lines: Sequence[str]) -> "Filter":
        """Return the same with the patterns of one folder more. Raises BadPattern."""
        rules = (*self.rules, _Rules(base, parse_patterns(lines)))
        if sum(len(each.patterns) for each in rules) > _MOST_IN_FORCE:
            raise BadPattern(f"with those of the folders above it has more than {_MOST_IN_FORCE:,} patterns")
        return Filter(self.include, self.exclude, rules)

    def leaves_out(self, path: str) -> bool:
        """Return whether a file or a folder with all in it is not read."""
        folder = path.endswith("/")
        path = path.removesuffix("/")
        if _last_match(self.exclude, path, folder=folder):
            return True
        if self.include is not None and not folder and not _includes(self.include, path):
            return True
        found = (
            _last_match(rules.patterns, path.removeprefix(rules.base), folder=folder) for rules in reversed(self.rules)
        )
        return next((ignored for ignored in found if ignored is not None), False)


def _last_match(patterns: Sequence[Pattern], path: str, *, folder: bool) -> bool | None:
    """Return whether the last pattern that matches the path itself is not negated; None if none does.

    As in git, one that matches a folder above says nothing here: a walk has asked for that folder before.
    """
    last = next((each for each in reversed(patterns) if each.matches(path, folder=folder)), None)
    return None if last is None else not last.negated


def _includes(patterns: Sequence[Pattern], path: str) -> bool:
    """Return whether the patterns choose a file: by the last that matches it, else the last of a folder above."""
    chosen = _last_match(patterns, path, folder=False)
    if chosen is not None:
        return chosen
    above = list(accumulate(path.split("/")[:-1], "{}/{}".format))
    last = next((each for each in reversed(patterns) if any(each.matches(part, folder=True) for part in above)), None)
    return last is not None and not last.negated


def filter_of(selection: Selection) -> Filter:
    """Return the filter of a run. Raises BadPattern."""
    include = parse_patterns(selection.include) if selection.include else None
    return Filter(include, parse_patterns(selection.exclude))


def patterns_in(folder: int) -> list[str]:
    """Return the lines of the ignore file of a folder, which is open as this descriptor; none without a regular file.

    Raises OSError, and BadPattern if it is no text in UTF-8 or too large.
    """
    try:
        with open_in(folder, IGNORE_FILE) as opened:
            content = opened.read(_LARGEST + 1)
    except (FileNotFoundError, NotAFile):
        return []
    if len(content) > _LARGEST:
        raise BadPattern(f"it has more than {_LARGEST:,} bytes")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")  # no other mark ends a line in git
    except UnicodeDecodeError:
        raise BadPattern("the encoding must be UTF-8") from None
