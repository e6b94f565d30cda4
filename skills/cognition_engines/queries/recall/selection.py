"""The records examined by recall's selectors, and the shown part of a ranking: documents, each with its events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from cognition_engines.indexes.columns.snapshot import Bools, Ints, Snapshot
from cognition_engines.kinds.registry import SPECS
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Conditions, OneOf
from cognition_engines.search.candidates import Hit, SpaceCandidates
from cognition_engines.search.fusion import order_hits, record_key
from cognition_engines.spaces import DECISIONS, KNOWLEDGE, MEMORY, Space
from cognition_engines.store.values import StoredRecord

_PLAIN: Final = (Kind.DECISION, Kind.CHUNK, Kind.ARTIFACT_CHUNK, Kind.EVENT, Kind.ARTIFACT, Kind.TURN)
_DOCUMENTS: Final = tuple(kind.label for kind in MEMORY.kinds if kind is not Kind.EVENT)
EVENT_SHARE: Final = 3  # one place in three is for events of the documents


def named_by(id: str) -> list[tuple[Kind, str]]:
    """Return the records possibly denoted by an id, the likeliest first: those with its prefix, then by kind."""
    first = [kind for kind, spec in SPECS.items() if spec.prefix and id.startswith(spec.prefix)]
    return [(kind, id) for kind in dict.fromkeys([*first, *_PLAIN])]


def sought_by_query(
    conditions: Conditions, conversation: str | None, include_events: bool
) -> list[tuple[Space, Conditions]]:
    """Return the spaces searched by a query, with the conditions on their records; events come last.

    For a conversation it is the turns alone.
    """
    said = OneOf(("kind",), _DOCUMENTS)
    if conversation is not None:
        return [(MEMORY, (*conditions, said, OneOf(("conversation_id",), (conversation,))))]
    sought: list[tuple[Space, Conditions]] = [
        (MEMORY, (*conditions, said)),
        (DECISIONS, conditions),
        (KNOWLEDGE, (*conditions, OneOf(("type",), (Kind.CHUNK.label,)))),
    ]
    events = OneOf(("kind",), (Kind.EVENT.label,))
    return [*sought, (MEMORY, (*conditions, events))] if include_events else sought


def embedded_matches(snapshot: Snapshot, mask: Bools) -> int:
    """Return how many records under the mask have a vector, counting an artifact and its chunks as one.

    A chunked artifact without chunks has nothing to be found by.
    """
    return _count_matching(snapshot, mask & (snapshot.counts > 0))


def other_matches(space: SpaceCandidates) -> int:
    """Return how many records without a vector the keyword leg found in addition."""
    snapshot, rows = space.snapshot, space.keyword.rows
    found = 0
    for key in np.unique(groups(snapshot, rows[snapshot.counts[rows] == 0])).tolist():
        chunks = snapshot.children((key,))
        chunks = chunks[is_kind(snapshot, chunks, Kind.ARTIFACT_CHUNK)]
        same = np.concatenate((snapshot.rows_of(np.array([key], np.int64)), chunks))
        found += not (space.mask[same] & (snapshot.counts[same] > 0)).any()
    return found


def worded_matches(space: SpaceCandidates) -> int:
    """Return how many records the keyword leg holds, counting an artifact and its chunks as one."""
    found = np.zeros(len(space.mask), np.bool_)
    found[space.keyword.rows] = True
    return _count_matching(space.snapshot, found)


def _count_matching(snapshot: Snapshot, chosen: Bools) -> int:
    parents = snapshot.numbers["parent"]
    rows = np.flatnonzero(chosen & (parents >= 0))
    rows = rows[is_kind(snapshot, rows, Kind.ARTIFACT_CHUNK)]
    owned = np.zeros(
        int(parents.max(initial=-1)) + 1, np.bool_
    )  # by key: to sort the owners would take ten times as long
    owned[parents[rows]] = True
    owners = np.flatnonzero(owned)
    # chunks count as their artifact, which may be among the chosen itself
    counted = int(np.count_nonzero(chosen[snapshot.rows_of(owners)]))
    return int(np.count_nonzero(chosen)) - len(rows) + len(owners) - counted


def groups(snapshot: Snapshot, rows: Ints) -> Ints:
    """Return the key of each row's artifact if it is a chunk, else its own key."""
    parents = snapshot.numbers["parent"][rows]
    return np.where(is_kind(snapshot, rows, Kind.ARTIFACT_CHUNK) & (parents >= 0), parents, snapshot.keys[rows])


def is_kind(snapshot: Snapshot, rows: Ints, kind: Kind) -> Bools:
    """Return for each row whether it is of a kind."""
    code = snapshot.codes["kind"].get(kind.label)
    if code is None:
        return np.zeros(len(rows), np.bool_)
    same: Bools = snapshot.labels["kind"][rows] == code
    return same


def content_of(stored: StoredRecord) -> str:
    """Return the text of a record as recall shows it. Raise ValueError if recall shows no such record."""
    spec = SPECS[stored.kind]
    if spec.shown_text is None:
        raise ValueError(f"{stored.kind.label}: recall shows no such record")
    return spec.shown_text(stored.record)


def owner_of(stored: StoredRecord) -> int | None:
    """Return the key of the record with an attached event: a turn, an artifact, or a chunk's artifact."""
    if stored.kind in (Kind.ARTIFACT, Kind.TURN):
        return stored.key
    return stored.facets.parent if stored.kind is Kind.ARTIFACT_CHUNK else None


@dataclass(frozen=True, slots=True)
class Selection:
    """Hits best first, and event hits, best first, by the key of the document they belong to."""

    hits: Sequence[Hit]
    events: Mapping[int, Sequence[Hit]]

    @property
    def all_hits(self) -> list[Hit]:
        """Return the hits, then those of events."""
        return [*self.hits, *(event for events in self.events.values() for event in events)]


def select(spaces: Sequence[SpaceCandidates], documents: Sequence[Hit], events: Sequence[Hit], limit: int) -> Selection:
    """Return the best `limit` of two rankings with comparable scores, documents and events together.

    A document has the score of its best event if higher than its own. An event of one of the documents is shown with it
    and never by itself; all such events have a third of the limit, or the places left by the documents. Any other event
    ranks as a document does.
    """
    own = {record_key(spaces[hit.space], hit.row): hit for hit in documents}
    owned = [(owner, event) for event in events if (owner := _parent(spaces[event.space], event)) in own]
    alone = [event for event in events if _parent(spaces[event.space], event) not in own]
    best: dict[int, float] = {}
    for owner, event in owned:
        best.setdefault(owner, event.score)
    lifted = [replace(hit, score=max(hit.score, best.get(key, hit.score))) for key, hit in own.items()]
    ranked = order_hits(spaces, [*lifted, *alone])
    shown = ranked[: limit - min(len(owned), limit // EVENT_SHARE)]
    keys = {record_key(spaces[hit.space], hit.row) for hit in shown}
    attached: dict[int, list[Hit]] = {}
    for owner, event in [pair for pair in owned if pair[0] in keys][: limit - len(shown)]:
        attached.setdefault(owner, []).append(event)
    left = limit - len(shown) - sum(map(len, attached.values()))
    return Selection([*shown, *ranked[len(shown) : len(shown) + left]], attached)


def _parent(space: SpaceCandidates, hit: Hit) -> int:
    """Return the key of the artifact of an event or a chunk; negative without an artifact."""
    return int(space.snapshot.numbers["parent"][hit.row])
