"""The ledger of what was forgotten, in the database and as lines of a file, and what a restore takes from it.

It has ids, times, hashes and who asked for it, and nothing of the content. The file is for a database that is lost: a
backup from before an erasure does not bring back what was forgotten since.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from cognition_engines.errors import ConfigurationError
from cognition_engines.kinds.kind import KINDS, Kind
from cognition_engines.store.erasure.cascade import CUT, Doomed, doomed
from cognition_engines.store.schema import counter, erasures, receipts, records
from cognition_engines.store.transactions import pages
from cognition_engines.store.write_rows import bury

FORGET: Final = "Forget"  # the method under whose keys answers about erasures are kept: they have no content
_OWNERS: Final = (Kind.SOURCE, Kind.ARTIFACT, Kind.TURN)  # they go after what belongs to them


@dataclass(frozen=True, slots=True)
class Erasure:
    """That a record was forgotten: `at` in microseconds since 1970, `agent` None for one that expired."""

    kind: Kind
    id: str
    at: int
    hash: str
    agent: str | None = None
    reason: str | None = None


def erase(connection: sa.Connection, gone: Sequence[Doomed], at: int, agent: str | None, reason: str | None) -> None:
    """Delete records, the named one last, with what their authors were answered; note each in the ledger."""
    names = [(one.kind, one.id, one.key) for one in gone]
    bury(connection, names[1:])  # first, else what belongs to the other would have to do without it
    bury(connection, names[:1])
    _spend(connection, gone)
    note(connection, [Erasure(one.kind, one.id, at, one.hash, agent, reason) for one in gone])


def note(connection: sa.Connection, found: Sequence[Erasure]) -> None:
    """Add erasures to the ledger; of one record the latest counts."""
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
    """What was forgotten, from the `seq` above `after`, in order."""
    names = ("kind", "id", "at", "hash", "agent", "reason")
    statement = sa.select(*(erasures.c[name] for name in names)).where(erasures.c.seq > after)
    rows = connection.execute(statement.order_by(erasures.c.seq, erasures.c.kind, erasures.c.id))
    return [Erasure(Kind(kind), *rest) for kind, *rest in rows]


def erase_again(connection: sa.Connection, found: Sequence[Erasure]) -> int:
    """Forget what a restore brought back: the records of the ledger that are no younger than it; how many these were.

    A record of the same id that was written after the erasure is another one, and stays.
    """
    note(connection, found)
    named = {(one.kind, one.id): one.at for one in ledger(connection)}
    back = [
        one
        for one in doomed(connection, records.c.id, sorted({id for _, id in named}))
        if one.recorded_at <= named.get((one.kind, one.id), -1)
    ]
    back.sort(key=lambda one: one.kind in _OWNERS)
    bury(connection, [(one.kind, one.id, one.key) for one in back])
    _spend(connection, back)
    return len(back)


def forgotten(connection: sa.Connection, names: Sequence[tuple[Kind, str]]) -> dict[tuple[Kind, str], int]:
    """When each of these records was forgotten, of those that were, in microseconds since 1970."""
    found: dict[tuple[Kind, str], int] = {}
    for page in pages([id for _, id in names]):
        named = sa.select(erasures.c.kind, erasures.c.id, erasures.c.at).where(erasures.c.id.in_(page))
        found |= {(Kind(kind), id): at for kind, id, at in connection.execute(named)}
    return {name: at for name, at in found.items() if name in set(names)}


@contextmanager
def ledger_locked(file: Path) -> Iterator[None]:
    """Keeps other processes that ask for it from adding to the file, by a lock of its folder. Raises OSError."""
    folder = os.open(file.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def read_ledger(file: Path) -> list[Erasure]:
    """The erasures of a file; none without it. Raises ConfigurationError for one that is no ledger."""
    if not file.exists():
        return []
    found = []
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        try:
            given = json.loads(line)
            found.append(Erasure(**{**given, "kind": KINDS[given["kind"]]}))
        except (ValueError, LookupError, TypeError) as error:
            raise ConfigurationError(f"{file}:{number}: is no line of the ledger of erasures; correct it") from error
    return found


def append_ledger(file: Path, fresh: Sequence[Erasure]) -> None:
    """Add erasures to the file, readable for its owner only, and wait until they are on the disk. Raises OSError."""
    if not fresh:
        return
    lines = "".join(f"{json.dumps(asdict(one) | {'kind': one.kind.label})}\n" for one in fresh)
    new = not file.exists()
    with open(
        os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "w", encoding="utf-8"
    ) as out:
        out.write(lines)
        out.flush()
        os.fsync(out.fileno())
    if new:
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _spend(connection: sa.Connection, gone: Sequence[Doomed]) -> None:
    """Take what was answered about these records, and where other answers name them."""
    others = receipts.c.method != FORGET
    for page in pages([one.id for one in gone]):
        connection.execute(sa.update(receipts).where(receipts.c.record.in_(page), others).values(answer=None))
    columns = receipts.c.agent, receipts.c.method, receipts.c.idempotency_key, receipts.c.answer
    for id in [one.id for one in gone if one.kind not in CUT]:
        naming = sa.select(*columns).where(others, receipts.c.answer.contains(_quoted(id), autoescape=True))
        for agent, method, key, answer in connection.execute(naming).all():
            if _quoted(id) in answer:  # SQLite compares without case
                chosen = receipts.c.agent == agent, receipts.c.method == method, receipts.c.idempotency_key == key
                connection.execute(sa.update(receipts).where(*chosen).values(answer=_without(answer, id)))


def _without(answer: str, id: str) -> str | None:
    """An answer about another record without what it quotes of this one; None where all of it is about both."""
    members = json.loads(answer)
    members["duplicates"] = [one for one in members.get("duplicates", ()) if one["id"] != id]
    left = json.dumps(members, ensure_ascii=False)
    return None if _quoted(id) in left else left


def _quoted(id: str) -> str:
    return json.dumps(id, ensure_ascii=False)
