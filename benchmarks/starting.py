"""How long a start takes, from the process to the first `ready`, and how much memory the server then has."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Final

from benchmarks.serving import fetch, metric, served
from cstp_server.settings import Settings

ROUNDS: Final = 3
RESIDENT: Final = "process_resident_memory_bytes"  # what the server says of its own memory
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class StartRow:
    """Medians, in seconds: a server over the filled folder, one over an empty folder in turns. Megabytes resident."""

    seconds: float
    empty_seconds: float
    megabytes: float
    empty_megabytes: float


def measure_start(settings: Settings) -> StartRow:
    """Starts servers over the folder of `settings`, which no server holds, and over an empty one, in turns."""
    filled: list[tuple[float, float]] = []
    empty: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        filled.append(_start(settings))
        with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
            empty.append(_start(Settings(data_dir=Path(folder))))
    return StartRow(_median(filled, 0), _median(empty, 0), _median(filled, 1), _median(empty, 1))


def _start(settings: Settings) -> tuple[float, float]:
    began = perf_counter()
    with served(settings) as caller:
        while fetch(caller.port, "/readyz")[0] != 200:
            sleep(0.01)
        return perf_counter() - began, metric(caller.port, RESIDENT) / _MEGABYTE


def _median(rows: Sequence[tuple[float, float]], place: int) -> float:
    return statistics.median(row[place] for row in rows)
