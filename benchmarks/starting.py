"""The time of a start, from the process to the first `ready`, and the memory of the server at that moment."""

import statistics
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks.serving import RESIDENT, metric, served, wait_until_ready
from cstp_server.settings import Settings

ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class StartRow:
    """Medians over a filled folder and over empty ones, in turns: seconds, and resident megabytes."""

    seconds: float
    megabytes: float
    empty_seconds: float
    empty_megabytes: float


def measure_start(settings: Settings) -> StartRow:
    """Start servers over the folder of `settings`, which no server holds, and over empty ones, in turns."""
    rows = []
    for _ in range(ROUNDS):
        with TemporaryDirectory(prefix="cstp-benchmark-") as folder:
            rows.append((*_start(settings), *_start(Settings(data_dir=Path(folder)))))
    return StartRow(*map(statistics.median, zip(*rows, strict=True)))


def _start(settings: Settings) -> tuple[float, float]:
    began = perf_counter()
    with served(settings) as caller:
        wait_until_ready(caller.port)
        return perf_counter() - began, metric(caller.port, RESIDENT) / 1e6
