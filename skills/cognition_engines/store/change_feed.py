"""Following the store: commit detection, and the changes after a `seq`, in commit order."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Final

import numpy as np
import orjson
import sqlalchemy as sa

from cognition_engines.kinds.spec import Kind, Role
from cognition_engines.set_aside import RecordVersion
from cognition_engines.spaces import NO_NUMBER, Space
from cognition_engines.store.codec import Row, matrix
from cognition_engines.store.database import Store, begin_scan, failures
from cognition_engines.store.schema import TABLES, counter, links, records, tombstones, vectors
from cognition_engines.store.values import FINGERPRINT_PRIME, FloatArray, IntArray, Page

_VERSION: Final = sa.text("PRAGMA data_version")
# a text, because PostgreSQL reads the digits after the sign first, and they are too many for an integer
_NO_NUMBER: Final = sa.cast(sa.literal_column(f"'{NO_NUMBER}'"), sa.BigInteger)
_LAST: Final = sa.select(counter.c.seq)
_FIXED: Final = ("seq", "first_seq", "key", "id", "sensitivity")
_SPINE: Final = (
    *("project", "context", "system", "at", "importance", "parent", "since", "until"),
    *("author", "people", "recorded_by", "repository"),
)
# Space columns with another name in a kind's table.
_NAMED: Final[Mapping[tuple[str, Kind], str]] = {("topics", Kind.CHUNK): "tags"}
_CONSTANT: Final[Mapping[tuple[str, Kind], str]] = {("type", Kind.CHUNK): "chunk"}
# Computed columns.
_COMPUTED: Final[Mapping[tuple[str, Kind], sa.ColumnElement[Any]]] = {
    ("has_outcome", Kind.DECISION): sa.case((TABLES[Kind.DECISION].c.outcome.is_(None), "no"), else_="yes")
}
# Columns made from links.
_LINKED: Final[Mapping[str, Role]] = {"actors": Role.ACTOR, "subjects": Role.SUBJECT}


class ChangeFeed:
    """Changes to a space, for followers."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def page(self, space: Space, after: int, limit: int, model: str | None = None) -> Page:
        """Return the next `limit` changes to a space, as columns and without the texts.

        Without `model`, or if a record has none of it, the number of vectors is 0. A page with fewer than `limit`
        changes ends at the store's last `seq`, even if that belongs to another space.
        """
        with begin_scan(self._store) as connection:
            gone, rows, last = _read_changes(connection, space, after, limit)
            width = len(_FIXED) + len(space.labels) + len(space.numbers) + len(space.sets)
            columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * width
            counts, windows = _windows(connection, space.kinds, columns[0], after, last, model)
            sets = _sets(connection, space, columns, after, last)
        seqs, first_seqs, keys, ids, sensitivity, *rest = columns
        labels, numbers = rest[: len(space.labels)], rest[len(space.labels) :]
        return Page(
            after,
            last,
            removed=np.array([key for _, key, _, _ in gone], np.int64),
            keys=np.array(keys, np.int64),
            seqs=np.array(seqs, np.int64),
            first_seqs=np.array(first_seqs, np.int64),
            ids=ids,
            sensitivity=np.array(sensitivity, np.int8),
            labels={label.name: texts for label, texts in zip(space.labels, labels, strict=True)},
            numbers={
                number.name: np.array(values, np.int64)
                if number.whole
                else np.array(values, np.float64)  # None becomes NaN
                for number, values in zip(space.numbers, numbers, strict=False)
            },
            sets=sets,
            counts=counts,
            vectors=windows,
        )

    def next_version(self, space: Space, after: int) -> RecordVersion | None:
        """Return a space's next new or changed record, without reading the content; None if there is none."""
        seq = records.c.seq
        statement = sa.select(records.c.key, seq, records.c.kind, records.c.id).where(
            records.c.kind.in_(space.kinds), seq > after
        )
        with begin_scan(self._store) as connection:
            row = connection.execute(statement.order_by(seq).limit(1)).one_or_none()
        return None if row is None else RecordVersion(row.key, row.seq, Kind(row.kind).label, row.id)

    def fingerprint(self, space: Space, up_to: int) -> tuple[int, int]:
        """Return the number of records in a space without changes after the `seq` `up_to`, and the sum of their `seq`s.

        Each `seq` is added modulo FINGERPRINT_PRIME: the full sum would have too many bits.
        """
        statement = sa.select(
            sa.func.count(), sa.func.coalesce(sa.func.sum(records.c.seq % FINGERPRINT_PRIME), 0)
        ).where(records.c.seq <= up_to, records.c.kind.in_(space.kinds))
        with begin_scan(self._store) as connection:
            count, sum_of_seqs = connection.execute(statement).one()
            return int(count), int(sum_of_seqs)


def _read_changes(
    connection: sa.Connection, space: Space, after: int, limit: int
) -> tuple[Sequence[Row], Sequence[Row], int]:
    """Return a space's next deletions and rows, at most `limit` together, and the `seq` they reach to."""
    if len(space.kinds) > 1:
        newest, concerned = connection.execute(_space_changes(space), {"after": after}).one()
        if not concerned:  # most changes belong to another space, which costs this space a single statement
            return [], [], max(after, newest)
        last = _end(connection, space.kinds, after, limit)
        if last == after:
            return [], [], last
        rows = [row for kind in space.kinds for row in _rows(connection, space, kind, after, last, limit)]
        rows.sort(key=itemgetter(0))
        return _removed_rows(connection, space.kinds, after, last, limit), rows, last
    last = _newest(connection, after, limit)
    if last == after:
        return [], [], last
    rows = list(_rows(connection, space, space.kinds[0], after, last, limit))
    gone = _removed_rows(connection, space.kinds, after, last, limit)
    if len(gone) + len(rows) < limit:
        return gone, rows, last
    if len(gone) + len(rows) == limit:
        return gone, rows, max(found[-1][0] for found in (gone, rows) if found)
    last = sorted([row[0] for row in (*gone, *rows)])[limit - 1]
    return [row for row in gone if row[0] <= last], [row for row in rows if row[0] <= last], last


@cache
def _space_changes(space: Space) -> sa.Select[Any]:
    """Return the store's last `seq`, and whether any change after a `seq` is in a space."""
    found = [
        sa.exists().where(table.c.kind.in_([int(kind) for kind in space.kinds]), table.c.seq > sa.bindparam("after"))
        for table in (records, tombstones)
    ]
    return sa.select(counter.c.seq, sa.or_(*found))


def _newest(connection: sa.Connection, after: int, limit: int) -> int:
    """Return the store's last `seq`."""
    if limit < 1:
        raise ValueError("limit: must be at least 1")
    newest: int = connection.execute(_LAST).scalar_one()
    return max(after, newest)


def _end(connection: sa.Connection, kinds: Sequence[Kind], after: int, limit: int) -> int:
    """Return the last `seq` among the next `limit` changes to these kinds; the store's last if there are fewer."""
    newest = _newest(connection, after, limit)
    if newest == after:
        return after
    found: list[int] = []
    for table in (records, tombstones):
        for kind in kinds:  # kind by kind: each reads only the needed part of the index on (kind, seq)
            statement = sa.select(table.c.seq).where(table.c.kind == int(kind), table.c.seq > after)
            found += connection.execute(statement.order_by(table.c.seq).limit(limit)).scalars()
    return newest if len(found) < limit else sorted(found)[limit - 1]


def _removed_rows(connection: sa.Connection, kinds: Sequence[Kind], after: int, last: int, limit: int) -> Sequence[Row]:
    columns = (tombstones.c[name] for name in ("seq", "key", "kind", "id"))
    chosen = _of(tombstones, kinds), tombstones.c.seq > after, tombstones.c.seq <= last
    return connection.execute(sa.select(*columns).where(*chosen).order_by(tombstones.c.seq).limit(limit)).all()


def _of(table: sa.Table, kinds: Sequence[Kind]) -> sa.ColumnElement[bool]:
    if len(kinds) == 1:
        return table.c.kind == int(kinds[0])
    return (table.c.kind + 0).in_(kinds)  # not by the index on kind: the order is that of `seq`


def _rows(connection: sa.Connection, space: Space, kind: Kind, after: int, last: int, limit: int) -> Sequence[Row]:
    bounds = {"kind": int(kind), "after": after, "last": last, "most": limit}
    return connection.execute(_select(space, kind), bounds).all()


@cache
def _select(space: Space, kind: Kind) -> sa.Select[Any]:
    """Return a space's fixed columns, labels, numbers and sets, for a kind; null if it has none."""
    named = [
        *(label.name for label in space.labels),
        *(number.name for number in space.numbers),
        *(label.name for label in space.sets),
    ]
    columns = [_column(name, kind) for name in named]
    whole = {number.name for number in space.numbers if number.whole}
    own = any(isinstance(column, sa.Column) and column.table is not records for column in columns)
    source = records.join(TABLES[kind]) if own else records
    chosen = [
        sa.func.coalesce(column, _NO_NUMBER) if name in whole else column
        for name, column in zip(named, columns, strict=True)
    ]
    statement = sa.select(*(records.c[name] for name in _FIXED), *chosen).select_from(source)
    seq = records.c.seq
    within = records.c.kind == sa.bindparam("kind"), seq > sa.bindparam("after"), seq <= sa.bindparam("last")
    return statement.where(*within).order_by(seq).limit(sa.bindparam("most"))


def _column(name: str, kind: Kind) -> sa.ColumnElement[Any]:
    if name in _SPINE:
        return records.c[name]
    if (computed := _COMPUTED.get((name, kind))) is not None:
        return computed
    constant = kind.label if name == "kind" else _CONSTANT.get((name, kind))
    if constant is not None:
        return sa.literal_column(f"'{constant}'")
    table = TABLES[kind]
    own = _NAMED.get((name, kind), name)
    return sa.null() if name in _LINKED or own not in table.c else table.c[own]


def _sets(
    connection: sa.Connection, space: Space, columns: Sequence[Sequence[Any]], after: int, last: int
) -> dict[str, Sequence[Sequence[str]]]:
    """Return a space's sets, by name: for each row the texts in a JSON column, or the link targets."""
    seqs, first = columns[0], len(_FIXED) + len(space.labels) + len(space.numbers)
    linked = _targets(connection, space, after, last) if seqs else {}
    found: dict[str, Sequence[Sequence[str]]] = {}
    for place, label in enumerate(space.sets, first):
        if label.name in _LINKED:
            role = int(_LINKED[label.name])
            found[label.name] = [linked.get((seq, role), ()) for seq in seqs]
        else:
            found[label.name] = [() if cell is None or cell == "[]" else orjson.loads(cell) for cell in columns[place]]
    return found


def _targets(connection: sa.Connection, space: Space, after: int, last: int) -> Mapping[tuple[int, int], Sequence[str]]:
    """Return the targets of a space's records, by `seq` and role, in the roles used by the sets."""
    roles = [int(_LINKED[label.name]) for label in space.sets if label.name in _LINKED]
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    if roles:
        statement = (
            sa.select(records.c.seq, links.c.role, links.c.target)
            .join_from(records, links)
            .where(_of(records, space.kinds), records.c.seq > after, records.c.seq <= last)
            .where(links.c.role.in_(roles))
            .order_by(records.c.seq, links.c.role, links.c.place)
        )
        for seq, role, target in connection.execute(statement):
            found[seq, role].append(target)
    return found


def _windows(
    connection: sa.Connection, kinds: Sequence[Kind], seqs: Sequence[int], after: int, last: int, model: str | None
) -> tuple[IntArray, FloatArray]:
    """Return the number of vectors of `model` for each of `seqs`, and all of them, in that order."""
    found: Sequence[Row] = ()
    if model is not None and seqs:
        statement = (
            sa.select(records.c.seq, vectors.c.vector)
            .join(vectors, records.c.key == vectors.c.key)
            .where(_of(records, kinds), records.c.seq > after, records.c.seq <= last, vectors.c.model == model)
            .order_by(records.c.seq, vectors.c.window)
        )
        found = connection.execute(statement).all()
    owners, cells = zip(*found, strict=True) if found else ((), ())
    return np.bincount(np.searchsorted(seqs, owners), minlength=len(seqs)), matrix(cells)


class ChangeWatch:
    """A connection without an open transaction between two looks. For one thread.

    SQLite counts other connections' commits; for PostgreSQL the last `seq` is read.
    """

    def __init__(self, store: Store) -> None:
        self._engine = store.reader
        self._embedded = store.reader.dialect.name == "sqlite"
        self._connection: sa.Connection | None = None
        self._last: int | None = None

    def has_changed(self) -> bool:
        """Return whether there was a commit since the last call; True the first time, and after a failure.

        Raise ComponentFailed while the database does not answer.
        """
        with failures():
            if self._connection is None:
                self._connection = self._connect_watch()
            try:
                with self._connection.begin():
                    value: int = self._connection.execute(_VERSION if self._embedded else _LAST).scalar_one()
            except sa.exc.DBAPIError:
                self.close()
                raise
        before, self._last = self._last, value
        return value != before

    def close(self) -> None:
        """Close the connection; `changed` opens a new one."""
        connection, self._connection, self._last = self._connection, None, None
        if connection is not None:
            with failures():
                connection.close()

    def _connect_watch(self) -> sa.Connection:
        connection = self._engine.connect()
        if not self._embedded:  # each look is a single statement
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # closed at the end, and not given back to the pool
        return connection
