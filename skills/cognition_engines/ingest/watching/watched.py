"""Folders and files that are kept in step: which files changed since they were last read."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR
from threading import Event
from time import monotonic
from typing import Final, TypeAlias

from watchfiles import watch

from cognition_engines.ingest.discover import may_be_listed, walk
from cognition_engines.ingest.options import Options, Selection, Summary

# What changes when a file is written: its size in bytes, when it was (ns), and its inode.
FileState: TypeAlias = tuple[int, int, int]
States: TypeAlias = Mapping[Path, FileState]
Places: TypeAlias = tuple[tuple[str, int], ...]  # paths with their inodes
Run: TypeAlias = Callable[[Options], Summary]
_NONE: Final[States] = {}
_STEP_MS: Final = 500
_AWAY_SECONDS: Final = 2.0  # between two looks for a path that is away


class WatchedPaths:
    """Absolute paths that are read whole at first, and then what changed since. `options` are those of each run."""

    def __init__(self, paths: Sequence[Path], options: Options) -> None:
        self._paths = paths
        self._options = options
        self._states: States | None = None

    def read_changes(self, run: Run) -> Summary | None:
        """Reads what changed, with `run`; None when nothing did.

        Raises FileNotFoundError when one of the paths is away, which is an outage and no reason to delete its records,
        OSError, and what `run` raises; then the same is read again the next time.
        """
        found = file_states(self._paths, self._options.selection)
        if found == self._states:
            return None
        before = _NONE if self._states is None else self._states
        only = frozenset(path for path, state in found.items() if before.get(path) != state)
        selection = self._options.selection if self._states is None else replace(self._options.selection, only=only)
        summary = run(replace(self._options, selection=selection))
        self._states = found  # what changed since it was looked at differs again
        return summary


class ChangeEvents:
    """Wakes what reads the paths when something below them is written, and now and then, as for network drives.

    An event says only that it is time to look. `seconds` are the longest wait.
    """

    def __init__(self, paths: Sequence[Path], stop: Event, seconds: float) -> None:
        self._paths = paths
        self._stop = stop
        self._seconds = seconds
        self._events: Iterator[Set[object]] | None = None
        self._places: Places = ()

    def wait(self) -> None:
        """Until something was written, the time is over, or `stop` is set.

        At once where no event was waited for before: what was written until now has none.
        """
        until = monotonic() + self._seconds
        try:
            places = tuple(place for path in self._paths for place in _places_of(path))
            if self._events is None or places != self._places:
                self._events, self._places = self._begun([path for path, _ in places]), places
                until = 0.0
            while not next(self._events) and monotonic() < until:
                pass
        except (OSError, StopIteration):
            self._events = None
            self._stop.wait(min(self._seconds, _AWAY_SECONDS))

    def _begun(self, places: Sequence[str]) -> Iterator[Set[object]]:
        timeout = max(1, min(_STEP_MS, round(self._seconds * 1000)))
        return watch(
            *places,
            stop_event=self._stop,
            raise_interrupt=False,
            rust_timeout=timeout,
            yield_on_timeout=True,
            recursive=False,  # the library would follow links
        )


def _places_of(path: Path) -> Iterator[tuple[str, int]]:
    """Yield a file, or a folder with all below it that a walk may list, each with its inode. Raises OSError.

    An editor puts another file in place of one, and a path that is away may come back: the inode differs then.
    """
    yield str(path), path.stat().st_ino
    for parent, names, _ in os.walk(path):
        names[:] = (name for name in names if may_be_listed(name))
        for name in names:
            found = os.lstat(os.path.join(parent, name))
            if S_ISDIR(found.st_mode):
                yield os.path.join(parent, name), found.st_ino


def file_states(paths: Sequence[Path], selection: Selection) -> States:
    """Of each file that a run over the paths would read. Raises FileNotFoundError, OSError, BadPattern."""
    found: dict[Path, FileState] = {}
    for path in paths:
        if path.is_dir():
            found |= {file.path: (file.size, file.modified, file.inode) for file in walk(path, selection).files}
        else:
            state = path.stat()
            found[path] = state.st_size, state.st_mtime_ns, state.st_ino
    return found
