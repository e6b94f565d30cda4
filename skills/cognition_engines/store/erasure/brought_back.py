"""Forgotten records that a restore brought back, and records that belong to them under ids of their own."""

from collections.abc import Iterable, Sequence
from typing import Final

import sqlalchemy as sa

from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.kind import Kind
from cognition_engines.store.erasure.cascade import (
    PARTS,
    Doomed,
    Sight,
    doomed,
    drawn_from_only,
    edges_of,
    referring,
)
from cognition_engines.store.erasure.ledger import Erasure, ledger, note, spend
from cognition_engines.store.schema import records
from cognition_engines.store.write_rows import bury

_LAST: Final = (Kind.SOURCE, Kind.ARTIFACT, Kind.TURN)  # they go after the records that belong to them


def erase_again(connection: sa.Connection, found: Sequence[Erasure]) -> int:
    """Forget the records that a restore brought back; return their number.

    These are the records of the ledger that are no younger than their erasure, and their owner's records that belong to
    a forgotten one: an amendment may have dropped them before the erasure, so that the ledger does not have their ids.
    A record of the same id that was written after the erasure is another one, and stays.
    """
    note(connection, found)
    entries = ledger(connection)
    named = {(one.kind, one.id): one for one in entries}
    there = [one for one in doomed(connection, records.c.id, sorted({id for _, id in named})) if _name(one) in named]
    back = {one.key: one for one in there if one.recorded_at <= named[_name(one)].at}
    alive = {_name(one) for one in there if one.key not in back}
    missing = [one for one in entries if (one.kind, one.id) not in alive]
    for owner in {one.written_by for one in missing}:
        roots = [one for one in missing if one.written_by == owner]
        back |= {one.key: one for one in _belonging(connection, roots, list(back.values()), owner)}
    ordered = sorted(back.values(), key=lambda one: one.kind in _LAST)
    bury(connection, [(one.kind, one.id, one.key) for one in ordered])
    spend(connection, ordered)
    return len(ordered)


def _belonging(
    connection: sa.Connection, roots: Sequence[Erasure], back: Sequence[Doomed], owner: str | None
) -> list[Doomed]:
    """Return the records of the owner that belong to roots, none of which is in the store after the restore."""
    sight, last = Sight(connection, None), max(one.at for one in roots)
    gone: dict[int, Doomed] = {}

    def take(found: Iterable[Doomed]) -> None:
        gone.update((one.key, one) for one in found if one.updated_at <= last and (one.cut or one.owner == owner))

    for role in set(PARTS.values()):
        take(referring(connection, (role,), [one.id for one in roots if PARTS.get(one.kind) is role]))
    chunks = {one.id for one in roots if one.kind is Kind.CHUNK}
    chunks |= {one.id for one in gone.values() if one.kind is Kind.CHUNK}
    take(drawn_from_only(sight, sorted(chunks)))
    present = {one.id: one.key for one in back if one.kind is Kind.ENTITY}
    for root in roots:
        if root.kind is Kind.ENTITY:
            take(edges_of(sight, present.get(root.id), normal(root.id)))
    return list(gone.values())


def _name(one: Doomed) -> tuple[Kind, str]:
    return one.kind, one.id
