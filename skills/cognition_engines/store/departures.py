"""Who loses sight of a record: what is left behind of the rights that it had, for those who follow changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from cognition_engines.store.schema import departures, records
from cognition_engines.store.transactions import pages


@dataclass(frozen=True, slots=True)
class Rights:
    """What isolation goes by: an effective project and sensitivity."""

    project: str | None
    sensitivity: int


def rights_of(connection: sa.Connection, keys: Iterable[int]) -> dict[int, Rights]:
    """The rights of records, by key."""
    statement = sa.select(records.c.key, records.c.project, records.c.sensitivity)
    return {
        key: Rights(project, sensitivity)
        for page in pages(sorted(keys))
        for key, project, sensitivity in connection.execute(statement.where(records.c.key.in_(page)))
    }


def note_departures(connection: sa.Connection, before: Mapping[int, Rights]) -> None:
    """Note the rights that records had, by key, where some who had them do not see the record any more.

    The note has the `seq` of the record, which is a new one by now.
    """
    columns = (records.c[name] for name in ("seq", "key", "kind", "id", "project", "sensitivity"))
    statement = sa.select(*columns)
    rows = [
        {
            "seq": row.seq,
            "key": row.key,
            "kind": row.kind,
            "id": row.id,
            "project": before[row.key].project,
            "sensitivity": before[row.key].sensitivity,
        }
        for page in pages(sorted(before))
        for row in connection.execute(statement.where(records.c.key.in_(page)))
        if not _kept(before[row.key], Rights(row.project, row.sensitivity))
    ]
    for part in pages(rows):
        connection.execute(sa.insert(departures), list(part))


def _kept(before: Rights, after: Rights) -> bool:
    """Whether all who saw the record still see it."""
    return before.project == after.project and after.sensitivity <= before.sensitivity
