"""The patterns of a run and of the folders themselves, selecting the files read by a walk."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cognition_engines.ingest.options import Selection
from cognition_engines.open_file import NotAFile, open_in
from cognition_engines.path_patterns import BadPattern, Pattern, parse_patterns
from cognition_engines.path_sets import includes, last_match

IGNORE_FILE: Final = ".cstpignore"
_LARGEST: Final = 250_000  # bytes of such a file
_MOST_IN_FORCE: Final = 2_000  # patterns of all folders of a path together


@dataclass(frozen=True, slots=True)
class _Rules:
    """A folder's patterns, at the path `base` below the given folder, "" for the given folder."""

    base: str
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """The exclusions of a walk in a folder: patterns of the run, and of the folder and its parents.

    Paths are POSIX, relative to the named folder; a folder's path ends with a slash.
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
        if last_match(self.exclude, path, folder=folder):
            return True
        if self.include is not None and not folder and not includes(self.include, path):
            return True
        found = (
            last_match(rules.patterns, path.removeprefix(rules.base), folder=folder) for rules in reversed(self.rules)
        )
        return next((ignored for ignored in found if ignored is not None), False)


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
