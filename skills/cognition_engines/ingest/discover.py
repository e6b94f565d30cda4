"""The files of a run: files in folders that may have records, unless a pattern excludes them; counts of the others."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import ESTALE
from pathlib import Path
from typing import Final

from cognition_engines.ingest.detect import SUFFIXES
from cognition_engines.ingest.formats.converted import FORMATS
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.moved_files import KnownFiles, RunFile
from cognition_engines.ingest.options import ALL_FILES, Options, Selection
from cognition_engines.ingest.report import Tally, is_gone
from cognition_engines.ingest.repository import Places
from cognition_engines.models import Problem
from cognition_engines.open_file import NotAFile, kind_of_place, open_in
from cognition_engines.path_patterns import BadPattern, Pattern, parse_patterns
from cognition_engines.path_sets import includes, last_match

_LEFT_OUT: Final = frozenset({"node_modules", "venv", "__pycache__"})
IGNORE_FILE: Final = ".cstpignore"
_LARGEST_IGNORE: Final = 250_000  # bytes of such a file
_MOST_IN_FORCE: Final = 2_000  # patterns of all folders of a path together
LINK: Final = "link"  # under which links to anything are counted


@dataclass(frozen=True, slots=True)
class _Rules:
    """A folder's patterns, at the path `base` below the given folder, "" for the given folder."""

    base: str
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class _Filter:
    """The exclusions of a walk in a folder: patterns of the run, and of the folder and its parents.

    Paths are POSIX, relative to the named folder; a folder's path ends with a slash.
    """

    include: tuple[Pattern, ...] | None
    exclude: tuple[Pattern, ...]
    rules: tuple[_Rules, ...] = ()

    def with_folder(self, base: str, lines: Sequence[str]) -> "_Filter":
        """Return the filter with the patterns of a further folder added. Raise BadPattern."""
        rules = (*self.rules, _Rules(base, parse_patterns(lines)))
        if sum(len(each.patterns) for each in rules) > _MOST_IN_FORCE:
            raise BadPattern(f"with those of the folders above it has more than {_MOST_IN_FORCE:,} patterns")
        return _Filter(self.include, self.exclude, rules)

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


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with size in bytes, and the values that change when it is written: time (ns) and inode."""

    path: Path
    size: int
    modified: int
    inode: int


@dataclass(slots=True)
class Walked:
    """A folder's files, in path order.

    `refused` are folders that cannot be listed, `warnings` links, pipes and devices among the files, `skipped` the
    numbers of other files by extension ("" without an extension), `ignored` the number of files and folders excluded by
    patterns.
    """

    files: list[FoundFile] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to list, by its path and the path relative to the named folder, ending with a slash.

    `identity` is the folder's device and inode as found: another folder in its place, or a link, is not read.
    """

    path: str
    base: str
    filter: _Filter
    identity: tuple[int, int] | None = None  # None for the named folder


def walk(folder: Path, selection: Selection = ALL_FILES) -> Walked:
    """Return every file below the folder whose extension may hold records, unless a pattern excludes the file.

    Hidden files and folders, `node_modules` and virtual environments are left out and not counted. No link is followed.
    A folder whose `.cstpignore` is no list of patterns is refused. Raise BadPattern for a pattern of `selection`.
    """
    any_extension = selection.any_extension and bool(selection.include)
    found = Walked()
    waiting: list[_Folder | FoundFile] = [_Folder(str(folder), "", _filter_of(selection))]  # the last comes next
    while waiting:
        current = waiting.pop()
        if isinstance(current, _Folder):
            waiting += reversed(_list(current, found, any_extension=any_extension))
        elif selection.only is None or current.path in selection.only:
            found.files.append(current)
    return found


def _filter_of(selection: Selection) -> _Filter:
    """Return the filter of a run. Raise BadPattern."""
    include = parse_patterns(selection.include) if selection.include else None
    return _Filter(include, parse_patterns(selection.exclude))


def _patterns_in(folder: int) -> list[str]:
    """Return the lines of the ignore file of a folder, which is open as this descriptor; none without a regular file.

    Raise OSError, and BadPattern if it is no text in UTF-8 or too large.
    """
    try:
        with open_in(folder, IGNORE_FILE) as opened:
            content = opened.read(_LARGEST_IGNORE + 1)
    except (FileNotFoundError, NotAFile):
        return []
    if len(content) > _LARGEST_IGNORE:
        raise BadPattern(f"it has more than {_LARGEST_IGNORE:,} bytes")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")  # no other mark ends a line in git
    except UnicodeDecodeError:
        raise BadPattern("the encoding must be UTF-8") from None


def may_be_listed(name: str) -> bool:
    """Return whether to list a folder of this name."""
    return name not in _LEFT_OUT and not name.startswith(".")


def _list(folder: _Folder, found: Walked, *, any_extension: bool) -> list[_Folder | FoundFile]:
    """Return the folders to list and the files to read in a folder, in name order; note other entries."""
    try:
        with _open_folder(folder) as descriptor:
            patterns = _patterns_in(descriptor)
            chosen = folder.filter.with_folder(folder.base, patterns) if patterns else folder.filter
            with os.scandir(descriptor) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
            shown = [entry for entry in listed if not entry.name.startswith(".")]
            inner = [_look(entry, folder, chosen, found, any_extension) for entry in shown]
    except BadPattern as error:
        place = str(Path(folder.path, IGNORE_FILE))
        found.refused.append(Problem(place, None, f"{error}; the folder is not read"))
        return []
    except OSError as error:
        found.refused.append(Problem(folder.path, None, f"the folder cannot be read: {error.strerror}"))
        return []
    return [each for each in inner if each is not None]


@contextmanager
def _open_folder(folder: _Folder) -> Iterator[int]:
    """Yield a descriptor of the folder. Raise OSError, also if another file has replaced it."""
    named = folder.identity is None
    descriptor = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if named else os.O_NOFOLLOW))
    try:
        found = os.fstat(descriptor)
        if not named and folder.identity != (found.st_dev, found.st_ino):
            raise OSError(ESTALE, "another one stands in its place")
        yield descriptor
    finally:
        os.close(descriptor)


def _look(
    entry: os.DirEntry[str], within: _Folder, chosen: _Filter, found: Walked, any_extension: bool
) -> _Folder | FoundFile | None:
    """Return a folder to list, or a file to read; note anything else."""
    name, path = f"{within.base}{entry.name}", os.path.join(within.path, entry.name)
    if entry.is_dir(follow_symlinks=False):
        if not may_be_listed(entry.name):
            return None
        if chosen.leaves_out(f"{name}/"):
            found.ignored += 1
            return None
        identity = entry.stat(follow_symlinks=False)
        return _Folder(path, f"{name}/", chosen, (identity.st_dev, identity.st_ino))
    suffix = Path(entry.name).suffix.lower()
    if suffix not in SUFFIXES and (not any_extension or entry.is_symlink() or chosen.leaves_out(name)):
        found.skipped[LINK if entry.is_symlink() else suffix] += 1
        return None
    if chosen.leaves_out(name):
        found.ignored += 1
        return None
    stat = entry.stat(follow_symlinks=False)
    if (reason := kind_of_place(stat.st_mode)) is not None:
        found.warnings.append(Problem(path, None, reason))
        return None
    return FoundFile(Path(path), stat.st_size, stat.st_mtime_ns, stat.st_ino)


def files_of(
    paths: Iterable[Path],
    options: Options,
    places: Places,
    known: KnownFiles,
    tally: Tally,
    formats: FormatReader | None,
) -> list[RunFile]:
    """Return the files to read, each once; note other content of folders in the tally. Raise FileNotFoundError."""
    paths = [Path(os.path.abspath(path)) for path in paths]
    selection = options.selection
    for path in paths:
        if not (options.gone or os.path.lexists(path)):
            raise FileNotFoundError(path)
    found: dict[Path, RunFile] = {}
    left: set[Path] = set()  # whose format cannot be read
    for path in paths:
        if options.gone and is_gone(path):
            continue
        if not path.is_dir():
            if selection.only is None or path in selection.only:
                found.setdefault(path, RunFile(path, known.place_of(places.of(path, path)), None, _size(path)))
            continue
        walked = walk(path, selection)
        tally.skipped.update(walked.skipped)
        tally.ignored += walked.ignored
        tally.warnings += walked.warnings
        tally.rejected += walked.refused
        tally.unlisted = tally.unlisted or bool(walked.refused)
        for file in walked.files:
            if file.path.suffix.lower() in FORMATS and (formats is None or formats.leave(str(file.path))):
                left.add(file.path)
                continue
            place = known.place_of(places.of(file.path, path))
            found.setdefault(file.path, RunFile(file.path, place, path, file.size))
    tally.skipped.update(path.suffix.lower() for path in left)
    return list(found.values())


def _size(path: Path) -> int:
    """Return the size in bytes; 0 for a broken link."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
