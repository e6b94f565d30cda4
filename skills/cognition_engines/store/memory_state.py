"""The end of superseded memories: the facet `until`, from the earliest moment on.

It is computed in the transaction that changes either memory. A memory is superseded as long as another names it and
everyone who sees it sees the other: else its end would reveal a hidden record.
"""

from collections.abc import Iterable
from typing import Any, Final

import sqlalchemy as sa

from cognition_engines.kinds.decisions import EARLIEST
from cognition_engines.kinds.registry import PARENTS
from cognition_engines.kinds.spec import Role
from cognition_engines.models import microseconds
from cognition_engines.spaces import OPEN
from cognition_engines.store.codec import Cell
from cognition_engines.store.database import pages
from cognition_engines.store.inheritance import renumber, settle
from cognition_engines.store.schema import links, records

_ENDED: Final = microseconds(EARLIEST)
_UPDATE: Final = sa.update(records).where(records.c.key == sa.bindparam("row_key"))


def successor_of(old: sa.FromClause, new: sa.FromClause) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions, with a row in `links` of `new`, that the memory `new` supersedes the memory `old`."""
    return (
        links.c.role == int(Role.REPLACED),
        links.c.target == old.c.id,
        old.c.kind.in_(PARENTS),
        links.c.key == new.c.key,
        new.c.key != old.c.key,
        new.c.project.is_not_distinct_from(old.c.project),
        new.c.sensitivity <= old.c.sensitivity,
    )


def named_as_replaced(connection: sa.Connection, keys: Iterable[int]) -> set[int]:
    """Return the keys of stored memories named in these memories as superseded, even without effect."""
    found: set[int] = set()
    for page in pages(sorted(set(keys))):
        found.update(connection.execute(_NAMED.where(links.c.key.in_(page))).scalars())
    return found


def settle_ends(connection: sa.Connection, keys: Iterable[int], written: Iterable[int]) -> None:
    """Compute the end of these memories and of all their parts.

    Memories whose end changes get a new `seq`, unless they are among the keys `written`, which have one.
    """
    changed: dict[int, sa.Row[Any]] = {}
    for page in pages(sorted(set(keys))):
        rows = connection.execute(_ENDS.where(records.c.key.in_(page)))
        changed |= {row.key: row for row in rows if row.until != (_ENDED if row.superseded else OPEN)}
    if not changed:
        return
    ends: list[dict[str, Cell]] = [
        {"row_key": key, "until": _ENDED if row.superseded else OPEN} for key, row in changed.items()
    ]
    connection.execute(_UPDATE, ends)
    renumber(connection, changed.keys() - set(written))
    settle(connection, [row.id for row in changed.values()], (), written)


_new: Final = records.alias()
_SUPERSEDED: Final = sa.exists().where(*successor_of(records, _new))
_ENDS: Final = sa.select(records.c.key, records.c.id, records.c.until, _SUPERSEDED.label("superseded")).where(
    records.c.kind.in_(PARENTS)
)
_NAMED: Final = (
    sa.select(records.c.key)
    .join_from(links, records, records.c.id == links.c.target)
    .where(links.c.role == int(Role.REPLACED), records.c.kind.in_(PARENTS))
)
