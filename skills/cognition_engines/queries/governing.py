"""The decisions governing files: in force, proposed and past, the most specific first."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import numpy as np

from cognition_engines.indexes.columns.listing import ATTEMPTS, Listing
from cognition_engines.indexes.columns.matching import accepts
from cognition_engines.indexes.columns.path_index import GOVERNS
from cognition_engines.indexes.columns.snapshot import Ints, Snapshot
from cognition_engines.kinds.affects import PATHS, endings_of, matched_parts, named_paths, specificity
from cognition_engines.kinds.decisions import UNDECIDED
from cognition_engines.models import Conditions, Decision, HasAny, Not, Viewer, governing, microseconds, one_of
from cognition_engines.path_sets import PathSet
from cognition_engines.store.reads.by_key import STRICT, RowReader
from cognition_engines.store.record_reads import RecordReads
from cognition_engines.store.values import StoredRecord
from cognition_engines.wanted import Wanted, always, check_wanted

MOST_OF_GROUP: Final = 500  # read decisions of a group
_NAMED: Final = ("package", "api", "data")  # the named parts without a pattern


def of_repository(name: str | None) -> Conditions:
    """Return the condition that a decision is in a file of the repository, or in none; no condition for None."""
    return one_of("repository", None if name is None else ("", name))


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """Files relative to the root of their repository, and names of packages, interfaces and data.

    With `repository`, decisions in files of other repositories are left out; with `project`, those of other projects.
    """

    files: tuple[str, ...]
    viewer: Viewer = Viewer()
    repository: str | None = None
    project: str | None = None
    packages: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Return the texts of the parts with a given name."""
        return tuple(f"{type}:{name}" for type in _NAMED for name in self.packages)

    def conditions(self) -> Conditions:
        named = self.named
        either = (Not((Not(governing(self.files)), Not((HasAny(GOVERNS, named),)))),)
        return (*(either if named else governing(self.files)), *self.common())

    def mentioning(self) -> Conditions:
        """Return the condition for texts naming one of the files."""
        endings = dict.fromkeys(ending for file in self.files for ending in endings_of(file))
        return (HasAny("mentions", tuple(endings)), *self.common())

    def common(self) -> Conditions:
        """Return the conditions of all groups, on the project and the repository."""
        return (*one_of("project", self.project), *of_repository(self.repository))


@dataclass(frozen=True, slots=True)
class GoverningDecision:
    """A decision, the texts of the matching parts, the files, and, if read, the successors' ids.

    A text is the part's type, a colon, and the part's pattern or name; the most specific text comes first.
    """

    stored: StoredRecord
    matched: tuple[str, ...]
    files: tuple[str, ...]
    superseded_by: tuple[str, ...] = ()

    @property
    def decision(self) -> Decision:
        assert isinstance(self.stored.record, Decision)
        return self.stored.record


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """The decisions in force, the proposed and the past decisions, and how many more of them were not read.

    `mentions` govern none of the files, and name a file in their text, the newest first; `matched` are these names.
    """

    governing: Sequence[GoverningDecision]
    proposals: Sequence[GoverningDecision]
    history: Sequence[GoverningDecision]
    mentions: Sequence[GoverningDecision]
    unread: int = 0


def read_context(
    listing: Listing,
    records: RecordReads,
    request: ContextRequest,
    now: datetime,
    wanted: Wanted = always,
    rows: RowReader = STRICT,
) -> DecisionContext:
    """Return the decisions governing the files at a moment, each group by specificity, then the newest first.

    Successors are not read. Raise NotWanted if no caller waits any more.
    """
    conditions = request.conditions()
    for _ in range(ATTEMPTS):
        state = listing.follow()
        mask = state.snapshot.mask(conditions, request.viewer, wanted)
        named = state.snapshot.mask(request.mentioning(), request.viewer) & ~mask
        best = _most_specific(state.snapshot, state.order[mask[state.order]], request, wanted)
        groups = [*_groups(state.snapshot, best, microseconds(now)), state.order[named[state.order]]]
        shown = np.concatenate([group[:MOST_OF_GROUP] for group in groups])
        keys: list[int] = state.snapshot.keys[shown].tolist()
        found = records.reads.by_keys(keys, request.viewer, rows=rows) if keys else {}
        seqs = [found[key].seq if key in found else None for key in keys]
        if seqs == state.snapshot.seqs[shown].tolist():
            break
    read = [
        [found[key] for key in state.snapshot.keys[group[:MOST_OF_GROUP]].tolist() if key in found] for group in groups
    ]
    files = PathSet(request.files)
    current, proposals, history = (
        _each(rows, group, partial(_governing, files=files, request=request, wanted=wanted)) for group in read[:3]
    )
    for each in (current, proposals, history):
        each.sort(key=lambda one: -max(map(specificity, one.matched), default=0))
    mentions = _each(rows, read[3], partial(_mentioning, request=request))
    unread = sum(max(0, len(group) - MOST_OF_GROUP) for group in groups) + len(rows.left_out)
    return DecisionContext(current, proposals, history, mentions, unread)


def _each(
    rows: RowReader, found: Iterable[StoredRecord], make: Callable[[StoredRecord], Sequence[GoverningDecision]]
) -> list[GoverningDecision]:
    """Return the results of `make` for each record, without those for which it raises."""
    made = (rows.attempt(one, partial(make, one)) for one in found)
    return [one for each in made for one in each or ()]


def _governing(
    stored: StoredRecord, files: PathSet, request: ContextRequest, wanted: Wanted
) -> Sequence[GoverningDecision]:
    """Return the record if it meets the conditions of the request: it may have changed since it was found."""
    check_wanted(wanted, "the decisions that govern files")
    assert isinstance(stored.record, Decision)
    matched, chosen = matched_parts(stored.record.affects, files, request.packages, wanted)
    fits = matched and accepts(request.common(), stored)
    return [GoverningDecision(stored, matched, chosen)] if fits else []


def _mentioning(stored: StoredRecord, request: ContextRequest) -> Sequence[GoverningDecision]:
    """Return the record if the text still has one of the names."""
    if not accepts(request.mentioning(), stored):
        return []
    files = request.files
    assert isinstance(stored.record, Decision)
    named = {name: f"{PATHS}{name}" for name in named_paths(stored.record)}
    found = [(file, [named[each] for each in endings_of(file) if each in named]) for file in files]
    matched = dict.fromkeys(name for _, names in found for name in names)
    return [GoverningDecision(stored, tuple(matched), tuple(dict.fromkeys(file for file, names in found if names)))]


def _most_specific(snapshot: Snapshot, rows: Ints, request: ContextRequest, wanted: Wanted) -> Ints:
    """Return the rows, those with the most specific pattern first, else in their order."""
    ranks = np.zeros(len(snapshot.keys), np.int64)
    for text in (*snapshot.governing(request.files, wanted), *request.named):
        held = snapshot.rows_holding(GOVERNS, text)
        ranks[held] = np.maximum(ranks[held], specificity(text))
    return rows[np.argsort(-ranks[rows], kind="stable")]


def _groups(snapshot: Snapshot, rows: Ints, now: int) -> Iterator[Ints]:
    """Yield the rows in force, then the undecided rows, then the past rows."""
    codes = [code for text, code in snapshot.codes["status"].items() if text in UNDECIDED]
    past = snapshot.numbers["until"][rows] <= now
    open_ = ~past & np.isin(snapshot.labels["status"][rows], codes)
    yield rows[~past & ~open_]
    yield rows[open_]
    yield rows[past]
