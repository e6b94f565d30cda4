"""Progress: on a terminal bars with rate and remaining time, elsewhere a line every few seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from cognition_engines.ingest.options import Amount, Progress as Reading, Silent
from cstp_server.terminal import say

EACH_SECONDS: Final = 10.0


class Rate(ProgressColumn):
    """Average number of `unit` per second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f} {self._unit}/s")


class RecordBars:
    """A bar for each step of work over records."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def start(self, step: str, records: int) -> None:
        self._task = self._progress.add_task(step, total=records)

    def advance(self, records: int) -> None:
        self._progress.advance(self._task, records)


class ReadingBar:
    """The bar of a run over files: number of files and records, rate, and remaining time."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._total = Amount(0)
        self._done = Amount(0)
        self._task = progress.add_task("reading", total=None, visible=False, amount="")
        self._began = monotonic()

    def start(self, total: Amount) -> None:
        self._total, self._done, self._began = total, Amount(0), monotonic()
        self._progress.reset(self._task, total=total.size, visible=True)

    def advance(self, done: Amount) -> None:
        self._done = _sum(self._done, done)
        amount = _amount(self._total, self._done, monotonic() - self._began)
        self._progress.update(self._task, completed=self._done.size, amount=amount)


class ReadingLines:
    """Progress lines of a run over files, every EACH_SECONDS, for logs and pipes."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float] = monotonic) -> None:
        self._write = write
        self._clock = clock
        self._total = self._done = Amount(0)
        self._began = self._last = clock()

    def start(self, total: Amount) -> None:
        self._total, self._done = total, Amount(0)
        self._began = self._last = self._clock()

    def advance(self, done: Amount) -> None:
        self._done = _sum(self._done, done)
        now = self._clock()
        if now - self._last < EACH_SECONDS:
            return
        self._last = now
        elapsed = now - self._began
        amount = _amount(self._total, self._done, elapsed)
        if not self._total.size:
            self._write(f"reading: {amount}")
            return
        share = min(1.0, self._done.size / self._total.size)
        left = f", {_duration(elapsed / share - elapsed)} left" if 0 < share < 1 else ""
        self._write(f"reading: {share:.0%}, {amount}{left}")


def _sum(one: Amount, other: Amount) -> Amount:
    return Amount(one.size + other.size, one.files + other.files, one.records + other.records)


def _amount(total: Amount, done: Amount, seconds: float) -> str:
    """Describe the progress: `12 of 296 files, 1,204 records, 85.0 records/s`."""
    rate = done.records / seconds if seconds > 0 else 0.0
    files = f"{done.files:,} of {total.files:,} files, " if total.files else ""
    return f"{files}{done.records:,} records, {rate:,.1f} records/s"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def reading_progress(*, quiet: bool) -> Iterator[Reading]:
    """Show a bar on a terminal, lines elsewhere, both on standard error; nothing if `quiet`."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield Silent() if quiet else ReadingLines(lambda line: say(line, err=True))
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield ReadingBar(progress)


@contextmanager
def record_bars(*, quiet: bool) -> Iterator[RecordBars]:
    """Show bars on standard error until the end; none if `quiet` or outside a terminal."""
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
