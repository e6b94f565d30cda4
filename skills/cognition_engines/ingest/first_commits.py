"""Dates of files from git: of the first commit that has a file, under its present or an earlier name."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from typing import Final, TypeAlias

from cognition_engines.git_program import GitFailed, run_git
from cognition_engines.ingest.detect import MARKDOWN, PLAIN
from cognition_engines.ingest.formats.converted import FORMATS, WRITTEN_AS_TEXT
from cognition_engines.ingest.items import Item, RecordDraft
from cognition_engines.ingest.moved_files import RunFile
from cognition_engines.models import Decision, Problem

_SUFFIXES: Final = sorted(MARKDOWN | PLAIN | {end for end, format in FORMATS.items() if format in WRITTEN_AS_TEXT})
_LOG: Final = (
    *("log", "--reverse", "--topo-order", "-c", "--combined-all-paths", "--name-status", "-z", "--format=%at %D"),
    *("-M", "-l1000", "--diff-filter=ADR", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"),
    *("--decorate=full", "--ignore-missing", "HEAD"),  # without a commit, HEAD is missing
    *("--", *(f":(icase)*{suffix}" for suffix in _SUFFIXES)),
)
_KEPT: Final = ("PATH", "HOME", "XDG_CONFIG_HOME")  # variables; GIT_DIR and the like would name another repository
_DIGITS: Final = 10  # of seconds, until the year 2286
_Dates: TypeAlias = Mapping[str, datetime | None]  # by path


def add_dates(
    items: Iterator[tuple[Item, int]], file: RunFile, dates_in: Callable[[Path], _Dates]
) -> Iterator[tuple[Item, int]]:
    """Yield a file's items with their positions; a decision that is its whole file has a date if git knows one."""
    root = file.place.root if file.place.history else None
    for item, position in items:
        if root is not None and isinstance(item, RecordDraft) and item.of_file and isinstance(item.record, Decision):
            folder = os.path.realpath(file.path.parent)  # that of the place may be of a former folder
            path = os.path.relpath(Path(folder, file.path.name), root)
            if item.record.date is None and (date := dates_in(root).get(path)) is not None:
                item = replace(item, record=replace(item.record, date=date, date_source="git"))
        yield item, position


def read_dates(warnings: list[Problem], root: Path) -> _Dates:
    """Return the dates of the files in a checkout, for which git is asked once; none with a warning if it fails."""
    if which("git") is None:
        return {}
    variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
    variables |= {"LC_ALL": "C", "GIT_CEILING_DIRECTORIES": str(root.parent)}
    try:
        return _dates_of(run_git(root, *_LOG, environment=variables))
    except GitFailed as error:
        warnings.append(Problem(str(root), None, f"no dates of first commits are known: {error}"))
        return {}


def _dates_of(log: bytes) -> _Dates:
    """Return the date of each file in a log from the first commit on; None if the history of a clone ends there."""
    found: dict[str, datetime | None] = {}
    ended: set[str] = set()  # deleted or renamed names: found again, they have a new date
    date: datetime | None = None
    words = iter(log.split(b"\0"))
    for word in words:
        kind = word.strip()
        if kind[:1] in (b"A", b"D", b"R"):  # with an old name for each parent of a merge, which has a letter for each
            parents = len(kind) if kind.isalpha() and len(kind) > 1 else kind.startswith(b"R")
            *old, name = [os.fsdecode(next(words, b"")) for _ in range(parents + 1)]
            moved = [one for one in old if one != name]
            if kind.startswith(b"D"):
                ended.add(name)
                continue
            if name in ended or name not in found:
                found[name] = found.get(moved[0], date) if moved else date
            ended.update(moved)
            ended.discard(name)
        elif kind:
            seconds, _, names = kind.partition(b" ")
            known = seconds.isdigit() and len(seconds) <= _DIGITS and b"grafted" not in names.split(b", ")
            date = datetime.fromtimestamp(int(seconds), UTC) if known else None
    return found
