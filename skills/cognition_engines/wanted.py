"""The question whether a caller still waits, which long work asks again and again."""

from collections.abc import Callable
from typing import TypeAlias

from cognition_engines.errors import NotWanted

Wanted: TypeAlias = Callable[[], bool]  # whether a caller still waits; called from the thread that works on the result


def always() -> bool:
    """Return True, for work whose result is always wanted."""
    return True


def check_wanted(wanted: Wanted, result: str) -> None:
    """Raise NotWanted if no caller waits for the result, a noun phrase."""
    if not wanted():
        raise NotWanted(f"no caller waits for {result} any more")
