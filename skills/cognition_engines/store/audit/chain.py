"""The audit: one row for each call, appended to a chain of hashes, read, verified, pruned, and carried to other stores.

Each hash covers the row and the previous hash, so no row can be changed, left out or moved without a trace. A program
that may write to the database can compute all hashes again; only a number and hash noted elsewhere reveal that.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final, Literal

import orjson
import sqlalchemy as sa

from cognition_engines.errors import ComponentFailed
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import microseconds
from cognition_engines.store.codec import moment
from cognition_engines.store.database import REPLACED, WAIT, Store, begin_read, begin_scan, failures, pages
from cognition_engines.store.schema import audit_head, audit_records, audit_rows, records, tombstones
from cstp.values.system import AuditParams

START: Final = "0" * 64  # the hash before the first row
Problem = Literal["missing", "altered", "reordered", "truncated", "extra", "head", "noted"]
MOST_BREAKS: Final = 100  # listed; all are counted
ROWS_AT_A_TIME: Final = 1000
_HEAD: Final = sa.select(audit_head)
_MOVE: Final = sa.update(audit_head).values(number=sa.bindparam("to_number"), hash=sa.bindparam("to_hash"))
_ROWS: Final = sa.select(audit_rows)
_PRUNED_AT_A_TIME: Final = 5000  # rows; others may append in between


@dataclass(frozen=True, slots=True)
class AuditedRecord:
    """A record named in an answer, or with `written` changed by the call; `kind` is the kind's label."""

    kind: str
    id: str
    written: bool = False


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A call: the time of the answer, the caller, the request id, and the outcome.

    `code` is 0 for a result, else the error code. `query` is the query text, None if queries are not kept.
    """

    at: datetime
    agent: str
    via: str
    method: str
    request_id: str
    code: int = 0
    records: tuple[AuditedRecord, ...] = ()
    query: str | None = None


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An entry with number, from 1, and hash, 64 hexadecimal digits."""

    number: int
    entry: AuditEntry
    hash: str


@dataclass(frozen=True, slots=True)
class ChainHead:
    """A chain's last row and last pruned row: by number and hash, 0 and START if there is none."""

    number: int = 0
    hash: str = START
    pruned: int = 0
    pruned_hash: str = START


def record_of(kind: Kind, id: object, written: bool = False) -> AuditedRecord:
    """Return the audit's name for a record, from kind and id."""
    return AuditedRecord(kind.label, str(id), written)


def entry_cells(entry: AuditEntry) -> tuple[object, ...]:
    """Return an entry's cells in table column order, without number, hash and records.

    The query is JSON in ASCII, since PostgreSQL keeps no NUL in a text.
    """
    at, query = microseconds(entry.at), None if entry.query is None else json.dumps(entry.query)
    return at, entry.agent, entry.via, entry.method, entry.request_id, entry.code, query


def hash_after(previous: str, entry: AuditEntry) -> str:
    """Return a row's hash: SHA-256 over the previous row's hash and the row's content as JSON."""
    content = [*entry_cells(entry), [[one.kind, one.id, one.written] for one in entry.records]]
    return sha256(previous.encode() + orjson.dumps(content)).hexdigest()


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """A fault at a row, by row number.

    `missing`: it and maybe some before it; `altered`, `reordered`, `extra`: the row itself; `truncated`: it and all
    after it are missing; `head`: the head differs from the last row; `noted`: it differs from the row noted elsewhere.
    """

    number: int
    problem: Problem
    message: str


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The chain head, the number of rows, and the faults: `found` breaks, the first of them listed."""

    head: ChainHead
    rows: int
    found: int
    breaks: tuple[ChainBreak, ...]

    @property
    def intact(self) -> bool:
        return not self.found


class _Verification:
    """Verification of a chain, row by row."""

    def __init__(self, head: ChainHead, noted: tuple[int, str] | None) -> None:
        self.head: Final = head
        self.noted: Final = noted
        self.number, self.hash = head.pruned, head.pruned_hash
        self.rows = self.found = 0
        self.breaks: list[ChainBreak] = []
        self.met = head.pruned if noted is not None and noted[0] <= head.pruned else None

    def add(self, page: Sequence[AuditRow]) -> None:
        for row in page:
            self.rows += 1
            self._check_row(row, page)

    def end(self) -> ChainReport:
        head = self.head
        if self.number < head.number:
            self._add_break(
                self.number + 1, "truncated", f"rows {self.number + 1} to {head.number} are missing at the end"
            )
        elif self.number == head.number and self.hash != head.hash:
            self._add_break(head.number, "head", "the last row has another hash than the head")
        if self.noted is not None:
            self._compare(*self.noted)
        return ChainReport(head, self.rows, self.found, tuple(self.breaks))

    def _check_row(self, row: AuditRow, page: Sequence[AuditRow]) -> None:
        if row.number <= self.head.pruned or row.number > self.head.number:
            self._add_break(row.number, "extra", f"row {row.number} is outside of the chain")
            return
        if row.number > self.number + 1:
            gap = f"rows {self.number + 1} to {row.number - 1} are missing"
            self._add_break(row.number - 1, "missing", gap)
        elif row.hash != hash_after(self.hash, row.entry):
            self._add_break(row.number, *_find_misplaced(row, page))
        if self.noted is not None and row.number == self.noted[0]:
            self.met = row.number
            if row.hash != self.noted[1]:
                self._add_break(row.number, "noted", f"row {row.number} has another hash than was noted")
        self.number, self.hash = row.number, row.hash

    def _compare(self, number: int, hash: str) -> None:
        if number == self.head.pruned:
            if hash != self.head.pruned_hash:
                self._add_break(number, "noted", f"row {number} has another hash than was noted")
        elif self.met is None:
            self._add_break(number, "noted", f"row {number}, which was noted, is not there")

    def _add_break(self, number: int, problem: Problem, message: str) -> None:
        self.found += 1
        if len(self.breaks) < MOST_BREAKS:
            self.breaks.append(ChainBreak(number, problem, message))


def verify_chain(
    head: ChainHead, pages: Iterable[Sequence[AuditRow]], noted: tuple[int, str] | None = None
) -> ChainReport:
    """Return the faults in a chain's rows, given in ascending order from the first stored row.

    `noted` is a row's number and hash, kept elsewhere. A row pruned since proves nothing, unless it is the last pruned
    row.
    """
    verification = _Verification(head, noted)
    for page in pages:
        verification.add(page)
    return verification.end()


def _find_misplaced(row: AuditRow, page: Sequence[AuditRow]) -> tuple[Problem, str]:
    """Return the problem of a row whose hash follows another row in the page than the previous row, or none."""
    if any(hash_after(one.hash, row.entry) == row.hash for one in page):
        return "reordered", f"row {row.number} stood elsewhere"
    return "altered", f"row {row.number} is not as it was written"


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Rows, newest first; `before` is the next page's position, None for the last page."""

    rows: tuple[AuditRow, ...]
    before: int | None
    head: ChainHead


class AuditChain:
    """An open store's audit. Every method is a transaction and raises ComponentFailed on failure."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def append(self, entries: Sequence[AuditEntry], attempts: list[ChainHead]) -> None:
        """Add rows in this order, all or none.

        `attempts` is empty at first, and passed again if these entries are passed again after a failure: it records
        attempts, since a commit may have succeeded although an error was reported.
        """
        with _append_transaction(self._store) as connection:
            locked_head(connection)  # first: an earlier attempt may be about to be committed
            if any(has_row(connection, one) for one in attempts):
                return
            append_rows(connection, entries, attempts)

    def head(self) -> ChainHead:
        """Return the head: the chain's end, and the last pruned row."""
        with begin_read(self._store) as connection:
            return head_of(connection)

    def last_at(self) -> datetime | None:
        """Return the last row's time; None without rows."""
        newest = sa.select(audit_rows.c.at).order_by(audit_rows.c.number.desc()).limit(1)
        with begin_read(self._store) as connection:
            at = connection.execute(newest).scalar()
        return None if at is None else moment(at)

    def page(self, params: AuditParams) -> AuditPage:
        """Return the newest matching rows with a number below `before`."""
        statement = _ROWS.where(*_conditions(params)).order_by(audit_rows.c.number.desc()).limit(params.limit + 1)
        with begin_read(self._store) as connection:
            found = _read_rows(connection, statement)
            head = head_of(connection)
        rows = tuple(found[: params.limit])
        return AuditPage(rows, rows[-1].number if len(found) > params.limit else None, head)

    def verify(self, noted: tuple[int, str] | None = None) -> ChainReport:
        """Return the chain's faults; see `verify_chain`."""
        with begin_scan(self._store) as connection:
            return verify_chain(head_of(connection), rows_after(connection, -1), noted)

    def prune(self, older_than: datetime) -> int:
        """Remove the oldest rows up to the first newer row; return their number. The head keeps the hash at the cut."""
        removed = 0
        while step := self._prune_step(older_than):
            removed += step
        return removed

    def _prune_step(self, older_than: datetime) -> int:
        with _append_transaction(self._store) as connection:
            head = locked_head(connection)
            kept = sa.select(audit_rows.c.number).where(audit_rows.c.at >= microseconds(older_than))
            first = connection.execute(kept.order_by(audit_rows.c.number).limit(1)).scalar()
            cut = min(head.number if first is None else first - 1, head.pruned + _PRUNED_AT_A_TIME)
            at_cut = sa.select(audit_rows.c.hash).where(audit_rows.c.number == cut)
            hash = connection.execute(at_cut).scalar()
            if cut <= head.pruned or hash is None:  # a chain without this row is left unchanged, to be verified
                return 0
            connection.execute(sa.delete(audit_records).where(audit_records.c.number <= cut))
            connection.execute(sa.delete(audit_rows).where(audit_rows.c.number <= cut))
            connection.execute(sa.update(audit_head).values(pruned=cut, pruned_hash=hash))
        return cut - head.pruned


def append_rows(connection: sa.Connection, entries: Sequence[AuditEntry], attempts: list[ChainHead]) -> None:
    """Add rows inside a writing transaction, which holds the chain head from here to the end."""
    head = locked_head(connection)
    number, hash = head.number, head.hash
    rows: list[AuditRow] = []
    for entry in entries:
        number, hash = number + 1, hash_after(hash, entry)
        rows.append(AuditRow(number, entry, hash))
    if not rows:
        return
    put_rows(connection, rows)
    connection.execute(_MOVE, {"to_number": number, "to_hash": hash})
    attempts.append(ChainHead(number, hash))


def head_of(connection: sa.Connection) -> ChainHead:
    """Return the chain head."""
    return ChainHead(*connection.execute(_HEAD).one())


def locked_head(connection: sa.Connection) -> ChainHead:
    """Return the chain head, locked against other transactions until the end of this one."""
    return ChainHead(*connection.execute(_HEAD.with_for_update()).one())  # on SQLite, BEGIN IMMEDIATE has done it


def has_row(connection: sa.Connection, head: ChainHead) -> bool:
    """Return whether the chain has a head's last row."""
    same = sa.select(audit_rows.c.number).where(audit_rows.c.number == head.number, audit_rows.c.hash == head.hash)
    return connection.execute(same).scalar() is not None


def rows_after(connection: sa.Connection, number: int) -> Iterator[list[AuditRow]]:
    """Yield the rows above a number, ascending, in pages."""
    while page := _read_rows(
        connection, _ROWS.where(audit_rows.c.number > number).order_by(audit_rows.c.number).limit(ROWS_AT_A_TIME)
    ):
        yield page
        number = page[-1].number


def changed_since(connection: sa.Connection, seq: int) -> list[tuple[int, str]]:
    """Return kind and id of all records written or deleted after a `seq`, in the order of these changes."""
    kept = sa.select(records.c.seq, records.c.kind, records.c.id).where(records.c.seq > seq)
    gone = sa.select(tombstones.c.seq, tombstones.c.kind, tombstones.c.id).where(tombstones.c.seq > seq)
    found = connection.execute(kept.union_all(gone).order_by("seq"))
    return list(dict.fromkeys((kind, id) for _, kind, id in found))


def put_rows(connection: sa.Connection, rows: Sequence[AuditRow]) -> None:
    """Add rows without a change."""
    _insert(connection, audit_rows, [(row.number, *entry_cells(row.entry), row.hash) for row in rows])
    named = [
        (row.number, place, one.kind, one.id, int(one.written))
        for row in rows
        for place, one in enumerate(row.entry.records)
    ]
    if named:
        _insert(connection, audit_records, named)


def _insert(connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[object, ...]]) -> None:
    """Add rows, given in column order; SQLAlchemy's own insert would take most of a batch's time."""
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    names, marks = (", ".join(parts) for parts in (table.c.keys(), [mark] * len(table.c)))
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(rows))


def put_head(connection: sa.Connection, head: ChainHead) -> None:
    """Set the head of a carried chain."""
    values = {"number": head.number, "hash": head.hash, "pruned": head.pruned, "pruned_hash": head.pruned_hash}
    connection.execute(sa.update(audit_head).values(**values))


@contextmanager
def _append_transaction(store: Store) -> Iterator[sa.Connection]:
    """Begin a writing transaction that does not hold the change counter."""
    if store.seen.replaced:
        raise ComponentFailed("records", REPLACED)
    with failures(), store.writer.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT}s'")
        yield connection


def _conditions(params: AuditParams) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = []
    if params.agent is not None:
        found.append(audit_rows.c.agent == params.agent)
    if params.method is not None:
        found.append(audit_rows.c.method == params.method)
    if params.id is not None:
        found.append(audit_rows.c.number.in_(sa.select(audit_records.c.number).where(audit_records.c.id == params.id)))
    if params.since is not None:
        found.append(audit_rows.c.at >= microseconds(params.since))
    if params.until is not None:
        found.append(audit_rows.c.at <= microseconds(params.until))
    if params.before is not None:
        found.append(audit_rows.c.number < params.before)
    return found


def _read_rows(connection: sa.Connection, statement: sa.Select[tuple[object, ...]]) -> list[AuditRow]:
    rows = connection.execute(statement).all()
    named: dict[int, list[AuditedRecord]] = {row.number: [] for row in rows}
    for page in pages(list(named)):
        of_rows = sa.select(audit_records).where(audit_records.c.number.in_(page))
        for row in connection.execute(of_rows.order_by(audit_records.c.number, audit_records.c.place)):
            named[row.number].append(AuditedRecord(row.kind, row.id, bool(row.written)))
    return [
        AuditRow(
            row.number,
            AuditEntry(
                moment(row.at),
                row.agent,
                row.via,
                row.method,
                row.request_id,
                row.code,
                tuple(named[row.number]),
                None if row.query is None else json.loads(row.query),
            ),
            row.hash,
        )
        for row in rows
    ]


def carry_audit(source: sa.Connection, target: sa.Connection, component: str) -> None:
    """Add source rows absent from the target. Source errors name the `component`.

    A target with rows keeps them all: source rows are added only if they continue the target's chain, because restoring
    a backup must not erase the target's audit.
    """
    ours = locked_head(target)
    with failures(component):
        theirs = head_of(source)
        continued = ours.number < theirs.number and (ours == ChainHead() or has_row(source, ours))
    if not continued:
        return
    for page in _read_pages(source, ours.number, component):
        put_rows(target, page)
    cut = theirs if ours == ChainHead() else ours
    put_head(target, ChainHead(theirs.number, theirs.hash, cut.pruned, cut.pruned_hash))


def _read_pages(source: sa.Connection, after: int, component: str) -> Iterator[list[AuditRow]]:
    pages = rows_after(source, after)
    while True:
        with failures(component):
            page = next(pages, None)
        if page is None:
            return
        yield page
