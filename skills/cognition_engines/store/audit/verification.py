"""Whether a chain of audit rows is as it was written.

Each hash covers the row and the hash before it, so that no row can be changed, left out or moved without a trace. Who
may write to the database can compute all hashes again: against that helps only a number and hash noted elsewhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from cognition_engines.store.audit.audit_rows import AuditRow, ChainHead, hash_after

Problem = Literal["missing", "altered", "reordered", "truncated", "extra", "head", "noted"]
MOST_BREAKS: Final = 100  # that are listed; all are counted


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """What is wrong at a row, by its number.

    `missing`: it and maybe some before it; `altered`, `reordered`, `extra`: the row itself; `truncated`: it and all
    after it are missing; `head`: the head is not that of the last row; `noted`: it is not the one noted elsewhere.
    """

    number: int
    problem: Problem
    message: str


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The head of a chain, how many rows there are, and what is wrong: `found` breaks, the first of them listed."""

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
            self._note(row.number, *_misplaced(row, page))
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


def verified(head: ChainHead, pages: Iterable[Sequence[AuditRow]], noted: tuple[int, str] | None = None) -> ChainReport:
    """What is wrong with the rows of a chain, given ascending from the first that there is.

    `noted` is the number and hash of a row, kept elsewhere. One that was pruned since proves nothing any more, unless
    it is the row of the cut.
    """
    verification = _Verification(head, noted)
    for page in pages:
        verification.add(page)
    return verification.end()


def _misplaced(row: AuditRow, page: Sequence[AuditRow]) -> tuple[Problem, str]:
    """A row whose hash follows another one than the row before it, or none that is near."""
    if any(hash_after(one.hash, row.entry) == row.hash for one in page):
        return "reordered", f"row {row.number} stood elsewhere"
    return "altered", f"row {row.number} is not as it was written"
