"""How fast `cstp.changes` delivers to one reader, and how fast a bare read is: `python -m benchmarks.following`.

The reader is the Python client in one process, the server another one, the records decisions without vectors. The
control reads number, kind and id of the same rows with the driver of SQLite and does nothing with them.
"""

import argparse
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.page import describe_machine
from benchmarks.serving import served
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Sensitivity
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from cstp import Client
from cstp_server.settings import Settings

REQUIRED: Final = 10_000  # changes a second
RECORDS: Final = 100_000
ROUNDS: Final = 5
_BATCH: Final = 1000
_VARIABLES: Final = {"CSTP_EMBEDDING__MODEL": "none"}


@dataclass(frozen=True, slots=True)
class FollowingRow:
    """Changes a second, the median of the rounds; `seen` of the `records` are those that the reader may see."""

    records: int
    seen: int
    rate: float
    bare_rate: float

    @property
    def kept(self) -> bool:
        return self.rate >= REQUIRED


def measure_following(count: int = RECORDS, rounds: int = ROUNDS, hidden: int = 0) -> FollowingRow:
    """Reads all changes of a store of `count` decisions, of which one in `hidden` is hidden, if that is not 0."""
    with TemporaryDirectory(prefix="cstp-benchmark-") as name:
        settings = Settings.model_validate({"data_dir": name, "embedding": {"model": "none"}})
        records = open_records(settings.store_url)
        for batch in _batches(count, hidden):
            records.put(batch, None)
        records.close()
        seen, rates, bare = 0, [], []
        with served(settings, _VARIABLES) as caller, Client(f"http://127.0.0.1:{caller.port}", caller.token) as client:
            for _ in range(rounds):
                began = perf_counter()
                seen = sum(1 for _ in client.changes(0, follow=False))
                rates.append(seen / (perf_counter() - began))
                bare.append(count / _bare_seconds(settings.data_dir))
        return FollowingRow(count, seen, sorted(rates)[rounds // 2], sorted(bare)[rounds // 2])


def rendered(row: FollowingRow) -> str:
    """The row of a table."""
    kept = "yes" if row.kept else "**no**"
    return f"| {row.records:,} | {row.seen:,} | {row.rate:,.0f} | {row.bare_rate:,.0f} | {REQUIRED:,} | {kept} |"


def _batches(count: int, hidden: int) -> Iterator[list[Entry]]:
    numbers = iter(range(count))
    while batch := list(islice(numbers, _BATCH)):
        yield [_entry(number, secret=hidden > 0 and number % hidden == 0) for number in batch]


def _entry(number: int, *, secret: bool) -> Entry:
    level = Sensitivity.HIGHLY_SENSITIVE if secret else Sensitivity.NORMAL
    decision = Decision(id=f"dec_{number:016x}", title=f"Decision {number}", text="A text.", sensitivity=level)
    return Entry(decision, Origin("/benchmark", number, None, str(number)))


def _bare_seconds(folder: Path) -> float:
    """What the driver alone takes to read the rows in the same order."""
    (file,) = folder.glob("*.sqlite3")
    connection = sqlite3.connect(file)
    began = perf_counter()
    for _ in connection.execute("SELECT seq, kind, id FROM records ORDER BY seq"):
        pass
    spent = perf_counter() - began
    connection.close()
    return spent


def main() -> int:
    """Prints the rows; the exit code is 1 where one is slower than required."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=RECORDS)
    arguments = parser.parse_args()
    rows = [measure_following(arguments.records), measure_following(arguments.records, hidden=2)]
    sys.stdout.write(describe_machine() + "\n")
    sys.stdout.write("| records | seen | changes/s | bare read, rows/s | at least | kept |" + "\n")
    sys.stdout.write("| --- | --- | --- | --- | --- | --- |" + "\n")
    for row in rows:
        sys.stdout.write(rendered(row) + "\n")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
