"""Lets one worker look for changes at once, from any other."""

import os
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_MOST: Final = 65_536


class Waker:
    """A pipe that this process and its later forks have in common."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def wake(self) -> None:
        """Wake the worker at the other end, at once or when it watches."""
        with suppress(BlockingIOError):  # it has been woken often enough
            os.write(self._write, b"1")

    def watch(self, loop: AbstractEventLoop, woken: Callable[[], object]) -> None:
        """Call `woken` in `loop` from now on."""

        def read() -> None:
            with suppress(BlockingIOError):
                os.read(self._read, _MOST)
            woken()

        loop.add_reader(self._read, read)

    def leave(self, loop: AbstractEventLoop) -> None:
        """Stop watching."""
        loop.remove_reader(self._read)
