"""Where the lines of a process without threads go: it must not wait for their reader."""

import os
import select
from contextlib import suppress
from typing import Final, TextIO

_PATIENCE: Final = 0.1  # seconds that a line waits for its reader


class DirectOutput:
    """A text stream of lines that are written at once, or left out where nothing reads them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a line and return its number of characters."""
        with suppress(OSError, ValueError):  # closed, or its reader gone
            file = self._stream.fileno()
            room = select.poll()
            room.register(file, select.POLLOUT)
            if room.poll(_PATIENCE * 1000):
                os.write(file, text.encode(errors="backslashreplace"))
        return len(text)

    def flush(self) -> None:
        """Do nothing, since nothing is buffered."""
