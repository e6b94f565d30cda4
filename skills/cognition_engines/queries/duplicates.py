"""Decisions that say nearly the same as one that is being recorded."""

from typing import Final

from cognition_engines.indexes.columns.snapshot import Floats
from cognition_engines.indexes.indexes import Indexes
from cognition_engines.models import Viewer
from cognition_engines.retrieval.legs import semantic_leg
from cognition_engines.spaces import DECISIONS

MOST: Final = 3
NEAR: Final = 0.12  # cosine distance


def nearest_decisions(indexes: Indexes, vector: Floats, viewer: Viewer) -> dict[int, float]:
    """The keys of at most MOST decisions that the viewer sees and that are nearer than NEAR, with their distances."""
    index = indexes[DECISIONS]
    snapshot = index.snapshot
    mask = snapshot.mask((), viewer)
    ranked = semantic_leg(snapshot, mask, vector, MOST, index.vectors, viewer)
    return {
        int(snapshot.keys[row]): 1.0 - cosine
        for row, cosine in zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True)
        if 1.0 - cosine <= NEAR
    }
