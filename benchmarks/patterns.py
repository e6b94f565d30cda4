"""The processor time of `Engine.decision_context`: ordinary patterns, and patterns and paths that are hard to match."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final

from benchmarks.options import show_progress
from benchmarks.page import table, verdict
from cognition_engines.engine import Engine
from cognition_engines.indexes.indexes import open_indexes
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision
from cognition_engines.queries.decision_context import Governing
from cognition_engines.queries.governing import ContextRequest
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from cstp.values.decisions import AffectedPart

PATTERNS: Final = 5_000
FILES: Final = 256
LONGEST: Final = 1_024  # characters of a path
DECISIONS: Final = 100_000
ROUNDS: Final = 5
BOUND: Final = 200  # ms
_PAGE: Final = 5_000  # decisions stored at a time
PATTERNS_READING: Final = f"""Reading the table:

- A time is the median of {ROUNDS} calls of `Engine.decision_context` in milliseconds of processor time of the whole
  process. Each call names new files, so that none of it is cached; *again* is the same call once more, whose matches
  are cached: it reads the found decisions.
- *The control* looks in the same run for the longest literal part of each pattern in each path (`part in path`), which
  a matcher that compares each pattern with each path cannot avoid. *Ratio* is the call over the control.
- The first row has {DECISIONS:,} decisions, of which {PATTERNS:,} have a pattern such as `src/part_7/**`, and 50 files.
  All others have {PATTERNS:,} decisions with one pattern each, and {FILES} paths of up to {LONGEST:,} characters. Their
  bound is {BOUND} ms for paths that repeat themselves. *Random* rows have no bound: few parts of their paths are alike.
"""


@dataclass(frozen=True, slots=True)
class Case:
    """Patterns, and the files of a round."""

    name: str
    patterns: Sequence[str]
    files: Callable[[int], Sequence[str]]
    decisions: int = PATTERNS
    bounded: bool = True


@dataclass(frozen=True, slots=True)
class PatternRow:
    """Milliseconds of processor time of a case, its control, and the number of decisions in the answer."""

    case: Case
    first: float
    again: float
    control: float
    found: int


def make_cases() -> Sequence[Case]:
    """Return the cases, the ordinary one first."""
    random = Random(5)
    numbers = range(PATTERNS)
    letters = ascii_lowercase + "_/"

    def text(size: int, characters: str = "ab") -> str:
        return "".join(random.choices(characters, k=size))

    mixed = [text(1_000) for _ in range(FILES)]
    words = [text(1_000, letters).replace("//", "/a").strip("/") for _ in range(FILES)]
    return (
        Case(
            "ordinary",
            [f"src/part_{number}/**" for number in numbers],
            lambda turn: [f"src/part_{100 * place}/deep/er/file{turn}.py" for place in range(50)],
            DECISIONS,
        ),
        Case(
            "`*aa…00?*aa…b*`, no `b`",
            [f"*{'a' * (20 + n % 100)}00?*{'a' * (20 + n // 100)}b*" for n in numbers],
            lambda turn: _numbered(f"{'a' * 500}00{'a' * 450}", turn),
        ),
        Case(
            "the same, `b` before `00`",
            [f"*{'a' * (20 + n % 100)}00?*{'a' * (20 + n // 100)}b*" for n in numbers],
            lambda turn: _numbered(f"b{'a' * 300}b{'a' * 200}00{'a' * 450}", turn),
        ),
        Case(
            "three parts in another order",
            [f"*{'a' * (1 + n % 120)}b{'a' * (1 + n // 120)}c*{'a' * (1 + n % 100)}b*" for n in numbers],
            lambda turn: _numbered(f"{'a' * 400}b{'a' * 400}c{'a' * 100}", turn),
        ),
        Case(
            "many `**`",
            [f"**/{'/'.join('a' * (1 + (n >> bit & 1)) for bit in range(12))}/**/a/**/b{n % 7}" for n in numbers],
            lambda turn: _numbered("a/aa/" * 200, turn),
        ),
        Case(
            "sets and stars in names",
            [f"*{'a' * (n % 70 + 1)}[ab]*/{'?' * (n // 70 % 8)}*a[!b]*/**/{'a' * (n // 560 + 1)}b*" for n in numbers],
            lambda turn: [
                *_numbered(f"{'a' * 90}/" * 11, turn)[1:],
                f"{'/'.join('a' * n + 'b' for n in range(1, 10))}",
            ],
        ),
        Case(
            "random texts of `a` and `b`",
            [f"*{text(100)}*{text(100)}*" for _ in numbers],
            lambda turn: [f"{each}{turn}" for each in mixed],
            bounded=False,
        ),
        Case(
            "random words",
            [f"*{text(3, ascii_lowercase)}*{text(4, ascii_lowercase)}*{text(3, ascii_lowercase)}*" for _ in numbers],
            lambda turn: [f"{each}{turn}" for each in words],
            bounded=False,
        ),
    )


def _numbered(path: str, turn: int) -> Sequence[str]:
    return [f"{path[: LONGEST - 8]}{turn}x{number:03d}" for number in range(FILES)]


def measure_patterns() -> Sequence[PatternRow]:
    """Fill a folder for each case, and ask its engine."""
    rows = []
    for case in make_cases():
        show_progress(f"{case.name}: {case.decisions} decisions")
        with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
            rows.append(asyncio.run(_measure(case, Path(folder))))
    return rows


def render_patterns(rows: Sequence[PatternRow]) -> Sequence[str]:
    """Return the parts of the page."""
    heads = ["patterns", "first, ms", "again, ms", "control, ms", "ratio", f"kept (at most {BOUND} ms)", "found"]
    cells = [
        [
            row.case.name,
            f"{row.first:.1f}",
            f"{row.again:.1f}",
            f"{row.control:.1f}",
            f"{row.first / row.control:.2f}",
            verdict(row.first <= BOUND) if row.case.bounded else "",
            f"{row.found:,}",
        ]
        for row in rows
    ]
    return [PATTERNS_READING, table(heads, cells)]


async def _measure(case: Case, folder: Path) -> PatternRow:
    records = open_records(f"sqlite:///{folder / 'records.db'}")
    for start in range(0, case.decisions, _PAGE):
        records.put([_entry(case, number) for number in range(start, min(start + _PAGE, case.decisions))], None)
    engine = Engine(records, open_indexes(folder / "indexes", records, None), None)
    governing = Governing(records, engine.listings, engine.pools, engine.indexes.set_aside)
    try:
        first, again, control = [], [], []
        found = 0
        for turn in range(ROUNDS + 1):
            request = ContextRequest(tuple(case.files(turn)))
            times = []
            for _ in range(2):
                began = process_time()
                context = await governing.context(request)
                times.append(1_000 * (process_time() - began))
            if turn:  # the first one reads all records
                first.append(times[0])
                again.append(times[1])
                control.append(_control(case.patterns, request.files))
                found = len(context.governing) + context.unread
        return PatternRow(case, median(first), median(again), median(control), found)
    finally:
        engine.close()


def _entry(case: Case, number: int) -> Entry:
    step = case.decisions // len(case.patterns)
    patterns = (case.patterns[number // step],) if number % step == 0 else ()
    affects = tuple(AffectedPart("path", one) for one in patterns)
    decision = Decision(id=f"d-{number}", title=f"Choose {number}", status="accepted", affects=affects)
    return Entry(decision, Origin("/decisions.jsonl", number, None, str(number)), None)


def _control(patterns: Sequence[str], files: Sequence[str]) -> float:
    """Return the milliseconds to look for a literal part of each pattern in each path."""
    began = process_time()
    parts = [max(pattern.replace("?", "*").replace("[", "*").split("*"), key=len) for pattern in patterns]
    sum(part in path for part in parts for path in files)
    return 1_000 * (process_time() - began)
