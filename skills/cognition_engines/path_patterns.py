"""Patterns as in a `.gitignore`, matched without backtracking: of files to read, and of files that decisions govern.

A path is read once, whatever the pattern.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Final, TypeAlias

MOST_PATTERNS: Final = 1_000  # in one list
LONGEST_PATTERN: Final = 500  # characters
LONGEST_GOVERNING: Final = 256  # characters of a pattern that a decision states
MOST_STARS: Final = 3  # of such a pattern between two slashes
LONGEST_START: Final = 48  # characters of an anchor
LONGEST_END: Final = 16
LONGEST_INNER: Final = 3
_WILD: Final = re.compile(r"[*?\[\]]")
_TAME: Final = re.compile(r"[^*?\[\]]*")
_LETTER_ESCAPED: Final = re.compile(r"\\[^\W_]")
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)

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

    @property
    def is_name(self) -> bool:
        """True if it matches names anywhere, of files and folders."""
        return self.anywhere and not (self.negated or self.folders_only)

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


def last_match(patterns: Sequence[Pattern], path: str, *, folder: bool) -> bool | None:
    """Return whether the last pattern that matches the path itself is not negated; None if no pattern matches.

    Patterns that match a folder above it do not count.
    """
    last = next((each for each in reversed(patterns) if each.matches(path, folder=folder)), None)
    return None if last is None else not last.negated


def includes(patterns: Sequence[Pattern], path: str) -> bool:
    """Return whether the patterns choose a file: by the last that matches it, else the last of a folder above."""
    if len(patterns) == 1 and patterns[0].is_name:  # most lists
        return any(patterns[0].matches(name, folder=False) for name in path.split("/"))
    chosen = last_match(patterns, path, folder=False)
    if chosen is not None:
        return chosen
    above = list(accumulate(path.split("/")[:-1], "{}/{}".format))
    last = next((each for each in reversed(patterns) if any(each.matches(part, folder=True) for part in above)), None)
    return last is not None and not last.negated


def check_governing(pattern: str) -> None:
    """Raise BadPattern, whose message completes the name of the pattern, if a decision must not state it."""
    if not 0 < len(pattern) <= LONGEST_GOVERNING:
        raise BadPattern(f"must have 1 to {LONGEST_GOVERNING} characters")
    if any(unicodedata.category(character) == "Cc" for character in pattern):
        raise BadPattern("must be one line without control characters")
    if _LETTER_ESCAPED.search(pattern):
        raise BadPattern("must have / between names; a backslash makes the next character literal")
    if "//" in pattern:
        raise BadPattern("must not have two slashes in a row, which no path has")
    names = _ESCAPED.sub("", pattern).split("/")
    if any(name.count("*") > MOST_STARS for name in names):
        raise BadPattern(f"must have at most {MOST_STARS} * between two slashes")
    if any(name.removeprefix("!") in {".", ".."} for name in names):
        raise BadPattern("must be relative to the root of the repository, without . and .. as names")
    try:
        parsed = parse_patterns((pattern,))
    except BadPattern:
        parsed = ()
    if len(parsed) != 1 or parsed[0].glob is None:
        raise BadPattern("must be a pattern as in a .gitignore that can match a path")


@lru_cache(maxsize=1 << 14)
def compile_list(lines: str) -> tuple[Pattern, ...]:
    """Return the patterns of a list, one a line."""
    return parse_patterns(lines.split("\n"))


@lru_cache(maxsize=1 << 12)
def includes_any(lines: str, paths: tuple[str, ...]) -> bool:
    """Return whether a list of patterns, one a line, chooses one of these files."""
    patterns = compile_list(lines)
    return any(includes(patterns, path) for path in paths)


def count_names(pattern: str) -> int:
    """Return how specific a pattern is: the number of its names without a wildcard."""
    return sum(bool(name) and not _WILD.search(name) for name in pattern.split("/"))


def anchor_of(pattern: str) -> str:
    """Return a text that every matching path has among its `anchors_in`; "" if there is none."""
    if "\\" in pattern:
        return ""
    body = pattern.rstrip(" ").rstrip("/")
    names = body.removeprefix("/").split("/")
    start = _TAME.match(body.removeprefix("/"))
    if "/" in body and start is not None and start[0]:
        return f"^{start[0][:LONGEST_START]}"
    tame = [name for name in names if name and not _WILD.search(name)]
    if tame:
        return f"={max(tame, key=len)}"
    begin, *inner, end = _WILD.split(names[-1])
    if len(begin) < len(end):
        return f"${end[-LONGEST_END:]}"
    if begin:
        return f"<{begin[:LONGEST_END]}"
    longest = "" if "[" in names[-1] else max(inner, default="", key=len)
    return f"*{longest[:LONGEST_INNER]}" if longest else ""


def by_anchor(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the paths by the anchors that a pattern of theirs can have, each path once."""
    found: dict[str, list[str]] = {}
    for path in dict.fromkeys(paths):
        for anchor in anchors_in(path):
            found.setdefault(anchor, []).append(path)
    return found


def anchors_in(path: str) -> Iterator[str]:
    """Yield all anchors that a pattern of this path, or of a folder above it, can have."""
    yield ""
    yield from (f"^{path[:size]}" for size in range(1, min(LONGEST_START, len(path)) + 1))
    for name in dict.fromkeys(path.split("/")):
        yield f"={name}"
        for size in range(1, min(LONGEST_END, len(name)) + 1):
            yield f"<{name[:size]}"
            yield f"${name[-size:]}"
        for size in range(1, LONGEST_INNER + 1):
            yield from (f"*{name[at : at + size]}" for at in range(len(name) - size + 1))
