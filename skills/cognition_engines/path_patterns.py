"""Patterns as in a `.gitignore`, for files to read and for files governed by decisions; `path_sets` matches them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final, TypeAlias

MOST_PATTERNS: Final = 1_000  # per list
LONGEST_PATTERN: Final = 500  # characters
LONGEST_GOVERNING: Final = 256  # characters of a pattern stated by a decision
MOST_STARS: Final = 3  # of such a pattern between two slashes
MOST_WILDCARDS: Final = 16  # per stated pattern: stars, question marks and character sets
_WILD: Final = re.compile(r"[*?\[\]]")
_LITERAL: Final = re.compile(r"[^*?\[\\]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LETTER_ESCAPED: Final = re.compile(r"\\[^\W_]")
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_SET: Final = re.compile(r"\[[!^]?\]?[^\]]*\]")
_ALTERNATIVES: Final = re.compile(r"\{[^{}]*,[^{}]*\}")


class BadPattern(ValueError):
    """A pattern without a meaning or above the limits; the message gives the 1-based line number."""


class Step(Enum):
    """A wildcard in a pattern."""

    STAR = auto()  # any characters of a name
    ANY = auto()  # a character of a name
    FOLDERS = auto()  # `**/`: whole names with their slashes, or none
    REST = auto()  # `**` at the end: at least one name


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """A character of a name within the ranges of code points, or outside all of them if `negated`.

    A reversed range lists no character; a second range lists its first character, as in git.
    """

    ranges: tuple[tuple[int, int], ...]
    negated: bool

    def lists(self, character: str) -> bool:
        """Return whether a range includes the character."""
        return any(low <= ord(character) <= high for low, high in self.ranges)

    @property
    def has_reversed_range(self) -> bool:
        """Return whether a range ends before it begins."""
        return any(low > high for low, high in self.ranges)

    @property
    def only_character(self) -> str | None:
        """Return the set's only character; None if it can be others."""
        listed = {place for each in self.ranges for place in each}
        return chr(listed.pop()) if len(listed) == 1 and not self.negated else None


Glob: TypeAlias = tuple[str | Step | CharacterSet, ...]  # texts match themselves; never two texts in a row


@dataclass(frozen=True, slots=True)
class Pattern:
    """A line of a `.gitignore`.

    `glob` matches the last name in a path if `anywhere`, else the whole path; None matches nothing.
    """

    negated: bool
    folders_only: bool
    anywhere: bool
    glob: Glob | None


def parse_patterns(lines: Sequence[str]) -> tuple[Pattern, ...]:
    """Parse lines into patterns, without blank lines and comments. Raise BadPattern."""
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
    """Return the line without the trailing spaces, except an escaped space."""
    text = line.rstrip(" ")
    escaped = (len(text) - len(text.rstrip("\\"))) % 2 and len(text) < len(line)
    return f"{text} " if escaped else text


def _parse(text: str) -> Pattern:
    negated = text.startswith("!")
    text = text[negated:]
    folders_only = text.endswith("/")
    text = text[: len(text) - folders_only]
    return Pattern(negated, folders_only, "/" not in text, _glob(text.removeprefix("/")))


def _glob(text: str) -> Glob | None:
    r"""Parse a pattern into steps; None for a `[` without `]` or a `\` at the end, which git ignores."""
    steps: list[str | Step | CharacterSet] = []
    at = 0
    while at < len(text):
        step: str | Step | CharacterSet | None
        if literal := _LITERAL.match(text, at):
            step, at = literal[0], literal.end()
        elif text[at] == "*":
            step, at = _stars(text, at)
        elif text[at] == "?":
            step, at = Step.ANY, at + 1
        elif text[at] == "[":
            step, at = _characters(text, at + 1)
        else:
            step, at = text[at + 1 : at + 2] or None, at + 2
        if step is None:
            return None
        if steps and isinstance(step, str) and isinstance(steps[-1], str):
            steps[-1] += step
        elif step not in (Step.STAR, Step.FOLDERS) or steps[-1:] != [step]:
            steps.append(step)
    return tuple(steps)


def _stars(text: str, begin: int) -> tuple[Step, int]:
    """Return the step for the stars at a position, and the position after them."""
    end = len(text) - len(text[begin:].lstrip("*"))
    if not _is_deep(text, begin, end):
        return Step.STAR, end
    return (Step.FOLDERS, end + 1) if end < len(text) else (Step.REST, end)


def _is_deep(text: str, begin: int, end: int) -> bool:
    """Return whether the stars from `begin` to `end` are two or more, and alone between slashes."""
    return end - begin > 1 and text[begin - 1 : begin] in {"", "/"} and text[end : end + 1] in {"", "/"}


def _characters(text: str, at: int) -> tuple[CharacterSet | None, int]:
    """Return the set after a `[`, and the position after the `]`; None without a `]`."""
    negated = text[at : at + 1] in {"!", "^"}
    at += negated
    ranges: list[tuple[int, int]] = []
    first = at
    while at < len(text) and (text[at] != "]" or at == first):
        low, at = _character(text, at)
        high = low
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in {"", "]"}:
            high, at = _character(text, at + 1)
        ranges += [(low, high)] if low <= high else [(low, high), (low, low)]
    if at >= len(text):
        return None, at + 1
    return CharacterSet(tuple(ranges), negated), at + 1


def _character(text: str, at: int) -> tuple[int, int]:
    """Return a code point in a set, and the position after it; a backslash escapes a character."""
    at += text[at] == "\\"
    return (ord(text[at]) if at < len(text) else 0), at + 1


def check_governing(pattern: str) -> None:
    """Raise BadPattern if a decision must not state the pattern; the message continues after the pattern's name."""
    if not 0 < len(pattern) <= LONGEST_GOVERNING:
        raise BadPattern(f"must have 1 to {LONGEST_GOVERNING} characters")
    if _CONTROL.search(pattern):
        raise BadPattern("must be one line without control characters")
    if _LETTER_ESCAPED.search(pattern):
        raise BadPattern("must have / between names; a backslash makes the next character literal")
    if "//" in pattern:
        raise BadPattern("must not have two slashes in a row, which no path has")
    unescaped = _ESCAPED.sub("", pattern)
    if _ALTERNATIVES.search(_SET.sub("", unescaped)):
        raise BadPattern("must have no alternatives in braces: give one pattern for each; a \\ makes a brace literal")
    if any(name.count("*") > MOST_STARS for name in unescaped.split("/")):
        raise BadPattern(f"must have at most {MOST_STARS} * between two slashes")
    try:
        parsed = compile_list(pattern)
    except BadPattern:
        parsed = ()
    if len(parsed) != 1 or parsed[0].glob is None:
        raise BadPattern("must be a pattern as in a .gitignore that can match a path")
    _check_steps(parsed[0].glob)


def _check_steps(glob: Glob) -> None:
    sets = [step for step in glob if isinstance(step, CharacterSet)]
    if any(each.has_reversed_range for each in sets):
        raise BadPattern("must have no range in brackets that ends before it begins")
    if any(each.only_character == "/" for each in sets):
        raise BadPattern("must have no set of / alone, which matches no character of a name")
    if any(name in {".", ".."} for name in "".join(map(_letters, glob)).split("/")):
        raise BadPattern("must be relative to the root of the repository, without . and .. as names")
    if _count_wild_steps(glob) > MOST_WILDCARDS:
        raise BadPattern(f"must have at most {MOST_WILDCARDS} wildcards")


def _letters(step: str | Step | CharacterSet) -> str:
    """Return the characters always matched by a step; NUL for others."""
    if isinstance(step, str):
        return step
    if isinstance(step, CharacterSet):
        return step.only_character or "\0"
    return "\0/" if step is Step.FOLDERS else "\0"


def count_wildcards(lines: Iterable[str]) -> int:
    """Count the wildcards in checked patterns; `**` counts once."""
    return sum(_count_wild_steps(each.glob or ()) for line in lines for each in compile_list(line))


def _count_wild_steps(glob: Glob) -> int:
    return sum(not isinstance(step, str) for step in glob)


@lru_cache(maxsize=1 << 14)
def compile_list(lines: str) -> tuple[Pattern, ...]:
    """Return the patterns of a list, one per line."""
    return parse_patterns(lines.split("\n"))


def count_names(pattern: str) -> int:
    """Return a pattern's specificity: the number of names without a wildcard."""
    return sum(bool(name) and not _WILD.search(name) for name in pattern.split("/"))
