"""A part that raises for a single record, as a library or our code might for an unforeseen text."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import pytest

from tests.serving import serve

__all__ = ["serve"]
MARK = "Kelpmark"  # in the texts of the record for which a part raises


class PanicException(BaseException):
    """A Rust extension panic: not an Exception."""


ERRORS = (ValueError, PanicException)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Return `broken("module:function", ValueError)`: makes the function raise if the argument at `place` has MARK.

    The answer gains a member each time the function raises.
    """

    def breaking(target: str, error: type[BaseException], place: int = 0) -> list[int]:
        module, _, path = target.partition(":")
        owner: Any = import_module(module)
        *outer, name = path.split(".")
        for each in outer:
            owner = getattr(owner, each)
        working: Callable[..., Any] = getattr(owner, name)
        raised: list[int] = []

        @wraps(working)
        def raising(*args: Any, **named: Any) -> Any:
            if MARK in repr(args[place]):
                raised.append(1)
                raise error("nothing foresees this")
            return working(*args, **named)

        monkeypatch.setattr(owner, name, raising)
        return raised

    return breaking
