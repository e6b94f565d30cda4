"""Reads of rows by key and id. The database leaves out records hidden from a viewer, a `RowReader` unreadable rows."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from time import time_ns
from typing import Any, Final, Literal, TypeAlias, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from cognition_engines.kinds.registry import add_prefix
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cognition_engines.set_aside import Part, RecordVersion, SetAside, Versioned
from cognition_engines.spaces import SEARCHED, Space
from cognition_engines.store.codec import COLUMNS, SPINE, Row, matrix, stored_record
from cognition_engines.store.database import Store, begin_read, begin_scan, count_rows, is_plain, pages, reading_plainly
from cognition_engines.store.schema import TABLES, records, vectors
from cognition_engines.store.values import FloatArray, StoredRecord

T = TypeVar("T")

# Exclusions in a statement: none, records above a clearance, or also records in other projects.
Guard: TypeAlias = Literal["none", "clearance", "projects"]

_PLAINLY: Final = 500  # keys per SQLite driver statement; the driver keeps few such statements prepared
_TEXTS: Final = 1024  # statements, by their numbers of keys and projects
_NAMING: Final = sqlite.dialect(paramstyle="named")

# Embedded records. A chunked artifact has no own text: its chunks are searched.
EMBEDDED: Final = (
    (records.c.kind + 0).in_([kind for space in SEARCHED for kind in space.kinds]),
    ~sa.exists().where(TABLES[Kind.ARTIFACT].c.key == records.c.key, TABLES[Kind.ARTIFACT].c.chunked != 0),
)


# Rows that `RowReader` reads.
SELECT_STORED: Final[Mapping[Kind, sa.Select[Any]]] = {
    kind: sa.select(
        *(records.c[name] for name in SPINE), *(TABLES[kind].c[column.name] for column in COLUMNS[kind])
    ).join_from(records, TABLES[kind])
    for kind in Kind
}

_owners: Final = records.alias("owners")


@dataclass(slots=True, eq=False)
class RowReader:
    """A reader for an answer's rows; `left_out` are the keys of unreadable rows.

    They are noted under `part`. Without `set_aside`, an unreadable row raises.
    """

    set_aside: SetAside | None = None
    part: Part = Part.ANSWERS
    left_out: set[int] = field(default_factory=set)

    def read(self, kind: Kind, row: Row) -> StoredRecord | None:
        """Return the record in a row of `SELECT_STORED[kind]`; None if it is left out."""
        key, seq, id, *_ = row
        return self.attempt(RecordVersion(key, seq, kind.label, id), partial(stored_record, kind, row))

    def attempt(self, record: Versioned, work: Callable[[], T], *, counted: bool = True) -> T | None:
        """Return the result of `work`, which reads `record`; None if it raises; `counted` leaves the record out."""
        if self.set_aside is None:
            return work()
        made = self.set_aside.attempt(self.part, record, work, None)
        if made is None and counted:
            self.left_out.add(record.version.key)
        return made

    def read_each(
        self, found: Sequence[StoredRecord], read: Callable[[Sequence[StoredRecord]], Mapping[int, T]]
    ) -> Mapping[int, T]:
        """Return the result of `read` for records, by key, without records for which it raises."""
        if self.set_aside is None:
            return read(found)
        by_key = {one.key: one for one in found}
        made = self.set_aside.read_all(
            self.part,
            [*by_key],
            lambda keys: read([by_key[key] for key in keys]),
            lambda key: by_key[key].version,
        )
        self.left_out.update(by_key.keys() - made.keys())
        return made


STRICT: Final = RowReader()


class Reads:
    """Reads of records by key and id."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def windows(self, space: Space, model: str, up_to: int) -> int:
        """Count the vectors of `model` in a space, without records changed after the `seq` `up_to`."""
        chosen = vectors.c.model == model, records.c.seq <= up_to, records.c.kind.in_(space.kinds)
        with begin_scan(self._store) as connection:
            return count_rows(connection, vectors.join(records), *chosen)

    def vectors_of(self, keys: Sequence[int], model: str) -> dict[int, FloatArray]:
        """Return the vectors of `model` (windows, dimensions) by key; keys without any are left out."""
        with begin_read(self._store) as connection:
            return vectors_by_key(connection, keys, model)

    def find(
        self, ids: Sequence[tuple[Kind, str]], viewer: Viewer | None, rows: RowReader = STRICT
    ) -> list[StoredRecord]:
        """Return the existing records visible to `viewer`, in the requested order; None, the operator, sees all.

        The ids of artifacts, turns and events are known with and without their prefix. An id absent from the records is
        looked up among the ids in files; it means a record if the viewer sees no other with that id.
        """
        wanted = list(dict.fromkeys((kind, add_prefix(kind, id)) for kind, id in ids))
        with begin_read(self._store) as connection:
            keys = _keys_named(connection, wanted, viewer)
            found = found_by_keys(connection, list(keys.values()), viewer, rows=rows) if keys else {}
        return [found[key] for name in wanted if (key := keys.get(name)) is not None and key in found]

    def by_keys(
        self,
        keys: Sequence[int],
        viewer: Viewer | None,
        kinds: Sequence[Kind] | None = None,
        rows: RowReader = STRICT,
    ) -> dict[int, StoredRecord]:
        """Return the existing records visible to `viewer`, of all kinds or of `kinds`.

        Queries the database even for no keys: a failing database must not look like no match.
        """
        if keys and len(keys) <= _PLAINLY and is_plain(self._store) and self._store.read.has(keys):
            with reading_plainly(self._store) as plain:
                found, lacking = _split_cached(self._store, _plain_seqs(plain, keys, viewer), kinds)
            if not lacking:
                return found
        statement, seen = _seqs(guard_of(viewer)), rights_of(viewer)
        with begin_read(self._store) as connection:
            seqs = [
                row
                for page in (pages(keys) if keys else [()])
                for row in connection.execute(statement, {"keys": [*page], **seen})
            ]
            found, lacking = _split_cached(self._store, seqs, kinds)
            for kind, its in lacking.items():
                for page in pages(its):
                    for row in connection.execute(_by_keys(kind, "none"), {"keys": [*page]}):
                        if (one := rows.read(kind, row)) is not None:
                            found[one.key] = one
                            characters = sum([len(cell) for cell in row if isinstance(cell, str)])
                            self._store.read.put(one, characters)
        return found

    def as_of(self, wanted: Mapping[int, int], viewer: Viewer, rows: RowReader = STRICT) -> dict[int, StoredRecord]:
        """Return the records still as of the `seq` given with each key; cached records are not read."""
        cached = {key: self._store.read.get(key, seq) for key, seq in wanted.items()}
        found = {key: one for key, one in cached.items() if one is not None}
        lacking = [key for key in wanted if key not in found]
        if lacking:
            read = self.by_keys(lacking, viewer, None, rows)
            found |= {key: one for key, one in read.items() if one.seq == wanted[key]}
        return found

    def by_ids(self, kind: Kind, ids: Sequence[str], rows: RowReader = STRICT) -> dict[str, StoredRecord]:
        """Return the existing records, by id, for the operator."""
        with begin_read(self._store) as connection:
            return found_by_ids(connection, kind, ids, None, rows)

    def seen(self, keys: Sequence[int], viewer: Viewer | None) -> set[int]:
        """Return the keys of the existing records visible to `viewer`; the records are not read."""
        statement, seen = _seqs(guard_of(viewer)), rights_of(viewer)
        with begin_read(self._store) as connection:
            return {row[0] for page in pages(keys) for row in connection.execute(statement, {"keys": [*page], **seen})}

    def without_vectors(self, space: Space, model: str, after_key: int, limit: int) -> list[StoredRecord]:
        """Return a space's next `limit` records with a key above `after_key` that lack vectors of `model`, by key.

        Records without a text to embed are left out.
        """
        if limit < 1:
            raise ValueError("limit: must be at least 1")
        has_vectors = sa.exists().where(vectors.c.key == records.c.key, vectors.c.model == model)
        # kind + 0: not by an index on kind, which would read and sort all of them for each page
        statement = (
            sa.select(records.c.key)
            .where((records.c.kind + 0).in_(space.kinds), records.c.key > after_key, ~has_vectors, *EMBEDDED)
            .order_by(records.c.key)
            .limit(limit)
        )
        with begin_scan(self._store) as connection:
            keys = list(connection.execute(statement).scalars())
            found = found_by_keys(connection, keys, None)
        return [found[key] for key in keys]


_VECTORS: Final = (
    sa.select(vectors.c.key, vectors.c.vector)
    .where(vectors.c.key.in_(sa.bindparam("keys", expanding=True)), vectors.c.model == sa.bindparam("model"))
    .order_by(vectors.c.key, vectors.c.window)
)


def vectors_by_key(connection: sa.Connection, keys: Sequence[int], model: str) -> dict[int, FloatArray]:
    """Do as `Reads.vectors_of`, inside a transaction."""
    cells: dict[int, list[bytes]] = defaultdict(list)
    for page in pages(keys):
        for key, cell in connection.execute(_VECTORS, {"keys": list(page), "model": model}):
            cells[key].append(cell)
    return {key: matrix(each) for key, each in cells.items()}


def named_record(connection: sa.Connection, kind: Kind, id: str, viewer: Viewer) -> StoredRecord | None:
    """Return the record with an id, or with an id in files if the viewer sees exactly one such record."""
    named = records.c.kind == int(kind), records.c.id == id
    key = connection.execute(sa.select(records.c.key).where(*named, *visible(viewer))).scalar()
    if key is None:
        return only_given(connection, kind, [id], viewer).get(id)
    return found_by_keys(connection, [key], viewer, (kind,))[key]


def found_by_ids(
    connection: sa.Connection, kind: Kind, ids: Sequence[str], viewer: Viewer | None, rows: RowReader = STRICT
) -> dict[str, StoredRecord]:
    """Return a kind's existing records visible to `viewer`, by id."""
    found: dict[str, StoredRecord] = {}
    for page in pages(ids):
        chosen = records.c.kind == int(kind), records.c.id.in_(page)
        for row in connection.execute(SELECT_STORED[kind].where(*chosen, *visible(viewer))):
            if (one := rows.read(kind, row)) is not None:
                found[str(one.record.id)] = one
    return found


def _keys_named(
    connection: sa.Connection, wanted: Sequence[tuple[Kind, str]], viewer: Viewer | None
) -> dict[tuple[Kind, str], int]:
    """Return each record's key by kind and id, or by the id in files if the viewer sees exactly one."""
    found: dict[tuple[Kind, str], int] = {}
    for column in (records.c.id, records.c.given):
        lacking = [name for name in wanted if name not in found]
        keys: dict[tuple[Kind, str], list[int]] = defaultdict(list)
        for page in pages(lacking):
            named = column.in_([id for _, id in page]), records.c.kind.in_({int(kind) for kind, _ in page})
            statement = sa.select(records.c.key, records.c.kind, column).where(*named, *visible(viewer))
            for key, kind, id in connection.execute(statement):
                keys[Kind(kind), id].append(key)
        found |= {name: keys[name][0] for name in lacking if len(keys[name]) == 1}
    return found


def only_given(
    connection: sa.Connection, kind: Kind, ids: Sequence[str], viewer: Viewer | None
) -> dict[str, StoredRecord]:
    """Return the records with these ids in files, by id, if the viewer sees exactly one."""
    found: dict[str, list[StoredRecord]] = {}
    for page in pages(ids):
        of_given = records.c.given.in_(page), records.c.kind == int(kind)
        for row in connection.execute(SELECT_STORED[kind].where(*of_given, *visible(viewer))):
            if (one := STRICT.read(kind, row)) is not None:
                found.setdefault(one.origin.given or "", []).append(one)
    return {id: each[0] for id, each in found.items() if len(each) == 1}


def _split_cached(
    store: Store, rows: Iterable[Sequence[Any]], kinds: Sequence[Kind] | None
) -> tuple[dict[int, StoredRecord], dict[Kind, list[int]]]:
    """Return the cached records for rows of `_seqs`, and the other keys by kind; only for `kinds`."""
    found: dict[int, StoredRecord] = {}
    lacking: dict[Kind, list[int]] = defaultdict(list)
    for key, kind, seq in rows:
        if kinds is not None and kind not in kinds:
            continue
        if (known := store.read.get(key, seq)) is None:
            lacking[Kind(kind)].append(key)
        else:
            found[key] = known
    return found, lacking


def _plain_seqs(connection: sqlite3.Connection, keys: Sequence[int], viewer: Viewer | None) -> sqlite3.Cursor:
    """Return the rows of `_seqs`, by SQLite's driver."""
    projects = () if viewer is None else sorted(viewer.projects or ())
    text = _seqs_text(guard_of(viewer), len(keys), len(projects))
    return connection.execute(
        text, {**rights_of(viewer), **_number_names("keys", keys), **_number_names("projects", projects)}
    )


@lru_cache(_TEXTS)
def _seqs_text(guard: Guard, keys: int, projects: int) -> str:
    """Return `_seqs` as text for SQLite's driver, with this number of keys and of projects."""
    values = {"keys": [0] * keys, "projects": [""] * projects, "clearance": 0, "now": 0}
    statement = _seqs(guard).params(values)
    return str(statement.compile(dialect=_NAMING, compile_kwargs={"render_postcompile": True}))


def _number_names(name: str, values: Sequence[object]) -> dict[str, object]:
    """Return a list's values by their names in a statement."""
    return {f"{name}_{place}": value for place, value in enumerate(values, 1)}


def asked_by_keys(
    connection: sa.Connection,
    keys: Sequence[int],
    viewer: Viewer | None,
    kinds: Sequence[Kind] | None,
    rows: RowReader = STRICT,
) -> dict[int, StoredRecord]:
    """Find records as `found_by_keys` does, but query even without keys: a failure must not look like no match."""
    if not keys:
        connection.execute(sa.select(records.c.key).limit(1)).all()
    return found_by_keys(connection, keys, viewer, kinds, rows)


def found_by_keys(
    connection: sa.Connection,
    keys: Sequence[int],
    viewer: Viewer | None,
    kinds: Sequence[Kind] | None = None,
    rows: RowReader = STRICT,
) -> dict[int, StoredRecord]:
    """Do as `Reads.by_keys`, inside a transaction."""
    if kinds is not None and len(kinds) == 1:
        by_kind: Mapping[Kind, Sequence[int]] = {kinds[0]: keys}
    else:
        by_kind = _by_kind(connection, keys, kinds)
    seen = rights_of(viewer)
    found: dict[int, StoredRecord] = {}
    for kind, its in by_kind.items():
        statement = _by_keys(kind, guard_of(viewer))
        for page in pages(its):
            for row in connection.execute(statement, {"keys": list(page), **seen}):
                if (one := rows.read(kind, row)) is not None:
                    found[one.key] = one
    return found


@cache
def _seqs(guard: Guard) -> sa.Select[Any]:
    """Return a statement for key, kind and `seq` of the records visible to a viewer, among some keys."""
    chosen = records.c.key.in_(sa.bindparam("keys", expanding=True))
    return sa.select(records.c.key, records.c.kind, records.c.seq).where(chosen, *guards(records, guard))


@cache
def _by_keys(kind: Kind, guard: Guard) -> sa.Select[Any]:
    """Return a statement for a kind's records by key, as a viewer sees them; cached, for every search."""
    chosen = records.c.key.in_(sa.bindparam("keys", expanding=True))
    return SELECT_STORED[kind].where(chosen, *guards(records, guard))


def guard_of(viewer: Viewer | None) -> Guard:
    """Return the exclusions needed in a statement for a viewer."""
    if viewer is None:
        return "none"
    return "clearance" if viewer.projects is None else "projects"


def guards(source: sa.FromClause, guard: Guard) -> list[sa.ColumnElement[bool]]:
    """Return the conditions on records, or on an alias, visible to a viewer, for a cached statement."""
    if guard == "none":
        return []
    conditions = [source.c.sensitivity <= sa.bindparam("clearance"), _lasts(source, sa.bindparam("now"))]
    if guard == "projects":
        conditions.append(source.c.project.in_(sa.bindparam("projects", expanding=True)))
    return conditions


def rights_of(viewer: Viewer | None) -> dict[str, object]:
    """Return the values for `guards`."""
    if viewer is None:
        return {}
    now = time_ns() // 1000
    return {"clearance": int(viewer.clearance), "projects": sorted(viewer.projects or ()), "now": now}


def _by_kind(connection: sa.Connection, keys: Sequence[int], kinds: Sequence[Kind] | None) -> dict[Kind, list[int]]:
    rows = (row for page in pages(keys) for row in connection.execute(_seqs("none"), {"keys": list(page)}))
    return _group_by_kind((Kind(kind), key) for key, kind, _ in rows if kinds is None or kind in kinds)


def _group_by_kind(pairs: Iterable[tuple[Kind, T]]) -> dict[Kind, list[T]]:
    grouped: dict[Kind, list[T]] = defaultdict(list)
    for kind, value in pairs:
        grouped[kind].append(value)
    return grouped


def visible(viewer: Viewer | None) -> list[sa.ColumnElement[bool]]:
    """Return a viewer's filter, as SQL over `records`; a viewer of None, the operator, sees all."""
    if viewer is None:
        return []
    conditions = [records.c.sensitivity <= int(viewer.clearance), _lasts(records, time_ns() // 1000)]
    if viewer.projects is not None:
        conditions.append(records.c.project.in_(sorted(viewer.projects)))
    return conditions


def _lasts(source: sa.FromClause, now: Any) -> sa.ColumnElement[bool]:
    """Return the condition that neither a record nor its whole has expired at a moment, in microseconds.

    Both may be there until a server forgets them.
    """
    over = sa.select(_owners.c.key).where(_owners.c.expires_at.is_not(None), _owners.c.expires_at <= now)
    whole = sa.or_(source.c.parent.is_(None), source.c.parent.not_in(over))
    return sa.and_(sa.or_(source.c.expires_at.is_(None), source.c.expires_at > now), whole)
