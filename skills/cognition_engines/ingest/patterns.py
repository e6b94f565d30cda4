"""Patterns as in a `.gitignore`, of a run and of the folders themselves, matched without backtracking.

A path is read once, whatever the pattern.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, TypeAlias

from cognition_engines.ingest.options import Selection
from cognition_engines.open_file import NotAFile, open_in

MOST_PATTERNS: Final = 1_000  # in one list
LONGEST_PATTERN: Final = 500  # characters
IGNORE_FILE: Final = ".cstpignore"
_LARGEST: Final = 250_000  # bytes of such a file
_MOST_IN_FORCE: Final = 2_000  # patterns that the folders of a path have together


_Run: TypeAlias = tuple[re.Pattern[str], ...]  # names that follow each other


class BadPattern(ValueError):
    """A pattern without a meaning or above the limits; the message gives its 1-based number among its lines."""


@dataclass(frozen=True)
class _Glob:
    """Runs of names, each as an expression, with a `**` between them; at the end, `**` matches at least one name."""

    runs: tuple[tuple[str, ...], ...]

    @cached_property
    def compiled(self) -> tuple[_Run, ...]:
        """The expressions, compiled at the first use."""
        return tuple(tuple(re.compile(name, re.DOTALL) for name in run) for run in self.runs)

    def matches(self, path: str) -> bool:
        """Return whether the glob matches the whole path."""
        names = path.split("/")
        first, *others = self.compiled
        if not others:
            return len(first) == len(names) and _fits(first, names, 0)
        *middle, last = others
        at, end = len(first), len(names) - max(len(last), 1)
        if at > end or not (_fits(first, names, 0) and _fits(last, names, end)):
            return False
        for run in middle:  # the first place is as good as any: the rest may match anywhere after it
            places = range(at, end - len(run) + 1)
            found = next((place for place in places if _fits(run, names, place)), None)
            if found is None:
                return False
            at = found + len(run)
        return True


def _fits(run: _Run, names: Sequence[str], at: int) -> bool:
    return all(name.fullmatch(names[at + place]) for place, name in enumerate(run))


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a `.gitignore`.

    `glob` matches the last name of a path if `anywhere`, else the whole path; None matches nothing.
    """

    negated: bool
    folders_only: bool
    anywhere: bool
    glob: _Glob | None

    def matches(self, path: str, *, folder: bool) -> bool:
        """Return whether the pattern matches this path itself, which has no slash at its end."""
        if self.glob is None or (self.folders_only and not folder):
            return False
        return self.glob.matches(path.rpartition("/")[2] if self.anywhere else path)


def parse_patterns(lines: Sequence[str]) -> tuple[Pattern, ...]:
    """Return the patterns of lines; blank ones and comments have none. Raise BadPattern."""
    found: list[Pattern] = []
    for number, line in enumerate(lines, start=1):
        text = _trim_line(line)
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


def _trim_line(line: str) -> str:
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
    """Return the expression of a pattern; None if a `[` has no `]` or a `\\` no character, which git ignores."""
    runs: list[list[str]] = [[]]
    parts = [""]  # of a name, between its stars
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "*":
            begin, at = at - 1, at + len(text[at:]) - len(text[at:].lstrip("*"))
            if not _is_deep(text, begin, at):
                parts.append("")
                continue
            if runs[-1] or len(runs) == 1:  # `**/**/` is `**/`
                runs.append([])
            at += 1
            if at > len(text):
                return _frozen(runs)
        elif character == "[":
            characters, at = _characters(text, at)
            if characters is None:
                return None
            parts[-1] += characters
        elif character == "?":
            parts[-1] += "."
        else:
            if character == "\\":
                character, at = text[at : at + 1], at + 1
            if not character:
                return None
            if character == "/":
                runs[-1].append(_expression(parts))
                parts = [""]
            else:
                parts[-1] += re.escape(character)
    runs[-1].append(_expression(parts))
    return _frozen(runs)


def _frozen(runs: Sequence[Sequence[str]]) -> _Glob:
    return _Glob(tuple(map(tuple, runs)))


def _expression(parts: Sequence[str]) -> str:
    """Return the expression of a name. A part is sought once, from the end of the one before, without backtracking."""
    first, *others = parts
    return first + "".join(f"(?>.*?{part})" for part in others[:-1]) + "".join(f".*{part}" for part in others[-1:])


def _is_deep(text: str, begin: int, end: int) -> bool:
    """Return whether the stars from `begin` to `end` are two or more, and alone between slashes."""
    return end - begin > 1 and text[begin - 1 : begin] in {"", "/"} and text[end : end + 1] in {"", "/"}


def _characters(text: str, at: int) -> tuple[str | None, int]:
    """Return the set that begins after a `[` as an expression, and the place after its `]`; None without a `]`."""
    negated = text[at : at + 1] in {"!", "^"}
    at += negated
    ranges = ""
    first = at
    while at < len(text) and (text[at] != "]" or at == first):
        low, at = _character(text, at)
        ranges += f"\\U{low:08x}"
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in {"", "]"}:
            high, at = _character(text, at + 1)
            ranges += f"-\\U{high:08x}" if low <= high else ""  # one that ends before it begins is its first character
    if at >= len(text):
        return None, at + 1
    return f"[{'^' * negated}{ranges}]", at + 1


def _character(text: str, at: int) -> tuple[int, int]:
    """Return a code point of a set, and the start of the next one; a backslash escapes one."""
    at += text[at] == "\\"
    return (ord(text[at]) if at < len(text) else 0), at + 1


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one folder, at the path `base` below the given folder, "" for that one."""

    base: str
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """The exclusions of a walk in one folder: patterns of the run, and of the folder and its parents.

    Paths are POSIX, relative to the folder that was named; that of a folder ends with a slash.
    """

    include: tuple[Pattern, ...] | None
    exclude: tuple[Pattern, ...]
    rules: tuple[_Rules, ...] = ()

    def with_folder(self, base: str, lines: Sequence[str]) -> "Filter":
        """Return the filter with the patterns of a further folder added. Raise BadPattern."""
        rules = (*self.rules, _Rules(base, parse_patterns(lines)))
        if sum(len(each.patterns) for each in rules) > _MOST_IN_FORCE:
            raise BadPattern(f"with those of the folders above it has more than {_MOST_IN_FORCE:,} patterns")
        return Filter(self.include, self.exclude, rules)

    def leaves_out(self, path: str) -> bool:
        """Return whether to skip a file, or a folder with its content."""
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
    """Return whether the last pattern that matches the path itself is not negated; None if no pattern matches.

    As in git, patterns that match a parent folder do not apply here: a walk has checked that folder before.
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
    """Return the filter of a run. Raise BadPattern."""
    include = parse_patterns(selection.include) if selection.include else None
    return Filter(include, parse_patterns(selection.exclude))


def patterns_in(folder: int) -> list[str]:
    """Return the lines of the ignore file of a folder, which is open as this descriptor; none without a regular file.

    Raise OSError, and BadPattern if it is no text in UTF-8 or too large.
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
