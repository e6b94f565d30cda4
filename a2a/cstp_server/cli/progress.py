"""Progress: on a terminal bars with the rate and the time that is left, elsewhere a line now and then."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

EACH_SECONDS: Final = 10.0


class Rate(ProgressColumn):
    """How many of `unit` a second so far."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f} {self._unit}/s")


class RecordBars:
    """One bar for each step of a piece of work over records."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def start(self, step: str, records: int) -> None:
        self._task = self._progress.add_task(step, total=records)

    def advance(self, records: int) -> None:
        self._progress.advance(self._task, records)


class ByteLines:
    """A line every EACH_SECONDS that says how much of a run over files is done, for logs and pipes."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float] = monotonic) -> None:
        self._write = write
        self._clock = clock
        self._total = self._done = 0
        self._last = clock()

    def start(self, total: int) -> None:
        self._total, self._last = total, self._clock()

    def advance(self, done: int) -> None:
        self._done += done
        now = self._clock()
        if now - self._last >= EACH_SECONDS:
            self._last = now
            share = self._done / self._total if self._total else 1.0
            self._write(f"reading: {share:.0%}, {self._done / 1e6:,.1f} of {self._total / 1e6:,.1f} MB")


@contextmanager
def record_bars(*, quiet: bool) -> Iterator[RecordBars]:
    """Bars on standard error, gone in the end; none when `quiet` or outside a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate("records"),
        TimeRemainingColumn(),
    )
    disable = quiet or not console.is_terminal
    with Progress(*columns, console=console, disable=disable, transient=True) as progress:
        yield RecordBars(progress)
