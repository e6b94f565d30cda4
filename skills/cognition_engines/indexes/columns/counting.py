"""How many of the rows that a mask accepts have each label, or each member of a set: the most frequent ones first."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from cognition_engines.indexes.columns.snapshot import Bools, Snapshot

Counts: TypeAlias = list[tuple[str, int]]


def count_labels(snapshot: Snapshot, mask: Bools, name: str, most: int) -> Counts:
    """Return the `most` frequent values of a label with their numbers, ties by name."""
    # ABSENT is -1, and so the first place
    counts = np.bincount(snapshot.labels[name][mask].astype(np.int64) + 1)[1:].tolist()
    texts = list(snapshot.codes[name])  # in the order of their codes; the dictionary may have grown since
    return _most_frequent([(texts[code], count) for code, count in enumerate(counts) if count], most)


def count_members(snapshot: Snapshot, mask: Bools, name: str, most: int) -> Counts:
    """Return the `most` frequent members of a set with their numbers, ties by name."""
    postings = snapshot.postings[name]
    found = []
    for member in list(postings):
        rows = postings[member]
        known = rows[: bisect_left(rows, len(mask))]
        if count := int(np.count_nonzero(mask[np.frombuffer(known, np.int32)])):  # type: ignore[call-overload]
            found.append((str(member), count))
    return _most_frequent(found, most)


def _most_frequent(found: Sequence[tuple[str, int]], most: int) -> Counts:
    return sorted(found, key=lambda one: (-one[1], one[0]))[:most]
