"""Folders and files that are kept in step: which files changed since they were last read."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final, TypeAlias

from watchfiles import watch

from cognition_engines.ingest.discover import walk
from cognition_engines.ingest.options import Options, Selection, Summary

# What changes when a file is written: its size in bytes, when it was (ns), and its inode.
FileState: TypeAlias = tuple[int, int, int]
States: TypeAlias = Mapping[Path, FileState]
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
        self._inodes: list[int] = []  # an editor puts another file in place of one, and what is away may come back

    def wait(self) -> None:
        """Until something was written, the time is over, or `stop` is set.

        At once where no event was waited for before: what was written until now has none.
        """
        until = monotonic() + self._seconds
        try:
            inodes = [path.stat().st_ino for path in self._paths]
            if self._events is None or inodes != self._inodes:
                self._events, self._inodes = self._begun(), inodes
                until = 0.0
            while not next(self._events) and monotonic() < until:
                pass
        except (OSError, StopIteration):
            self._events = None
            self._stop.wait(min(self._seconds, _AWAY_SECONDS))

    def _begun(self) -> Iterator[Set[object]]:
        timeout = max(1, min(_STEP_MS, round(self._seconds * 1000)))
        return watch(
            *self._paths, stop_event=self._stop, raise_interrupt=False, rust_timeout=timeout, yield_on_timeout=True
        )


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
