"""Writing. Every function is one transaction: all of it is stored, durably, or none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.records.open import Store
from cognition_engines.records.read import stored_dimension
from cognition_engines.records.rows import Cell, content, microseconds, window_rows
from cognition_engines.records.schema import decisions, dimension_name, meta, tombstones, vectors
from cognition_engines.records.transactions import allocate, pages, writing
from cognition_engines.records.values import MAX_ID, Entry, FloatArray, Outcome

_UPDATE: Final = sa.update(decisions).where(decisions.c.key == sa.bindparam("row_key"))


@dataclass(frozen=True, slots=True)
class _Known:
    key: int
    digest: str
    has_vectors: bool


def put(store: Store, batch: Sequence[Entry], model: str | None) -> tuple[Outcome, ...]:
    """Insert or update decisions by id; see `Records.put`."""
    _check(batch, model)
    with writing(store) as connection:
        known = _known(connection, [entry.decision.id for entry in batch], model)
        outcomes = tuple(_outcome(entry, known.get(entry.decision.id), model) for entry in batch)
        work = [entry for entry, outcome in zip(batch, outcomes, strict=True) if outcome is not Outcome.UNCHANGED]
        if work:
            _store(connection, work, known, model)
    return outcomes


def put_vectors(store: Store, given: Sequence[tuple[int, FloatArray]], model: str, as_of: int | None) -> None:
    """Add or replace the vectors of decisions; see `Records.put_vectors`."""
    by_key = dict(given)
    if len(by_key) != len(given):
        raise ValueError("vectors: a key is given twice")
    _check_vectors(by_key.values())
    _check_model(model)
    with writing(store) as connection:
        present: list[int] = []
        for page in pages(list(by_key)):
            found = sa.select(decisions.c.key).where(decisions.c.key.in_(page))
            if as_of is not None:
                found = found.where(decisions.c.seq <= as_of)
            present += connection.execute(found.order_by(decisions.c.key)).scalars()
        if not present:
            return
        _settle_dimension(connection, model, by_key[present[0]].shape[1])
        for page in pages(present):
            connection.execute(sa.delete(vectors).where(vectors.c.key.in_(page), vectors.c.model == model))
        numbers = allocate(connection, len(present))
        connection.execute(_UPDATE, [{"row_key": key, "seq": seq} for key, seq in zip(present, numbers, strict=True)])
        _insert_vectors(connection, [(key, by_key[key]) for key in present], model)


def delete(store: Store, ids: Sequence[str]) -> tuple[str, ...]:
    """Delete decisions; see `Records.delete`."""
    with writing(store) as connection:
        keys: dict[str, int] = {}
        for page in pages(ids):
            found = sa.select(decisions.c.id, decisions.c.key).where(decisions.c.id.in_(page))
            keys.update((id, key) for id, key in connection.execute(found))
        gone = tuple(id for id in dict.fromkeys(ids) if id in keys)
        if gone:
            bury(connection, [(id, keys[id]) for id in gone])
    return gone


def bury(connection: sa.Connection, gone: Sequence[tuple[str, int]]) -> None:
    """Delete decisions, at least one, by id and key inside a `writing` transaction, with a tombstone for each."""
    numbers = allocate(connection, len(gone))
    stones = [{"seq": seq, "key": key, "id": id} for (id, key), seq in zip(gone, numbers, strict=True)]
    connection.execute(sa.insert(tombstones), stones)
    for page in pages(gone):
        keys = [key for _, key in page]
        connection.execute(sa.delete(decisions).where(decisions.c.key.in_(keys)))  # takes the vectors along


def drop_vectors(store: Store, keep: str) -> int:
    """Remove the vectors of all models but one; see `Records.drop_vectors`."""
    others = meta.c.name.startswith(dimension_name(""), autoescape=True), meta.c.name != dimension_name(keep)
    with writing(store) as connection:
        connection.execute(sa.delete(meta).where(*others))
        return connection.execute(sa.delete(vectors).where(vectors.c.model != keep)).rowcount


def _check(batch: Sequence[Entry], model: str | None) -> None:
    seen: set[str] = set()
    for entry in batch:
        id = entry.decision.id
        if not 1 <= len(id) <= MAX_ID:
            raise ValueError(f"id: must have 1 to {MAX_ID} characters")
        if id in seen:
            raise ValueError(f"id: {id!r} is twice in the batch")
        seen.add(id)
        if (entry.vectors is None) is not (model is None):
            raise ValueError(f"vectors: {id!r} must have vectors exactly when a model is named")
    if model is not None:
        _check_model(model)
    _check_vectors([entry.vectors for entry in batch if entry.vectors is not None])


def _check_model(model: str) -> None:
    if not 1 <= len(model) <= MAX_ID:
        raise ValueError(f"model: must have 1 to {MAX_ID} characters")


def _check_vectors(given: Iterable[FloatArray]) -> None:
    dimensions = set()
    for array in given:
        if array.dtype != np.float32 or array.ndim != 2 or 0 in array.shape:
            raise ValueError("vectors: must be float32 of the shape (windows, dimensions), neither of them 0")
        if not np.isfinite(array).all():
            raise ValueError("vectors: must be finite")
        dimensions.add(array.shape[1])
    if len(dimensions) > 1:
        raise ValueError(f"vectors: differ in their dimensions: {sorted(dimensions)}")


def _known(connection: sa.Connection, ids: Sequence[str], model: str | None) -> dict[str, _Known]:
    has_vectors = sa.exists().where(vectors.c.key == decisions.c.key, vectors.c.model == model)
    found: dict[str, _Known] = {}
    for page in pages(ids):
        statement = sa.select(decisions.c.id, decisions.c.key, decisions.c.digest, has_vectors)
        for id, key, digest, has in connection.execute(statement.where(decisions.c.id.in_(page))):
            found[id] = _Known(key, digest, bool(has))
    return found


def _outcome(entry: Entry, known: _Known | None, model: str | None) -> Outcome:
    if known is None:
        return Outcome.NEW
    if known.digest == entry.origin.digest and (model is None or known.has_vectors):
        return Outcome.UNCHANGED
    return Outcome.CHANGED


def _store(connection: sa.Connection, work: Sequence[Entry], known: dict[str, _Known], model: str | None) -> None:
    now = microseconds(datetime.now(UTC))
    inserts: list[dict[str, Cell]] = []
    updates: list[dict[str, Cell]] = []
    renumbered: list[dict[str, Cell]] = []
    windows: list[tuple[int, FloatArray]] = []
    outdated: list[int] = []
    for entry, seq in zip(work, allocate(connection, len(work)), strict=True):
        before = known.get(entry.decision.id)
        key = seq if before is None else before.key  # seq never returns to a value, so no key is used twice
        if before is None:
            inserts.append({"key": key, "seq": seq, "updated_at": now, **content(entry.decision, entry.origin)})
        elif before.digest == entry.origin.digest:
            renumbered.append({"row_key": key, "seq": seq})
        else:
            updates.append({"row_key": key, "seq": seq, "updated_at": now, **content(entry.decision, entry.origin)})
            outdated.append(key)
        if entry.vectors is not None:
            windows.append((key, entry.vectors))
    if model is not None:
        _settle_dimension(connection, model, windows[0][1].shape[1])
    for page in pages(outdated):
        connection.execute(sa.delete(vectors).where(vectors.c.key.in_(page)))
    if inserts:
        connection.execute(sa.insert(decisions), inserts)
    if updates:
        connection.execute(_UPDATE, updates)
    if renumbered:
        connection.execute(_UPDATE, renumbered)
    if model is not None:
        _insert_vectors(connection, windows, model)


def _settle_dimension(connection: sa.Connection, model: str, dim: int) -> None:
    """Notes the dimension of a model's first vectors, and refuses others: the model answers wrongly."""
    known = stored_dimension(connection, model)
    if known is None:
        connection.execute(sa.insert(meta).values(name=dimension_name(model), value=str(dim)))
    elif known != dim:
        raise ComponentFailed("embedder", f"vectors of {dim} dimensions; those stored of {model} have {known}")


def _insert_vectors(connection: sa.Connection, windows: Sequence[tuple[int, FloatArray]], model: str) -> None:
    rows = [row for key, array in windows for row in window_rows(key, model, array)]
    for page in pages(rows):
        connection.execute(sa.insert(vectors), page)
