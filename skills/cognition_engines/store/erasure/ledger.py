"""The ledger of forgotten records, in the database and as lines of a file, and its use by a restore.

It has ids, times, hashes and the requesting agent, and no content. The file is for a lost database: restoring a backup
from before an erasure does not restore records forgotten since.
"""

import fcntl
import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from cognition_engines.errors import ConfigurationError
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.store.database import pages
from cognition_engines.store.erasure.cascade import (
    PARTS,
    ErasedRecord,
    Sight,
    drawn_from_only,
    edges_of,
    find_erased,
    find_referring,
)
from cognition_engines.store.schema import counter, erasures, receipt_names, receipts, records
from cognition_engines.store.write import delete_records

_log = logging.getLogger(__name__)

# members of kept answers that quote other records, also under the names of earlier versions
_QUOTED: Final = {"possible_duplicates", "possible_conflicts", "duplicates", "conflicts"}
FORGET: Final = "Forget"  # the method under whose keys answers about erasures are kept: they have no content
_LAST: Final = (Kind.SOURCE, Kind.ARTIFACT, Kind.TURN)  # deleted after the records that belong to them


@dataclass(frozen=True, slots=True)
class Erasure:
    """The end of a record: `at` in microseconds since 1970, `agent` None if it expired.

    `owner` is the agent who wrote the record, None if equal to `agent`; see `written_by`.
    """

    kind: Kind
    id: str
    at: int
    hash: str
    agent: str | None = None
    reason: str | None = None
    owner: str | None = None

    @property
    def written_by(self) -> str | None:
        """Return the agent who wrote the record; None for a record of a file."""
        return self.agent if self.owner is None else self.owner


_KEY: Final = ("agent", "method", "idempotency_key")  # of a receipt
_COLUMNS: Final = tuple(erasures.c[one.name] for one in fields(Erasure))


def erase(
    connection: sa.Connection, gone: Sequence[ErasedRecord], at: int, agent: str | None, reason: str | None
) -> None:
    """Delete records, the named record last, with the answers to their authors; note each in the ledger."""
    names = [(one.kind, one.id, one.key) for one in gone]
    delete_records(connection, names[1:])  # first, else records that belong to the other would lack it
    delete_records(connection, names[:1])
    spend(connection, gone)
    owners = [None if one.owner == agent else one.owner for one in gone]
    noted = zip(gone, owners, strict=True)
    note(connection, [Erasure(one.kind, one.id, at, one.hash, agent, reason, owner) for one, owner in noted])


def note(connection: sa.Connection, found: Sequence[Erasure]) -> None:
    """Add erasures to the ledger; a record's latest erasure counts."""
    seq = connection.execute(sa.select(counter.c.seq)).scalar_one()
    for page in pages(found):
        named = sa.select(erasures.c.kind, erasures.c.id, erasures.c.at).where(
            erasures.c.id.in_([one.id for one in page])
        )
        known = {(kind, id): at for kind, id, at in connection.execute(named)}
        latest = {(one.kind, one.id): one for one in sorted(page, key=lambda one: one.at)}
        fresh = [one for name, one in latest.items() if known.get(name, -1) < one.at]
        for one in fresh:
            connection.execute(sa.delete(erasures).where(erasures.c.kind == int(one.kind), erasures.c.id == one.id))
        if fresh:
            rows = [asdict(one) | {"kind": int(one.kind), "seq": seq} for one in fresh]
            connection.execute(sa.insert(erasures), rows)


def ledger(connection: sa.Connection, after: int = 0) -> list[Erasure]:
    """Return the erasures with a `seq` above `after`, in order."""
    statement = sa.select(*_COLUMNS).where(erasures.c.seq > after)
    rows = connection.execute(statement.order_by(erasures.c.seq, erasures.c.kind, erasures.c.id))
    return [Erasure(Kind(kind), *rest) for kind, *rest in rows]


def find_erasures(connection: sa.Connection, names: Sequence[tuple[Kind, str]]) -> dict[tuple[Kind, str], Erasure]:
    """Return the erasures of these records, if forgotten."""
    wanted = set(names)
    found: dict[tuple[Kind, str], Erasure] = {}
    for page in pages(sorted({id for _, id in names})):
        for kind, *rest in connection.execute(sa.select(*_COLUMNS).where(erasures.c.id.in_(page))):
            one = Erasure(Kind(kind), *rest)
            found[one.kind, one.id] = one
    return {name: one for name, one in found.items() if name in wanted}


@contextmanager
def ledger_locked(file: Path) -> Iterator[None]:
    """Keep other processes from adding to the file, by a lock on the folder. Raise OSError."""
    folder = os.open(file.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def read_ledger(file: Path) -> list[Erasure]:
    """Return the erasures of a file, none without it; cut off a last line torn by a power cut.

    Raise ConfigurationError if the file is no ledger, OSError if it cannot be read.
    """
    if not file.exists():
        return []
    with ledger_locked(file):
        return read_locked(file)[0]


def read_locked(file: Path, begin: int = 0) -> tuple[list[Erasure], int]:
    """Return a file's erasures from a byte on, and its size; see `read_ledger`. Its lock must be held."""
    if not file.exists():
        return [], 0
    with file.open("rb+") as opened:
        opened.seek(begin)
        content = opened.read()
        whole = content.rfind(b"\n") + 1
        place = f"{file}:" if begin == 0 else f"{file}, after byte {begin}:"
        found = [
            _parse_erasure(f"{place}{number}", line) for number, line in enumerate(content[:whole].splitlines(), 1)
        ]
        if whole == len(content):
            return found, begin + whole
        try:
            found.append(_parse_erasure(str(file), content[whole:]))
            opened.write(b"\n")
        except ConfigurationError:
            opened.truncate(begin + whole)
            _log.warning("%s: cut its last line, which was not written to its end", file)
        opened.flush()
        os.fsync(opened.fileno())
        return found, opened.seek(0, os.SEEK_END)


def _parse_erasure(place: str, line: bytes) -> Erasure:
    try:
        given = json.loads(line)
        return Erasure(**{**given, "kind": KINDS[given["kind"]]})
    except (ValueError, LookupError, TypeError) as error:
        raise ConfigurationError(f"{place}: is no line of the ledger of erasures; correct it") from error


def append_ledger(file: Path, fresh: Sequence[Erasure]) -> None:
    """Add erasures to the file, readable by the owner only, and wait until they are on the disk. Raise OSError."""
    if not fresh:
        return
    lines = "".join(f"{json.dumps(_format_erasure(one))}\n" for one in fresh)
    new = not file.exists()
    with open(
        os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "w", encoding="utf-8"
    ) as out:
        out.write(lines)
        out.flush()
        os.fsync(out.fileno())
    if new:
        sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names of a folder's files are on the disk. Raise OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _format_erasure(one: Erasure) -> dict[str, object]:
    """Return an erasure as a line, naming the owner only if another agent."""
    members = asdict(one) | {"kind": one.kind.label}
    return {name: value for name, value in members.items() if name != "owner" or value is not None}


def spend(connection: sa.Connection, gone: Sequence[ErasedRecord]) -> None:
    """Delete the stored answers about these records, and their names in other answers."""
    others = receipts.c.method != FORGET
    for page in pages([one.id for one in gone]):
        connection.execute(sa.update(receipts).where(receipts.c.record.in_(page), others).values(answer=None))
        named = sa.select(receipt_names).where(receipt_names.c.record.in_(page))
        for row in connection.execute(named).mappings().all():
            place = [receipts.c[name] == row[name] for name in _KEY]
            answer = connection.execute(sa.select(receipts.c.answer).where(*place)).scalar()
            if answer is not None:
                left = _drop_quotes(answer, row["record"])
                connection.execute(sa.update(receipts).where(*place).values(answer=left))
        connection.execute(sa.delete(receipt_names).where(receipt_names.c.record.in_(page)))


def _drop_quotes(answer: str, id: str) -> str | None:
    """Return an answer about another record without quotations of this record; None if more of it names this record."""
    members = json.loads(answer)
    for quoted in _QUOTED & members.keys():
        members[quoted] = [one for one in members[quoted] if one["id"] != id]
    left = json.dumps(members, ensure_ascii=False)
    return None if json.dumps(id, ensure_ascii=False) in left else left


def erase_again(connection: sa.Connection, found: Sequence[Erasure]) -> int:
    """Forget the records that a restore added again; return their number.

    These are the ledger's records no younger than their erasure, and the owner's records that belong to a forgotten
    record: an amendment may have dropped them before the erasure, so the ledger does not have their ids. A record with
    the same id written after the erasure is another record, and stays.
    """
    note(connection, found)
    entries = ledger(connection)
    named = {(one.kind, one.id): one for one in entries}
    there = [
        one for one in find_erased(connection, records.c.id, sorted({id for _, id in named})) if _name(one) in named
    ]
    back = {one.key: one for one in there if one.recorded_at <= named[_name(one)].at}
    alive = {_name(one) for one in there if one.key not in back}
    missing = [one for one in entries if (one.kind, one.id) not in alive]
    for owner in {one.written_by for one in missing}:
        roots = [one for one in missing if one.written_by == owner]
        back |= {one.key: one for one in _find_belonging(connection, roots, list(back.values()), owner)}
    ordered = sorted(back.values(), key=lambda one: one.kind in _LAST)
    delete_records(connection, [(one.kind, one.id, one.key) for one in ordered])
    spend(connection, ordered)
    return len(ordered)


def _find_belonging(
    connection: sa.Connection, roots: Sequence[Erasure], back: Sequence[ErasedRecord], owner: str | None
) -> list[ErasedRecord]:
    """Return the owner's records that belong only to roots missing after the restore."""
    sight, last = Sight(connection, None), max(one.at for one in roots)
    gone: dict[int, ErasedRecord] = {}

    def take(found: Iterable[ErasedRecord]) -> None:
        gone.update((one.key, one) for one in found if one.updated_at <= last and (one.cut or one.owner == owner))

    for role in set(PARTS.values()):
        take(find_referring(connection, (role,), [one.id for one in roots if PARTS.get(one.kind) is role]))
    chunks = {one.id for one in roots if one.kind is Kind.CHUNK}
    chunks |= {one.id for one in gone.values() if one.kind is Kind.CHUNK}
    take(drawn_from_only(sight, sorted(chunks)))
    present = {one.id: one.key for one in back if one.kind is Kind.ENTITY}
    for root in roots:
        if root.kind is Kind.ENTITY:
            take(edges_of(sight, present.get(root.id), normal(root.id)))
    return list(gone.values())


def _name(one: ErasedRecord) -> tuple[Kind, str]:
    return one.kind, one.id
