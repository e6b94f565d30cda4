"""Decisions governing files, and decisions acknowledged by commits."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol

from cognition_engines.kinds.decisions import asked_names, file_names, has_path, number_in
from cognition_engines.path_anchors import anchor_of, by_anchor
from cognition_engines.path_patterns import compile_list
from cognition_engines.path_sets import PathSet

_BATCH: Final = 256  # files of a question


class TooMany(Exception):
    """More decisions govern a file than an answer may hold."""


@dataclass(frozen=True, slots=True)
class Governed:
    """A decision, its matching patterns, and the matched files; `proposed` if not decided yet.

    `path` is the decision's own file from the repository root, None for an agent's decision.
    """

    id: str
    title: str
    status: str | None
    date: datetime | None
    matched: Sequence[str]
    files: Sequence[str]
    path: str | None
    proposed: bool = False
    acknowledged: bool = False

    @property
    def number(self) -> str | None:
        """Return the number in the name of the decision's file, as written; None without a number."""
        return None if self.path is None else number_in(self.path)


@dataclass(frozen=True, slots=True)
class StatedPatterns:
    """A decision in force, the stated paths, and the decision's own file."""

    id: str
    title: str
    patterns: Sequence[str]
    path: str | None


class DecisionSource(Protocol):
    """A server or a data folder. Questions raise CstpError, Unreachable or ComponentFailed without an answer."""

    def govern(self, files: Sequence[str]) -> tuple[Sequence[Governed], int]:
        """Return the decisions governing at most 256 files, and the number of decisions without room in the answer."""
        ...

    def stated(self) -> Iterator[StatedPatterns]:
        """Yield the decisions in force with stated paths."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """The number of checked files, and the governing decisions: in force, and proposals.

    `unmatched` are acknowledgements that name none of them, or a number that several have.
    """

    checked: int
    governing: Sequence[Governed]
    proposals: Sequence[Governed]
    unmatched: Sequence[str] = ()

    @property
    def missing(self) -> Sequence[Governed]:
        return [one for one in self.governing if not one.acknowledged]


def check_files(
    source: DecisionSource, files: Sequence[str], named: Collection[str], changed: Collection[str]
) -> Verdict:
    """Return the governing decisions; `named` are commit trailers, `changed` the files changed by these commits.

    Raise TooMany, and the source's errors.
    """
    found: dict[str, Governed] = {}
    for start in range(0, len(files), _BATCH):
        for one in _ask(source, files[start : start + _BATCH]):
            known = found.get(one.id)
            found[one.id] = one if known is None else _joined(known, one)
    ids = _ids_by_name(named, found.values())
    acknowledged = {id for its in ids.values() for id in its}
    judged = [replace(one, acknowledged=one.id in acknowledged or one.path in changed) for one in found.values()]
    return Verdict(
        len(files),
        [one for one in judged if not one.proposed],
        [one for one in judged if one.proposed],
        [name for name, its in ids.items() if not its],
    )


def _ask(source: DecisionSource, files: Sequence[str]) -> Iterable[Governed]:
    """Return the governing decisions; ask about fewer files at a time if an answer lacks room."""
    found, omitted = source.govern(files)
    if not omitted:
        return found
    if len(files) == 1:
        raise TooMany(f"{files[0]}: {omitted} of its decisions have no room in an answer; narrow their patterns")
    half = len(files) // 2
    return [*_ask(source, files[:half]), *_ask(source, files[half:])]


def _joined(one: Governed, other: Governed) -> Governed:
    matched = tuple(dict.fromkeys([*one.matched, *other.matched]))
    return replace(one, matched=matched, files=tuple(dict.fromkeys([*one.files, *other.files])))


def _ids_by_name(named: Iterable[str], found: Iterable[Governed]) -> dict[str, Sequence[str]]:
    """Return the ids of the decisions that each trailer means, by id, path, or a number that only one decision has."""
    by_name = defaultdict[str | None, list[Governed]](list)
    for one in found:
        for name in {one.id, one.path, *file_names(one.path or "")}:
            by_name[name].append(one)
    ids: dict[str, Sequence[str]] = {}
    for written in sorted(named):
        groups = [
            [one for one in by_name.get(name, ()) if has_path(one.path or "", written)] for name in asked_names(written)
        ]
        called = next(filter(None, groups), [])
        ids[written] = [one.id for one in by_name.get(written) or (called if len(called) == 1 else ())]
    return ids


def stale_patterns(source: DecisionSource, tracked: Sequence[str]) -> Iterator[StatedPatterns]:
    """Yield the decisions of this repository and of agents, with patterns matching no tracked file."""
    files, known = by_anchor(tracked), frozenset(tracked)
    for one in source.stated():
        if one.path is None or one.path in known:
            lacking = [pattern for pattern in one.patterns if not _matches(pattern, files)]
            if lacking:
                yield replace(one, patterns=lacking)


def _matches(pattern: str, files: dict[str, list[str]]) -> bool:
    """Return whether a pattern chooses a tracked file, or begins with `!` and so chooses none."""
    possible, parsed = files.get(anchor_of(pattern), []), compile_list(pattern)
    batches = (PathSet(possible[start : start + _BATCH]) for start in range(0, len(possible), _BATCH))
    return pattern.startswith("!") or any(batch.chooses_any(parsed) for batch in batches)
