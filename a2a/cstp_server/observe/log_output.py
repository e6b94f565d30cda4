"""Where log lines go: standard error, written by a separate thread, so that a reader that stalls blocks
neither the event loop nor any other thread.
"""

import atexit
import os
import select
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, RLock, Thread, current_thread
from time import monotonic
from typing import Final, TextIO

HELD: Final = 10_000  # lines buffered for the reader; later ones are dropped
GAP: Final = 0.05  # seconds between two writes: each interrupts whatever computes
PATIENCE: Final = 0.5  # seconds that an exit waits for the reader
_TELL_EVERY: Final = 10.0  # seconds between two counts of what was left out
_AT_ONCE: Final = 500  # lines that are taken from those that wait
_PIECE: Final = 65_536  # bytes of one write


class LogOutput:
    """A text stream of lines. Writing to it never waits; what cannot be written takes nothing else down.

    When HELD lines wait, later ones are left out, and their number is given to `tell_lost` when some were read, every
    ten seconds. What cannot be written at all is dropped. A stream without a file, as a test may have, is written to
    with its own `write`.
    """

    def __init__(self, stream: TextIO | None, tell_lost: Callable[[int], object]) -> None:
        self._stream = stream
        self._tell_lost = tell_lost
        self._waiting: SimpleQueue[str | Event] = SimpleQueue()  # an event is set when all before it is written
        self._hurry = Event()
        self._lost = 0
        self._tell_at = 0.0
        self._torn = False  # whether a line was written in part
        self._counting = RLock()  # one that a signal's handler can have, too
        self._piece = _piece_of(stream)
        self._thread = Thread(target=self._run, name="log", daemon=True)
        self._thread.start()
        atexit.register(self.write_rest)

    def write(self, text: str) -> None:
        """Accept one line."""
        if self._waiting.qsize() < HELD or current_thread() is self._thread:
            self._waiting.put(text)
        else:
            with self._counting:
                self._lost += 1

    def flush(self) -> None:
        """Do nothing: a line counts as written for the caller."""

    def write_rest(self, patience: float | None = None) -> None:
        """Wait until all lines are written, or for this time; default: PATIENCE."""
        written = Event()
        self._hurry.set()
        self._waiting.put(written)
        written.wait(PATIENCE if patience is None else patience)

    def _run(self) -> None:
        while True:
            lines, written = self._take()
            for piece in _pieces(lines, self._piece):
                self._torn = not _put(self._stream, f"\n{piece}" if self._torn else piece)
            if self._lost and (self._waiting.empty() or monotonic() >= self._tell_at):
                self._own_up()
                if written is not None:
                    self._waiting.put(written)  # after the line that reports the loss
            elif written is not None:
                self._hurry.clear()
                written.set()
            elif len(lines) < _AT_ONCE:
                self._hurry.wait(GAP)

    def _take(self) -> tuple[list[str], Event | None]:
        """The lines that wait, at least one unless a flush waits for their end; and its event."""
        item = self._waiting.get()
        lines: list[str] = []
        with suppress(Empty):
            while isinstance(item, str):
                lines.append(item)
                if len(lines) == _AT_ONCE:
                    break
                item = self._waiting.get_nowait()
        return lines, item if isinstance(item, Event) else None

    def _own_up(self) -> None:
        with self._counting:
            lost, self._lost = self._lost, 0
        self._tell_at = monotonic() + _TELL_EVERY
        self._tell_lost(lost)


def _piece_of(stream: TextIO | None) -> int:
    """How many bytes are written at once: into a pipe no more than what other writers' lines cannot get into."""
    with suppress(AttributeError, OSError, ValueError):
        if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):  # type: ignore[union-attr]
            return select.PIPE_BUF
    return _PIECE


def _pieces(lines: Sequence[str], most: int) -> Iterator[str]:
    """The lines in pieces of at most that many bytes, never split within a line."""
    piece: list[str] = []
    size = 0
    for line in lines:
        length = len(line) if line.isascii() else len(line.encode(errors="backslashreplace"))
        if piece and size + length > most:
            yield "".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += length
    yield "".join(piece)


def _put(stream: TextIO | None, text: str) -> bool:
    """Writes it, however long that takes; False when it ends within a line because no more could be written.

    Not through the stream's buffer: its lock would hold up all who print.
    """
    data = text.encode(errors="backslashreplace")
    written = 0
    try:
        try:
            file = stream.fileno()  # type: ignore[union-attr]
        except (AttributeError, OSError, ValueError):
            stream.write(text)  # type: ignore[union-attr]
            return True
        while written < len(data):
            try:
                written += os.write(file, data[written:])
            except BlockingIOError:  # another process on the same terminal set it non-blocking
                room = select.poll()
                room.register(file, select.POLLOUT)
                room.poll()
    except (AttributeError, OSError, ValueError):  # closed, full, or its reader gone
        return not written or data[:written].endswith(b"\n")
    return True
