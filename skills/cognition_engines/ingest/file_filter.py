"""Which files of a folder are read: patterns as in a `.gitignore`, of a run and of the folders themselves."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from cognition_engines.ingest.options import Selection

IGNORE_FILE: Final = ".cstpignore"
_ANYTHING: Final = "."  # what pathspec makes of `*`, and of `*/`
_ANY_FOLDER: Final = "(?P<ps_d>/)"
_LARGEST: Final = 1_000_000  # bytes of such a file
_ALL_WITHIN: Final = re.compile(r"(?<=/\*\*)(?=/?\s*$)")  # the end of `a/**`, which pathspec takes for `a/` itself


class BadPattern(ValueError):
    """A pattern that means nothing; the message gives its 1-based number among its lines, and the pattern."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one folder, which is `base` below the folder that was named, "" for that one."""

    base: str
    spec: GitIgnoreSpec

    def ignores(self, path: str) -> bool | None:
        """None where no pattern says anything of the path, which is relative to the folder that was named."""
        return _ignores(self.spec, path.removeprefix(self.base))


@dataclass(frozen=True, slots=True)
class Filter:
    """What a walk leaves out at one folder: by the patterns of the run, and of the folder and those above it.

    Paths are POSIX, relative to the folder that was named; that of a folder ends with a slash.
    """

    include: GitIgnoreSpec | None
    exclude: GitIgnoreSpec | None
    rules: tuple[_Rules, ...] = ()

    def within(self, base: str, patterns: Sequence[str]) -> "Filter":
        """The same with those of one folder more. Raises BadPattern."""
        return Filter(self.include, self.exclude, (*self.rules, _Rules(base, compiled(patterns))))

    def leaves_out(self, path: str) -> bool:
        """Whether a file or a folder with all in it is not read."""
        if self.exclude is not None and _ignores(self.exclude, path):
            return True
        if self.include is not None and not path.endswith("/") and not self.include.match_file(path):
            return True
        found = (rules.ignores(path) for rules in reversed(self.rules))
        return next((ignored for ignored in found if ignored is not None), False)


def _ignores(spec: GitIgnoreSpec, path: str) -> bool | None:
    """What the last pattern says that matches the path itself; None where none does.

    As in git, one that matches a folder above says nothing here: a walk has asked for that folder before.
    """
    for pattern in reversed(spec.patterns):
        if pattern.include is not None and pattern.regex is not None and _matches(pattern.regex, path):
            return pattern.include
    return None


def _matches(regex: re.Pattern[str], path: str) -> bool:
    """Whether it is this path, and not a folder above, that a pattern stands for."""
    if regex.pattern == _ANY_FOLDER:
        return path.endswith("/")
    return regex.pattern == _ANYTHING or regex.fullmatch(path) is not None


def compiled(patterns: Sequence[str]) -> GitIgnoreSpec:
    """Raises BadPattern."""
    for number, pattern in enumerate(patterns, start=1):
        if "[[:" in pattern:
            raise BadPattern(f"pattern {number} has a class of characters by name, which is not known: {pattern!r}")
        try:
            GitIgnoreSpec.from_lines([pattern])
        except GitIgnorePatternError:
            raise BadPattern(f"pattern {number} is none of a .gitignore: {pattern!r}") from None
    return GitIgnoreSpec.from_lines([_ALL_WITHIN.sub("/*", pattern, count=1) for pattern in patterns])


def filter_of(selection: Selection) -> Filter:
    """Raises BadPattern."""
    return Filter(
        compiled(selection.include) if selection.include else None,
        compiled(selection.exclude) if selection.exclude else None,
    )


def patterns_in(folder: Path) -> list[str]:
    """The lines of the folder's ignore file; none without one.

    Raises OSError, and BadPattern where it is no text in UTF-8 or too large; a link is not followed.
    """
    file = folder / IGNORE_FILE
    if file.is_symlink() or not file.is_file():
        return []
    with file.open("rb") as opened:
        content = opened.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise BadPattern(f"it has more than {_LARGEST:,} bytes")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")  # no other mark ends a line in git
    except UnicodeDecodeError:
        raise BadPattern("the encoding must be UTF-8") from None
