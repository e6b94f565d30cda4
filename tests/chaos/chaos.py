"""Inputs of a fault test: servers, a folder, the run length, and rows for the report."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tests.chaos.process import Served

T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    """The run length: short with every test run, long with `--chaos long`."""

    long: bool

    def pick(self, short: T, long: T) -> T:
        return long if self.long else short


@dataclass(frozen=True)
class Chaos:
    """All fixtures of this folder; processes started by `served` know the model `chroma:chaos`."""

    served: Callable[..., Served]
    folder: Path
    wait_until: Callable[..., None]
    scale: Scale
    report: Callable[[str, str, int, str], None]


class Breakable(Protocol):
    """A test program to kill, freeze and restart."""

    def kill(self) -> Any: ...
    def start(self) -> Any: ...
    def freeze(self) -> Any: ...
    def thaw(self) -> Any: ...


@contextmanager
def killed(program: Breakable) -> Iterator[None]:
    program.kill()
    yield
    program.start()


@contextmanager
def frozen(program: Breakable) -> Iterator[None]:
    program.freeze()
    yield
    program.thaw()
