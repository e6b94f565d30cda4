"""Audit rows: one for each call, with a hash that links it to the previous row, and the check of a chain.

Each hash covers the row and the previous hash, so no row can be changed, left out or moved without a trace. A program
that may write to the database can compute all hashes again; only a number and hash noted elsewhere reveal that.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final, Literal

import orjson

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import microseconds

START: Final = "0" * 64  # the hash before the first row
Problem = Literal["missing", "altered", "reordered", "truncated", "extra", "head", "noted"]
MOST_BREAKS: Final = 100  # listed; all are counted


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


def query_cell(query: str | None) -> str | None:
    """Return a query as stored: JSON in ASCII, since PostgreSQL keeps no NUL in a text."""
    return None if query is None else json.dumps(query)


def entry_cells(entry: AuditEntry) -> tuple[object, ...]:
    """Return an entry's cells in table column order, without number, hash and records."""
    at, query = microseconds(entry.at), query_cell(entry.query)
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
