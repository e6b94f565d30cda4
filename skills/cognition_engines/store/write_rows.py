"""Rows of records put into their tables and taken out, inside a `writing` transaction, with all that hangs on them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import kind_of
from cognition_engines.store.codec import Cell, columns_of, microseconds, place_cells
from cognition_engines.store.decision_state import settle_decisions, show_again, superseded_by
from cognition_engines.store.departures import note_departures, rights_of
from cognition_engines.store.inheritance import lent_to, release, renumber, settle
from cognition_engines.store.links import CHILDREN, PARENTS, link_rows
from cognition_engines.store.numbering import allocate, allocate_keys
from cognition_engines.store.reads.by_key import stored_dimension
from cognition_engines.store.reads.stated_ends import named_by_any
from cognition_engines.store.rows import spine_of, window_rows
from cognition_engines.store.schema import (
    TABLES,
    decision_links,
    dimension_name,
    ended_links,
    links,
    meta,
    records,
    tombstones,
    vectors,
)
from cognition_engines.store.transactions import pages
from cognition_engines.store.values import Entry, FloatArray

_UPDATE: Final = sa.update(records).where(records.c.key == sa.bindparam("row_key"))


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry on its way into the tables. `key` is None for a new one; `same` has the content that is stored.

    `updated_at` in microseconds, now when None; `cells` the row of the kind's table where it is known, `spine` what is
    known of that in `records`.
    """

    entry: Entry
    key: int | None
    same: bool = False
    updated_at: int | None = None
    cells: Mapping[str, Cell] | None = None
    spine: Mapping[str, Cell] | None = None


def place(connection: sa.Connection, work: Sequence[PlacedEntry]) -> list[int]:
    """Insert and update records with their links, without vectors; the keys, in order.

    An update takes the vectors of all models away. What has something from a record that changed is touched.
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
    decisions = [key for each, key, _ in fresh if kind_of(each.entry.record) is Kind.DECISION]
    others = named_by_any(connection, set(decisions) & set(changed))
    for page in pages(changed):
        connection.execute(sa.delete(vectors).where(vectors.c.key.in_(page)))
        connection.execute(sa.delete(links).where(links.c.key.in_(page)))
    same = [{"row_key": key, "seq": seq} for each, key, seq in zip(work, keys, numbers, strict=True) if each.same]
    if same:
        connection.execute(_UPDATE, same)
    _write(connection, fresh, now)
    _inherit(connection, fresh)
    settle_decisions(connection, decisions, others)
    renumber(connection, (touched | lent_to(connection, turns)) - set(keys))
    note_departures(connection, before)
    return keys


def _write(connection: sa.Connection, fresh: Sequence[tuple[PlacedEntry, int, int]], now: int) -> None:
    """The rows of `records`, of the table of each kind, and of `links`."""
    inserts: dict[Kind | None, list[dict[str, Cell]]] = {None: []}
    updates: dict[Kind | None, list[dict[str, Cell]]] = {None: []}
    referring: list[dict[str, Cell]] = []
    for each, key, seq in fresh:
        record = each.entry.record
        updated_at = now if each.updated_at is None else each.updated_at
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


def _inherit(connection: sa.Connection, fresh: Sequence[tuple[PlacedEntry, int, int]]) -> None:
    kinds = [(kind_of(each.entry.record), str(each.entry.record.id), key) for each, key, _ in fresh]
    parents = [id for kind, id, _ in kinds if kind in PARENTS]
    children = [key for kind, _, key in kinds if kind in CHILDREN]
    if parents or children:
        settle(connection, parents, children, written=[key for _, _, key in kinds])


def bury(connection: sa.Connection, gone: Sequence[tuple[Kind, str, int]]) -> None:
    """Delete records by kind, id and key, with a tombstone for each; what had something from them is touched."""
    if not gone:
        return
    keys = [key for _, _, key in gone]
    touched = lent_to(connection, [key for kind, _, key in gone if kind is Kind.TURN]) - set(keys)
    release(connection, [id for kind, id, _ in gone if kind in PARENTS])
    decisions = [(id, key) for kind, id, key in gone if kind is Kind.DECISION]
    gone_decisions = [key for _, key in decisions]
    revived = {*superseded_by(connection, gone_decisions), *named_by_any(connection, gone_decisions)} - set(keys)
    numbers = allocate(connection, len(gone))
    rights = rights_of(connection, keys)
    stones = [
        {
            "seq": seq,
            "key": key,
            "kind": int(kind),
            "id": id,
            "project": rights[key].project,
            "sensitivity": rights[key].sensitivity,
        }
        for (kind, id, key), seq in zip(gone, numbers, strict=True)
    ]
    connection.execute(sa.insert(tombstones), stones)
    for page in pages(keys):
        connection.execute(sa.delete(records).where(records.c.key.in_(page)))  # takes all else along
    for of_decisions in pages([id for id, _ in decisions]):
        for table in (decision_links, ended_links):
            connection.execute(sa.delete(table).where(table.c.target.in_(of_decisions)))
    show_again(connection, revived)
    renumber(connection, touched)


def settle_dimension(connection: sa.Connection, model: str, dim: int) -> None:
    """Notes the dimension of a model's first vectors, and refuses others: the model answers wrongly."""
    known = stored_dimension(connection, model)
    if known is None:
        connection.execute(sa.insert(meta).values(name=dimension_name(model), value=str(dim)))
    elif known != dim:
        raise ComponentFailed("embedder", f"vectors of {dim} dimensions; those stored of {model} have {known}")


def insert_vectors(connection: sa.Connection, windows: Iterable[tuple[int, FloatArray]], model: str) -> None:
    """Adds vectors of one model."""
    rows = [row for key, array in windows for row in window_rows(key, model, array)]
    for page in pages(rows):
        connection.execute(sa.insert(vectors), page)
