"""The question whether a caller still waits, which long work asks again and again."""

from collections.abc import Callable
from typing import TypeAlias

from cognition_engines.errors import NotWanted

Wanted: TypeAlias = Callable[[], bool]  # true while a caller still waits; called by the working thread


def always() -> bool:
    """Return True: the result is always wanted."""
    return True


def check_wanted(wanted: Wanted, result: str) -> None:
    """Raise NotWanted if no caller waits for the result, a noun phrase."""
    if not wanted():
        raise NotWanted(f"no caller waits for {result} any more")
