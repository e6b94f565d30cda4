"""A signal: a reason to rank a record higher, and the search step that checks it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from cognition_engines.indexes.columns.snapshot import Floats, Snapshot
from cognition_engines.kinds.registry import Record
from cognition_engines.models import Conditions, Viewer
from cognition_engines.relevance import Relevance
from cognition_engines.search.candidates import Hit, RowBoost, SpaceCandidates
from cognition_engines.search.query import QueryText
from cognition_engines.set_aside import SetAside
from cognition_engines.store.records import Records


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A signal by name in `explain`.

    `setting` is the field in `Relevance` with the weight, which can switch it off; None if it has none.
    """

    name: str
    setting: str | None = None


@dataclass(frozen=True, slots=True)
class SearchedViews:
    """The searched views for `viewer`: snapshots, each with the conditions on the records.

    A time in the query is relative to `as_of`, None for now.
    """

    views: Sequence[tuple[Snapshot, Conditions]]
    viewer: Viewer
    as_of: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSignal(Signal):
    """A signal in a snapshot's columns: `mark` returns the boost for rows, None if the query asks for none.

    With `rewrites` the boost may have another question to embed. If `counts` returns true, `mark` may count rows, and
    needs a thread.
    """

    mark: Callable[[QueryText, SearchedViews, Relevance], RowBoost | None]
    rewrites: bool = False
    counts: Callable[[QueryText, SearchedViews, Relevance], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSignal(Signal):
    """A signal in the text of one of the best records.

    `share` returns the share of the query's phrases, 0 to 1, in a record and the text to embed, `weigh` the weight for
    a query, and `lift` a score, 0 to 1, with the gain by a weight and a share. With `always` a hit also names a share
    of 0.
    """

    share: Callable[[Sequence[str], Record, str], float]
    weigh: Callable[[QueryText, Relevance], float]
    lift: Callable[[float, float, float], float]
    always: bool = False


@dataclass(frozen=True, slots=True)
class RankedHits:
    """Hits, best first, in some of the spaces, given by their numbers, as seen by order signals.

    `vector` is the vector for hit distances, None if they have none.
    """

    hits: Sequence[Hit]
    spaces: Sequence[SpaceCandidates]
    numbers: Sequence[int]
    vector: Floats | None


@dataclass(frozen=True, slots=True)
class StoredState:
    """The records, read for `viewer`, in force at `as_of`, by default now."""

    records: Records
    set_aside: SetAside
    viewer: Viewer
    as_of: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderSignal(Signal):
    """A signal that puts some hits before others; `reorder` runs in the record pool."""

    reorder: Callable[[QueryText, RankedHits, StoredState], Sequence[Hit]]
