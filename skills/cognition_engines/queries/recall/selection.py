"""What of a ranking is shown within a limit: documents first, each with the events that the query found of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cognition_engines.kinds.kind import Kind
from cognition_engines.retrieval.fusion import Hit, Part

EVENT_SHARE: Final = 3  # one place in three is for events of the documents


@dataclass(frozen=True, slots=True)
class Selection:
    """Hits best first, and the hits of events, best first, by the key of the document that each belongs to."""

    hits: Sequence[Hit]
    events: Mapping[int, Sequence[Hit]]

    @property
    def all(self) -> list[Hit]:
        """The hits, then those of events."""
        return [*self.hits, *(event for events in self.events.values() for event in events)]


def select(parts: Sequence[Part], documents: Sequence[Hit], events: Sequence[Hit], limit: int) -> Selection:
    """The best `limit` of two rankings with scores on one scale, documents and events together.

    A document has the score of its best event where that is higher than its own. An event of one of the documents is
    shown with it and never by itself; all such events have a third of the limit, or what the documents leave of it. Any
    other event ranks as a document does.
    """
    own = {document_key(parts[hit.part], hit): hit for hit in documents}
    owned = [(owner, event) for event in events if (owner := _parent(parts[event.part], event)) in own]
    alone = [event for event in events if _parent(parts[event.part], event) not in own]
    best: dict[int, float] = {}
    for owner, event in owned:
        best.setdefault(owner, event.score)
    lifted = [replace(hit, score=max(hit.score, best.get(key, hit.score))) for key, hit in own.items()]
    ranked = sorted([*lifted, *alone], key=lambda hit: (-hit.score, parts[hit.part].snapshot.ids[hit.row]))
    shown = ranked[: limit - min(len(owned), limit // EVENT_SHARE)]
    keys = {document_key(parts[hit.part], hit) for hit in shown}
    attached: dict[int, list[Hit]] = {}
    for owner, event in [pair for pair in owned if pair[0] in keys][: limit - len(shown)]:
        attached.setdefault(owner, []).append(event)
    left = limit - len(shown) - sum(map(len, attached.values()))
    return Selection([*shown, *ranked[len(shown) : len(shown) + left]], attached)


def document_key(part: Part, hit: Hit) -> int:
    """The key of a record, or of the artifact that it is a chunk of."""
    snapshot = part.snapshot
    chunk = snapshot.codes["kind"].get(Kind.ARTIFACT_CHUNK.label)
    parent = _parent(part, hit)
    folded = chunk is not None and snapshot.labels["kind"][hit.row] == chunk and parent >= 0
    return parent if folded else int(snapshot.keys[hit.row])


def _parent(part: Part, hit: Hit) -> int:
    """The key of the artifact of an event or a chunk; negative where there is none."""
    return int(part.snapshot.numbers["parent"][hit.row])
