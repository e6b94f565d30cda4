"""Changes for a viewer: to visible records, and to records no longer visible."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cognition_engines.store.database import Store, begin_read
from cognition_engines.store.reads.by_key import visible
from cognition_engines.store.schema import counter, departures, records, tombstones

_LEAVINGS: Final = (tombstones, departures)


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A record appeared or changed, or with `gone` it was deleted or hidden from the viewer."""

    seq: int
    kind: Kind
    id: str
    gone: bool


@dataclass(frozen=True, slots=True)
class SeenChanges:
    """Changes by ascending `seq`; `more`: others follow.

    They are complete up to `covered`, which must not be in answers, since it reveals others' writes.
    """

    changes: Sequence[SeenChange]
    covered: int
    more: bool


class ViewerChanges:
    """Changes for a viewer."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def after(self, viewer: Viewer, after: int, kinds: Sequence[Kind] | None, limit: int) -> SeenChanges:
        """Return the next `limit` changes with a `seq` above `after` that the viewer may know of, without gaps.

        Only a record's last change is returned. A deleted record, or a record with changed rights, is reported as gone
        to a viewer that saw it then and does not see it now; a record it never saw is not reported.
        """
        if limit < 1:
            raise ValueError("limit: must be at least 1")
        with begin_read(self._store) as connection:
            newest: int = connection.execute(sa.select(counter.c.seq)).scalar_one()
            if newest <= after:
                return SeenChanges((), after, more=False)
            found = [
                SeenChange(row.seq, Kind(row.kind), row.id, gone=False)
                for row in connection.execute(_select_changes(records, viewer, after, kinds, limit))
            ]
            for table in _LEAVINGS:
                rows = _left(connection, table, viewer, after, kinds, limit)
                found += [SeenChange(row.seq, Kind(row.kind), row.id, gone=True) for row in rows]
        found.sort(key=lambda one: one.seq)
        if len(found) <= limit:
            return SeenChanges(found, newest, more=False)
        return SeenChanges(found[:limit], found[limit - 1].seq, more=True)

    def last(self, viewer: Viewer) -> int:
        """Return the `seq` of the last change to a record that the viewer sees or saw; 0 if there is none."""
        with begin_read(self._store) as connection:
            return max(_last(connection, table, viewer) for table in (records, *_LEAVINGS))


def _left(
    connection: sa.Connection,
    table: sa.Table,
    viewer: Viewer,
    after: int,
    kinds: Sequence[Kind] | None,
    limit: int,
) -> Sequence[sa.Row[Any]]:
    """Return the rows of records that left the viewer's sight for good: the last of several."""
    later = [each.alias() for each in _LEAVINGS]
    again = (
        sa.exists().where(
            each.c.id == table.c.id, each.c.kind == table.c.kind, each.c.seq > table.c.seq, *_visible_rows(each, viewer)
        )
        for each in later
    )
    present = sa.exists().where(
        records.c.kind == table.c.kind, records.c.id == table.c.id, *_visible_rows(records, viewer)
    )
    statement = _select_changes(table, viewer, after, kinds, limit).where(~present, *(~each for each in again))
    return connection.execute(statement).all()


def _select_changes(
    table: sa.Table, viewer: Viewer, after: int, kinds: Sequence[Kind] | None, limit: int
) -> sa.Select[tuple[int, int, str]]:
    chosen = [] if kinds is None else [(table.c.kind + 0).in_([int(kind) for kind in kinds])]  # in the order of seq
    statement = sa.select(table.c.seq, table.c.kind, table.c.id).where(
        table.c.seq > after, *chosen, *_visible_rows(table, viewer)
    )
    return statement.order_by(table.c.seq).limit(limit + 1)


def _last(connection: sa.Connection, table: sa.Table, viewer: Viewer) -> int:
    statement = sa.select(table.c.seq).where(*_visible_rows(table, viewer)).order_by(table.c.seq.desc()).limit(1)
    return connection.execute(statement).scalar() or 0


def _visible_rows(table: sa.FromClause, viewer: Viewer) -> list[sa.ColumnElement[bool]]:
    """Return the condition on rows visible to a viewer, by project and sensitivity; without expired records."""
    if table is records:
        return visible(viewer)
    conditions: list[sa.ColumnElement[bool]] = [table.c.sensitivity <= int(viewer.clearance)]
    if viewer.projects is not None:
        conditions.append(table.c.project.in_(sorted(viewer.projects)))
    return conditions
