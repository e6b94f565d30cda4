"""The rate of `cstp.changes` to one reader, beside that of a bare read: `python -m benchmarks.following`.

The reader is the Python client in one process, the server another one, the records decisions without vectors. The
control reads number, kind and id of the same rows with the driver of SQLite and does nothing with them.
"""

import argparse
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.page import describe_machine, table, verdict
from benchmarks.serving import served, write_entries
from cognition_engines.kinds.spec import Origin
from cognition_engines.models import Decision, Sensitivity
from cognition_engines.store.values import Entry
from cstp import Client
from cstp_server.settings import Settings

REQUIRED: Final = 10_000  # changes a second
RECORDS: Final = 100_000
ROUNDS: Final = 5
_VARIABLES: Final = {"CSTP_EMBEDDING__MODEL": "none"}


def measure_following(count: int, hidden: int, rounds: int = ROUNDS) -> tuple[list[str], bool]:
    """Return a row of the table, and whether its bound is kept: a reader reads all changes of `count` decisions.

    One decision in `hidden` is hidden from the reader, unless that is 0. Rates are medians over the rounds.
    """
    with TemporaryDirectory(prefix="cstp-benchmark-") as name:
        settings = Settings.model_validate({"data_dir": name, "embedding": {"model": "none"}})
        write_entries(settings.store_url, _Decisions(count, hidden), None)
        seen, rates, bare = 0, [], []
        with served(settings, _VARIABLES) as caller, Client(f"http://127.0.0.1:{caller.port}", caller.token) as client:
            for _ in range(rounds):
                began = perf_counter()
                seen = sum(1 for _ in client.changes(0, follow=False))
                rates.append(seen / (perf_counter() - began))
                bare.append(count / _bare_seconds(settings.data_dir))
    kept = median(rates) >= REQUIRED
    figures = (count, seen, median(rates), median(bare), REQUIRED)
    return [*(f"{each:,.0f}" for each in figures), verdict(kept)], kept


@dataclass(frozen=True, slots=True)
class _Decisions:
    """`count` decisions, of which one in `hidden` is hidden, if that is not 0."""

    count: int
    hidden: int

    def entries(self) -> Iterator[Entry]:
        for number in range(self.count):
            secret = self.hidden > 0 and number % self.hidden == 0
            level = Sensitivity.HIGHLY_SENSITIVE if secret else Sensitivity.NORMAL
            record = Decision(id=f"dec_{number:016x}", title=f"Decision {number}", text="A text.", sensitivity=level)
            yield Entry(record, Origin("/benchmark", number, None, str(number)))


def _bare_seconds(folder: Path) -> float:
    """Return the time that the driver alone takes to read the rows in the same order."""
    (file,) = folder.glob("*.sqlite3")
    connection = sqlite3.connect(file)
    began = perf_counter()
    for _ in connection.execute("SELECT seq, kind, id FROM records ORDER BY seq"):
        pass
    spent = perf_counter() - began
    connection.close()
    return spent


def main() -> int:
    """Write the rows; the exit code is 1 if one is slower than required."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=RECORDS)
    arguments = parser.parse_args()
    rows = [measure_following(arguments.records, hidden) for hidden in (0, 2)]
    heads = ["records", "seen", "changes/s", "bare read, rows/s", "at least", "kept"]
    sys.stdout.write(f"{describe_machine()}\n{table(heads, [cells for cells, _ in rows])}\n")
    return 0 if all(kept for _, kept in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
