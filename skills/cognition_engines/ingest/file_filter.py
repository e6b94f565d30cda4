"""Which files of a folder are read: patterns as in a `.gitignore`, of a run and of the folders themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from cognition_engines.ingest.options import Selection
from cognition_engines.ingest.parse.patterns import BadPattern, Pattern, parse_patterns
from cognition_engines.open_file import NotAFile, open_in

IGNORE_FILE: Final = ".cstpignore"
_LARGEST: Final = 250_000  # bytes of such a file
_MOST_IN_FORCE: Final = 2_000  # patterns that the folders of a path have together


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
