"""Settings of a server's memory: the arenas of threads, and objects that the garbage collector skips."""

import ctypes
import gc
import os
import platform
from typing import Final

_COLLECT_AFTER: Final = (10_000, 20, 20)  # objects, young collections, middle ones; Python's own first is 700
_ARENA_MAX: Final = -8  # M_ARENA_MAX of glibc's malloc.h
_ARENAS: Final = 2


def share_arenas() -> None:
    """Make all threads allocate from two arenas, with glibc and unless the operator chose otherwise.

    By default nearly every thread has its own, which retains the memory of that thread's largest call: in ten minutes
    of searches and ingests the process then grew by half.
    """
    if platform.libc_ver()[0] == "glibc" and "MALLOC_ARENA_MAX" not in os.environ:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


def spare_the_collector() -> None:
    """Exclude long-lived objects from garbage collections, which would block the event loop for 50 ms."""
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()
