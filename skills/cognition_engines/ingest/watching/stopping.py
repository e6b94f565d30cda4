"""Ends a run between two batches, so that what was committed stays and nothing else does."""

from threading import Event

from cognition_engines.ingest.options import Amount, Progress


class Stopped(Exception):
    """The run was to stop."""


class UntilStopped:
    """The progress of a run that raises `Stopped` between two batches once `stop` is set."""

    def __init__(self, stop: Event, shown: Progress) -> None:
        self._stop = stop
        self._shown = shown

    def start(self, total: Amount) -> None:
        self._check()
        self._shown.start(total)

    def advance(self, done: Amount) -> None:
        self._check()
        self._shown.advance(done)

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped
