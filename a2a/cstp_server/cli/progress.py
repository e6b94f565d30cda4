"""Progress bars: on a terminal only, with the rate and the time that is left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


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
