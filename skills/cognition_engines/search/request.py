"""Search requests: the spaces and their ranking, and the resulting hits. Frozen values."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from cognition_engines.indexes.columns.snapshot import Floats
from cognition_engines.models import Conditions, Mode, Viewer
from cognition_engines.search.candidates import Hit, SpaceCandidates
from cognition_engines.search.explanations import Explanation
from cognition_engines.search.snippets import Window
from cognition_engines.spaces import Space
from cognition_engines.store.values import StoredRecord


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The records of a space allowed in a search."""

    space: Space
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class Ranking:
    """Rules by which search candidates become a single order.

    With `groups` an artifact and its chunks are a single hit, and legs find more until there are enough. With
    `calibrated` a record's score does not depend on other candidates. With `rewrites` signals may change the embedded
    question. With `for_choice` there are up to twice the limit of hits, without distances by words alone, and by words
    alone each matching row is a candidate.
    """

    groups: bool = False
    calibrated: bool = False
    rewrites: bool = False
    for_choice: bool = False


BY_SPACE: Final = Ranking()
CALIBRATED: Final = Ranking(groups=True, calibrated=True)
RECALLED: Final = Ranking(groups=True, rewrites=True, for_choice=True)


@dataclass(frozen=True, slots=True)
class Query:
    """A search: text, viewer, mode, spaces and number of hits.

    With `abstain` a search by meaning fails with NoGoodMatch if nothing is near enough, or if near turns answer for
    others instead of the speaker in question. A time in the text is relative to `as_of`, by default now. The last
    `apart` spaces are ranked apart from the others, with scores on the same scale.
    """

    text: str
    viewer: Viewer
    mode: Mode
    sought: Sequence[SearchScope]
    limit: int
    abstain: bool = False
    as_of: datetime | None = None
    ranking: Ranking = BY_SPACE
    apart: int = 0

    @property
    def sets(self) -> tuple[range, ...]:
        """Return the numbers of spaces ranked together."""
        first = len(self.sought) - self.apart
        return (range(first), range(first, len(self.sought))) if self.ranking.for_choice else (range(first),)


@dataclass(frozen=True, slots=True)
class SearchHits:
    """The hits, best first, in the snapshots of `spaces`; `vector` is the query's, None if there is none.

    `apart` are the hits in the spaces ranked apart.
    """

    spaces: Sequence[SpaceCandidates]
    hits: Sequence[Hit]
    vector: Floats | None
    apart: Sequence[Hit] = ()

    def keys(self) -> list[int]:
        """Return the record's key for each hit."""
        return [int(self.spaces[hit.space].snapshot.keys[hit.row]) for hit in self.hits]

    def windows(self) -> list[Window | None]:
        """Return each hit's nearest window to the query; None if there are no vectors."""
        found: dict[tuple[int, int], Window] = {}
        for number, space in enumerate(self.spaces):
            rows = np.array([hit.row for hit in self.hits if hit.space == number], np.int64)
            vectors, counts = space.snapshot.vectors_of(rows)
            ends = np.cumsum(counts)
            for row, end, count in zip(rows.tolist(), ends.tolist(), counts.tolist(), strict=True):
                if self.vector is not None and count:
                    found[number, row] = Window(int(np.argmax(vectors[end - count : end] @ self.vector)), count)
        return [found.get((hit.space, hit.row)) for hit in self.hits]

    def seqs(self) -> list[int]:
        """Return the found record's `seq`, for each hit: a different `seq` in the store means a change."""
        return [int(self.spaces[hit.space].snapshot.seqs[hit.row]) for hit in self.hits]


@dataclass(frozen=True, slots=True)
class CurrentHit:
    """A found record in its current state. `window` is None if the text no longer matches its vectors.

    `window` and `explanation` are also None if not requested.
    """

    hit: Hit
    stored: StoredRecord
    window: Window | None
    explanation: Explanation | None
