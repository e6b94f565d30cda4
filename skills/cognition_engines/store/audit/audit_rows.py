"""Rows of the audit: one for each call, the hash that links it to the row before it, and the check of a chain.

Each hash covers the row and the hash before it, so that no row can be changed, left out or moved without a trace. A
program that may write to the database can compute all hashes again; only a number and hash noted elsewhere reveal that.
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
MOST_BREAKS: Final = 100  # that are listed; all are counted


@dataclass(frozen=True, slots=True)
class AuditedRecord:
    """A record that an answer named, or with `written` one that the call changed; `kind` is the label of its kind."""

    kind: str
    id: str
    written: bool = False


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One call: the time of its answer, the caller, the request id, and the outcome.

    `code` is 0 for a result, else the code of the error. `query` is the text of the query, None if queries are not
    kept.
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
    """An entry with its number, from 1, and its hash, 64 hexadecimal digits."""

    number: int
    entry: AuditEntry
    hash: str


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last row of a chain, and the last that was pruned: by number and hash, 0 and START if there is none."""

    number: int = 0
    hash: str = START
    pruned: int = 0
    pruned_hash: str = START


def record_of(kind: Kind, id: object, written: bool = False) -> AuditedRecord:
    """Return the record of a kind and id, as the audit names it."""
    return AuditedRecord(kind.label, str(id), written)


def query_cell(query: str | None) -> str | None:
    """Return the stored form of a query: JSON in ASCII, for PostgreSQL keeps no NUL in a text."""
    return None if query is None else json.dumps(query)


def entry_cells(entry: AuditEntry) -> tuple[object, ...]:
    """Return the cells of an entry in the order of the table's columns, without its number, hash and records."""
    at, query = microseconds(entry.at), query_cell(entry.query)
    return at, entry.agent, entry.via, entry.method, entry.request_id, entry.code, query


def hash_after(previous: str, entry: AuditEntry) -> str:
    """Return the hash of a row: SHA-256 over the hash of the row before it and the row's content as JSON."""
    content = [*entry_cells(entry), [[one.kind, one.id, one.written] for one in entry.records]]
    return sha256(previous.encode() + orjson.dumps(content)).hexdigest()


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """A fault at a row, by its number.

    `missing`: it and maybe some before it; `altered`, `reordered`, `extra`: the row itself; `truncated`: it and all
    after it are missing; `head`: the head is not that of the last row; `noted`: it is not the one noted elsewhere.
    """

    number: int
    problem: Problem
    message: str


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The head of a chain, the number of rows, and the faults: `found` breaks, the first of them listed."""

    head: ChainHead
    rows: int
    found: int
    breaks: tuple[ChainBreak, ...]

    @property
    def intact(self) -> bool:
        return not self.found


class _Verification:
    """Follows a chain row by row."""

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
            self._follow(row, page)

    def end(self) -> ChainReport:
        head = self.head
        if self.number < head.number:
            self._note(self.number + 1, "truncated", f"rows {self.number + 1} to {head.number} are missing at the end")
        elif self.number == head.number and self.hash != head.hash:
            self._note(head.number, "head", "the last row has another hash than the head")
        if self.noted is not None:
            self._compare(*self.noted)
        return ChainReport(head, self.rows, self.found, tuple(self.breaks))

    def _follow(self, row: AuditRow, page: Sequence[AuditRow]) -> None:
        if row.number <= self.head.pruned or row.number > self.head.number:
            self._note(row.number, "extra", f"row {row.number} is outside of the chain")
            return
        if row.number > self.number + 1:
            gap = f"rows {self.number + 1} to {row.number - 1} are missing"
            self._note(row.number - 1, "missing", gap)
        elif row.hash != hash_after(self.hash, row.entry):
            self._note(row.number, *_find_misplaced(row, page))
        if self.noted is not None and row.number == self.noted[0]:
            self.met = row.number
            if row.hash != self.noted[1]:
                self._note(row.number, "noted", f"row {row.number} has another hash than was noted")
        self.number, self.hash = row.number, row.hash

    def _compare(self, number: int, hash: str) -> None:
        if number == self.head.pruned:
            if hash != self.head.pruned_hash:
                self._note(number, "noted", f"row {number} has another hash than was noted")
        elif self.met is None:
            self._note(number, "noted", f"row {number}, which was noted, is not there")

    def _note(self, number: int, problem: Problem, message: str) -> None:
        self.found += 1
        if len(self.breaks) < MOST_BREAKS:
            self.breaks.append(ChainBreak(number, problem, message))


def verify_chain(
    head: ChainHead, pages: Iterable[Sequence[AuditRow]], noted: tuple[int, str] | None = None
) -> ChainReport:
    """Return the faults in the rows of a chain, given in ascending order from the first stored one.

    `noted` is the number and hash of a row, kept elsewhere. A row that was pruned since proves nothing, unless it is
    the last pruned one.
    """
    verification = _Verification(head, noted)
    for page in pages:
        verification.add(page)
    return verification.end()


def _find_misplaced(row: AuditRow, page: Sequence[AuditRow]) -> tuple[Problem, str]:
    """Return the problem of a row whose hash follows another row of the page than the one before it, or none."""
    if any(hash_after(one.hash, row.entry) == row.hash for one in page):
        return "reordered", f"row {row.number} stood elsewhere"
    return "altered", f"row {row.number} is not as it was written"
