"""Dates of files from git: of the first commit that has a file, under its present or an earlier name."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from typing import Final

from cognition_engines.git_program import GitFailed, run_git
from cognition_engines.ingest.detect import MARKDOWN, PLAIN
from cognition_engines.ingest.formats.converted import FORMATS, WRITTEN_AS_TEXT
from cognition_engines.ingest.items import Item, RecordDraft
from cognition_engines.ingest.moved_files import RunFile
from cognition_engines.models import Decision, Problem

_SUFFIXES: Final = sorted(MARKDOWN | PLAIN | {end for end, format in FORMATS.items() if format in WRITTEN_AS_TEXT})
_LOG: Final = (
    *("log", "--reverse", "--topo-order", "--no-merges", "--name-status", "-z", "--format=%at %D"),
    *("-M", "-l1000", "--diff-filter=AR", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"),
    *("--decorate=full", "--ignore-missing", "HEAD"),  # without a commit, HEAD is missing
    *("--", *(f":(icase)*{suffix}" for suffix in _SUFFIXES)),
)
_KEPT: Final = ("PATH", "HOME", "XDG_CONFIG_HOME")  # variables; GIT_DIR and the like would name another repository
_LATEST: Final = 7_258_118_400  # the year 2200
_DIGITS: Final = 10
_NO_CHECKOUT: Final = "not a git repository"  # in the message for a `.git` that git does not take
_Dates = Mapping[str, datetime | None]  # by path


class FirstCommits:
    """The dates of a run's decisions without a stated date. Git is asked once for each checkout that has any."""

    def __init__(self, warnings: list[Problem]) -> None:
        self._warnings = warnings
        self._found: dict[Path, _Dates] = {}  # by checkout

    def add_dates(self, items: Iterator[tuple[Item, int]], file: RunFile) -> Iterator[tuple[Item, int]]:
        """Yield a file's items with their positions; a decision that is its whole file has a date if git knows one."""
        for item, position in items:
            yield self._with_date(item, file), position

    def _with_date(self, item: Item, file: RunFile) -> Item:
        root = file.place.root
        if not isinstance(item, RecordDraft) or not isinstance(item.record, Decision) or not item.of_file:
            return item
        if item.record.date is not None or root is None or not file.place.history:
            return item
        if root not in self._found:
            self._found[root] = self._read(root)
        path = Path(os.path.realpath(file.path.parent), file.path.name)  # that of the place may be of a former folder
        date = self._found[root].get(path.relative_to(root).as_posix()) if path.is_relative_to(root) else None
        return item if date is None else replace(item, record=replace(item.record, date=date, date_source="git"))

    def _read(self, root: Path) -> _Dates:
        if which("git") is None:
            return {}
        variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
        variables |= {"LC_ALL": "C", "GIT_CEILING_DIRECTORIES": str(root.parent)}
        try:
            return _dates_in(run_git(root, *_LOG, environment=variables))
        except GitFailed as error:
            if _NO_CHECKOUT not in str(error):
                self._warnings.append(Problem(str(root), None, f"no dates of first commits are known: {error}"))
            return {}


def _dates_in(log: bytes) -> _Dates:
    """Return the date of each file in a log from the first commit on; None if the history of a clone ends there."""
    found: dict[str, datetime | None] = {}
    date: datetime | None = None
    words = iter(log.split(b"\0"))
    for word in words:
        kind = word.lstrip(b"\n")
        if kind == b"A":
            found.setdefault(os.fsdecode(next(words, b"")), date)
        elif kind[:1] == b"R":
            old, new = os.fsdecode(next(words, b"")), os.fsdecode(next(words, b""))
            found[new] = found.pop(old, date)
        elif kind:
            seconds, _, names = kind.partition(b" ")
            date = None if b"grafted" in names.split(b", ") else _date(seconds)
    return found


def _date(seconds: bytes) -> datetime | None:
    """Return an author's date; None for a broken one."""
    is_date = seconds.isdigit() and len(seconds) <= _DIGITS and 0 < int(seconds) < _LATEST
    return datetime.fromtimestamp(int(seconds), UTC) if is_date else None
