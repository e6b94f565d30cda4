"""Insert, update and delete records inside a transaction, with everything that depends on them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.registry import CHILDREN, ID_SPACE, PARENTS, add_prefix, embedding_text, kind_of
from cognition_engines.kinds.spec import MAX_ID, Kind, Role
from cognition_engines.models import microseconds
from cognition_engines.store.codec import Cell, columns_of, place_cells, spine_of, window_rows
from cognition_engines.store.database import allocate, allocate_keys, pages
from cognition_engines.store.inheritance import lent_to, note_departures, release, renumber, rights_of, settle
from cognition_engines.store.origins import known_by
from cognition_engines.store.reads.counts import stored_dimension
from cognition_engines.store.reads.supersession import named_by_any
from cognition_engines.store.references import link_rows, repoint, resolve_references
from cognition_engines.store.schema import (
    DIMENSION,
    TABLES,
    decision_links,
    ended_links,
    links,
    meta,
    records,
    tombstones,
    vectors,
)
from cognition_engines.store.values import PART, Entry, FloatArray, IdTaken, KnownRecord, Outcome, Replaces
from cognition_engines.store.visible_state import (
    named_as_replaced,
    settle_decisions,
    settle_ends,
    show_again,
    superseded_by,
)

# Kinds cut by ingest, and the role in which the parts refer to them.
DOCUMENTS: Final[Mapping[Kind, Role]] = {Kind.SOURCE: Role.SOURCE, Kind.ARTIFACT: Role.ARTIFACT}
_UPDATE: Final = sa.update(records).where(records.c.key == sa.bindparam("row_key"))


def check_batch(batch: Sequence[Entry], model: str | None) -> list[tuple[Kind, str]]:
    """Return the kinds and ids of a batch. Raise ValueError as `Records.put` says."""
    names: list[tuple[Kind, str]] = []
    seen: set[tuple[Kind, str]] = set()
    for entry in batch:
        kind, id = kind_of(entry.record), _checked_id(entry)
        if (ID_SPACE[kind], id) in seen:
            raise ValueError(f"id: {id!r} is twice in the batch")
        seen.add((ID_SPACE[kind], id))
        names.append((kind, id))
        wanted = model is not None and embedding_text(entry.record) is not None and not entry.refused
        if (entry.vectors is not None) is not wanted:
            raise ValueError(f"vectors: {id!r} must have vectors exactly when a model is named and it says something")
    if model is not None:
        check_model(model)
    check_vectors([entry.vectors for entry in batch if entry.vectors is not None])
    return names


def _checked_id(entry: Entry) -> str:
    if entry.record.id is None:
        raise ValueError("id: must be settled before a record is stored")
    id, kind = str(entry.record.id), kind_of(entry.record)
    if not 1 <= len(id) <= MAX_ID:
        raise ValueError(f"id: must have 1 to {MAX_ID} characters")
    if add_prefix(kind, id) != id:
        raise ValueError(f"id: {id!r} must begin with {add_prefix(kind, '')}")
    return id


def check_model(model: str) -> None:
    """Raise ValueError for a model whose name is too long, or empty."""
    if not 1 <= len(model) <= MAX_ID:
        raise ValueError(f"model: must have 1 to {MAX_ID} characters")


def check_vectors(given: Iterable[FloatArray]) -> None:
    """Raise ValueError unless all are finite float32 of a common dimension."""
    dimensions = set()
    for array in given:
        if array.dtype != np.float32 or array.ndim != 2 or 0 in array.shape:
            raise ValueError("vectors: must be float32 of the shape (windows, dimensions), neither of them 0")
        if not np.isfinite(array).all():
            raise ValueError("vectors: must be finite")
        dimensions.add(array.shape[1])
    if len(dimensions) > 1:
        raise ValueError(f"vectors: differ in their dimensions: {sorted(dimensions)}")


@dataclass(frozen=True, slots=True)
class _StoredDigest:
    key: int
    digest: str
    has_vectors: bool
    expires_at: int | None  # microseconds since 1970

    def says_the_same(self, entry: Entry) -> bool:
        """Return whether a stored record equals the entry, except for its vectors."""
        expires_at = None if entry.expires_at is None else microseconds(entry.expires_at)
        return self.digest == entry.origin.digest and self.expires_at == expires_at


def put_checked(
    connection: sa.Connection,
    batch: Sequence[Entry],
    names: Sequence[tuple[Kind, str]],
    model: str | None,
    replaces: Sequence[Replaces],
) -> tuple[Outcome, ...]:
    """Put a batch as `Records.put` does, in a `writing` transaction; `names` are from `check_batch`."""
    for document in replaces:
        found = parts_of(connection, document.kind, [document.id])
        delete_records(connection, [each for each in found if each[:2] not in document.kept])
    known = _stored_digests(connection, names, model)
    _check_origins(connection, batch, names)
    outcomes = tuple(_outcome(entry, known.get(name), model) for entry, name in zip(batch, names, strict=True))
    written = [place for place, outcome in enumerate(outcomes) if outcome is not Outcome.UNCHANGED]
    if written:
        entries = resolve_references(connection, [batch[place] for place in written])
        stored = [known.get(names[place]) for place in written]
        _store(connection, [_row(entry, held) for entry, held in zip(entries, stored, strict=True)], model)
        repoint(connection, [entry for entry, held in zip(entries, stored, strict=True) if held is None])
    return outcomes


def parts_of(connection: sa.Connection, kind: Kind, ids: Sequence[str]) -> list[tuple[Kind, str, int]]:
    """Return the parts into which ingest cut documents of a kind with these ids: by kind, id and key."""
    statement = (
        sa.select(records.c.kind, records.c.id, records.c.key)
        .join_from(links, records)
        # from any file: the document may have moved since
        .where(links.c.role == int(DOCUMENTS[kind]), links.c.target.in_(ids), records.c.ordinal == PART)
        .order_by(records.c.key)
    )
    return [(Kind(of), id, key) for of, id, key in connection.execute(statement)]


def _check_origins(connection: sa.Connection, batch: Sequence[Entry], names: Sequence[tuple[Kind, str]]) -> None:
    """Refuse to take over a record of another origin, or of a kind with shared ids."""
    identities = [entry.origin.identity for entry in batch if entry.origin.identity]
    by_id: dict[tuple[Kind, str], KnownRecord] = {}
    by_identity: dict[tuple[Kind, str, str | None], KnownRecord] = {}
    for known in known_by(connection, names, identities).values():
        by_id[ID_SPACE[known.kind], known.id] = known
        by_identity[known.kind, known.origin.identity, known.project] = known
    for entry, (kind, id) in zip(batch, names, strict=True):
        holder = by_id.get((ID_SPACE[kind], id))
        if holder is not None and not _may_replace(entry, kind, holder):
            raise IdTaken(holder.kind, id, holder.origin.source)
        twin = by_identity.get((kind, entry.origin.identity, entry.record.project))
        if entry.origin.identity and twin is not None and twin.id != id:
            raise IdTaken(kind, twin.id, twin.origin.source)


def _may_replace(entry: Entry, kind: Kind, holder: KnownRecord) -> bool:
    if holder.kind is not kind:
        return False
    if holder.origin.is_written and entry.handover is not None:
        return holder.origin.content_hash == entry.handover
    if not entry.origin.identity and not holder.origin.identity:
        return True
    same = entry.origin.identity == holder.origin.identity
    return same and holder.origin.place in (entry.origin.place, entry.over)


def _stored_digests(
    connection: sa.Connection, names: Sequence[tuple[Kind, str]], model: str | None
) -> dict[tuple[Kind, str], _StoredDigest]:
    has_vectors = sa.exists().where(vectors.c.key == records.c.key, vectors.c.model == model)
    statement = sa.select(records.c.id, records.c.key, records.c.digest, has_vectors, records.c.expires_at)
    found: dict[tuple[Kind, str], _StoredDigest] = {}
    for kind in dict.fromkeys(kind for kind, _ in names):
        for page in pages([id for of, id in names if of is kind]):
            chosen = statement.where(records.c.kind == int(kind), records.c.id.in_(page))
            for id, key, digest, has, expires_at in connection.execute(chosen):
                found[kind, id] = _StoredDigest(key, digest, bool(has), expires_at)
    return found


def _outcome(entry: Entry, known: _StoredDigest | None, model: str | None) -> Outcome:
    if known is None:
        return Outcome.NEW
    complete = model is None or known.has_vectors or entry.vectors is None
    return Outcome.UNCHANGED if known.says_the_same(entry) and complete else Outcome.CHANGED


@dataclass(frozen=True, slots=True)
class EntryRow:
    """An entry with its row's `key`, None for a new entry. With `same`, its content is the stored content.

    `cells` is the row of the kind's table, if known, `spine` the known values of the row in `records`.
    """

    entry: Entry
    key: int | None
    same: bool = False
    cells: Mapping[str, Cell] | None = None
    spine: Mapping[str, Cell] | None = None


def _row(entry: Entry, known: _StoredDigest | None) -> EntryRow:
    return EntryRow(entry, None) if known is None else EntryRow(entry, known.key, known.says_the_same(entry))


def _store(connection: sa.Connection, work: Sequence[EntryRow], model: str | None) -> None:
    given = [row.entry.vectors for row in work if row.entry.vectors is not None]
    if model is not None and given:
        settle_dimension(connection, model, given[0].shape[1])
    keys = upsert_records(connection, work)
    if model is not None:
        windows = [(key, row.entry.vectors) for key, row in zip(keys, work, strict=True)]
        insert_vectors(connection, [(key, array) for key, array in windows if array is not None], model)


def upsert_records(connection: sa.Connection, work: Sequence[EntryRow]) -> list[int]:
    """Insert and update records with their links, without vectors; return the keys, in order.

    An update removes the vectors of all models. Records inheriting from a changed record are touched.
    """
    numbers = allocate(connection, len(work))
    fresh_keys = iter(allocate_keys(connection, sum(each.key is None for each in work)))
    keys = [next(fresh_keys) if each.key is None else each.key for each in work]
    now = microseconds(datetime.now(UTC))
    fresh = [(each, key, seq) for each, key, seq in zip(work, keys, numbers, strict=True) if not each.same]
    changed = [key for each, key, _ in fresh if each.key is not None]
    turns = [key for each, key, _ in fresh if kind_of(each.entry.record) is Kind.TURN]
    touched = lent_to(connection, sorted(set(turns) & set(changed)))
    before = rights_of(connection, changed)
    memories = [key for each, key, _ in fresh if kind_of(each.entry.record) in PARENTS]
    replaced = named_as_replaced(connection, set(memories) & set(changed))
    decisions = [key for each, key, _ in fresh if kind_of(each.entry.record) is Kind.DECISION]
    others = named_by_any(connection, set(decisions) & set(changed))
    for page in pages(changed):
        connection.execute(sa.delete(vectors).where(vectors.c.key.in_(page)))
        connection.execute(sa.delete(links).where(links.c.key.in_(page)))
    same = [{"row_key": key, "seq": seq} for each, key, seq in zip(work, keys, numbers, strict=True) if each.same]
    if same:
        connection.execute(_UPDATE, same)
    _write_rows(connection, fresh, now)
    settle_ends(connection, {*memories, *replaced, *named_as_replaced(connection, memories)}, keys)
    _inherit(connection, fresh)
    settle_decisions(connection, decisions, others)
    renumber(connection, (touched | lent_to(connection, turns)) - set(keys))
    note_departures(connection, before)
    return keys


def _write_rows(connection: sa.Connection, fresh: Sequence[tuple[EntryRow, int, int]], now: int) -> None:
    """Write the rows of `records`, each kind's table, and `links`."""
    inserts: dict[Kind | None, list[dict[str, Cell]]] = {None: []}
    updates: dict[Kind | None, list[dict[str, Cell]]] = {None: []}
    referring: list[dict[str, Cell]] = []
    for each, key, seq in fresh:
        record = each.entry.record
        updated_at = now if each.entry.updated_at is None else microseconds(each.entry.updated_at)
        spine = {"seq": seq, "updated_at": updated_at, **spine_of(each.entry), **(each.spine or {})}
        if each.key is None:
            spine = {"recorded_at": updated_at, "revision": 1, "first_seq": seq, **spine}
        rows, name = (inserts, "key") if each.key is None else (updates, "row_key")
        rows[None].append({name: key, **spine})
        cells = {**(each.cells or columns_of(record)), **place_cells(record, each.entry.origin.ordinal)}
        rows.setdefault(kind_of(record), []).append({name: key, **cells})
        referring += link_rows(key, record, each.entry.origin)
    for kind, inserted in inserts.items():
        if inserted:
            connection.execute(sa.insert(records if kind is None else TABLES[kind]), inserted)
    for kind, updated in updates.items():
        if updated:
            table = records if kind is None else TABLES[kind]
            connection.execute(sa.update(table).where(table.c.key == sa.bindparam("row_key")), updated)
    revised = [key for each, key, _ in fresh if each.key is not None and each.spine is None]
    for keys in pages(revised):
        changed = sa.update(records).where(records.c.key.in_(keys))
        connection.execute(changed.values(revision=records.c.revision + 1))
    for page in pages(referring):
        connection.execute(sa.insert(links), page)


def _inherit(connection: sa.Connection, fresh: Sequence[tuple[EntryRow, int, int]]) -> None:
    kinds = [(kind_of(each.entry.record), str(each.entry.record.id), key) for each, key, _ in fresh]
    parents = [id for kind, id, _ in kinds if kind in PARENTS]
    children = [key for kind, _, key in kinds if kind in CHILDREN]
    if parents or children:
        settle(connection, parents, children, written=[key for _, _, key in kinds])


def delete_records(connection: sa.Connection, gone: Sequence[tuple[Kind, str, int]]) -> None:
    """Delete records by kind, id and key, with a tombstone for each; records that inherited from them are touched."""
    if not gone:
        return
    keys = [key for _, _, key in gone]
    touched = lent_to(connection, [key for kind, _, key in gone if kind is Kind.TURN]) - set(keys)
    release(connection, [id for kind, id, _ in gone if kind in PARENTS])
    decisions = [(id, key) for kind, id, key in gone if kind is Kind.DECISION]
    gone_decisions = [key for _, key in decisions]
    revived = {*superseded_by(connection, gone_decisions), *named_by_any(connection, gone_decisions)} - set(keys)
    replaced = named_as_replaced(connection, [key for kind, _, key in gone if kind in PARENTS]) - set(keys)
    numbers = allocate(connection, len(gone))
    rights = rights_of(connection, keys)
    stones = [
        {"seq": seq, "key": key, "kind": int(kind), "id": id, **rights[key]._asdict()}
        for (kind, id, key), seq in zip(gone, numbers, strict=True)
    ]
    connection.execute(sa.insert(tombstones), stones)
    for page in pages(keys):
        connection.execute(sa.delete(records).where(records.c.key.in_(page)))  # takes all else along
    for of_decisions in pages([id for id, _ in decisions]):
        for table in (decision_links, ended_links):
            connection.execute(sa.delete(table).where(table.c.target.in_(of_decisions)))
    show_again(connection, revived)
    settle_ends(connection, replaced, ())
    renumber(connection, touched)


def settle_dimension(connection: sa.Connection, model: str, dim: int) -> None:
    """Note the dimension of a model's first vectors, and refuse others: the model answers wrongly."""
    known = stored_dimension(connection, model)
    if known is None:
        connection.execute(sa.insert(meta).values(name=DIMENSION + model, value=str(dim)))
    elif known != dim:
        raise ComponentFailed("embedder", f"vectors of {dim} dimensions; those stored of {model} have {known}")


def insert_vectors(connection: sa.Connection, windows: Iterable[tuple[int, FloatArray]], model: str) -> None:
    """Add vectors of a model."""
    rows = [row for key, array in windows for row in window_rows(key, model, array)]
    for page in pages(rows):
        connection.execute(sa.insert(vectors), page)
