"""What a batch must be before anything of it is written."""

from collections.abc import Iterable, Sequence

import numpy as np

from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import NAMESAKES, embedding_text, kind_of, prefixed
from cognition_engines.kinds.spec import MAX_ID
from cognition_engines.store.values import Entry, FloatArray


def check_batch(batch: Sequence[Entry], model: str | None) -> list[tuple[Kind, str]]:
    """The kinds and ids of a batch; raises ValueError as `Records.put` says."""
    names: list[tuple[Kind, str]] = []
    seen: set[tuple[Kind, str]] = set()
    for entry in batch:
        kind, id = kind_of(entry.record), _id(entry)
        # one of those that have their ids in common stands for all
        space = NAMESAKES[0] if kind in NAMESAKES else kind
        if (space, id) in seen:
            raise ValueError(f"id: {id!r} is twice in the batch")
        seen.add((space, id))
        names.append((kind, id))
        _check_entry(entry, id, model)
    if model is not None:
        check_model(model)
    check_vectors([entry.vectors for entry in batch if entry.vectors is not None])
    return names


def _id(entry: Entry) -> str:
    if entry.record.id is None:
        raise ValueError("id: must be settled before a record is stored")
    id, kind = str(entry.record.id), kind_of(entry.record)
    if not 1 <= len(id) <= MAX_ID:
        raise ValueError(f"id: must have 1 to {MAX_ID} characters")
    if prefixed(kind, id) != id:
        raise ValueError(f"id: {id!r} must begin with {prefixed(kind, '')}")
    return id


def _check_entry(entry: Entry, id: str, model: str | None) -> None:
    wanted = model is not None and embedding_text(entry.record) is not None
    if (entry.vectors is not None) is not wanted:
        raise ValueError(f"vectors: {id!r} must have vectors exactly when a model is named and it says something")


def check_model(model: str) -> None:
    """Raises ValueError for a model whose name is too long, or empty."""
    if not 1 <= len(model) <= MAX_ID:
        raise ValueError(f"model: must have 1 to {MAX_ID} characters")


def check_vectors(given: Iterable[FloatArray]) -> None:
    """Raises ValueError unless all are finite float32 of one dimension."""
    dimensions = set()
    for array in given:
        if array.dtype != np.float32 or array.ndim != 2 or 0 in array.shape:
            raise ValueError("vectors: must be float32 of the shape (windows, dimensions), neither of them 0")
        if not np.isfinite(array).all():
            raise ValueError("vectors: must be finite")
        dimensions.add(array.shape[1])
    if len(dimensions) > 1:
        raise ValueError(f"vectors: differ in their dimensions: {sorted(dimensions)}")
