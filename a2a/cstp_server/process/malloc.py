"""Memory settings of a server: thread arenas, and objects skipped by the garbage collector."""

import ctypes
import gc
import os
import platform
from typing import Final

from cognition_engines.background import Background, BackgroundThread

_COLLECT_AFTER: Final = (10_000, 20, 20)  # objects, young and middle collections; Python's default is 700 objects
_ARENA_MAX: Final = -8  # M_ARENA_MAX of glibc's malloc.h
_ARENAS: Final = 2
_RETURN_SECONDS: Final = 30.0


def share_arenas() -> None:
    """Make all threads allocate from two arenas, with glibc and unless the operator chose otherwise.

    By default nearly every thread has an own arena, retaining the memory of the thread's largest call: in ten minutes
    of searches and ingests the process then grew by half.
    """
    if _has_glibc() and "MALLOC_ARENA_MAX" not in os.environ:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


def return_free_memory(background: Background) -> BackgroundThread:
    """Return an unstarted thread for returning free memory to the system every 30 s; without glibc, the thread ends.

    By itself glibc returns only the end of an arena, so a small object above retains all free memory below. Lower
    thresholds for single blocks (mallopt) would cost a search over 100,000 records a quarter more.
    """
    trim = ctypes.CDLL(None).malloc_trim if _has_glibc() else None

    def work() -> float | None:
        if trim is None:
            return None
        trim(0)
        return _RETURN_SECONDS

    return BackgroundThread("memory", work, background, "free memory is not returned to the system")


def _has_glibc() -> bool:
    return platform.libc_ver()[0] == "glibc"


def spare_the_collector() -> None:
    """Exclude long-lived objects from garbage collections, which would block the event loop for 50 ms."""
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()
